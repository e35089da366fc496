/**
 * The rows of the files of a history in key order, and the entries of its runs in list order, for
 * the comparison with a replay (history.ts). Reads one page at a time, which bounds memory.
 */
import type sqlite3 from 'sqlite3';
import { AMENDED_ORDER, LISTS, type ListLayout, MARKET } from '../../../history/runs/format.js';
import { type RunRow, readRun, selectRuns } from '../../../history/runs/reader.js';
import { query } from '../../../storage/sqlite.js';

const PAGE_ROWS = 2_000;
const PAGE_RUNS = 100;

/** The values of a list entry or a table row, by column. */
export type Row = Record<string, number | Buffer>;

export interface ComparedTable {
  name: string;
  keys: readonly string[];
  /** The word used in findings. */
  of: 'entry' | 'row';
  /** @throws HistoryDamage at a run that differs from what was written. */
  rows(database: sqlite3.Database): AsyncGenerator<Row, void>;
}

/** The tables of a sealed part, of the catalogue, and of an open part, that are compared. */
export const OF_SEALED: readonly ComparedTable[] = [
  ...LISTS.map(listOf),
  tableOf(AMENDED_ORDER.name, [AMENDED_ORDER.key]),
];
export const OF_CATALOGUE: readonly ComparedTable[] = [
  tableOf(MARKET.name, [MARKET.key]),
  tableOf('marketPrices', ['marketId']),
];
export const OF_OPEN: readonly ComparedTable[] = [
  ...OF_SEALED,
  ...OF_CATALOGUE,
  tableOf('progress', ['id']),
];

function listOf(layout: ListLayout): ComparedTable {
  const { name, key } = layout;
  const keys = `${key}, firstOrdinal`;
  const keysOf = ({ id, firstOrdinal }: RunRow) => [id, firstOrdinal];
  const rows = async function* (database: sqlite3.Database) {
    const runs = inPages(database, selectRuns(layout), { keys, keysOf, pageRows: PAGE_RUNS });
    for await (const run of runs) yield* readRun(layout, run);
  };
  return { name, keys: [key, 'ordinal'], of: 'entry', rows };
}

function tableOf(name: string, keys: readonly string[]): ComparedTable {
  const keysOf = (row: Row) => keys.map((key) => row[key]!);
  const options = { keys: keys.join(', '), keysOf, pageRows: PAGE_ROWS };
  const rows = (database: sqlite3.Database) =>
    inPages<Row>(database, `SELECT * FROM ${name}`, options);
  return { name, keys, of: 'row', rows };
}

/** The rows of a query without conditions, ordered by `keys`. */
async function* inPages<Found>(
  database: sqlite3.Database,
  select: string,
  options: { keys: string; keysOf: (row: Found) => (number | Buffer)[]; pageRows: number },
): AsyncGenerator<Found, void> {
  const { keys, keysOf, pageRows } = options;
  for (let after: (number | Buffer)[] = []; ; ) {
    const where =
      after.length === 0 ? '' : `WHERE (${keys}) > (${after.map(() => '?').join(', ')})`;
    const sql = `${select} ${where} ORDER BY ${keys} LIMIT ${pageRows}`;
    const page = await query<Found>(database, sql, after);
    yield* page;
    if (page.length < pageRows) return;
    after = keysOf(page.at(-1)!);
  }
}
