/**
 * When the follower takes snapshots: at the end of the batch in which the sequence passes a
 * multiple of a number of commands, or the exchange's time passes a multiple of a duration. These
 * moments depend on the journal alone, so all nodes of a cluster take identical snapshots, and the
 * hash that the leader has journalled vouches for all of them. If the state is large, the number
 * and the duration are multiplied by a power of two, to limit the bytes written in a day.
 *
 * The batch is also in the history (and synced there, unless a long read delays the checkpoint). So
 * the history is rarely behind the newest snapshot after a crash. If it is, the session begins with
 * an older snapshot, or an empty engine.
 *
 * The state is written to the file without a copy in memory. A separate thread then reads the file
 * back, one file at a time. A snapshot that falls due before the thread is done is written, and
 * waits to be read back. Further snapshots are skipped, so a restart replays more.
 *
 * The exchange is asked to journal each snapshot's hash. A snapshot counts once the follower has
 * read that command in the journal.
 *
 * An engine that catches up with a long journal takes only the last snapshot, because the others
 * would soon be outdated. If the history is far behind the newest snapshot, a second engine takes
 * the snapshots (end-check.ts).
 */
import type { Engine } from '../../engine/engine.js';
import type { CommandOf } from '../../engine/interface/commands.js';
import type { RecordBuffer } from '../../engine/interface/records.js';
import { JournalError } from '../journal/errors.js';
import type { JournalPosition } from '../journal/format.js';
import { removeUnfinished, writeUnfinished } from '../recovery/snapshot/file.js';
import { listSnapshots, removeOldSnapshots, snapshotNameOf } from '../recovery/snapshot/folder.js';
import type { SnapshotFinishing } from '../recovery/snapshot/thread.js';
import { vouchAt } from '../recovery/snapshot/vouched.js';
import type { ProgressBoard } from './progress-board.js';
import type { FollowerLog, Troubles } from './troubles.js';

export interface SnapshotSchedule {
  everyCommands: number;
  everyMs: number;
}

export type FinishSnapshot = (path: string) => SnapshotFinishing;

export interface SnapshotsOptions {
  folder: string;
  snapshots: SnapshotSchedule;
  finishSnapshot: FinishSnapshot;
  board: ProgressBoard;
  log: FollowerLog;
  troubles: Troubles;
  /** Called when a snapshot is on disk, so that the exchange journals its hash. */
  snapshotWritten: (sequence: number, hash: string) => void;
}

interface WrittenSnapshot {
  sequence: number;
  hash: string;
}

export function snapshotRemedy(folder: string): string {
  return `It will be retried when the next snapshot is due; until then, startup replays more. If it keeps failing, check the disk and the permissions of ${folder}/snapshots.`;
}

export class FollowerSnapshots {
  private finishing: SnapshotFinishing | null = null;
  /** The sequence of a snapshot that was written while another was being finished. */
  private waiting: number | null = null;
  /** The last snapshot of this session that is on disk. */
  private last: WrittenSnapshot | null = null;
  /** The journal's last command with a snapshot's hash. */
  private vouch: CommandOf<'vouchForSnapshot'> | null = null;
  /**
   * Set if the journal's hash of a snapshot differs from the hash of this follower's snapshot.
   */
  private problem: JournalError | null = null;
  /** The engine's sequence after the previous batch. */
  private beforeSequence: number;
  private beforeMs: number;

  /** @param engine the engine at the start, from a snapshot or empty */
  constructor(
    private readonly options: SnapshotsOptions,
    { sequence, nowMs }: Engine,
  ) {
    this.beforeSequence = sequence;
    this.beforeMs = nowMs;
    options.board.set('snapshotSequence', sequence);
  }

  /**
   * Whether a snapshot of the engine should be taken now. Cheap: to be called after every batch,
   * even when none can be taken.
   * @throws JournalError when the journal vouches for bytes other than this follower wrote.
   */
  isDue(engine: Engine): boolean {
    if (this.problem !== null) throw this.problem;
    const { sequence, nowMs } = engine;
    const factor = intervalFactor(engine.archiveBytes());
    const everyCommands = this.options.snapshots.everyCommands * factor;
    const everyMs = this.options.snapshots.everyMs * factor;
    const { beforeSequence, beforeMs } = this;
    this.beforeSequence = sequence;
    this.beforeMs = nowMs;
    // The first command of an exchange sets its time, which passes nothing.
    const isTime = beforeMs > 0 && hasPassed(beforeMs, nowMs, everyMs);
    if (!isTime && !hasPassed(beforeSequence, sequence, everyCommands)) return false;
    return this.waiting === null && this.options.board.get('durable') - sequence < everyCommands;
  }

