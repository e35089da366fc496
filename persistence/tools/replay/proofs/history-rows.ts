/**
 * The rows of the files of a history in key order, and the entries of its runs in list order, for
 * the comparison with a replay (history.ts). Reads one page at a time, which bounds memory.
 */
import type sqlite3 from 'sqlite3';
import {
  KEPT,
  LISTS,
  type ListLayout,
  MARKET,
  ORDER_END,
  PROGRESS,
  type ValueTable,
} from '../../../history/runs/format.js';
import { type RunRow, readRun, selectRuns } from '../../../history/runs/reader.js';
import { query } from '../../../storage/sqlite.js';

const PAGE_ROWS = 2_000;
const PAGE_RUNS = 100;

/** The values of a list entry or a table row, by column. */
export type Row = Record<string, number | string>;

export interface ComparedTable {
  name: string;
  /** Name of the SQLite table. */
  table: string;
  /** @throws HistoryDamage at a run that differs from what was written. */
  rows(database: sqlite3.Database): AsyncGenerator<Row, void>;
}

/** The compared tables of a sealed part, a pruned part, the catalogue and an open part. */
export const OF_SEALED: readonly ComparedTable[] = LISTS.map(listOf);
export const OF_PRUNED: readonly ComparedTable[] = KEPT.map(listOf);
export const OF_CATALOGUE: readonly ComparedTable[] = [tableOf(MARKET)];
export const OF_OPEN: readonly ComparedTable[] = [...OF_SEALED, ...OF_CATALOGUE, tableOf(PROGRESS)];

function listOf(layout: ListLayout): ComparedTable {
  const { name, key, list } = layout;
  const keys = 'list, id, firstOrdinal';
  const keysOf = ({ id, firstOrdinal }: RunRow) => [list, id, firstOrdinal];
  const rows = async function* (database: sqlite3.Database) {
    const options = { keys, keysOf, after: [list, -1, 0], pageRows: PAGE_RUNS };
    let last: Row = {};
    for await (const run of inPages(database, `${selectRuns()} WHERE list = ${list} AND`, options))
      for (const entry of readRun<ListLayout>(layout, run)) {
        // Where the ordinals have gaps, sealing closes them.
        if (list === ORDER_END.list)
          entry['ordinal'] = last[key] === entry[key] ? (last['ordinal'] as number) + 1 : 1;
        last = entry;
        yield entry;
      }
  };
  return { name, table: 'run', rows };
}

function tableOf({ name, key }: ValueTable): ComparedTable {
  const keysOf = (row: Row) => [row[key] as number];
  const options = { keys: key, keysOf, after: [-1], pageRows: PAGE_ROWS };
  const rows = async function* (database: sqlite3.Database) {
    const select = `SELECT * FROM ${name} WHERE`;
    for await (const { value, ...row } of inPages<Row>(database, select, options))
      yield { ...row, ...JSON.parse(String(value)) };
  };
  return { name, table: name, rows };
}

/** The rows of a query, ordered by `keys`. @param select up to a condition. */
async function* inPages<Found>(
  database: sqlite3.Database,
  select: string,
  options: { keys: string; keysOf: (row: Found) => number[]; after: number[]; pageRows: number },
): AsyncGenerator<Found, void> {
  const { keys, keysOf, pageRows } = options;
  for (let after = options.after; ; ) {
    const where = `(${keys}) > (${after.map(() => '?').join(', ')})`;
    const sql = `${select} ${where} ORDER BY ${keys} LIMIT ${pageRows}`;
    const page = await query<Found>(database, sql, after);
    yield* page;
    if (page.length < pageRows) return;
    after = keysOf(page.at(-1)!);
  }
}
