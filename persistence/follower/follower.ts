/**
 * The trading thread's side of the follower: a thread with its own engine, fed by the journal
 * alone, which checks that the journal leads to the exchange's state, writes snapshots, and keeps
 * the history and the leaderboards.
 *
 * Invariant: the trading thread never waits for the follower, and no failure here stops a
 * change. Only if the journal disagrees with the exchange, `onDisagreement` is called, once. A
 * thread that fails is restarted and continues where it was: after a second, and after ten minutes
 * once it has failed RESTARTS_MAX times within them.
 */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../storage/program-folder.js';
import { HistoryClient } from './history-client.js';
import { CommitMarks } from './lag.js';
import type { FollowerData, FollowerSettings, FromFollower, ToFollower } from './messages.js';
import { ProgressBoard } from './progress-board.js';
import { DERIVED_PARTS, type DerivedPart, type FollowerLog } from './troubles.js';

/**
 * How many quick restarts of a failed thread are allowed, in which time, and the pause before each.
 */
const RESTARTS_MAX = 5;
const RESTARTS_WITHIN_MS = 600_000;
const RESTART_AFTER_MS = 1_000;
/** How long an exiting process waits for the thread to finish its work. */
const EXIT_WAIT_MS = 5_000;

export interface FollowerOptions extends FollowerSettings {
  /** The sequence at the end of the journal. */
  durableSequence: number;
  log: FollowerLog;
  /** Milliseconds on any clock that does not go back. */
  elapsedMs: () => number;
  /**
   * A snapshot was written: the exchange must journal its hash (`vouchForSnapshot`). Until then the
   * snapshot is not used.
   */
  onSnapshot: (sequence: number, hash: string) => void;
  /**
   * Called if the journal, from `sequence` on, does not lead to this exchange's state: trading must
   * stop.
   */
  onDisagreement: (sequence: number, message: string) => void;
}

export interface FollowerStatus {
  /** The last sequence that was applied and agreed, and the last one in the history. */
  appliedSequence: number;
  projectedSequence: number;
  /** Commands that are durable and not in the history, and the age of the oldest commit. */
  lagCommands: number;
  lagMs: number;
  /** The newest snapshot for which the journal vouches; 0 if none. */
  snapshotSequence: number;
  /** The parts that cannot be built now, each with the reason; and the failures since startup. */
  troubles: ReadonlyMap<DerivedPart, string>;
  troubleCounts: Readonly<Record<DerivedPart, number>>;
}

export class Follower {
  readonly history: HistoryClient;
  private readonly board = new ProgressBoard();
  private readonly marks = new CommitMarks();
  private thread: Worker;
  private threadEnd: Promise<void> = Promise.resolve();
  /** The reason why the thread failed, if it is known. */
  private fault: Error | null = null;
  private restartedAtMs: number[] = [];
  private restart: NodeJS.Timeout | null = null;
  private readonly troubles = new Map<DerivedPart, string>();
  private readonly troubleCounts = noCounts();
  /** The reason why the follower has ended permanently; null while it runs. */
  private ended: string | null = null;

  constructor(private readonly options: FollowerOptions) {
    const { durableSequence, elapsedMs } = options;
    this.board.set('durable', durableSequence);
    if (durableSequence > 0) this.marks.committed(durableSequence, 0, elapsedMs());
    this.thread = this.startThread();
    this.history = new HistoryClient({
      send: (id, request, minSequence, readerKey) =>
        this.send({ kind: 'read', id, request, minSequence, readerKey }),
      giveUp: (id) => this.send({ kind: 'giveUp', id }),
      lagMs: () => this.lagMs(),
      elapsedMs,
      problem: () =>
        this.ended ?? (this.restart === null ? null : 'the follower is being restarted'),
    });
  }

  /** Called after every commit. Takes a microsecond, and sometimes a message. */
  committed(sequence: number): void {
    this.board.set('durable', sequence);
    this.marks.committed(sequence, this.board.get('projected'), this.options.elapsedMs());
    if (this.ended === null && this.board.clearIdle()) this.send({ kind: 'wake' });
  }

  get status(): FollowerStatus {
    const { board } = this;
    const projectedSequence = board.get('projected');
    return {
      appliedSequence: board.get('applied'),
      projectedSequence,
      lagCommands: Math.max(0, board.get('durable') - projectedSequence),
      lagMs: this.lagMs(),
      snapshotSequence: board.get('snapshotSequence'),
      troubles: this.troubles,
      troubleCounts: this.troubleCounts,
    };
  }