  /**
   * Writes the state in pieces, between which other work and messages get turns. The caller applies
   * no command until this settles, so the engine stays at `position`. A failure costs only the
   * snapshot.
   */
  async take(engine: Engine, position: JournalPosition): Promise<void> {
    const { sequence } = position;
    try {
      await writeUnfinished(this.pathOf(sequence), engine, position);
      if (this.finishing === null) this.finish(sequence);
      else this.waiting = sequence;
    } catch (error) {
      this.failed(error);
    }
  }

  /**
   * Called after every command of the journal; a command with the hash of a snapshot makes the
   * snapshot count.
   */
  applied(records: RecordBuffer, at: number): void {
    const vouch = vouchAt(records, at);
    if (vouch === null) return;
    this.vouch = vouch;
    this.judge(vouch);
  }

  async close(): Promise<void> {
    const { finishing, waiting } = this;
    this.finishing = null;
    this.waiting = null;
    await finishing?.cancel();
    if (waiting !== null) removeUnfinished(this.pathOf(waiting));
  }

  private pathOf(sequence: number): string {
    return snapshotNameOf(this.options.folder, sequence).path;
  }

  private finish(sequence: number): void {
    this.finishing = this.options.finishSnapshot(this.pathOf(sequence));
    this.finishing.done.then(
      (hash) => this.written({ sequence, hash }),
      (error: Error) => {
        if (this.finishing === null) return;
        this.failed(error);
        this.finishWaiting();
      },
    );
  }

  /**
   * Called when the journal vouches for a snapshot and when one is written: the leader may be
   * first.
   */
  private judge({ snapshotSequence, snapshotHash }: CommandOf<'vouchForSnapshot'>): void {
    const { board, folder, log } = this.options;
    const isOwn = this.last?.sequence === snapshotSequence;
    if (isOwn && this.last!.hash !== snapshotHash) {
      this.problem ??= new JournalError(
        `the journal vouches for a snapshot at sequence ${snapshotSequence} with the SHA-256 ` +
          `${snapshotHash}, but the follower has written one with ${this.last!.hash}`,
        snapshotSequence + 1,
      );
      return;
    }
    // An older command, or one for a file that is gone.
    const isThere = listSnapshots(folder).some(({ sequence }) => sequence === snapshotSequence);
    if (!isThere || snapshotSequence <= board.get('snapshotSequence')) return;
    board.set('snapshotSequence', snapshotSequence);
    log.info({ sequence: snapshotSequence }, 'the journal vouches for a snapshot');
  }

  private written(snapshot: WrittenSnapshot): void {
    const { sequence, hash } = snapshot;
    const { folder, board, log } = this.options;
    this.last = snapshot;
    log.info({ sequence }, 'a snapshot was written and read back');
    this.options.troubles.works('snapshots');
    if (this.vouch !== null) this.judge(this.vouch);
    const vouchedSequence = board.get('snapshotSequence');
    const partSequence = board.partSequence;
    removeOldSnapshots(folder, { sequence, vouchedSequence, partSequence });
    this.options.snapshotWritten(sequence, hash);
    this.finishWaiting();
  }

  /** Not retried: the journal is complete, and the next snapshot is enough. */
  private failed(error: unknown): void {
    const { troubles, folder } = this.options;
    troubles.failed('snapshots', error, snapshotRemedy(folder));
  }

  private finishWaiting(): void {
    const { waiting } = this;
    this.finishing = null;
    this.waiting = null;
    if (waiting !== null) this.finish(waiting);
  }
}

/** A state up to this size is written whenever it is due: by default, at most 17 GB a day. */
const BYTES_OF_ONE = 50_000_000;

/** The factor by which a state of this size is written less often. */
export function intervalFactor(bytes: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(bytes / BYTES_OF_ONE)));
}

function hasPassed(before: number, now: number, every: number): boolean {
  return Math.floor(now / every) > Math.floor(before / every);
}
