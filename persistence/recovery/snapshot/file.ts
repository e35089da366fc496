/**
 * Writing and reading one snapshot file (format.ts). Synchronous. Never call on the trading thread.
 *
 * Always holds: a file with a snapshot's name is complete, on disk, and was read back with the
 * right checksum; the engine restored from it had the right digest. Until then its name is
 * temporary.
 */
import { createHash, type Hash } from 'node:crypto';
import { fstatSync, fsyncSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { Engine } from '../../../engine/engine.js';
import { StateWriter } from '../../../engine/storage/archive.js';
import { atOnce, type Work } from '../../../engine/storage/pieces.js';
import type { JournalPosition } from '../../journal/format.js';
import { withFile } from '../../storage/files.js';
import { sharedBytes } from '../../storage/shared-bytes.js';
import {
  decodeSnapshotHeader,
  encodeSnapshotHeader,
  SNAPSHOT_HEADER_BYTES,
  SNAPSHOT_SUM_BYTES,
  SnapshotError,
  type SnapshotHeader,
} from './format.js';

/** The most bytes copied without a pause. */
const COPIED_BYTES = 256 * 1024;
/** Size of the pieces in which the state is hashed, written and read. */
const PIECE_BYTES = 8 * 1024 * 1024;

/**
 * The engine's state at one moment, in memory: quick to copy, and written by another thread. Each
 * piece is freed once it is written, to make room for the engine that is restored from the file.
 */
export interface SnapshotContent {
  header: SnapshotHeader;
  pieces: Uint8Array[];
}

export interface LoadedSnapshot {
  header: SnapshotHeader;
  /** The file's checksum: SHA-256 over everything before it, 64 hex digits. */
  hash: string;
  engine: Engine;
}

/** Copies the state of the engine, which must be at `position`. */
export function takeSnapshot(engine: Engine, position: JournalPosition): SnapshotContent {
  return atOnce(copyState(engine, position));
}

/** {@link takeSnapshot} in pieces: between them the engine may be read, but not changed. */
export function* copyState(engine: Engine, position: JournalPosition): Work<SnapshotContent> {
  const collector = new PieceCollector();
  const writer = new StateWriter(
    (bytes) => collector.add(bytes),
    (bytes) => collector.addLater(bytes),
  );
  const pieces = engine.archiveInPieces(writer);
  while (pieces.next().done !== true) {
    yield;
    yield* collector.copyLater();
  }
  writer.finish();
  yield* collector.copyLater();
  const header = {
    sequence: engine.sequence,
    atMs: engine.nowMs,
    digest: engine.digest(),
    hash: position.hash,
    stateBytes: collector.totalBytes,
  };
  if (header.sequence !== position.sequence || header.digest !== position.digest) {
    throw new Error(
      `the engine is at sequence ${header.sequence}, the journal at ${position.sequence}`,
    );
  }
  return { header, pieces: collector.pieces };
}

/**
 * Writes the file under a temporary name, reads it back, renames it, and syncs the folder. Returns
 * its hash, for the journal's vouch.
 */
export function writeSnapshot(path: string, content: SnapshotContent): string {
  const temporary = temporaryPath(path);
  try {
    writeWhole(temporary, content);
    const { hash } = readSnapshot(temporary);
    renameSync(temporary, path);
    withFile(dirname(path), 'r', fsyncSync);
    return hash;
  } catch (error) {
    removeUnfinished(path);
    throw error;
  }
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

function writeWhole(path: string, { header, pieces }: SnapshotContent): void {
  withFile(path, 'w', (file) => {
    const hash = createHash('sha256');
    const write = (piece: Uint8Array) => {
      hash.update(piece);
      writeExactly(file, piece);
    };
    write(encodeSnapshotHeader(header));
    while (pieces.length > 0) write(pieces.shift()!);
    writeExactly(file, hash.digest());
    fsyncSync(file);
  });
}

function writeExactly(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
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

/**
 * Copies an archive's bytes into shared memory for the writing thread (storage/shared-bytes.ts).
 * Memory for long runs of bytes is allocated in pieces while copying: clearing it all at once for a
 * large table takes longer than the copy.
 */
class PieceCollector {
  totalBytes = 0;
  readonly pieces: Uint8Array[] = [];
  /** The places of pieces not yet copied. */
  private later: number[] = [];

  /** For bytes valid only during the call. */
  add(bytes: Uint8Array): void {
    const copy = sharedBytes(bytes.length);
    copy.set(bytes);
    this.pieces.push(copy);
    this.totalBytes += bytes.length;
  }

  /** For bytes that stay valid until {@link copyLater} is done. */
  addLater(bytes: Uint8Array): void {
    this.totalBytes += bytes.length;
    for (let from = 0; from < bytes.length; from += PIECE_BYTES)
      this.later.push(this.pieces.push(bytes.subarray(from, from + PIECE_BYTES)) - 1);
  }

  *copyLater(): Work<void> {
    for (const place of this.later) {
      const source = this.pieces[place]!;
      const copy = sharedBytes(source.length);
      for (let from = 0; from < source.length; from += COPIED_BYTES) {
        copy.set(source.subarray(from, from + COPIED_BYTES), from);
        yield;
      }
      this.pieces[place] = copy;
    }
    this.later = [];
  }
}
