/** Rules 1 to 3 of the format (format.ts) for one row after another, whatever keeps the rows. */
import { DIGEST_FORM, HASH_BYTES, hashOf, type JournalPosition } from './format.js';
import type { JournalBatch } from './store.js';

/** What is wrong with a row after `after`, as the end of a sentence; null: nothing. */
export function rowProblem(
  batch: JournalBatch,
  after: Pick<JournalPosition, 'sequence' | 'hash'>,
): string | null {
  const expected = after.sequence + 1;
  if (batch.firstSequence !== expected)
    return `is missing; the next one starts at ${batch.firstSequence}`;
  const last = batch.lastSequence;
  if (last < expected || !Number.isSafeInteger(last)) return `ends at ${last}`;
  // If a row's header is damaged, SQLite returns values of other types than the table's.
  const wellTyped = Buffer.isBuffer(batch.records) && Buffer.isBuffer(batch.hash);
  const wellFormed =
    wellTyped && DIGEST_FORM.test(batch.digest) && batch.hash.length === HASH_BYTES;
  if (wellFormed && hashOf(batch, after.hash).equals(batch.hash)) return null;
  return 'is not what was written: its hash does not match (damaged, changed or out of place)';
}
