/**
 * When the follower takes snapshots: after a number of commands or a time of the exchange, one at a
 * time, at the end of a batch that is also in the history (and synced there, unless a long read
 * delays the checkpoint). So the history is rarely behind the newest snapshot after a crash. If it
 * is, the session begins with an older snapshot, or an empty engine.
 *
 * There are none while the follower catches up with a long journal: they would soon be outdated.
 */
import type { Engine } from '../../engine/engine.js';
import type { JournalPosition } from '../journal/format.js';
import { type SnapshotContent, takeSnapshot } from '../snapshot/file.js';
import { listSnapshots } from '../snapshot/folder.js';
import type { SnapshotWriting } from '../snapshot/thread.js';
import type { FollowerLog } from './messages.js';
import type { ProgressBoard } from './progress-board.js';

export interface SnapshotSchedule {
  everyCommands: number;
  everyMs: number;
}

export type WriteSnapshot = (folder: string, content: SnapshotContent) => SnapshotWriting;

export class FollowerSnapshots {
  private writing: SnapshotWriting | null = null;
  /** Of the last snapshot taken, written or not; at first, of the newest in the folder. */
  private lastSequence = 0;
  private lastAtMs: number | null = null;

  constructor(
    private readonly folder: string,
    private readonly schedule: SnapshotSchedule,
    private readonly write: WriteSnapshot,
    private readonly board: ProgressBoard,
    private readonly log: FollowerLog,
  ) {
    // A snapshot ahead of the journal is damaged, and no reason to wait.
    const durable = board.get('durable');
    this.lastSequence =
      listSnapshots(folder).find(({ sequence }) => sequence <= durable)?.sequence ?? 0;
    board.set('snapshotSequence', this.lastSequence);
  }

  /** Whether a snapshot of the engine should be taken now. Cheap: called after every batch. */
  isDue(engine: Engine): boolean {
    if (this.writing !== null || engine.sequence <= this.lastSequence) return false;
    const { everyCommands, everyMs } = this.schedule;
    if (this.board.get('durable') - engine.sequence >= everyCommands) return false;
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
    this.writing = this.write(this.folder, content);
    this.writing.done.then(
      () => this.written(sequence, atMs, stateBytes),
      (error: Error) => this.failed(sequence, error),
    );
  }

  async close(): Promise<void> {
    const { writing } = this;
    this.writing = null;
    await writing?.cancel();
  }

  private written(sequence: number, atMs: number, stateBytes: number): void {
    this.writing = null;
    this.board.set('snapshotSequence', sequence);
    this.board.set('snapshotAtMs', atMs);
    this.log.info({ sequence, stateBytes }, 'a snapshot was written and read back');
  }

  /** Not retried: the journal has everything, and the next snapshot is enough. */
  private failed(sequence: number, error: Error): void {
    const wasCancelled = this.writing === null;
    this.writing = null;
    if (!wasCancelled)
      this.log.error({ sequence, err: error.message }, 'a snapshot could not be written');
  }
}
