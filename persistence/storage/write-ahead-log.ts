/**
 * What is in a write-ahead log of SQLite, read without SQLite, which would change or delete it.
 *
 * The log has a head of 32 bytes and frames; a frame has a head of 24 bytes and a page. See
 * https://www.sqlite.org/fileformat2.html, "The Write-Ahead Log" and "B-tree Pages".
 */

const HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;
const PAGE_BYTES_AT = 8;
const SMALLEST_PAGE = 512;
/** Has the schema. */
const FIRST_PAGE = 1;
/** Of the head of a page: its kind, and how many cells it has. */
const CELLS_AT = 3;
const INNER_PAGES = [2, 5];
const LEAF_PAGES = [10, 13];

/**
 * Whether any page in a log has a row of a table or an entry of an index. Frames that a crash has
 * left unfinished count, too, so some of these rows may never have been committed.
 */
export function hasRows(log: Buffer): boolean {
  if (log.length < HEAD_BYTES) return false;
  const pageBytes = log.readUInt32BE(PAGE_BYTES_AT);
  if (pageBytes < SMALLEST_PAGE) return false;
  const frameBytes = FRAME_HEAD_BYTES + pageBytes;
  for (let at = HEAD_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    const page = at + FRAME_HEAD_BYTES;
    const kind = log.readUInt8(page);
    const isFilled =
      INNER_PAGES.includes(kind) ||
      (LEAF_PAGES.includes(kind) && log.readUInt16BE(page + CELLS_AT) > 0);
    if (isFilled && log.readUInt32BE(at) !== FIRST_PAGE) return true;
  }
  return false;
}
