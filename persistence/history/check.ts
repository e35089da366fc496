/**
 * The check of a whole history, in the background and slowly: every row is read in pages, with a
 * pause after each. It begins once the history answers, and the history grows meanwhile.
 *
 * Always holds: when it ends, every row that was there at its beginning is what was written, each
 * list had the ordinals from 1 to its last, and each market that was closed had as many trades and
 * book changes as its row says. Anything else is a {@link HistoryDamage}. Memory is bounded by the
 * number of users, blocks of orders and markets.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ListCounts, MEASURED } from './lists.js';
import { checkPrevious } from './opening.js';
import { ReadDatabase } from './reads.js';
import { checkRow, HistoryDamage, type PricesRow, pointsOf, selectRows } from './rows.js';
import {
  AMENDED_ORDER,
  type ListLayout,
  MARKET,
  MARKET_BOOK,
  MARKET_TRADE,
  type RowOf,
} from './runs/format.js';
import { checkRun, type RunRow } from './runs/reader.js';
import type { CommittedLists } from './store.js';

/** What one page reads, in a few milliseconds, and the pause after it. */
const PAGE_RUNS = 500;
const PAGE_MARKETS = 100;
const PAUSE_MS = 10;

type MarketRow = RowOf<typeof MARKET>;
type Counts = Pick<ListCounts, 'of' | 'set'>;

class MarketCounts extends Map<number, number> implements Counts {
  of(marketId: number): number {
    return this.get(marketId) ?? 0;
  }
}

export class HistoryCheck {
  /** Rows that were read. */
  rows = 0;
  /** By market that was closed when its row was read. */
  private readonly trades = new MarketCounts();
  private readonly books = new MarketCounts();

  private constructor(
    private readonly database: ReadDatabase,
    private readonly lists: CommittedLists,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Returns the number of rows that were read. @param lists those of the history, as it grows.
   * @throws HistoryDamage; another error of SQLite; AbortError.
   */
  static async run(folder: string, lists: CommittedLists, signal: AbortSignal): Promise<number> {
    const database = await ReadDatabase.open(folder);
    try {
      const check = new HistoryCheck(database, lists, signal);
      await check.all();
      return check.rows;
    } finally {
      await database.close();
    }
  }

  private async all(): Promise<void> {
    for (const layout of MEASURED) await this.checkUsers(layout);
    await this.checkMarkets();
    await this.checkOfMarkets(MARKET_TRADE, this.trades);
    await this.checkOfMarkets(MARKET_BOOK, this.books);
    await this.checkAmended();
  }

  /** A list that is shorter than what was committed when its check began has lost its end. */
  private async checkUsers(layout: (typeof MEASURED)[number]): Promise<void> {
    const committed = this.lists.lengths[layout.name].copy();
    const found = new ListCounts();
    await this.checkRuns(layout, found);
    for (let id = 0; id < committed.idCount; id++)
      checkLength(layout, id, found.of(id), committed.of(id));
  }

  private async checkOfMarkets(layout: ListLayout, expected: MarketCounts): Promise<void> {
    const found = new MarketCounts();
    await this.checkRuns(layout, found);
    for (const [marketId, count] of expected)
      checkLength(layout, marketId, found.of(marketId), count);
  }

  /** In the order of writing, in which the runs of a list follow one another. */
  private async checkRuns(layout: ListLayout, found: Counts): Promise<void> {
    const { name, key } = layout;
    const sql = `SELECT rowid AS at, ${key} AS id, firstOrdinal, count, checksum, entries
      FROM ${name} WHERE rowid > ? ORDER BY rowid LIMIT ${PAGE_RUNS}`;
    await this.inPages<RunRow & { at: number }>(sql, PAGE_RUNS, 'at', (rows) => {
      for (const row of rows) {
        checkRun(layout, row);
        const { id, firstOrdinal, count } = row;
        const next = found.of(id) + 1;
        if (firstOrdinal !== next) {
          const what = `the run after it begins at ${firstOrdinal}`;
          throw new HistoryDamage(name, `${key} ${id}, ordinal ${next}`, what);
        }
        found.set(id, next + count - 1);
      }
    });
  }

  private async checkMarkets(): Promise<void> {
    const sql = `${selectRows(MARKET)} WHERE marketId > ? ORDER BY marketId LIMIT ${PAGE_MARKETS}`;
    const lastIds: number[] = [];
    await this.inPages<MarketRow>(sql, PAGE_MARKETS, 'marketId', async (rows) => {
      for (const row of rows) {
        checkRow(MARKET, row);
        checkPrevious(row, lastIds);
        if (row.isClosed === 0) continue;
        this.trades.set(row.marketId, row.tradeCount);
        this.books.set(row.marketId, row.bookCount);
      }
      await this.checkPrices(rows.map(({ marketId }) => marketId));
    });
  }

  private async checkPrices(ids: readonly number[]): Promise<void> {
    const sql = 'SELECT * FROM marketPrices WHERE marketId BETWEEN ? AND ?';
    const rows = await this.database.query<PricesRow>(sql, [ids[0] ?? 0, ids.at(-1) ?? 0]);
    for (const row of rows) pointsOf(row);
    const found = new Set(rows.map(({ marketId }) => marketId));
    const lost = ids.find((marketId) => !found.has(marketId));
    if (lost !== undefined)
      throw new HistoryDamage('marketPrices', `marketId ${lost}`, 'it is missing');
  }

  private async checkAmended(): Promise<void> {
    const sql = `${selectRows(AMENDED_ORDER)} WHERE orderId > ? ORDER BY orderId LIMIT ${PAGE_RUNS}`;
    await this.inPages<RowOf<typeof AMENDED_ORDER>>(sql, PAGE_RUNS, 'orderId', (rows) => {
      for (const row of rows) checkRow(AMENDED_ORDER, row);
    });
  }

  /** @param sql with a parameter: the key after which the page begins. */
  private async inPages<Row>(
    sql: string,
    pageRows: number,
    key: keyof Row,
    check: (rows: Row[]) => void | Promise<void>,
  ): Promise<void> {
    for (let after = -1; ; ) {
      const rows = await this.database.query<Row>(sql, [after]);
      await check(rows);
      this.rows += rows.length;
      await delay(PAUSE_MS, undefined, { signal: this.signal });
      if (rows.length < pageRows) return;
      after = rows.at(-1)![key] as number;
    }
  }
}

function checkLength({ name, key }: ListLayout, id: number, found: number, expected: number): void {
  if (found < expected)
    throw new HistoryDamage(name, `${key} ${id}, ordinal ${found + 1}`, 'it is missing');
}
