/**
 * The interface of a journal to the rest of the exchange: a chain of batches that grows at its end.
 * journal.ts and reader.ts implement it with SQLite, the files in postgres/ with PostgreSQL.
 *
 * Every implementation must ensure:
 * - `append` reports a batch as committed only when it is on stable storage;
 * - a reader sees a batch only after that, and then sees all batches before it;
 * - a reader returns what was written, or a JournalError names the first sequence that differs
 *   (format.ts has the rules); if it cannot read now, it throws JournalUnavailable.
 */
import type { JournalError } from './errors.js';
import { type BatchContent, type JournalPosition, MAX_ROW_BYTES } from './format.js';

export interface JournalBatch extends BatchContent {
  /** The hash over the batch and all before it. */
  hash: Buffer;
}

export function positionAfter({ lastSequence, hash, digest }: JournalBatch): JournalPosition {
  return { sequence: lastSequence, hash, digest };
}

/** @throws RangeError for a batch that cannot be appended after `end`. */
export function mustBeNext(batch: BatchContent, end: JournalPosition): void {
  const { firstSequence, lastSequence, records } = batch;
  const isNext = firstSequence === end.sequence + 1 && lastSequence >= firstSequence;
  if (!isNext || !Number.isSafeInteger(lastSequence))
    throw new RangeError(`${firstSequence} to ${lastSequence} does not follow ${end.sequence}`);
  if (records.length > MAX_ROW_BYTES) throw new RangeError(`a batch of ${records.length} bytes`);
}

export type CommitDone = (error: JournalError | null) => void;

export interface CommitLog {
  readonly end: JournalPosition;
  /** `batch` follows `end`. `done` is called later. After a failure nothing more is written. */
  append(batch: BatchContent, done: CommitDone): void;
  close(): Promise<void>;
  /**
   * Whether no other exchange can have written. While false, nothing known may be sent. Without
   * this method, no other exchange can write.
   */
  isSole?(): boolean;
  /** Calls `again` whenever {@link isSole} may be true again. */
  whenSole?(again: () => void): void;
}

/** One of any number of readers, which may read while the journal grows. */
export interface JournalSource {
  /** Whether the end may be behind another reader's: on a standby, say. */
  readonly mayLag: boolean;
  end(): Promise<JournalPosition>;
  positionAt(sequence: number): Promise<JournalPosition | null>;
  /**
   * The batch with this command; null if the journal ends before it. Not during another read of
   * this reader.
   */
  batchWith(sequence: number): Promise<JournalBatch | null>;
  /** The batches after a position, oldest first, up to the journal's end when it is reached. */
  batches(after?: JournalPosition): AsyncGenerator<JournalBatch, void, void>;
  close(): Promise<void>;
}
