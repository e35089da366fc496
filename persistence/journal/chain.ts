/**
 * Many rows of a journal in one piece, to check their hashes quickly: a journal has a row per commit, most of them short,
 * and to take each out of SQLite as values of its own costs several times as much as to hash it.
 *
 * SQLite joins the rows so that the bytes that a hash is over (journal-format.ts) lie side by side:
 *
 *   hash of the row before | 16 bytes of room | digest | frames | hash | 16 bytes of room | digest | …
 *
 * The two sequences are written into the room. Always holds: rows that this finds good are good by the format's rules 1 to
 * 4, but for the journal's end. Rows that it does not find good may be anything; JournalReader's `batches` then says what they are.
 */
import { hash } from 'node:crypto';
import { putUint64 } from '../storage/bytes.js';
import type { JournalPosition } from './format.js';
import { HASH_BYTES } from './format.js';
import type { Mark } from './head-mark.js';

const ROOM_BYTES = 16;
const DIGEST_BYTES = 16;

/** Takes the hash before the first row, the first sequence, and the most rows. */
export const JOINED_ROWS_SQL = `SELECT
  CAST(?1 || group_concat(zeroblob(${ROOM_BYTES}) || digest || frames || hash, '') AS BLOB) AS bytes,
  group_concat(firstSequence || ' ' || lastSequence || ' ' || length(frames)) AS heads
  FROM (SELECT * FROM batch WHERE firstSequence >= ?2 ORDER BY firstSequence LIMIT ?3)`;

/** Both are null when there are no rows. */
export interface JoinedRows {
  bytes: Buffer | null;
  /** Of each row: first sequence, last sequence, bytes of the frames. */
  heads: string | null;
}

/** How long so many rows are together. Costs little: SQLite does not read frames for their length. */
export const MEASURE_SQL = `SELECT total(bytes) AS bytes
  FROM (SELECT length(frames) AS bytes FROM batch WHERE firstSequence >= ?1 ORDER BY firstSequence LIMIT ?2)`;

/** Where the journal stands after the rows, which follow `after`; null: something about them is not as it should be. */
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
    const roomAt = at + HASH_BYTES;
    digestAt = roomAt + ROOM_BYTES;
    const hashAt = digestAt + DIGEST_BYTES + frameBytes;
    if (!(hashAt + HASH_BYTES <= bytes.length)) return null;
    putUint64(bytes, first, roomAt);
    putUint64(bytes, last, roomAt + 8);
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
