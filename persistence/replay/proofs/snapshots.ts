/**
 * Snapshots against the replay: each file must be, byte for byte, the one that the engine would write at its sequence.
 * A file that is compared so is right in every part, its checksum included; nothing of it is believed.
 */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import type { Engine } from '../../../engine/engine.js';
import type { JournalPosition } from '../../journal/format.js';
import { readSnapshot, takeSnapshot } from '../../snapshot/file.js';
import { listSnapshots, type SnapshotName } from '../../snapshot/folder.js';
import { encodeSnapshotHeader, SnapshotError } from '../../snapshot/format.js';
import type { Finding } from '../output/findings.js';

export interface SnapshotVerdict {
  snapshot: SnapshotName;
  /** null: good. */
  problem: string | null;
  /** Whether the replay came to its sequence, so that it could be compared. */
  compared: boolean;
}

export class SnapshotComparison {
  readonly verdicts: SnapshotVerdict[] = [];
  /** Oldest first: the next one to come at the head. */
  private readonly waiting: SnapshotName[];

  constructor(folder: string) {
    this.waiting = listSnapshots(folder).reverse();
  }

  /** After each batch. */
  compare(engine: Engine, position: JournalPosition): void {
    while (this.waiting.length > 0 && this.waiting[0]!.sequence <= position.sequence) {
      const snapshot = this.waiting.shift()!;
      this.judge(snapshot, true, () =>
        snapshot.sequence === position.sequence
          ? problemWith(snapshot, engine, position)
          : 'no batch of the journal ends at its sequence: it is not of this journal',
      );
    }
  }

  /** When there is no more of the journal. Of a snapshot that is ahead of its end the judgement of the folder speaks. */
  finish(): void {
    for (const snapshot of this.waiting.splice(0)) this.judge(snapshot, false, () => ownProblem(snapshot));
  }

  /** A running exchange removes old snapshots, at any moment: of one that is gone there is nothing to be said. */
  private judge(snapshot: SnapshotName, compared: boolean, problemOf: () => string | null): void {
    if (!existsSync(snapshot.path)) return;
    try {
      this.verdicts.push({ snapshot, problem: problemOf(), compared });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  findings(): Finding[] {
    return this.verdicts
      .filter(({ problem }) => problem !== null)
      .map(({ snapshot, problem }) => ({
        file: `snapshots/${snapshot.name}`,
        place: `sequence ${snapshot.sequence}`,
        what: problem!,
        remedy:
          'Remove the file, or move it away. The exchange starts from an older snapshot or from the whole journal, which ' +
          'takes longer and gives the same.',
      }));
  }
}

function problemWith(snapshot: SnapshotName, engine: Engine, position: JournalPosition): string | null {
  const { header, pieces } = takeSnapshot(engine, position);
  const expected = [encodeSnapshotHeader(header), ...pieces];
  const hash = createHash('sha256');
  for (const piece of expected) hash.update(piece);
  const differsAt = firstDifference(snapshot.path, [...expected, hash.digest()]);
  if (differsAt === null) return null;
  // A damaged file says more about itself than where it differs.
  return ownProblem(snapshot) ?? `it is whole, but from byte ${differsAt} on it is not what the replay gives`;
}

/** What is wrong with the file by itself; null: nothing. */
function ownProblem({ path, sequence }: SnapshotName): string | null {
  try {
    const { header } = readSnapshot(path);
    return header.sequence === sequence
      ? null
      : `it is of sequence ${header.sequence}, not of the one in its name`;
  } catch (error) {
    if (error instanceof SnapshotError) return error.message;
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && code !== 'ENOENT') return `it cannot be read: ${(error as Error).message}`;
    throw error;
  }
}

/** The first byte in which a file is not these pieces, one after another; null: it is them and nothing more. */
function firstDifference(path: string, pieces: readonly Uint8Array[]): number | null {
  const file = openSync(path, 'r');
  try {
    let at = 0;
    for (const piece of pieces) {
      const bytes = Buffer.alloc(piece.length);
      const count = readUpTo(file, bytes);
      const length = Math.min(count, piece.length);
      for (let i = 0; i < length; i++) if (bytes[i] !== piece[i]) return at + i;
      at += length;
      if (length < piece.length) return at;
    }
    return readUpTo(file, Buffer.alloc(1)) === 0 ? null : at;
  } finally {
    closeSync(file);
  }
}

function readUpTo(file: number, bytes: Buffer): number {
  let count = 0;
  while (count < bytes.length) {
    const got = readSync(file, bytes, count, bytes.length - count, null);
    if (got === 0) break;
    count += got;
  }
  return count;
}
