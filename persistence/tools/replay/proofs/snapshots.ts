/**
 * Compares snapshots with the replay: each file must equal, byte for byte and checksum included,
 * what the engine would write at its sequence. If the journal vouches for a snapshot, the hashes
 * must match.
 */
import { createHash } from 'node:crypto';
import type { Engine } from '../../../../engine/engine.js';
import type { CommandOf } from '../../../../engine/interface/commands.js';
import type { JournalPosition } from '../../../journal/format.js';
import { readSnapshot, snapshotBytes } from '../../../recovery/snapshot/file.js';
import { listSnapshots, type SnapshotName } from '../../../recovery/snapshot/folder.js';
import { SnapshotError } from '../../../recovery/snapshot/format.js';
import { fileHash } from '../../../storage/files.js';
import { aheadFinding, type Finding } from '../output/findings.js';

export interface SnapshotVerdict {
  file: string;
  sequence: number;
  /** null: the file is good. */
  finding: Finding | null;
  /** Whether the replay reached its sequence and compared it. */
  compared: boolean;
  /** Whether the journal vouches for it. If not, startup does not use it. */
  vouched: boolean;
}

export class SnapshotComparison {
  readonly verdicts: SnapshotVerdict[] = [];
  private readonly waiting: SnapshotName[];
  /** The hash of each compared file, by sequence. */
  private readonly hashes = new Map<number, string>();

  /** @param from where the replay begins: older snapshots are not compared. */
  constructor(folder: string, from = 0) {
    this.waiting = listSnapshots(folder)
      .filter(({ sequence }) => sequence >= from)
      .reverse();
  }

  compare(engine: Engine, position: JournalPosition): void {
    while (this.waiting.length > 0 && this.waiting[0]!.sequence <= position.sequence) {
      const snapshot = this.waiting.shift()!;
      this.judge(snapshot, true, () =>
        snapshot.sequence === position.sequence
          ? this.problemWith(snapshot, engine, position)
          : 'no batch of the journal ends at its sequence, so it belongs to another journal',
      );
    }
  }

  /** A vouch for a compared file must have its hash. */
  vouched({ snapshotSequence, snapshotHash }: CommandOf<'vouchForSnapshot'>): void {
    const verdict = this.verdicts.find(({ sequence }) => sequence === snapshotSequence);
    if (verdict === undefined || verdict.vouched) return;
    verdict.vouched = true;
    const hash = this.hashes.get(snapshotSequence);
    if (hash === snapshotHash) return;
    const problem = `its SHA-256 is ${hash}, but the journal vouches for ${snapshotHash}`;
    verdict.finding ??= damaged(verdict, problem);
  }

  /** Call at the end of the journal. `endSequence` null: the journal is not whole. */
  finish(endSequence: number | null): void {
    for (const snapshot of this.waiting.splice(0)) {
      const verdict = this.judge(snapshot, false, () => ownProblem(snapshot));
      if (verdict === null || endSequence === null) continue;
      const { file, sequence } = verdict;
      verdict.finding ??= aheadFinding(file, `sequence ${sequence}`, sequence, endSequence);
    }
  }

  /** A running exchange removes old snapshots: a removed one gets no verdict. */
  private judge(
    { name, sequence }: SnapshotName,
    compared: boolean,
    problemOf: () => string | null,
  ): SnapshotVerdict | null {
    let problem: string | null;
    try {
      problem = problemOf();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      if (code === 'ENOENT') return null;
      problem = `it cannot be read: ${message}`;
    }
    const file = `snapshots/${name}`;
    const finding = problem === null ? null : damaged({ file, sequence }, problem);
    const verdict = { file, sequence, finding, compared, vouched: false };
    this.verdicts.push(verdict);
    return verdict;
  }

  private problemWith(
    snapshot: SnapshotName,
    engine: Engine,
    position: JournalPosition,
  ): string | null {
    const hash = createHash('sha256');
    let sum: Uint8Array = Buffer.alloc(0);
    for (const bytes of snapshotBytes(engine, position)) {
      hash.update(bytes);
      sum = bytes;
    }
    this.hashes.set(snapshot.sequence, Buffer.from(sum).toString('hex'));
    if (fileHash(snapshot.path).equals(hash.digest())) return null;
    return ownProblem(snapshot) ?? 'the file is undamaged, but differs from the replay';
  }
}

function damaged(
  { file, sequence }: Pick<SnapshotVerdict, 'file' | 'sequence'>,
  problem: string,
): Finding {
  const remedy =
    'Remove the file or move it away. The exchange then starts from an older snapshot or from the whole journal, ' +
    'which takes longer and has the same result.';
  return { problem, file, place: `sequence ${sequence}`, remedy };
}

function ownProblem({ path, sequence }: SnapshotName): string | null {
  try {
    const { header } = readSnapshot(path);
    return header.sequence === sequence
      ? null
      : `its content is at sequence ${header.sequence}, but its name says ${sequence}`;
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    return error.message;
  }
}
