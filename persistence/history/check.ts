/**
 * What a history holds, counted and checked when it is opened: the state that new entries are numbered from.
 *
 * Always holds: what this returns fits together. The runs of each list have as many entries as the ordinals from 1 to its last
 * are, and as the progress says in all; every market is as it was written, and each one follows the one before it of its asset.
 * The first thing that does not is a {@link HistoryDamage} that names it. It reads in pages, so that memory is bounded.
 */
import type sqlite3 from 'sqlite3';
import { assetOfMarket, MarketStatus } from '../../engine/interface/domain.js';
import { query } from '../storage/sqlite.js';
import { ListCounts } from './counts.js';
import { asDamage, HistoryDamage } from './damage.js';
import {
  CLOSED_POSITION,
  type CountedName,
  type ListLayout,
  type ListName,
  MARKET,
  MARKET_TRADE,
  POINTS_CREDIT,
  type RowOf,
  USER_TRADE,
} from './format.js';
import { MarketHistory } from './market-prices.js';
import type { HistoryState } from './projection.js';
import { checkRow, type PricesRecord, pointsOf, selectSql } from './rows.js';
import type { CommittedLists, Progress } from './store.js';

const PAGE_ROWS = 5_000;

/** What entries are numbered from, and the same again for readers. */
export interface CheckedHistory {
  state: HistoryState;
  lists: CommittedLists;
}

/** @throws HistoryDamage, or an error of SQLite that is none. */
export async function checkHistory(database: sqlite3.Database, progress: Progress): Promise<CheckedHistory> {
  try {
    const userTrades = await countLists(database, USER_TRADE, progress);
    const pointsCredits = await countLists(database, POINTS_CREDIT, progress);
    const closedPositions = await countLists(database, CLOSED_POSITION, progress);
    const tapes = await countLists(database, MARKET_TRADE, progress, new Map<number, number>());
    const markets = await readMarkets(database, progress, tapes);
    return {
      state: {
        userTrades,
        pointsCredits,
        closedPositions,
        markets: markets.open,
        lastMarketIds: markets.lastIds,
      },
      lists: {
        userTrades: userTrades.copy(),
        pointsCredits: pointsCredits.copy(),
        closedPositions: closedPositions.copy(),
        pastMarketIds: markets.pastIds,
        knownMarketIds: markets.knownIds,
      },
    };
  } catch (error) {
    throw asDamage(error);
  }
}

interface Counts {
  set(key: number, count: number): void;
}

/** The number of entries of each list of a table, which must be those with the ordinals from 1 to it. */
async function countLists<C extends Counts = ListCounts>(
  database: sqlite3.Database,
  { name, key }: ListLayout & { name: ListName },
  progress: Progress,
  counts: C = new ListCounts() as Counts as C,
): Promise<C> {
  const sql = `SELECT ${key} AS id, sum(count) AS count, min(firstOrdinal) AS first,
      max(firstOrdinal + count - 1) AS last
    FROM ${name} WHERE ${key} > ? GROUP BY ${key} ORDER BY ${key} LIMIT ${PAGE_ROWS}`;
  let total = 0;
  let after = 0;
  for (;;) {
    const lists = await query<{ id: number; count: number; first: number; last: number }>(database, sql, [
      after,
    ]);
    for (const { id, count, first, last } of lists) {
      if (first !== 1 || last !== count) {
        const what = `the list has ${count} entries, numbered from ${first} to ${last}`;
        throw new HistoryDamage(name, `${key} ${id}`, what);
      }
      counts.set(id, count);
      total += count;
      after = id;
    }
    if (lists.length < PAGE_ROWS) break;
  }
  checkTotal(name, progress, total);
  return counts;
}

function checkTotal(name: CountedName, progress: Progress, total: number): void {
  const expected = progress.counts[name];
  if (total !== expected) throw new HistoryDamage(name, '(unknown)', `it holds ${total}, not ${expected}`);
}

interface Markets {
  open: MarketHistory[];
  lastIds: number[];
  pastIds: number[];
  knownIds: Set<number>;
}

async function readMarkets(
  database: sqlite3.Database,
  progress: Progress,
  tapes: Map<number, number>,
): Promise<Markets> {
  const markets: Markets = { open: [], lastIds: [], pastIds: [], knownIds: new Set() };
  const sql = `${selectSql(MARKET)} WHERE marketId > ? ORDER BY marketId LIMIT ${PAGE_ROWS}`;
  let after = 0;
  for (;;) {
    const rows = await query<RowOf<typeof MARKET>>(database, sql, [after]);
    for (const row of rows) {
      checkMarket(row, markets, tapes);
      after = row.marketId;
      if (row.isClosed === 0) markets.open.push(await withPoints(database, row));
    }
    if (rows.length < PAGE_ROWS) break;
  }
  checkTotal(MARKET.name, progress, markets.knownIds.size);
  if (tapes.size > 0)
    throw new HistoryDamage('marketTrade', `marketId ${[...tapes.keys()][0]}`, 'there is no such market');
  return markets;
}

/** Checks a market and takes its tape off the list. */
function checkMarket(row: RowOf<typeof MARKET>, markets: Markets, tapes: Map<number, number>): void {
  checkRow(MARKET, row);
  const { marketId, tradeCount, previousId, status } = row;
  const asset = assetOfMarket(marketId);
  const name = `marketId ${marketId}`;
  if (previousId !== (markets.lastIds[asset] ?? 0)) {
    throw new HistoryDamage('market', `marketId ${previousId}`, `it is missing before ${marketId}`);
  }
  const entryCount = tapes.get(marketId) ?? 0;
  if (tradeCount !== entryCount) {
    throw new HistoryDamage('marketTrade', name, `the list has ${entryCount} entries, not ${tradeCount}`);
  }
  tapes.delete(marketId);
  markets.lastIds[asset] = marketId;
  markets.knownIds.add(marketId);
  if (status !== MarketStatus.ACTIVE) markets.pastIds.push(marketId);
}

async function withPoints(database: sqlite3.Database, row: RowOf<typeof MARKET>): Promise<MarketHistory> {
  const { marketId } = row;
  const [prices] = await query<PricesRecord>(database, 'SELECT * FROM marketPrices WHERE marketId = ?', [
    marketId,
  ]);
  if (prices === undefined) throw new HistoryDamage('marketPrices', `marketId ${marketId}`, 'it is missing');
  return MarketHistory.fromRow(row, pointsOf(prices), prices.sequence);
}
