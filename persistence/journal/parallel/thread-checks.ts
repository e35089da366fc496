/**
 * The checks of segments (reader.ts) in other threads, one segment at a time in each: what has been
 * read for the rows is still in the page cache for SQLite's structure and the file's hash.
 *
 * Always holds: each check answers as it does in this thread, whatever the order in which the
 * threads come to an end. The reader asks in the order of the segments, so it meets the same
 * failure first. A thread holds a page of rows, so memory is bounded by the number of threads.
 */
import { Worker } from 'node:worker_threads';
import { fileHash } from '../../storage/files.js';
import { compiledFile } from '../../storage/program-folder.js';
import type { JournalPosition } from '../format.js';
import type { Mark } from '../head-mark.js';
import type { SegmentChecks } from '../reader.js';
import type { SegmentReader } from '../segment-reader.js';
import type { Segment } from '../segments.js';
import {
  type Checked,
  errorOf,
  type SegmentAnswer,
  type SegmentTask,
  type ThreadTasks,
} from './messages.js';

interface Waiting {
  answer: Promise<SegmentAnswer>;
  settle: (answer: SegmentAnswer) => void;
  fail: (error: Error) => void;
}

export class ThreadChecks implements SegmentChecks {
  /** By number of the segment. */
  private readonly waiting = new Map<number, Waiting>();
  private readonly next = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  private readonly ends: Promise<void>[] = [];

  constructor(private readonly threads: number) {}

  begin(readers: readonly SegmentReader[], mark: Mark | null): void {
    const tasks = readers.map(({ segment, head }, i): SegmentTask => {
      const isSealed = (readers[i + 1]?.head.previousFile ?? null) !== null;
      return { segment, previous: head.previous, mark, isSealed };
    });
    for (const { segment } of tasks) this.waiting.set(segment.number, waitingAnswer());
    const workerData: ThreadTasks = { tasks, next: this.next };
    const count = Math.min(this.threads, tasks.length);
    for (let i = 0; i < count; i++) this.ends.push(this.start(workerData));
  }

  async provenEnd(reader: SegmentReader): Promise<JournalPosition> {
    const answer = await this.answerFor(reader.segment);
    if (answer === null) return reader.provenEnd();
    const { sequence, hash, digest } = unwrap(answer.end);
    return { sequence, hash: Buffer.from(hash), digest };
  }

  async checkStructure(reader: SegmentReader, end: number): Promise<void> {
    const answer = await this.answerFor(reader.segment);
    if (answer === null) return reader.checkStructure(end);
    unwrap(answer.structure!);
  }

  /** Those that were not sealed when the threads began are hashed here. */
  async fileHash(segment: Segment): Promise<Buffer> {
    const answer = await this.answerFor(segment);
    const outcome = answer?.fileHash ?? null;
    return outcome === null ? fileHash(segment.path) : Buffer.from(unwrap(outcome));
  }

  /** Begins no further segment, and resolves when the threads have ended. */
  async close(): Promise<void> {
    Atomics.store(new Int32Array(this.next), 0, this.waiting.size);
    await Promise.all(this.ends);
  }

  /** null: another segment than those at the beginning. */
  private async answerFor({ number }: Segment): Promise<SegmentAnswer | null> {
    return this.waiting.get(number)?.answer ?? null;
  }

  /** Resolves when the thread has ended. */
  private start(workerData: ThreadTasks): Promise<void> {
    const worker = new Worker(compiledFile('persistence/journal/parallel/worker.js'), {
      workerData,
    });
    worker.on('message', (answer: SegmentAnswer) =>
      this.waiting.get(answer.number)!.settle(answer),
    );
    worker.on('error', (error) => this.failAll(error));
    return new Promise((resolve) => {
      worker.on('exit', (code) => {
        if (code !== 0) this.failAll(new Error('a thread that checks segments has ended'));
        resolve();
      });
    });
  }

  private failAll(error: Error): void {
    for (const { fail } of this.waiting.values()) fail(error);
  }
}

function waitingAnswer(): Waiting {
  let settle: Waiting['settle'];
  let fail: Waiting['fail'];
  const answer = new Promise<SegmentAnswer>((resolve, reject) => {
    settle = resolve;
    fail = reject;
  });
  // Nobody asks for it if an earlier segment is damaged.
  answer.catch(() => {});
  return { answer, settle: settle!, fail: fail! };
}

function unwrap<Value>(part: Checked<Value>): Value {
  if ('value' in part) return part.value;
  throw errorOf(part.failure);
}