  /**
   * At the exit of the process, whatever its reason: waits, without handling any event, until the
   * thread is in no call into SQLite. Otherwise the process could die of a signal.
   */
  private readonly endAtExit = (): void => {
    if (this.board.close()) return;
    this.send({ kind: 'close' });
    this.board.waitForEnd(EXIT_WAIT_MS);
  };

  /** Ends the thread after its current batch, or immediately while it loads a snapshot. */
  async close(): Promise<void> {
    this.end('the exchange is closing');
    if (this.restart !== null) clearTimeout(this.restart);
    if (this.board.close()) {
      // A terminated thread cannot report its end.
      process.off('exit', this.endAtExit);
      void this.thread.terminate();
    } else this.send({ kind: 'close' });
    await this.threadEnd;
  }

  private startThread(): Worker {
    this.board.threadStarts();
    const { folder, journal, snapshotEveryCommands, snapshotEveryMs } = this.options;
    const { dayFiles, historyDays } = this.options;
    const workerData: FollowerData = {
      ...{ folder, journal, snapshotEveryCommands, snapshotEveryMs, dayFiles, historyDays },
      memory: this.board.memory,
      troubles: this.troubles,
    };
    const thread = new Worker(compiledFile('persistence/follower/worker.js'), { workerData });
    process.once('exit', this.endAtExit);
    thread.on('message', (message: FromFollower) => this.received(message));
    thread.on('error', (error) => {
      this.fault = error as Error;
    });
    this.threadEnd = new Promise((resolve) => {
      thread.on('exit', () => {
        process.off('exit', this.endAtExit);
        resolve();
        this.threadEnded();
      });
    });
    return thread;
  }

  private lagMs(): number {
    return this.marks.lagMs(this.board.get('projected'), this.options.elapsedMs());
  }

  private send(message: ToFollower): void {
    this.thread.postMessage(message);
  }

  private received(message: FromFollower): void {
    switch (message.kind) {
      case 'answer':
        this.history.answered(message.id, message.reply);
        break;
      case 'log':
        this.options.log[message.level](message.fields, message.message);
        break;
      case 'trouble':
        this.setTrouble(message.part, message.problem);
        break;
      case 'snapshot':
        if (this.ended === null) this.options.onSnapshot(message.sequence, message.hash);
        break;
      case 'disagreement':
        this.disagreed(message.sequence, message.message);
        break;
    }
  }

  private disagreed(sequence: number, problem: string): void {
    const reason = "the follower's state differs from the engine's";
    this.options.log.error({ sequence, problem }, reason);
    this.end(reason);
    this.options.onDisagreement(sequence, problem);
  }

  private setTrouble(part: DerivedPart, problem: string | null): void {
    if (problem === null) {
      this.troubles.delete(part);
      return;
    }
    this.troubles.set(part, problem);
    this.troubleCounts[part]++;
  }

  private threadEnded(): void {
    if (this.ended !== null) return;
    const { elapsedMs, log } = this.options;
    const error = this.fault ?? new Error("the follower's thread has ended");
    this.fault = null;
    this.setTrouble('history', error.message);
    const nowMs = elapsedMs();
    this.restartedAtMs = this.restartedAtMs.filter((atMs) => nowMs - atMs < RESTARTS_WITHIN_MS);
    const isOften = this.restartedAtMs.length >= RESTARTS_MAX;
    const afterMs = isOften ? RESTARTS_WITHIN_MS : RESTART_AFTER_MS;
    const problem = String(error.stack);
    log.error({ problem, afterMs }, "the follower's thread has ended and will be restarted");
    // A thread that could not start, for example for lack of a file descriptor, has not failed.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_INIT_FAILED')
      this.restartedAtMs.push(nowMs);
    this.history.end('the follower is being restarted');
    this.restart = setTimeout(() => {
      this.restart = null;
      this.thread = this.startThread();
    }, afterMs);
  }

  private end(reason: string): void {
    this.ended ??= reason;
    this.history.end(reason);
  }
}

function noCounts(): Record<DerivedPart, number> {
  const counts = DERIVED_PARTS.map((part) => [part, 0] as const);
  return Object.fromEntries(counts) as Record<DerivedPart, number>;
}
