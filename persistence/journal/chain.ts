/**
 * A fast check of the hash chain over many rows at once: most rows are short, and fetching a row
 * from SQLite costs several times as much as hashing it. SQLite concatenates the rows so that the
 * bytes under each hash (format.ts) are contiguous; the two sequences are written into the unused
 * bytes.
 *
 *   hash of the previous row | 16 unused bytes | digest | records | hash | 16 unused bytes | …
 *
 * Always holds: rows that pass are valid by rules 1 to 4 of the format, except for the journal's
 * end. Rows that do not pass are left to JournalReader's `batches`, which names the damage.
 */
import { hash } from 'node:crypto';
import { putUint64 } from '../storage/bytes.js';
import { HASH_BYTES, type JournalPosition } from './format.js';
import type { Mark } from './head-mark.js';

const GAP_BYTES = 16;
const DIGEST_BYTES = 16;

/** Parameters: the hash before the first row, the first sequence, and the most rows. */
export const JOINED_ROWS_SQL = `SELECT
  CAST(?1 || group_concat(zeroblob(${GAP_BYTES}) || digest || records || hash, '') AS BLOB) AS bytes,
  group_concat(firstSequence || ' ' || lastSequence || ' ' || length(records)) AS heads
  FROM (SELECT * FROM batch WHERE firstSequence >= ?2 ORDER BY firstSequence LIMIT ?3)`;

/** Both are null when there are no rows. */
export interface JoinedRows {
  bytes: Buffer | null;
  /** For each row: first sequence, last sequence, bytes of the records. */
  heads: string | null;
}

/** The total length of some rows. Cheap: SQLite does not read a blob for its length. */
export const MEASURE_SQL = `SELECT total(bytes) AS bytes
  FROM (SELECT length(records) AS bytes FROM batch WHERE firstSequence >= ?1 ORDER BY firstSequence LIMIT ?2)`;

/** The position after the rows, which follow `after`; null: they do not pass the check. */
export function endOfJoined(
  { bytes, heads }: JoinedRows,
  after: JournalPosition,
  mark: Mark | null,
): JournalPosition | null {
  if (bytes === null || heads === null) return null;
  let { sequence } = after;
  let at = 0;
  let digestAt = 0;
  for (const head of heads.split(',')) {
    const [first, last, frameBytes] = head.split(' ').map(Number) as [number, number, number];
    if (first !== sequence + 1 || !(last >= first) || !Number.isSafeInteger(last)) return null;
    const gapAt = at + HASH_BYTES;
    digestAt = gapAt + GAP_BYTES;
    const hashAt = digestAt + DIGEST_BYTES + frameBytes;
    if (!(hashAt + HASH_BYTES <= bytes.length)) return null;
    putUint64(bytes, first, gapAt);
    putUint64(bytes, last, gapAt + 8);
    const expected = hash('sha256', bytes.subarray(at, hashAt), 'buffer');
    if (!expected.equals(bytes.subarray(hashAt, hashAt + HASH_BYTES))) return null;
    const isMarked = mark !== null && mark.sequence > sequence && mark.sequence <= last;
    if (isMarked && (mark.sequence !== last || !mark.hash.equals(expected))) return null;
    sequence = last;
    at = hashAt;
  }
  if (at + HASH_BYTES !== bytes.length) return null;
  const digest = bytes.toString('latin1', digestAt, digestAt + DIGEST_BYTES);
  return { sequence, hash: Buffer.from(bytes.subarray(at)), digest };
}
