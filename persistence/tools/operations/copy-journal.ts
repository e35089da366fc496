/**
 * Copies a journal batch by batch, using only the two interfaces of store.ts.
 *
 * Invariant: the reader verifies each batch's hash before it is appended, and the writer computes
 * the same one, so the copy has the original's chain. A copy ends at the end of a batch.
 */
import { timeOf } from '../../../engine/interface/command-record.js';
import { RecordBuffer } from '../../../engine/interface/records.js';
import type { BatchContent, JournalPosition } from '../../journal/format.js';
import { recordsIn } from '../../journal/row.js';
import type { CommitLog, JournalBatch, JournalSource } from '../../journal/store.js';

/** The point up to which batches are copied: a sequence, a time, or null for all. */
export type CopyEnd = { readonly sequence: number } | { readonly atMs: number } | null;

/** The target's end must be a position of the source. @throws JournalError for damage. */
export async function copyJournal(
  source: JournalSource,
  target: CommitLog,
  upTo: CopyEnd = null,
): Promise<JournalPosition> {
  for await (const batch of source.batches(target.end)) {
    if (!isUpTo(batch, upTo)) break;
    await appendCopy(target, batch);
    // The next batch is not read: it may be damaged.
    if (upTo !== null && 'sequence' in upTo && upTo.sequence === batch.lastSequence) break;
  }
  return target.end;
}

function isUpTo(batch: JournalBatch, upTo: CopyEnd): boolean {
  if (upTo === null) return true;
  if ('sequence' in upTo) return batch.lastSequence <= upTo.sequence;
  return lastTimeOf(batch) <= upTo.atMs;
}

export async function appendCopy(target: CommitLog, batch: JournalBatch): Promise<void> {
  await append(target, batch);
  if (!target.end.hash.equals(batch.hash))
    throw new Error(`the copy has another hash after sequence ${batch.lastSequence}`);
}

export function append(target: CommitLog, batch: BatchContent): Promise<void> {
  return new Promise((resolve, reject) => {
    target.append(batch, (error) => (error === null ? resolve() : reject(error)));
  });
}

export function lastTimeOf(batch: JournalBatch): number {
  return timeOf(scratch, [...recordsIn(batch, scratch)].at(-1)!);
}

const scratch = new RecordBuffer();
