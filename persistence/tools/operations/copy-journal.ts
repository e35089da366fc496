/**
 * Copies a journal batch by batch, using only the two interfaces of store.ts.
 *
 * Invariant: the reader verifies each batch's hash before it is appended, and the writer computes
 * the same one, so the copy has the original's chain. A copy that ends within a batch has the
 * original's commands up to that point; a replay computes the digest of its last batch.
 */
import { timeOf } from '../../../engine/interface/command-record.js';
import { RecordBuffer, WORD_BYTES } from '../../../engine/interface/records.js';
import type { BatchContent, JournalPosition } from '../../journal/format.js';
import { recordsIn } from '../../journal/row.js';
import type { CommitLog, JournalBatch, JournalSource } from '../../journal/store.js';
import { JournalFollower } from '../../recovery/recovery.js';
import type { StartingPoint } from '../../recovery/snapshot/load.js';

/** The last command to copy: a sequence, the last one up to a time, or null for all. */
export type CopyEnd = { readonly sequence: number } | { readonly atMs: number } | null;

interface CopyRequest {
  source: JournalSource;
  target: CommitLog;
  upTo?: CopyEnd;
  /** Called if the end is within a batch. Returns an engine at or before the sequence. */
  engineAt: (sequence: number) => Promise<StartingPoint>;
}

/** The target's end must be a position of the source. @throws JournalError for damage. */
export async function copyJournal(request: CopyRequest): Promise<JournalPosition> {
  const { source, target, upTo = null } = request;
  for await (const batch of source.batches(target.end)) {
    const count = countUpTo(batch, upTo);
    if (count === 0) break;
    if (count < batch.lastSequence - batch.firstSequence + 1) {
      await append(target, await beginningOf(batch, count, request));
      break;
    }
    await append(target, batch);
    if (!target.end.hash.equals(batch.hash))
      throw new Error(`the copy has another hash after sequence ${batch.lastSequence}`);
    // The next batch is not read: it may be damaged.
    if (upTo !== null && 'sequence' in upTo && upTo.sequence === batch.lastSequence) break;
  }
  return target.end;
}

/** The `engineAt` of copies of a whole journal, which need no replay. */
export function neverWithinABatch(): never {
  throw new Error('a whole journal ends at a batch');
}

export function append(target: CommitLog, batch: BatchContent): Promise<void> {
  return new Promise((resolve, reject) => {
    target.append(batch, (error) => (error === null ? resolve() : reject(error)));
  });
}

export function lastTimeOf(batch: JournalBatch): number {
  return timeOf(scratch, [...recordsIn(batch, scratch)].at(-1)!);
}

function countUpTo(batch: JournalBatch, upTo: CopyEnd): number {
  const { firstSequence, lastSequence } = batch;
  const all = lastSequence - firstSequence + 1;
  if (upTo === null) return all;
  if ('sequence' in upTo) return Math.max(0, Math.min(all, upTo.sequence - firstSequence + 1));
  let count = 0;
  for (const at of recordsIn(batch, scratch)) {
    if (timeOf(scratch, at) > upTo.atMs) break;
    count++;
  }
  return count;
}

const scratch = new RecordBuffer();

async function beginningOf(
  batch: JournalBatch,
  count: number,
  { source, engineAt }: CopyRequest,
): Promise<BatchContent> {
  const { firstSequence } = batch;
  const { engine, position } = await engineAt(firstSequence - 1);
  const follower = new JournalFollower(engine, position);
  for await (const before of source.batches(position)) {
    if (before.firstSequence === firstSequence) break;
    follower.apply(before);
  }
  const starts = [...recordsIn(batch, scratch)];
  for (const at of starts.slice(0, count)) engine.applyRecord(scratch, at);
  return {
    firstSequence,
    lastSequence: firstSequence + count - 1,
    records: batch.records.subarray(0, starts[count]! * WORD_BYTES),
    digest: engine.digest(),
  };
}
