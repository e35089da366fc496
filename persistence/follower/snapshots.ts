/**
 * When the follower takes snapshots: after a number of commands or a time of the exchange, one at a
 * time, at the end of a batch that is also in the history (and synced there, unless a long read
 * delays the checkpoint). So the history is rarely behind the newest snapshot after a crash. If it
 * is, the session begins with an older snapshot, or an empty engine.
 *
 * The exchange is asked to journal the hash of each. When the follower meets that command in the
 * journal, the snapshot counts.
 *
 * An engine that catches up with a long journal takes none: they would soon be outdated. If that is
 * because the history is far behind the newest snapshot, another engine takes them (end-check.ts).
 */
import type { Engine } from '../../engine/engine.js';
import type { RecordBuffer } from '../../engine/interface/records.js';
import { JournalError } from '../journal/errors.js';
import type { JournalPosition } from '../journal/format.js';
import { type SnapshotContent, takeSnapshot } from '../snapshot/file.js';
import { listSnapshots, removeOldSnapshots } from '../snapshot/folder.js';
import type { SnapshotWriting } from '../snapshot/thread.js';
import { vouchAt } from '../snapshot/vouched.js';
import type { FollowerLog } from './messages.js';
import type { ProgressBoard } from './progress-board.js';

export interface SnapshotSchedule {
  everyCommands: number;
  everyMs: number;
}

export type WriteSnapshot = (folder: string, content: SnapshotContent) => SnapshotWriting;

export interface SnapshotsOptions {
  folder: string;
  snapshots: SnapshotSchedule;
  writeSnapshot: WriteSnapshot;
  board: ProgressBoard;
  log: FollowerLog;
  /** Called when a snapshot is on disk, for the exchange to vouch for it. */
  snapshotWritten: (sequence: number, hash: string) => void;
}

interface WrittenSnapshot {
  sequence: number;
  atMs: number;
  hash: string;
}

export class FollowerSnapshots {
  private writing: SnapshotWriting | null = null;
  /** The last snapshot of this session that is on disk. */
  private last: WrittenSnapshot | null = null;
  /** Of the last snapshot taken, written or not; at first, of the one at the session's start. */
  private lastSequence = 0;
  private lastAtMs: number | null = null;

  /** @param startSequence of the snapshot from which the engine started; 0: from the beginning. */
  constructor(
    private readonly options: SnapshotsOptions,
    startSequence: number,
  ) {
    this.lastSequence = startSequence;
    options.board.set('snapshotSequence', startSequence);
  }

  /** Whether a snapshot of the engine should be taken now. Cheap: called after every batch. */
  isDue(engine: Engine): boolean {
    if (this.writing !== null || engine.sequence <= this.lastSequence) return false;
    const { everyCommands, everyMs } = this.options.snapshots;
    if (this.options.board.get('durable') - engine.sequence >= everyCommands) return false;
    // Time counts from the first batch applied: the last snapshot may be much older.
    this.lastAtMs ??= engine.nowMs;
    const isTime = engine.nowMs - this.lastAtMs >= everyMs;
    return isTime || engine.sequence - this.lastSequence >= everyCommands;
  }

  take(engine: Engine, position: JournalPosition): void {
    const content = takeSnapshot(engine, position);
    const { sequence, atMs, stateBytes } = content.header;
    this.lastSequence = sequence;
    this.lastAtMs = atMs;
    this.writing = this.options.writeSnapshot(this.options.folder, content);
    this.writing.done.then(
      (hash) => this.written({ sequence, atMs, hash }, stateBytes),
      (error: Error) => this.failed(sequence, error),
    );
  }

  /**
   * Called after every command of the journal: one that vouches for a snapshot makes it count.
   * @throws JournalError when it vouches for other bytes than this follower has written.
   */
  applied(records: RecordBuffer, at: number): void {
    const vouch = vouchAt(records, at);
    if (vouch === null) return;
    const { board, folder, log } = this.options;
    const { snapshotSequence, snapshotHash } = vouch;
    const isOwn = this.last?.sequence === snapshotSequence;
    if (isOwn && this.last!.hash !== snapshotHash) {
      throw new JournalError(
        `the journal vouches for a snapshot at sequence ${snapshotSequence} with the SHA-256 ` +
          `${snapshotHash}, but the follower has written one with ${this.last!.hash}`,
        snapshotSequence + 1,
      );
    }
    // An older command, or one for a file that is gone.
    const isThere = listSnapshots(folder).some(({ sequence }) => sequence === snapshotSequence);
    if (!isThere || snapshotSequence <= board.get('snapshotSequence')) return;
    board.set('snapshotSequence', snapshotSequence);
    if (isOwn) board.set('snapshotAtMs', this.last!.atMs);
    log.info({ sequence: snapshotSequence }, 'the journal vouches for a snapshot');
  }

  async close(): Promise<void> {
    const { writing } = this;
    this.writing = null;
    await writing?.cancel();
  }

  private written(snapshot: WrittenSnapshot, stateBytes: number): void {
    this.writing = null;
    this.last = snapshot;
    const { sequence, hash } = snapshot;
    const { folder, board, log } = this.options;
    log.info({ sequence, stateBytes }, 'a snapshot was written and read back');
    removeOldSnapshots(folder, { sequence, vouchedSequence: board.get('snapshotSequence') });
    this.options.snapshotWritten(sequence, hash);
  }

  /** Not retried: the journal has everything, and the next snapshot is enough. */
  private failed(sequence: number, error: Error): void {
    const wasCancelled = this.writing === null;
    this.writing = null;
    if (!wasCancelled)
      this.options.log.error({ sequence, err: error.message }, 'a snapshot could not be written');
  }
}
