/**
 * Opens a history: the state from which new entries are numbered, and the state that readers
 * expect. It is read from the catalogue and the open part, from the stored lengths of the lists
 * (runs/lengths.ts) and from the markets, so the time to open depends on the number of users and
 * markets, not on the number of commands or parts.
 *
 * Invariant: there are as many markets, and as many entries in the lists of each kind, as
 * `progress` says. Anything else is a {@link HistoryDamage}.
 */
import type sqlite3 from 'sqlite3';
import { hasEnded } from '../../engine/interface/domain.js';
import { query } from '../storage/sqlite.js';
import { type ListLengths, MEASURED } from './lists.js';
import { checkTotal } from './parts/progress.js';
import type { HistoryState } from './projection.js';
import { asDamage, checkedValue, selectValues, type ValueRow } from './rows.js';
import { MARKET, MARKET_LISTS, type MarketRecord } from './runs/format.js';
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
    const markets: MarketRecord[] = [];
    const pastMarketIds: number[] = [];
    const knownMarketIds = new Set<number>();
    const counts = { tradeCount: 0, bookCount: 0, pointCount: 0, candleCount: 0 };
    const fields = Object.keys(counts) as (keyof typeof counts)[];
    for await (const market of marketsIn(catalogue.database, open.database)) {
      knownMarketIds.add(market.marketId);
      if (hasEnded(market.status)) pastMarketIds.push(market.marketId);
      if (market.isClosed === 0) markets.push(market);
      for (const field of fields) counts[field] += market[field];
    }
    checkTotal('market', progress, knownMarketIds.size);
    for (const field of fields) checkTotal(MARKET_LISTS[field].name, progress, counts[field]);
    pastMarketIds.sort((a, b) => a - b);
    markets.sort((a, b) => a.marketId - b.marketId);
    return {
      state: { lengths, orderEnds: progress.counts.orderEnd, markets },
      lists: { lengths, pastMarketIds, knownMarketIds },
    };
  } catch (error) {
    throw asDamage(error, open.part);
  }
}

/** The catalogue's markets with the open part's changes, and the markets that this part added. */
async function* marketsIn(
  catalogue: sqlite3.Database,
  open: sqlite3.Database,
): AsyncGenerator<MarketRecord, void> {
  const changed = new Map<number, MarketRecord>();
  for await (const market of recordsIn(open)) changed.set(market.marketId, market);
  for await (const market of recordsIn(catalogue)) if (!changed.has(market.marketId)) yield market;
  yield* changed.values();
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
