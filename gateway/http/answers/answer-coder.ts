/**
 * Tags and compresses answers that are large or rarely change, in a worker thread started on first
 * use. The trading thread only copies each body once.
 *
 * Invariant: every body gets exactly one result, and the worker's queue is bounded. If the queue is
 * full or the worker fails, the plain body is sent without a tag, which is always correct.
 */
import { Worker } from 'node:worker_threads';
import { compiledFile } from '../../../persistence/storage/program-folder.js';
import type { Log } from '../../observe/log.js';
import type { Coding } from './accept-encoding.js';
import type { CodingAnswer, CodingTask } from './coding-worker.js';

/** Queue limit: about one second of the worker's time. */
export const CODED_BYTES_MAX = 64 * 1024 * 1024;

export interface Coded {
  tag: string | null;
  coding: Coding;
  /** `null` if the client already has the content. */
  bytes: Uint8Array | null;
}

interface Waiting {
  body: Uint8Array;
  coding: Coding;
  done: (coded: Coded) => void;
}

export class AnswerCoder {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private waitingBytes = 0;
  private lastId = 0;
  private isStopped = false;

  constructor(
    private readonly log: Log,
    private readonly waitingBytesMax = CODED_BYTES_MAX,
  ) {}

  /** Calls `done` once, now or later. The body must be in shared memory and never change. */
  code(task: Omit<CodingTask, 'id'>, done: (coded: Coded) => void): void {
    const { body, coding } = task;
    const waitingBytes = this.waitingBytes + body.byteLength;
    if (this.isStopped || waitingBytes > this.waitingBytesMax) {
      done(unchanged(body));
      return;
    }
    const id = ++this.lastId;
    this.waiting.set(id, { body, coding, done });
    this.waitingBytes = waitingBytes;
    this.worker ??= this.start();
    this.worker.postMessage({ ...task, id } satisfies CodingTask);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    const { worker } = this;
    this.worker = null;
    await worker?.terminate();
    this.giveUp();
  }

  private start(): Worker {
    const worker = new Worker(compiledFile('gateway/http/answers/coding-worker.js'));
    worker.on('message', ({ id, tag, bytes }: CodingAnswer) => {
      // Results may arrive after an error, when their requests are already answered.
      if (!this.waiting.has(id)) return;
      const { coding, done } = this.take(id);
      done({ tag, coding, bytes });
    });
    worker.on('error', (error) => {
      this.log.error({ err: error }, 'the thread that compresses answers failed');
      if (this.worker === worker) this.worker = null;
      this.giveUp();
    });
    // An idle worker must not keep the process alive.
    worker.unref();
    return worker;
  }

  private giveUp(): void {
    for (const id of [...this.waiting.keys()]) {
      const { body, done } = this.take(id);
      done(unchanged(body));
    }
  }

  private take(id: number): Waiting {
    const waiting = this.waiting.get(id)!;
    this.waiting.delete(id);
    this.waitingBytes -= waiting.body.byteLength;
    return waiting;
  }
}

function unchanged(body: Uint8Array): Coded {
  return { tag: null, coding: '', bytes: body };
}
