/**
 * The lengths of the lists, stored so that startup need not count entries: in the catalogue as of
 * the beginning of the open part; in that part, from time to time, the current ones.
 *
 * Invariant: the stored lengths of a list count its runs up to a rowid that is stored with them,
 * and no run after it. Startup adds the runs after that.
 */
import type sqlite3 from 'sqlite3';
import { MAX_USERS } from '../../../engine/interface/limits.js';
import { query } from '../../storage/sqlite.js';
import { ListCounts, type ListLengths, lengthsOf, MEASURED } from '../lists.js';
import { checkedValue, HistoryDamage, putValue, selectValues, type ValueRow } from '../rows.js';
import { LIST_LENGTH } from './format.js';

interface Added {
  list: number;
  id: number;
  count: number;
  first: number;
  last: number;
}

/**
 * The lengths of the lists at the end of the open part, how many runs were counted for them, and
 * its last run.
 * @throws HistoryDamage when stored lengths, or the runs after them, are not what was written.
 */
export async function readLengths(
  catalogue: sqlite3.Database,
  open: sqlite3.Database,
): Promise<{ lengths: ListLengths; runs: number; lastRow: number }> {
  const found = new Map<number, ListCounts>();
  let row = 0;
  for (const database of [catalogue, open]) {
    const rows = await query<ValueRow<Buffer>>(database, selectValues(LIST_LENGTH));
    for (const each of rows) {
      const { buffer } = new Uint8Array(checkedValue(LIST_LENGTH, each));
      row = new Float64Array(buffer, 0, 1)[0]!;
      found.set(each.key, ListCounts.from(new Uint32Array(buffer, 8)));
    }
  }
  const lengths = lengthsOf(({ list }) => found.get(list) ?? new ListCounts());
  const { lastRow, runs } = await addRunsAfter(open, row, lengths);
  return { lengths, lastRow, runs };
}

/**
 * Returns the number of lists whose lengths were written. @param row the last run that they count;
 * 0: of the parts before this one.
 */
export async function writeLengths(
  database: sqlite3.Database,
  lengths: ListLengths,
  row: number,
): Promise<number> {
  let lists = 0;
  for (const { name, list } of MEASURED) {
    const counts = lengths[name].toArray();
    const value = Buffer.alloc(8 + counts.byteLength);
    value.writeDoubleLE(row);
    value.set(new Uint8Array(counts.buffer), 8);
    await putValue(database, LIST_LENGTH, list, value);
    lists += counts.length;
  }
  return lists;
}

/** Reads only the end of the table, where runs are in the order of writing. */
async function addRunsAfter(open: sqlite3.Database, row: number, lengths: ListLengths) {
  const [end] = await query<{ lastRow: number | null }>(
    open,
    'SELECT max(rowid) AS lastRow FROM run',
  );
  const lastRow = end!.lastRow ?? 0;
  const sql = `SELECT list, id, sum(count) AS count, min(firstOrdinal) AS first, max(firstOrdinal + count - 1) AS last
    FROM run NOT INDEXED WHERE rowid > ? AND rowid <= ? GROUP BY list, id`;
  const layouts = new Map<number, (typeof MEASURED)[number]>(
    MEASURED.map((layout) => [layout.list, layout]),
  );
  for (const { list, id, count, first, last } of await query<Added>(open, sql, [row, lastRow])) {
    const layout = layouts.get(list);
    if (layout === undefined) continue;
    const counts = lengths[layout.name];
    const before = counts.of(id);
    if (id < 0 || id > MAX_USERS || first !== before + 1 || last !== before + count) {
      const what = `after ${before} entries the list has ${count}, numbered from ${first} to ${last}`;
      throw new HistoryDamage(layout.name, `${layout.key} ${id}`, what);
    }
    counts.set(id, last);
  }
  return { lastRow, runs: lastRow - row };
}
