/**
 * What a journal is to the rest of the exchange, whatever keeps it: a chain of batches that grows
 * at its end. journal.ts and reader.ts keep it in SQLite, the files in postgres/ on PostgreSQL.
 *
 * A store of another kind implements these two. It must hold:
 * - `append` reports a batch as committed only when it is on stable storage;
 * - a reader sees a batch only after that, and then sees all before it;
 * - what is read is what was written, or a JournalError names the first sequence that is not
 *   (format.ts has the rules); what cannot be read now is a JournalUnavailable.
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

/** The one writer of a journal. */
export interface CommitLog {
  readonly end: JournalPosition;
  /**
   * Commits the next batch, which must follow `end`, after the previous one is done. `done` is
   * always called later. After the first failure nothing is written any more.
   */
  append(batch: BatchContent, done: CommitDone): void;
  close(): Promise<void>;
  /**
   * Whether no other exchange can have written to the journal, so that what is known of it may be
   * answered. Cheap: asked before each answer. Absent: no other exchange can write to it.
   */
  isSole?(): boolean;
  /** Calls `again` whenever {@link isSole} may be true again. */
  whenSole?(again: () => void): void;
}

/** One of any number of readers, also while the journal grows. */
export interface JournalSource {
  /** Whether the end may be behind what another reader has seen: on a standby, say. */
  readonly mayLag: boolean;
  /** The position after the last batch. */
  end(): Promise<JournalPosition>;
  /** The position after the batch that ends at `sequence`; null: none does. */
  positionAt(sequence: number): Promise<JournalPosition | null>;
  /**
   * The batch that holds `sequence`; null: the journal ends before it. Not while another read of
   * this reader is under way.
   */
  batchWith(sequence: number): Promise<JournalBatch | null>;
  /** The batches after a position, oldest first, up to the end at the time it is reached. */
  batches(after?: JournalPosition): AsyncGenerator<JournalBatch, void, void>;
  close(): Promise<void>;
}
