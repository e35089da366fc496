/**
 * The lengths of the lists, kept in the table listLength so that a start need not count entries: in
 * the catalogue the lengths at the beginning of the open part, in that part the lengths that have
 * changed since.
 *
 * Always holds: in a part, each list's row of chunk LAST_ROW names the last run that its stored
 * lengths count, and lengths and row are written in one transaction, in which no run is. A start
 * adds the runs after that row: about RUNS_BETWEEN at most or, with many users, an eighth as many
 * as lists.
 */
import type sqlite3 from 'sqlite3';
import { MAX_USERS } from '../../../engine/interface/limits.js';
import { execute, query } from '../../storage/sqlite.js';
import { ListCounts, type ListLengths, lengthsOf, MEASURED } from '../lists.js';
import { HistoryDamage } from '../rows.js';
import { type ListLayout, lengthsChecksum } from './format.js';

/** How many runs are written before the lengths are stored again. */
const RUNS_BETWEEN = 50_000;
const LISTS_PER_RUN = 8;
/** The row that is not a chunk: the rowid of a run, as a 64-bit float. */
const LAST_ROW = -1;

interface ChunkRow {
  chunk: number;
  counts: Buffer;
  checksum: number;
}

/** Whether so many runs have been written that the lengths should be stored. */
export function areLengthsDue(runs: number, lengths: ListLengths): boolean {
  if (runs < RUNS_BETWEEN) return false;
  const lists = MEASURED.reduce((sum, { name }) => sum + lengths[name].idCount, 0);
  return runs >= lists / LISTS_PER_RUN;
}

/** Stores what has changed since the last call. `lengths` count all runs in the database. */
export async function writeLengths(
  database: sqlite3.Database,
  lengths: ListLengths,
): Promise<void> {
  await execute(database, 'BEGIN IMMEDIATE');
  for (const { name, tag } of MEASURED) {
    const lastRow = `SELECT max(rowid) AS last FROM ${name}`;
    const [row] = await query<{ last: number | null }>(database, lastRow);
    const put = async (chunk: number, values: Float64Array | Uint32Array) => {
      const counts = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
      const checksum = lengthsChecksum(tag, chunk, counts);
      const sql = 'REPLACE INTO listLength VALUES (?, ?, ?, ?)';
      await query(database, sql, [tag, chunk, counts, checksum]);
    };
    for (const chunk of lengths[name].changedChunks) await put(chunk, lengths[name].chunk(chunk));
    await put(LAST_ROW, Float64Array.of(row!.last ?? 0));
  }
  await execute(database, 'COMMIT');
  for (const { name } of MEASURED) lengths[name].stored();
}

/**
 * The lengths, and how many runs were counted for them.
 * @param sequence that the open part has reached. There are fewer blocks of orders.
 * @throws HistoryDamage when stored lengths, or the runs after them, are not what was written.
 */
export async function readLengths(
  catalogue: sqlite3.Database,
  open: sqlite3.Database,
  { sequence }: { sequence: number },
): Promise<{ lengths: ListLengths; runs: number }> {
  const lengths = lengthsOf(() => new ListCounts());
  const idMax = Math.max(MAX_USERS, sequence);
  let runs = 0;
  for (const layout of MEASURED) {
    const counts = lengths[layout.name];
    await readStored(catalogue, layout, counts);
    const after = await readStored(open, layout, counts);
    for (const added of await runsAfter(open, layout, after)) {
      addRuns(layout, counts, added, idMax);
      runs += added.runs;
    }
  }
  return { lengths, runs };
}

/** Returns the rowid of the last run that the stored lengths count; 0: none is stored. */
async function readStored(
  database: sqlite3.Database,
  { tag, name }: ListLayout,
  counts: ListCounts,
): Promise<number> {
  const sql = 'SELECT chunk, counts, checksum FROM listLength WHERE tag = ?';
  let last = 0;
  for (const { chunk, counts: bytes, checksum } of await query<ChunkRow>(database, sql, [tag])) {
    const isWritten = Buffer.isBuffer(bytes) && lengthsChecksum(tag, chunk, bytes) === checksum;
    if (!isWritten)
      throw new HistoryDamage('listLength', `${name} ${chunk}`, 'it is not what was written');
    const { buffer } = new Uint8Array(bytes);
    if (chunk === LAST_ROW) last = new Float64Array(buffer)[0]!;
    else counts.setChunk(chunk, new Uint32Array(buffer));
  }
  return last;
}

interface Added {
  id: number;
  runs: number;
  count: number;
  first: number;
  last: number;
}

/** Reads only the end of the table, where runs are in the order of writing. */
function runsAfter(
  database: sqlite3.Database,
  { name, key }: ListLayout,
  row: number,
): Promise<Added[]> {
  const sql = `SELECT ${key} AS id, count(*) AS runs, sum(count) AS count,
    min(firstOrdinal) AS first, max(firstOrdinal + count - 1) AS last FROM ${name} NOT INDEXED WHERE rowid > ? GROUP BY ${key}`;
  return query<Added>(database, sql, [row]);
}

function addRuns(
  { name, key }: ListLayout,
  counts: ListCounts,
  { id, count, first, last }: Added,
  idMax: number,
): void {
  const before = counts.of(id);
  if (id >= 0 && id <= idMax && first === before + 1 && last === before + count) {
    counts.set(id, last);
    return;
  }
  const what = `after ${before} entries the list has ${count}, numbered from ${first} to ${last}`;
  throw new HistoryDamage(name, `${key} ${id}`, what);
}
