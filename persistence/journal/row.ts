/**
 * Rows in any store: rules 1 to 3 of the format (format.ts) for consecutive rows, and their
 * records.
 */
import { checkRecord } from '../../engine/interface/record-check.js';
import { type RecordBuffer, RecordError } from '../../engine/interface/records.js';
import { JournalError } from './errors.js';
import { DIGEST_FORM, HASH_BYTES, hashOf, type JournalPosition } from './format.js';
import type { JournalBatch } from './store.js';

export type RowBefore = Pick<JournalPosition, 'sequence' | 'hash'>;

/**
 * The problem of a row that should follow `after`, as the end of a sentence; null if there is none.
 */
export function rowProblem(batch: JournalBatch, after: RowBefore): string | null {
  const expected = after.sequence + 1;
  if (batch.firstSequence !== expected)
    return `is missing; the next batch starts at ${batch.firstSequence}`;
  const last = batch.lastSequence;
  if (last < expected || !Number.isSafeInteger(last)) return `ends at ${last}`;
  // If a row's header is damaged, SQLite may return values of the wrong types.
  const wellTyped =
    Buffer.isBuffer(batch.records) &&
    Buffer.isBuffer(batch.hash) &&
    typeof batch.digest === 'string';
  const wellFormed =
    wellTyped && DIGEST_FORM.test(batch.digest) && batch.hash.length === HASH_BYTES;
  if (wellFormed && hashOf(batch, after.hash).equals(batch.hash)) return null;
  return 'is not what was written: its hash does not match (damaged, changed or out of place)';
}

/**
 * The batches after a position. The next page is read while the current one is used, so at most two
 * pages are in memory.
 * @param page returns the batches from a sequence on; empty at the end
 * @param check throws for a batch that does not follow the position
 */
export async function* readAhead(
  after: JournalPosition,
  page: (from: number) => Promise<JournalBatch[]>,
  check: (batch: JournalBatch, after: RowBefore) => void,
): AsyncGenerator<JournalBatch, void, void> {
  let { sequence, hash } = after;
  let next = page(sequence + 1);
  try {
    for (;;) {
      const batches = await next;
      if (batches.length === 0) break;
      // If the last row is damaged, its end is wrong, but the damage is found before the next page
      // is used.
      next = page(batches.at(-1)!.lastSequence + 1);
      next.catch(() => {});
      for (const batch of batches) {
        check(batch, { sequence, hash });
        ({ lastSequence: sequence, hash } = batch);
        yield batch;
      }
    }
  } finally {
    // When the caller continues or closes the journal, no read may be under way.
    await next.catch(() => {});
  }
}

/** Loads the batch into `records`. @throws JournalError at the first record that is damaged. */
export function* recordsIn(
  batch: JournalBatch,
  records: RecordBuffer,
): Generator<number, void, void> {
  let sequence = batch.firstSequence;
  try {
    records.load(batch.records);
    for (let at = 0; at < records.length; sequence++) {
      const next = checkRecord(records, at);
      yield at;
      at = next;
    }
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    const what = `the command at sequence ${sequence} cannot be decoded: ${error.message}`;
    throw new JournalError(what, sequence, error);
  }
}
