/**
 * Opens a history: the state from which new entries are numbered, and the state that readers
 * expect. It is read from the catalogue and the open part, from the stored lengths of the lists
 * (runs/lengths.ts) and from the markets, so the time to open depends on the number of users and
 * markets, not on the number of commands or parts.
 *
 * Invariant: the lists have as many entries as `progress` says, every market follows the previous
 * one of its asset, and the candles of an open market have all its trades. Anything else is a
 * {@link HistoryDamage}.
 */
import type sqlite3 from 'sqlite3';
import { assetOfMarket, hasEnded } from '../../engine/interface/domain.js';
import { query } from '../storage/sqlite.js';
import { type ListLengths, MEASURED } from './lists.js';
import { MarketHistory } from './markets.js';
import { checkTotal } from './parts/progress.js';
import type { HistoryState } from './projection.js';
import { asDamage, checkedValue, HistoryDamage, selectValues, type ValueRow } from './rows.js';
import { candlesIn, pointsIn, tradesIn } from './runs/candles.js';
import {
  MARKET,
  MARKET_CANDLES,
  MARKET_PRICES,
  type MarketRecord,
  type ValueTable,
} from './runs/format.js';
import { readLengths } from './runs/lengths.js';
import type { HistoryStore } from './store.js';

const PAGE_ROWS = 5_000;

/** The contents that a reader must find when nothing is waiting to be written. */
export interface CommittedLists {
  lengths: ListLengths;
  /** Markets that have ended, in the order of their ids ({@link addPastMarket}). */
  pastMarketIds: number[];
  knownMarketIds: Set<number>;
}

/**
 * Adds an ended market. A market that an operator declares VOID may end before a market of its
 * window with a smaller id.
 */
export function addPastMarket(ids: number[], marketId: number): void {
  let place = ids.length;
  while (place > 0 && ids[place - 1]! > marketId) place--;
  ids.splice(place, 0, marketId);
}

/** The state for the writer, and the state for readers. */
export interface OpenedHistory {
  state: HistoryState;
  lists: CommittedLists;
}

/** @throws HistoryDamage, or another error of SQLite. */
export async function openHistory(store: HistoryStore): Promise<OpenedHistory> {
  const { catalogue, open, progress } = store;
  try {
    const { lengths, runs } = await readLengths(catalogue.database, open.database);
    open.runs = runs;
    for (const { name } of MEASURED) checkTotal(name, progress, lengths[name].total());
    const markets = await readMarkets(catalogue.database, open.database);
    checkTotal('market', progress, markets.knownIds.size);
    checkTotal('marketTrade', progress, markets.tradeCount);
    checkTotal('marketBook', progress, markets.bookCount);
    const { lastIds: lastMarketIds, pastIds, knownIds, open: openMarkets } = markets;
    const { orderEnd: orderEnds } = progress.counts;
    return {
      state: { lengths, orderEnds, markets: openMarkets, lastMarketIds },
      lists: { lengths, pastMarketIds: pastIds, knownMarketIds: knownIds },
    };
  } catch (error) {
    throw asDamage(error, open.part);
  }
}

class Markets {
  readonly open: MarketHistory[] = [];
  readonly lastIds: number[] = [];
  readonly pastIds: number[] = [];
  readonly knownIds = new Set<number>();
  tradeCount = 0;
  bookCount = 0;

  add({ marketId, previousId, status, tradeCount, bookCount }: MarketRecord): void {
    const asset = assetOfMarket(marketId);
    if (previousId !== (this.lastIds[asset] ?? 0)) {
      const what = `it is missing before ${marketId}`;
      throw new HistoryDamage(MARKET.name, `marketId ${previousId}`, what);
    }
    this.lastIds[asset] = marketId;
    this.knownIds.add(marketId);
    if (hasEnded(status)) this.pastIds.push(marketId);
    this.tradeCount += tradeCount;
    this.bookCount += bookCount;
  }
}

/** The catalogue's markets with the open part's changes, and the markets that this part added. */
async function readMarkets(old: sqlite3.Database, open: sqlite3.Database): Promise<Markets> {
  const markets = new Markets();
  const changed = new Map<number, MarketRecord>();
  for await (const market of recordsIn(open)) changed.set(market.marketId, market);
  const add = async (market: MarketRecord) => {
    markets.add(market);
    if (market.isClosed === 0) markets.open.push(await openMarket(market, [open, old]));
  };
  for await (const market of recordsIn(old)) {
    await add(changed.get(market.marketId) ?? market);
    changed.delete(market.marketId);
  }
  for (const market of changed.values()) await add(market);
  markets.pastIds.sort((a, b) => a - b);
  markets.open.sort((a, b) => a.marketId - b.marketId);
  return markets;
}

async function* recordsIn(database: sqlite3.Database): AsyncGenerator<MarketRecord, void> {
  const sql = `${selectValues(MARKET)} WHERE marketId > ? ORDER BY marketId LIMIT ${PAGE_ROWS}`;
  for (let after = -1, isLast = false; !isLast; ) {
    const rows = await query<ValueRow<string>>(database, sql, [after]);
    for (const row of rows) yield JSON.parse(checkedValue(MARKET, row));
    isLast = rows.length < PAGE_ROWS;
    after = rows.at(-1)?.key ?? after;
  }
}

/**
 * Reads a market's prices and candles from the first database that has them, where they changed
 * last.
 */
async function openMarket(market: MarketRecord, databases: readonly sqlite3.Database[]) {
  const { marketId, tradeCount } = market;
  const valueIn = async (table: ValueTable) => {
    const sql = `${selectValues(table)} WHERE marketId = ?`;
    let row: ValueRow<Buffer> | undefined;
    for (const database of databases)
      row ??= (await query<ValueRow<Buffer>>(database, sql, [marketId]))[0];
    return checkedValue(table, row, marketId);
  };
  const points = pointsIn(await valueIn(MARKET_PRICES));
  const candles = candlesIn(await valueIn(MARKET_CANDLES));
  const trades = tradesIn(candles);
  if (trades !== tradeCount) {
    const what = `its candles have ${trades} trades, not ${tradeCount}`;
    throw new HistoryDamage(MARKET_CANDLES.name, `marketId ${marketId}`, what);
  }
  return MarketHistory.from({ market, points, candles });
}
