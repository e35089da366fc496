/**
 * The state of a history when it is opened: what new entries are numbered from, and what readers
 * must find. It is read from the catalogue and the open part, from the stored lengths of the lists
 * (runs/lengths.ts) and from the markets, so its time depends on the number of users and markets,
 * not on the number of commands or parts.
 *
 * Always holds: the lists have as many entries as `progress` says, and every market follows the
 * previous one of its asset. Anything else is a {@link HistoryDamage}.
 */
import type sqlite3 from 'sqlite3';
import { assetOfMarket, hasEnded } from '../../engine/interface/domain.js';
import { query } from '../storage/sqlite.js';
import { type ListLengths, lengthsOf, MEASURED } from './lists.js';
import { MarketHistory } from './markets.js';
import type { Progress } from './parts/progress.js';
import type { HistoryState } from './projection.js';
import { asDamage, checkRow, HistoryDamage, type PricesRow, pointsOf, selectRows } from './rows.js';
import { type CountedName, MARKET, MARKET_BOOK, MARKET_TRADE, type RowOf } from './runs/format.js';
import { readLengths } from './runs/lengths.js';
import type { HistoryStore } from './store.js';

const PAGE_ROWS = 5_000;

/** The lists as of the last transaction: what a reader must find. */
export interface CommittedLists {
  lengths: ListLengths;
  /** Markets that have ended, in the order of their ids ({@link addPastMarket}). */
  pastMarketIds: number[];
  knownMarketIds: Set<number>;
}

/** A market that an operator declares VOID may end before one of its window with a smaller id. */
export function addPastMarket(ids: number[], marketId: number): void {
  let place = ids.length;
  while (place > 0 && ids[place - 1]! > marketId) place--;
  ids.splice(place, 0, marketId);
}

/** The state for the writer, and a copy for readers. */
export interface OpenedHistory {
  state: HistoryState;
  lists: CommittedLists;
}

/** @throws HistoryDamage, or another error of SQLite. */
export async function openHistory(store: HistoryStore): Promise<OpenedHistory> {
  const { catalogue, open, progress } = store;
  try {
    const { lengths, runs } = await readLengths(catalogue.database, open.database, progress);
    open.runs = runs;
    for (const { name } of MEASURED) checkTotal(name, progress, lengths[name].total());
    const markets = await readMarkets([catalogue.database, open.database]);
    checkTotal(MARKET.name, progress, markets.knownIds.size);
    checkTotal(MARKET_TRADE.name, progress, markets.tradeCount);
    checkTotal(MARKET_BOOK.name, progress, markets.bookCount);
    const { lastIds, pastIds, knownIds } = markets;
    const copies = lengthsOf(({ name }) => lengths[name].copy());
    return {
      state: { lengths, markets: markets.open, lastMarketIds: lastIds },
      lists: { lengths: copies, pastMarketIds: pastIds, knownMarketIds: knownIds },
    };
  } catch (error) {
    throw asDamage(error, open.part);
  }
}

function checkTotal(name: CountedName, progress: Progress, total: number): void {
  const expected = progress.counts[name];
  if (total !== expected)
    throw new HistoryDamage(name, '(unknown)', `it holds ${total}, not ${expected}`);
}

type MarketRow = RowOf<typeof MARKET>;
const SHORT = [
  'marketId',
  'previousId',
  'status',
  'isClosed',
  'tradeCount',
  'bookCount',
] as const satisfies (keyof MarketRow)[];
type ShortRow = Pick<MarketRow, (typeof SHORT)[number]>;

class Markets {
  readonly open: MarketHistory[] = [];
  readonly lastIds: number[] = [];
  readonly pastIds: number[] = [];
  readonly knownIds = new Set<number>();
  tradeCount = 0;
  bookCount = 0;

  add(row: ShortRow): void {
    const { marketId } = row;
    checkPrevious(row, this.lastIds);
    this.knownIds.add(marketId);
    if (hasEnded(row.status)) this.pastIds.push(marketId);
    this.tradeCount += row.tradeCount;
    this.bookCount += row.bookCount;
  }
}

/** @param lastIds by asset, the previous market; set to this one. @throws HistoryDamage */
function checkPrevious(
  { marketId, previousId }: Pick<MarketRow, 'marketId' | 'previousId'>,
  lastIds: number[],
): void {
  const asset = assetOfMarket(marketId);
  if (previousId !== (lastIds[asset] ?? 0))
    throw new HistoryDamage('market', `marketId ${previousId}`, `it is missing before ${marketId}`);
  lastIds[asset] = marketId;
}

/** The catalogue's markets with the open part's changes, and the markets that this part added. */
async function readMarkets([old, open]: [sqlite3.Database, sqlite3.Database]): Promise<Markets> {
  const markets = new Markets();
  const changed = new Map<number, ShortRow>();
  for await (const row of shortRows(open)) changed.set(row.marketId, row);
  const add = async (row: ShortRow, database: sqlite3.Database) => {
    markets.add(row);
    if (row.isClosed === 0) markets.open.push(await readOpen(database, row.marketId));
  };
  for await (const row of shortRows(old)) {
    const newer = changed.get(row.marketId);
    changed.delete(row.marketId);
    if (newer === undefined) await add(row, old);
    else await add(newer, open);
  }
  for (const row of changed.values()) await add(row, open);
  markets.pastIds.sort((a, b) => a - b);
  markets.open.sort((a, b) => a.marketId - b.marketId);
  return markets;
}

async function* shortRows(database: sqlite3.Database): AsyncGenerator<ShortRow, void> {
  const sql = `SELECT ${SHORT.join(', ')} FROM market WHERE marketId > ? ORDER BY marketId LIMIT ${PAGE_ROWS}`;
  for (let after = -1, isLast = false; !isLast; ) {
    const rows = await query<ShortRow>(database, sql, [after]);
    yield* rows;
    isLast = rows.length < PAGE_ROWS;
    after = rows.at(-1)?.marketId ?? after;
  }
}

async function readOpen(database: sqlite3.Database, marketId: number): Promise<MarketHistory> {
  const select = `${selectRows(MARKET)} WHERE marketId = ?`;
  const [row] = await query<MarketRow>(database, select, [marketId]);
  if (row === undefined) throw new HistoryDamage('market', `marketId ${marketId}`, 'it is missing');
  checkRow(MARKET, row);
  const sql = 'SELECT * FROM marketPrices WHERE marketId = ?';
  const [prices] = await query<PricesRow>(database, sql, [marketId]);
  if (prices === undefined)
    throw new HistoryDamage('marketPrices', `marketId ${marketId}`, 'it is missing');
  return MarketHistory.fromRow(row, pointsOf(prices), prices.sequence);
}
