/**
 * The follower, as the trading thread has it: a thread with an engine of its own that is fed by the journal alone. It
 * checks that the journal leads to the state that the exchange had, writes snapshots, and keeps history and leaderboards.
 *
 * Always holds: the trading thread never waits for it, and tells it nothing but that something was committed. If it
 * finds that the journal says otherwise, `onDisagreement` is called, once.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FollowerBoard } from './follower-board.js';
import { CommitMarks } from './follower-lag.js';
import type { FollowerData, FollowerLog, FromFollower, ToFollower } from './follower-messages.js';
import { History } from './history.js';

const SNAPSHOT_EVERY_COMMANDS = 500_000;
const SNAPSHOT_EVERY_MS = 300_000;

export interface FollowerOptions {
  /** The data folder. */
  folder: string;
  /** Where the journal ends now. */
  durableSequence: number;
  /** A snapshot at the latest after so many commands, or so much of the exchange's time. Defaults: 500,000; 5 minutes. */
  snapshotEveryCommands?: number;
  snapshotEveryMs?: number;
  log: FollowerLog;
  /** Milliseconds on any clock that does not go back. */
  elapsedMs: () => number;
  /** The journal, or what it leads to, is not what this exchange made: trading must stop. `sequence` is the first bad one. */
  onDisagreement: (sequence: number, message: string) => void;
  /** The thread has ended by itself (out of memory, a bug): nothing checks the journal any more, and there is no history. */
  onFailure: (error: Error) => void;
}

export interface FollowerStatus {
  /** Applied and found to agree; and in the history. */
  appliedSequence: number;
  projectedSequence: number;
  /** What is durable and not in the history: commands, and the time since the oldest of them was committed. */
  lagCommands: number;
  lagMs: number;
  /** Of the newest snapshot, 0: none. The time is the exchange's, and 0 until this process has written one. */
  snapshotSequence: number;
  snapshotAtMs: number;
  /** Rows in history.db. */
  historyRows: number;
}

export class Follower {
  /** Reads of history and leaderboards. */
  readonly history: History;
  private readonly board = new FollowerBoard();
  private readonly marks = new CommitMarks();
  private readonly worker: Worker;
  /** Why it does nothing any more. */
  private ended: string | null = null;

  constructor(private readonly options: FollowerOptions) {
    const { folder, durableSequence, elapsedMs } = options;
    this.board.set('durable', durableSequence);
    if (durableSequence > 0) this.marks.committed(durableSequence, elapsedMs());
    const workerData: FollowerData = {
      folder,
      memory: this.board.memory,
      snapshotEveryCommands: options.snapshotEveryCommands ?? SNAPSHOT_EVERY_COMMANDS,
      snapshotEveryMs: options.snapshotEveryMs ?? SNAPSHOT_EVERY_MS,
    };
    this.worker = new Worker(workerUrl(), { workerData });
    this.worker.on('message', (message: FromFollower) => this.received(message));
    this.worker.on('error', (error) => this.failed(error as Error));
    this.worker.on('exit', () => this.failed(new Error('the follower has ended')));
    this.history = new History({
      send: (id, request, minSequence) => this.send({ kind: 'read', id, request, minSequence }),
      lagMs: () => this.lagMs(),
      elapsedMs,
      problem: () => this.ended,
    });
  }

  /** To be called after every commit. Takes a microsecond, and now and then a message. */
  committed(sequence: number): void {
    this.board.set('durable', sequence);
    this.marks.committed(sequence, this.options.elapsedMs());
    if (this.ended === null && this.board.takeIdle()) this.send({ kind: 'wake' });
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
      snapshotAtMs: board.get('snapshotAtMs'),
      historyRows: board.get('rowCount'),
    };
  }

  /** Lets it finish the batch that it is at, and ends the thread. Reads that wait are answered `unavailable`. */
  async close(): Promise<void> {
    if (this.worker.threadId === -1) return;
    this.end('the exchange is closing');
    const exited = once(this.worker, 'exit');
    this.send({ kind: 'close' });
    await exited;
  }

  private lagMs(): number {
    return this.marks.lagMs(this.board.get('projected'), this.options.elapsedMs());
  }

  private send(message: ToFollower): void {
    this.worker.postMessage(message);
  }

  private received(message: FromFollower): void {
    switch (message.kind) {
      case 'answer':
        this.history.answered(message.id, message.outcome);
        break;
      case 'log':
        this.options.log[message.level](message.fields, message.message);
        break;
      case 'disagreement': {
        const { sequence } = message;
        this.options.log.error(
          { sequence, problem: message.message },
          'the follower does not agree with the exchange',
        );
        this.end('the follower does not agree with the exchange');
        this.options.onDisagreement(sequence, message.message);
        break;
      }
    }
  }

  private failed(error: Error): void {
    // After a disagreement, or when it is closed, it is meant to end.
    if (this.ended !== null) return;
    this.end('the follower has failed');
    this.options.onFailure(error);
  }

  private end(reason: string): void {
    this.ended ??= reason;
    this.history.end(reason);
  }
}

/** The built thread, also when this file runs from its source, as it does in tests: Node.js 20 runs no TypeScript. */
function workerUrl(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(
    isSource ? '../dist/persistence/follower-worker.js' : './follower-worker.js',
    import.meta.url,
  );
}
