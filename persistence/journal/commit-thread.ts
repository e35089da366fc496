/**
 * The journal in a thread of its own. The trading thread copies a batch's records into shared
 * memory and sends one message; the other thread hashes, inserts and writes the head mark
 * (journal.ts), and answers with one message. A commit costs the trading thread a copy and two
 * messages instead of a hash, a call into SQLite and two writes.
 *
 * Always holds: as in journal.ts, a batch is reported as committed only when it is on disk and the
 * head mark names it, one batch at a time. After a failure, which includes the end of the thread,
 * nothing is written again, and every later call fails. The folder's lock is held by this side
 * until the thread has ended.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { JournalError } from './errors.js';
import type { FolderLock } from './folder-lock.js';
import { type BatchContent, type JournalPosition, MAX_ROW_BYTES } from './format.js';
import type { CommitDone, Durability, FoundJournal } from './journal.js';

export interface CommitThreadData {
  folder: string;
  durability: Durability;
  found: FoundJournal;
  /** The records of the batch that is being written. */
  memory: SharedArrayBuffer;
}

/** An error as a message: a clone would lose its class, and the code of the operating system. */
export interface Problem {
  isJournalError: boolean;
  message: string;
  code?: string | undefined;
  errno?: number | undefined;
  syscall?: string | undefined;
}

export interface ToCommitThread {
  /** null: close the journal. */
  batch: Omit<BatchContent, 'records'> | null;
  recordBytes: number;
}

/** The answer to the start, to a batch or to the close; null: it went well. */
export type FromCommitThread = Problem | null;

export class CommitThread {
  private failure: JournalError | null = null;
  /** Of the batch that is being written. */
  private done: CommitDone | null = null;
  private writing: Omit<BatchContent, 'records'> | null = null;
  private position: Pick<JournalPosition, 'sequence' | 'digest'>;
  private readonly bytes: Uint8Array;
  private readonly ended: Promise<void>;
  /** Why the journal could not be closed; null: it was, or is open. */
  private closeProblem: Error | null = null;

  private constructor(
    readonly notice: string | null,
    private readonly thread: Worker,
    memory: SharedArrayBuffer,
    end: JournalPosition,
    private readonly lock: FolderLock,
  ) {
    this.position = { sequence: end.sequence, digest: end.digest };
    this.bytes = new Uint8Array(memory);
    thread.on('message', (problem: FromCommitThread) => this.answered(problem));
    thread.on('error', (error) => this.fail(threadEnded(error.message)));
    this.ended = new Promise((resolve) => {
      thread.on('exit', () => {
        this.fail(threadEnded('it has exited'));
        resolve();
      });
    });
  }

  /** Called by DataFolder. The lock is released by `close`. @throws as Journal.open does. */
  static async open(
    folder: string,
    durability: Durability,
    found: FoundJournal,
    lock: FolderLock,
  ): Promise<CommitThread> {
    const memory = new SharedArrayBuffer(MAX_ROW_BYTES);
    const workerData: CommitThreadData = { folder, durability, found, memory };
    const thread = new Worker(workerUrl(), { workerData });
    const [problem] = (await once(thread, 'message')) as [FromCommitThread];
    if (problem === null) return new CommitThread(found.notice, thread, memory, found.end, lock);
    await once(thread, 'exit');
    throw errorOf(problem);
  }

  get end(): Pick<JournalPosition, 'sequence' | 'digest'> {
    return this.position;
  }

  /** As Journal.append: one batch at a time, and `done` is called later. */
  append(batch: BatchContent, done: CommitDone): void {
    if (this.failure !== null) throw this.failure;
    if (this.done !== null) throw new Error('a batch is still being written');
    const { firstSequence, lastSequence, records, digest } = batch;
    if (records.length > MAX_ROW_BYTES) throw new RangeError(`a batch of ${records.length} bytes`);
    this.bytes.set(records);
    this.done = done;
    this.writing = { firstSequence, lastSequence, digest };
    this.send({ batch: this.writing, recordBytes: records.length });
  }

  /** Ends the thread and releases the folder. Not while a batch is being written. */
  async close(): Promise<void> {
    if (this.done !== null)
      throw new Error('the journal cannot be closed while a batch is being written');
    this.failure ??= new JournalError('the journal is closed', null);
    this.send({ batch: null, recordBytes: 0 });
    try {
      await this.ended;
    } finally {
      await this.lock.release();
    }
    if (this.closeProblem !== null) throw this.closeProblem;
  }

  private send(message: ToCommitThread): void {
    this.thread.postMessage(message);
  }

  private answered(problem: FromCommitThread): void {
    if (this.writing === null) {
      if (problem !== null) this.closeProblem = errorOf(problem);
    } else if (problem !== null) this.fail(errorOf(problem));
    else {
      const { lastSequence: sequence, digest } = this.writing;
      this.position = { sequence, digest };
      this.report(null);
    }
  }

  private fail(error: Error): void {
    this.failure ??= error instanceof JournalError ? error : failedIn(error);
    if (this.done !== null) this.report(this.failure);
  }

  private report(error: JournalError | null): void {
    const done = this.done!;
    this.done = null;
    this.writing = null;
    done(error);
  }
}

function threadEnded(why: string): JournalError {
  return new JournalError(`the thread that writes the journal has ended: ${why}`, null);
}

function failedIn(error: Error): JournalError {
  return new JournalError(`the thread that writes the journal has failed: ${error.message}`, null);
}

export function problemOf(error: unknown): Problem {
  const { message, code, errno, syscall } = error as NodeJS.ErrnoException;
  return { isJournalError: error instanceof JournalError, message, code, errno, syscall };
}

function errorOf({ isJournalError, message, ...details }: Problem): Error {
  if (isJournalError) return new JournalError(message, null);
  return Object.assign(new Error(message), details);
}

/** The compiled thread, also when tests run this file as source: Node.js 20 runs no TypeScript. */
function workerUrl(): URL {
  const { url } = import.meta;
  const compiled = '../../dist/persistence/journal/commit-worker.js';
  return new URL(url.endsWith('.ts') ? compiled : './commit-worker.js', url);
}
