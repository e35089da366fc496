/**
 * When the follower takes snapshots: every so many commands or so much of the exchange's time, one at a time, at the
 * end of a journal batch that the history has too, on disk unless a long read holds that up.
 *
 * So after a crash the history is hardly ever behind the newest snapshot. Where it is, after a power cut or because it is
 * an older copy, it is not believed for that: the session begins with a snapshot that is not after the history, in the end
 * with an empty engine, and catches up before it answers.
 *
 * While the follower catches up with a long journal it takes none: they would be out of date before they are written.
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
  /** Of the last one, or the one that the engine started from, or the last one that could not be written. */
  private lastSequence = 0;
  private lastAtMs: number | null = null;

  constructor(
    private readonly folder: string,
    private readonly schedule: SnapshotSchedule,
    private readonly write: WriteSnapshot,
    private readonly board: ProgressBoard,
    private readonly log: FollowerLog,
  ) {
    // A damaged one may be ahead of the journal; it is no reason to wait.
    const durable = board.get('durable');
    this.lastSequence = listSnapshots(folder).find(({ sequence }) => sequence <= durable)?.sequence ?? 0;
    board.set('snapshotSequence', this.lastSequence);
  }

  /** Whether one should be taken of the engine now. Cheap; asked after every batch. */
  isDue(engine: Engine): boolean {
    if (this.writing !== null || engine.sequence <= this.lastSequence) return false;
    const { everyCommands, everyMs } = this.schedule;
    if (this.board.get('durable') - engine.sequence >= everyCommands) return false;
    // Time counts from the first batch that is seen: what was before may be long ago.
    this.lastAtMs ??= engine.nowMs;
    return engine.sequence - this.lastSequence >= everyCommands || engine.nowMs - this.lastAtMs >= everyMs;
  }

  /** Copies the engine's state, and has it written. */
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

  /** Ends what is being written. */
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

  /** The journal has everything: the next one will do. */
  private failed(sequence: number, error: Error): void {
    const wasCancelled = this.writing === null;
    this.writing = null;
    if (!wasCancelled) this.log.error({ sequence, err: error.message }, 'a snapshot could not be written');
  }
}
