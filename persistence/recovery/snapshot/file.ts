/**
 * Writing and reading one snapshot file (format.ts). Never call on the trading thread. Apart from
 * writing the unfinished file, all is synchronous.
 *
 * Invariant: a file with a snapshot's name is complete, on disk, and was read back with the
 * right checksum; the engine restored from it had the right digest. Until then its name is
 * temporary.
 */
import { createHash, type Hash } from 'node:crypto';
import { fstatSync, fsyncSync, readSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Engine } from '../../../engine/engine.js';
import { StateWriter } from '../../../engine/storage/archive.js';
import type { JournalPosition } from '../../journal/format.js';
import { FILE_MODE, named, withFile } from '../../storage/files.js';
import {
  decodeSnapshotHeader,
  encodeSnapshotHeader,
  SNAPSHOT_HEADER_BYTES,
  SNAPSHOT_SUM_BYTES,
  SnapshotError,
  type SnapshotHeader,
} from './format.js';

/** The most bytes hashed without a pause. */
const WRITTEN_BYTES = 256 * 1024;
/** Size of the pieces in which a file is read. */
const PIECE_BYTES = 8 * 1024 * 1024;
const NOTHING = new Uint8Array(0);

export interface LoadedSnapshot {
  header: SnapshotHeader;
  /** The file's checksum: SHA-256 over everything before it, 64 hex digits. */
  hash: string;
  engine: Engine;
}

/**
 * A snapshot file's bytes, of the engine, which must be at `position`. The state is not copied: the
 * pieces are valid until the engine changes. Some are empty, where the caller may do other work.
 */
export function* snapshotBytes(engine: Engine, position: JournalPosition): Generator<Uint8Array> {
  const { sequence, nowMs: atMs } = engine;
  const digest = engine.digest();
  if (sequence !== position.sequence || digest !== position.digest)
    throw new Error(`the engine is at sequence ${sequence}, the journal at ${position.sequence}`);
  let stateBytes = 0;
  for (const { length } of runsOf(engine)) {
    stateBytes += length;
    yield NOTHING;
  }
  const hash = createHash('sha256');
  const header = { sequence, atMs, digest, hash: position.hash, stateBytes };
  const head = encodeSnapshotHeader(header);
  hash.update(head);
  yield head;
  for (const run of runsOf(engine)) {
    for (let from = 0; from < run.length; from += WRITTEN_BYTES) {
      const piece = run.subarray(from, from + WRITTEN_BYTES);
      hash.update(piece);
      yield piece;
    }
    yield NOTHING;
  }
  yield hash.digest();
}

/** The state's bytes; an empty run after each piece of work without any. */
function* runsOf(engine: Engine): Generator<Uint8Array> {
  const runs: Uint8Array[] = [];
  const writer = new StateWriter(
    (bytes) => runs.push(bytes.slice()),
    (bytes) => runs.push(bytes),
  );
  const work = engine.archiveInPieces(writer);
  for (let isOver = false; !isOver; ) {
    isOver = work.next().done === true;
    if (isOver) writer.finish();
    yield* runs.splice(0);
    yield NOTHING;
  }
}

/**
 * Writes the bytes under a temporary name, between other work of the thread. The engine must not
 * change until this settles. The next step is {@link finishSnapshot}.
 */
export async function writeUnfinished(
  path: string,
  engine: Engine,
  position: JournalPosition,
): Promise<void> {
  try {
    const file = await open(temporaryPath(path), 'w', FILE_MODE);
    try {
      for (const bytes of snapshotBytes(engine, position))
        await (bytes.length > 0 ? file.appendFile(bytes) : nextTurn());
    } finally {
      await file.close();
    }
  } catch (error) {
    removeUnfinished(path);
    throw named(error, path);
  }
}

/**
 * Syncs the unfinished file, reads it back, renames it, and syncs the folder. Returns its hash, for
 * the journal's vouch.
 */
export function finishSnapshot(path: string): string {
  const temporary = temporaryPath(path);
  try {
    withFile(temporary, 'r', fsyncSync);
    const { hash } = readSnapshot(temporary);
    renameSync(temporary, path);
    withFile(dirname(path), 'r', fsyncSync);
    return hash;
  } catch (error) {
    removeUnfinished(path);
    throw error;
  }
}

export async function writeSnapshot(
  path: string,
  engine: Engine,
  position: JournalPosition,
): Promise<string> {
  await writeUnfinished(path, engine, position);
  return finishSnapshot(path);
}

/** Removes the temporary file of an abandoned snapshot. */
export function removeUnfinished(path: string): void {
  rmSync(temporaryPath(path), { force: true });
}

function temporaryPath(path: string): string {
  return `${path}.tmp`;
}

/** Reads a whole snapshot and restores its engine. @throws SnapshotError with the reason. */
export function readSnapshot(path: string): LoadedSnapshot {
  return withFile(path, 'r', (file) => {
    const fileBytes = fstatSync(file).size;
    const head = Buffer.alloc(SNAPSHOT_HEADER_BYTES);
    readExactly(file, head, 0);
    const header = decodeSnapshotHeader(head, fileBytes);
    const digest = hashOfState(createHash('sha256').update(head), file, header.stateBytes);
    const sum = Buffer.alloc(SNAPSHOT_SUM_BYTES);
    readExactly(file, sum, SNAPSHOT_HEADER_BYTES + header.stateBytes);
    if (!digest.equals(sum)) throw new SnapshotError('its checksum does not match: it is damaged');
    return { header, hash: sum.toString('hex'), engine: restore(header, file) };
  });
}

/** The last 32 bytes, the checksum's place, of any file. */
export function checksumIn(path: string): string {
  return withFile(path, 'r', (file) => {
    const sum = Buffer.alloc(SNAPSHOT_SUM_BYTES);
    const at = Math.max(0, fstatSync(file).size - SNAPSHOT_SUM_BYTES);
    readSync(file, sum, 0, sum.length, at);
    return sum.toString('hex');
  });
}

/**
 * Reads the state a second time, in pieces: the whole state is never in memory with the engine.
 */
function restore(header: SnapshotHeader, file: number): Engine {
  let engine: Engine;
  let at = SNAPSHOT_HEADER_BYTES;
  const read = (target: Uint8Array) => {
    readExactly(file, target, at);
    at += target.length;
  };
  try {
    engine = Engine.restore({ length: header.stateBytes, read });
  } catch (error) {
    const what = `no engine can be restored from it: ${(error as Error).message}`;
    throw new SnapshotError(what, { cause: error });
  }
  const { sequence, atMs, digest } = header;
  if (engine.sequence !== sequence || engine.nowMs !== atMs || engine.digest() !== digest) {
    throw new SnapshotError(
      `the engine in it is at sequence ${engine.sequence} with the digest ${engine.digest()}`,
    );
  }
  return engine;
}

/** One read returns at most 2 GiB. */
function readExactly(file: number, target: Uint8Array, position: number): void {
  for (let at = 0; at < target.length; ) {
    const count = Math.min(PIECE_BYTES, target.length - at);
    const got = readSync(file, target, at, count, position + at);
    if (got === 0) throw new SnapshotError('it is cut short');
    at += got;
  }
}

function hashOfState(hash: Hash, file: number, stateBytes: number): Buffer {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, stateBytes));
  for (let at = 0; at < stateBytes; at += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, stateBytes - at));
    readExactly(file, part, SNAPSHOT_HEADER_BYTES + at);
    hash.update(part);
  }
  return hash.digest();
}
