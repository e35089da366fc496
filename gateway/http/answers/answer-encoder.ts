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
import type { ContentEncoding } from './accept-encoding.js';
import type { EncodingResult, EncodingTask } from './encoding-worker.js';

/** Queue limit: about one second of the worker's time. */
export const ENCODING_BYTES_MAX = 64 * 1024 * 1024;

export interface EncodedBody {
  tag: string | null;
  encoding: ContentEncoding;
  /** `null` if the client already has the content. */
  bytes: Uint8Array | null;
}

interface Waiting {
  body: Uint8Array;
  encoding: ContentEncoding;
  done: (encoded: EncodedBody) => void;
}

export class AnswerEncoder {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private waitingBytes = 0;
  private lastId = 0;
  private isStopped = false;

  constructor(
    private readonly log: Log,
    private readonly waitingBytesMax = ENCODING_BYTES_MAX,
  ) {}

  /** Calls `done` once, now or later. The body must be in shared memory and never change. */
  encode(task: Omit<EncodingTask, 'id'>, done: (encoded: EncodedBody) => void): void {
    const { body, encoding } = task;
    const waitingBytes = this.waitingBytes + body.byteLength;
    if (this.isStopped || waitingBytes > this.waitingBytesMax) {
      done(unchanged(body));
      return;
    }
    const id = ++this.lastId;
    this.waiting.set(id, { body, encoding, done });
    this.waitingBytes = waitingBytes;
    this.worker ??= this.start();
    this.worker.postMessage({ ...task, id } satisfies EncodingTask);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    const { worker } = this;
    this.worker = null;
    await worker?.terminate();
    this.giveUp();
  }

  private start(): Worker {
    const worker = new Worker(compiledFile('gateway/http/answers/encoding-worker.js'));
    worker.on('message', ({ id, tag, bytes }: EncodingResult) => {
      // Results may arrive after an error, when their requests are already answered.
      if (!this.waiting.has(id)) return;
      const { encoding, done } = this.take(id);
      done({ tag, encoding, bytes });
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

function unchanged(body: Uint8Array): EncodedBody {
  return { tag: null, encoding: '', bytes: body };
}
