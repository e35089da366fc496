/**
 * The check of a history when it is opened, and the state that new entries are numbered from.
 *
 * Always holds: each list has the ordinals from 1 to its last, the lists have as many entries as
 * `progress` says, and every market follows the previous one of its asset. Anything else is a
 * {@link HistoryDamage}. Tables are read in pages, so memory is bounded.
 */
import type sqlite3 from 'sqlite3';
import { assetOfMarket, hasEnded } from '../../engine/interface/domain.js';
import { query } from '../storage/sqlite.js';
import { ListCounts, lengthsOf, MEASURED } from './lists.js';
import { MarketHistory } from './markets.js';
import type { HistoryState } from './projection.js';
import { asDamage, checkRow, HistoryDamage, type PricesRow, pointsOf, selectRows } from './rows.js';
import {
  type CountedName,
  type ListLayout,
  type ListName,
  MARKET,
  MARKET_BOOK,
  MARKET_TRADE,
  type RowOf,
} from './runs/format.js';
import type { CommittedLists, Progress } from './store.js';

const PAGE_ROWS = 5_000;

/** The state for the writer, and a copy for readers. */
export interface CheckedHistory {
  state: HistoryState;
  lists: CommittedLists;
}

/** @throws HistoryDamage, or another error of SQLite. */
export async function checkHistory(
  database: sqlite3.Database,
  progress: Progress,
): Promise<CheckedHistory> {
  try {
    const lengths = lengthsOf(() => new ListCounts());
    for (const layout of MEASURED)
      await countLists(database, layout, progress, lengths[layout.name]);
    const ofMarkets: MarketLists = { tradeCount: new Map(), bookCount: new Map() };
    await countLists(database, MARKET_TRADE, progress, ofMarkets.tradeCount);
    await countLists(database, MARKET_BOOK, progress, ofMarkets.bookCount);
    const { open, lastIds, pastIds, knownIds } = await readMarkets(database, progress, ofMarkets);
    const copies = lengthsOf(({ name }) => lengths[name].copy());
    return {
      state: { lengths, markets: open, lastMarketIds: lastIds },
      lists: { lengths: copies, pastMarketIds: pastIds, knownMarketIds: knownIds },
    };
  } catch (error) {
    throw asDamage(error);
  }
}

interface Counts {
  set(key: number, count: number): void;
}

interface List {
  id: number;
  count: number;
  first: number;
  last: number;
}

async function* inPages<Row>(
  database: sqlite3.Database,
  sql: string,
  keyOf: (row: Row) => number,
): AsyncGenerator<Row, void> {
  // Assets are numbered from 0, everything else from 1.
  for (let after = -1; ; ) {
    const rows = await query<Row>(database, sql, [after]);
    yield* rows;
    if (rows.length < PAGE_ROWS) return;
    after = keyOf(rows.at(-1)!);
  }
}

/** The number of entries in each list of a table. Ordinals must begin at 1 and have no gap. */
async function countLists(
  database: sqlite3.Database,
  { name, key }: ListLayout & { name: ListName },
  progress: Progress,
  counts: Counts,
): Promise<void> {
  const sql = `SELECT ${key} AS id, sum(count) AS count, min(firstOrdinal) AS first,
      max(firstOrdinal + count - 1) AS last
    FROM ${name} WHERE ${key} > ? GROUP BY ${key} ORDER BY ${key} LIMIT ${PAGE_ROWS}`;
  let total = 0;
  for await (const { id, count, first, last } of inPages<List>(database, sql, ({ id }) => id)) {
    if (first !== 1 || last !== count) {
      const what = `the list has ${count} entries, numbered from ${first} to ${last}`;
      throw new HistoryDamage(name, `${key} ${id}`, what);
    }
    counts.set(id, count);
    total += count;
  }
  checkTotal(name, progress, total);
}

function checkTotal(name: CountedName, progress: Progress, total: number): void {
  const expected = progress.counts[name];
  if (total !== expected)
    throw new HistoryDamage(name, '(unknown)', `it holds ${total}, not ${expected}`);
}

type MarketRow = RowOf<typeof MARKET>;

/** The lists of the markets, by the column of `market` that has their number of entries. */
type MarketLists = Record<'tradeCount' | 'bookCount', Map<number, number>>;
const NAME_OF_LIST = { tradeCount: MARKET_TRADE.name, bookCount: MARKET_BOOK.name } as const;
const COLUMNS_OF_LISTS = ['tradeCount', 'bookCount'] as const;

interface Markets {
  open: MarketHistory[];
  lastIds: number[];
  pastIds: number[];
  knownIds: Set<number>;
}

async function readMarkets(
  database: sqlite3.Database,
  progress: Progress,
  lists: MarketLists,
): Promise<Markets> {
  const markets: Markets = { open: [], lastIds: [], pastIds: [], knownIds: new Set() };
  const sql = `${selectRows(MARKET)} WHERE marketId > ? ORDER BY marketId LIMIT ${PAGE_ROWS}`;
  for await (const row of inPages<MarketRow>(database, sql, ({ marketId }) => marketId)) {
    checkMarket(row, markets, lists);
    if (row.isClosed === 0) markets.open.push(await withPoints(database, row));
  }
  checkTotal(MARKET.name, progress, markets.knownIds.size);
  return markets;
}

function checkMarket(row: MarketRow, markets: Markets, lists: MarketLists): void {
  checkRow(MARKET, row);
  const { marketId, previousId, status } = row;
  const asset = assetOfMarket(marketId);
  if (previousId !== (markets.lastIds[asset] ?? 0)) {
    throw new HistoryDamage('market', `marketId ${previousId}`, `it is missing before ${marketId}`);
  }
  for (const column of COLUMNS_OF_LISTS) {
    const found = lists[column].get(marketId) ?? 0;
    if (row[column] !== found) {
      const what = `the list has ${found} entries, not ${row[column]}`;
      throw new HistoryDamage(NAME_OF_LIST[column], `marketId ${marketId}`, what);
    }
  }
  markets.lastIds[asset] = marketId;
  markets.knownIds.add(marketId);
  if (hasEnded(status)) markets.pastIds.push(marketId);
}

async function withPoints(database: sqlite3.Database, row: MarketRow): Promise<MarketHistory> {
  const { marketId } = row;
  const sql = 'SELECT * FROM marketPrices WHERE marketId = ?';
  const [prices] = await query<PricesRow>(database, sql, [marketId]);
  if (prices === undefined)
    throw new HistoryDamage('marketPrices', `marketId ${marketId}`, 'it is missing');
  return MarketHistory.fromRow(row, pointsOf(prices), prices.sequence);
}
