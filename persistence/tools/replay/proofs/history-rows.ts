/**
 * The rows of a history.db in key order, and the entries of its runs in list order, for the
 * comparison with a replay (history.ts). Reads a page at a time, which bounds memory.
 */
import type sqlite3 from 'sqlite3';
import { HistoryDamage } from '../../../history/rows.js';
import { LISTS, type ListLayout, MARKET, RUN_ENTRIES } from '../../../history/runs/format.js';
import { type RunRow, readRun, selectRuns } from '../../../history/runs/reader.js';
import { query } from '../../../storage/sqlite.js';

const PAGE_ROWS = 2_000;
const PAGE_RUNS = 100;

/** The values of a list entry or a table row, by column. */
export type Row = Record<string, number | Buffer>;

/** An entry of a damaged run. `what` is the problem in its first entry, and '' in the others. */
export class DamagedEntry {
  constructor(
    readonly entry: Row,
    readonly what: string,
  ) {}
}

export interface ComparedTable {
  name: string;
  keys: readonly string[];
  /** The word for findings. */
  of: 'entry' | 'row';
  open(database: sqlite3.Database): RowReader;
}

export const COMPARED: readonly ComparedTable[] = [
  ...LISTS.map(listOf),
  tableOf(MARKET.name, [MARKET.key]),
  tableOf('marketPrices', ['marketId']),
  tableOf('progress', ['id']),
];

function listOf(layout: ListLayout): ComparedTable {
  const { name, key } = layout;
  const open = (database: sqlite3.Database) => new RowReader(pagesOfEntries(database, layout));
  return { name, keys: [key, 'ordinal'], of: 'entry', open };
}

function tableOf(name: string, keys: readonly string[]): ComparedTable {
  const keysOf = (row: Row) => keys.map((key) => row[key]!);
  const options = { keys: keys.join(', '), keysOf, pageRows: PAGE_ROWS };
  const open = (database: sqlite3.Database) =>
    new RowReader(pagesOf<Row>(database, `SELECT * FROM ${name}`, options));
  return { name, keys, of: 'row', open };
}

export class RowReader {
  private page: (Row | DamagedEntry)[] = [];
  private at = 0;

  constructor(private readonly pages: AsyncIterator<(Row | DamagedEntry)[], void>) {}

  async head(): Promise<Row | DamagedEntry | null> {
    while (this.at === this.page.length) {
      const { done, value } = await this.pages.next();
      if (done) return null;
      this.page = value;
      this.at = 0;
    }
    return this.page[this.at]!;
  }

  next(): void {
    this.at++;
  }
}

/** The rows of a query without conditions, in the order of `keys`. */
async function* pagesOf<Found>(
  database: sqlite3.Database,
  select: string,
  options: { keys: string; keysOf: (row: Found) => (number | Buffer)[]; pageRows: number },
): AsyncGenerator<Found[]> {
  const { keys, keysOf, pageRows } = options;
  for (let after: (number | Buffer)[] = []; ; ) {
    const where =
      after.length === 0 ? '' : `WHERE (${keys}) > (${after.map(() => '?').join(', ')})`;
    const sql = `${select} ${where} ORDER BY ${keys} LIMIT ${pageRows}`;
    const page = await query<Found>(database, sql, after);
    yield page;
    if (page.length < pageRows) return;
    after = keysOf(page.at(-1)!);
  }
}

async function* pagesOfEntries(
  database: sqlite3.Database,
  layout: ListLayout,
): AsyncGenerator<(Row | DamagedEntry)[]> {
  const keys = `${layout.key}, firstOrdinal`;
  const keysOf = ({ id, firstOrdinal }: RunRow) => [id, firstOrdinal];
  const pages = pagesOf(database, selectRuns(layout), { keys, keysOf, pageRows: PAGE_RUNS });
  for await (const runs of pages) for (const run of runs) yield entriesOf(layout, run);
}

/** The entries of a run. A damaged run gives as many damaged entries as it claims to have. */
function entriesOf(layout: ListLayout, run: RunRow): (Row | DamagedEntry)[] {
  try {
    return readRun(layout, run);
  } catch (error) {
    if (!(error instanceof HistoryDamage)) throw error;
    const { problem } = error;
    const { id, firstOrdinal, count } = run;
    const entries = Number.isSafeInteger(count) ? Math.max(1, Math.min(count, RUN_ENTRIES)) : 1;
    return Array.from({ length: entries }, (_, i) => {
      const entry = { [layout.key]: id, ordinal: firstOrdinal + i };
      return new DamagedEntry(entry, i === 0 ? problem : '');
    });
  }
}
