/**
 * The messages of accounts that memory does not have any more, from the journal.
 *
 * Always holds: one thread at most replays at a time, at a low priority, and no more commands than
 * stated. Wishes that come meanwhile are answered together by the next replays, so that a thousand
 * clients that resume after a restart cost sixteen.
 */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../../persistence/storage/program-folder.js';
import type { Log } from '../../observe/log.js';
import type { ReplayAnswer, ReplayTask, ReplayWish } from './replay-worker.js';

const WAITING_MAX = 1_000;
/** Wishes that one replay answers: it bounds the memory of the answers. */
const TOGETHER_MAX = 64;

/** Messages up to sequence `through`. */
export interface Replayed {
  texts: string[];
  through: number;
}

/** `tooFar`: more commands or messages than a replay gives. `failed`: not now. */
export type NotReplayed = 'tooFar' | 'failed';

interface Waiting extends ReplayWish {
  done: (replayed: Replayed | NotReplayed) => void;
}

interface ReplayOptions
  extends Pick<ReplayTask, 'folder' | 'journal' | 'commandsMax' | 'charactersMax'> {
  durableSequence: () => number;
  log: Log;
}

export class JournalReplays {
  private waiting: Waiting[] = [];
  private worker: Worker | null = null;
  private readonly stopped = new Int32Array(new SharedArrayBuffer(4));

  constructor(private readonly options: ReplayOptions) {}

  /** Calls `done` with the messages after `after`, up to what is durable now or later. */
  read(wish: ReplayWish, done: Waiting['done']): void {
    if (this.isStopped || this.waiting.length >= WAITING_MAX) done('failed');
    else {
      this.waiting.push({ ...wish, done });
      if (this.worker === null) this.next();
    }
  }

  /**
   * Resolves when no replay is under way. It ends by itself: a thread that is terminated while
   * SQLite works for it takes the whole process with it.
   */
  async stop(): Promise<void> {
    Atomics.store(this.stopped, 0, 1);
    for (const { done } of this.waiting.splice(0)) done('failed');
    const { worker } = this;
    if (worker !== null) await new Promise((resolve) => worker.once('exit', resolve));
  }

  get isStopped(): boolean {
    return Atomics.load(this.stopped, 0) === 1;
  }

  private next(): void {
    if (this.waiting.length === 0 || this.isStopped) return;
    const group = this.waiting.splice(0, TOGETHER_MAX);
    const { folder, journal, durableSequence, commandsMax, charactersMax, log } = this.options;
    const workerData: ReplayTask = {
      folder,
      journal,
      wishes: group.map(({ userId, after }) => ({ userId, after })),
      through: durableSequence(),
      commandsMax,
      charactersMax,
      stopped: this.stopped,
    };
    let answers: ReplayAnswer | null = null;
    const worker = new Worker(compiledFile('gateway/stream/resume/replay-worker.js'), {
      workerData,
    });
    this.worker = worker;
    worker.on('message', (message: ReplayAnswer) => {
      answers = message;
    });
    worker.on('error', (error) => log.warn({ err: error }, 'a replay for resume failed'));
    worker.on('exit', () => {
      this.worker = null;
      if (this.isStopped) answers = null;
      for (const [i, { done }] of group.entries()) {
        const texts = answers?.[i] ?? null;
        if (texts !== null) done({ texts, through: workerData.through });
        else done(answers === null ? 'failed' : 'tooFar');
      }
      this.next();
    });
  }
}
