/**
 * Reads of the history, on their own connection, one request at a time. A read is prepared when the
 * history is at some sequence. `begin` opens a transaction at that sequence, and the prepared reads
 * see that state until `end`, whatever is written meanwhile.
 *
 * Always holds: an answer is complete and as written. A gap in the ordinals of a page, or a missing
 * market, is a {@link HistoryDamage}, never a shorter list.
 */
import sqlite3 from 'sqlite3';
import {
  assetOfMarket,
  MarketStatus,
  startOfMarketMs,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import { closeDatabase, execute, openDatabase, query } from '../storage/sqlite.js';
import type { MEASURED } from './lists.js';
import { readMarketEvents, readMarketTicks } from './market-events.js';
import { MarketJsonCache } from './market-json/cache.js';
import { bytesOf, type HashedParts, type MarketAssets, marketParts } from './market-json/market.js';
import {
  type HistoryAnswers,
  type MarketRecord,
  type Page,
  type RequestOf,
  type UserTrade,
  viewOfPast,
} from './requests.js';
import { asDamage, checkRow, HistoryDamage, type PricesRow, pointsOf, selectRows } from './rows.js';
import {
  type EntryOf,
  type ListLayout,
  MARKET,
  MARKET_TRADE,
  type RowOf,
  RUN_ENTRIES,
  USER_TRADE,
} from './runs/format.js';
import { ListReader } from './runs/reader.js';
import { type CommittedLists, historyPath } from './store.js';

/** A market, and its price history as marketPrices has it (format.ts), oldest first. */
export interface StoredMarket {
  market: MarketRecord;
  points: Float64Array;
}

type MarketRow = RowOf<typeof MARKET>;

/** A prepared read. @throws HistoryDamage, or another error of SQLite. */
type Read<Answer> = () => Promise<Answer>;

interface PageOf {
  /** The user or the market whose list it is. */
  id: number;
  limit: number;
  cursor: number | null;
  /** The ordinal of the newest entry of the list; 0: the list is empty. */
  newest: number;
}

export class HistoryReads {
  private readonly cache = new MarketJsonCache();
  readonly entries = new ListReader((sql, parameters) => this.query(sql, parameters));

  private constructor(
    private readonly database: sqlite3.Database,
    readonly lists: CommittedLists,
  ) {}

  /** @param lists must be as of the last transaction whenever a read is prepared. */
  static async open(folder: string, lists: CommittedLists): Promise<HistoryReads> {
    const mode = sqlite3.OPEN_READONLY | sqlite3.OPEN_FULLMUTEX;
    return new HistoryReads(await openDatabase(historyPath(folder), mode), lists);
  }

  /** Begins the transaction. @throws HistoryDamage when the history is not at `sequence`. */
  async begin(sequence: number): Promise<void> {
    try {
      await execute(this.database, 'BEGIN');
      const [progress] = await this.query<{ sequence: number }>('SELECT sequence FROM progress');
      if (progress === undefined) throw new HistoryDamage('progress', 'id 1', 'it is missing');
      if (progress.sequence !== sequence) {
        const problem = `its sequence is ${progress.sequence}, but ${sequence} was written`;
        throw new HistoryDamage('progress', 'id 1', problem);
      }
    } catch (error) {
      throw asDamage(error);
    }
  }

  async end(): Promise<void> {
    await execute(this.database, 'COMMIT');
  }

  close(): Promise<void> {
    return closeDatabase(this.database);
  }

  userTrades(request: RequestOf<'userTrades'>): Read<Page<UserTrade>> {
    const { userId, fromMs = null, toMs = null, marketId = null } = request;
    const isFiltered = fromMs !== null || toMs !== null || marketId !== null;
    if (!isFiltered) return this.listOfUser(USER_TRADE, request);
    const count = this.lists.lengths.userTrade.of(userId);
    return () => this.filteredTrades(request, count);
  }

  listOfUser<Layout extends (typeof MEASURED)[number]>(
    layout: Layout,
    { userId, limit, cursor }: { userId: number; limit: number; cursor: number | null },
  ): Read<Page<EntryOf<Layout>>> {
    const newest = this.lists.lengths[layout.name].of(userId);
    return () => this.list(layout, { id: userId, limit, cursor, newest });
  }

  /** null: there never was such a market. */
  marketTrades(request: RequestOf<'marketTrades'>): Read<HistoryAnswers['marketTrades']> {
    const { marketId: id, limit, cursor } = request;
    return this.ofMarket(id, ({ tradeCount: newest }) =>
      this.list(MARKET_TRADE, { id, limit, cursor, newest }),
    );
  }

  /** null: there never was such a market. */
  marketEvents(request: RequestOf<'marketEvents'>): Read<HistoryAnswers['marketEvents']> {
    return this.ofMarket(request.marketId, async (row, prices) => {
      const market = withoutChecksum(row);
      return { market, ...(await readMarketEvents(this.entries, market, prices, request)) };
    });
  }

  /** null: there never was such a market. */
  marketTicks({ marketId }: RequestOf<'marketTicks'>): Read<HistoryAnswers['marketTicks']> {
    return this.ofMarket(marketId, (row, prices) =>
      readMarketTicks(this.entries, withoutChecksum(row), prices),
    );
  }

  market(marketId: number): Read<StoredMarket | null> {
    return this.ofMarket(marketId, async (row) => (await this.withPoints([row]))[0]!);
  }

  /**
   * Reads something about a market, given its row and the number of its asset's prices; null: there
   * never was such a market.
   */
  private ofMarket<Answer>(
    marketId: number,
    read: (row: MarketRow, prices: number) => Promise<Answer>,
  ): Read<Answer | null> {
    const isKnown = this.lists.knownMarketIds.has(marketId);
    const prices = this.lists.lengths.assetPrice.of(assetOfMarket(marketId));
    return async () => {
      const sql = `${selectRows(MARKET)} WHERE marketId = ?`;
      const [row] = await this.query<MarketRow>(sql, [marketId]);
      if (row !== undefined) {
        checkRow(MARKET, row);
        return read(row, prices);
      }
      if (isKnown) throw new HistoryDamage('market', `marketId ${marketId}`, 'it is missing');
      return null;
    };
  }

  pastMarkets(request: RequestOf<'pastMarkets'>): Read<Page<MarketRecord>> {
    const { entries: ids, nextCursor } = this.pastPage(request);
    return async () => ({ entries: (await this.marketRows(ids)).map(withoutChecksum), nextCursor });
  }

  /** As parts of JSON. A resolved market with its price history is read from the database once. */
  pastMarketParts(
    request: RequestOf<'pastMarketTexts'>,
    assets: MarketAssets,
  ): Read<Page<HashedParts>> {
    const { entries: ids, nextCursor } = this.pastPage(request);
    if (!request.withPrices)
      return async () => {
        const rows = await this.marketRows(ids);
        const partsOf = (row: MarketRow) =>
          bytesOf(marketParts(assets, viewOfPast(withoutChecksum(row)), null, null));
        return { entries: rows.map(partsOf), nextCursor };
      };
    return async () => {
      const found = new Map(ids.map((marketId) => [marketId, this.cache.get(marketId)]));
      const rows = await this.marketRows(ids.filter((id) => found.get(id) === undefined));
      for (const { market, points } of await this.withPoints(rows)) {
        const parts = bytesOf(marketParts(assets, viewOfPast(market), null, points));
        found.set(market.marketId, parts);
        if (market.status === MarketStatus.RESOLVED) this.cache.add(market.marketId, parts);
      }
      return { entries: ids.map((marketId) => found.get(marketId)!), nextCursor };
    };
  }

  /** The trades of a market are in its window, so every filter is a range of time. */
  private async filteredTrades(
    request: RequestOf<'userTrades'>,
    count: number,
  ): Promise<Page<UserTrade>> {
    const { userId: id, limit, cursor, marketId = null } = request;
    const startsAtMs = marketId === null ? 0 : startOfMarketMs(marketId);
    const endsAtMs = marketId === null ? MAX_TIME_MS : startsAtMs + WINDOW_MS;
    const fromMs = Math.max(request.fromMs ?? 0, startsAtMs);
    const toMs = Math.min(request.toMs ?? MAX_TIME_MS, endsAtMs);
    const firstAt = (value: number) =>
      this.entries.firstFrom(USER_TRADE, { id, count, column: 'atMs', value });
    const first = await firstAt(fromMs);
    let last = (await firstAt(toMs + 1)) - 1;
    if (cursor !== null) last = Math.min(last, cursor - 1);
    const found: UserTrade[] = [];
    for (; last >= first && found.length <= limit; last -= RUN_ENTRIES) {
      const place = { id, first: Math.max(first, last - RUN_ENTRIES + 1), last };
      for (const trade of await this.entries.newestFirst(USER_TRADE, place))
        if (marketId === null || trade.marketId === marketId) found.push(trade);
    }
    const entries = found.slice(0, limit);
    return { entries, nextCursor: found.length > limit ? entries.at(-1)!.ordinal : null };
  }

  private async list<Layout extends ListLayout>(
    layout: Layout,
    { id, limit, cursor, newest }: PageOf,
  ): Promise<Page<EntryOf<Layout>>> {
    const last = cursor === null ? newest : Math.min(cursor - 1, newest);
    const first = Math.max(1, last - limit + 1);
    if (last < first) return { entries: [], nextCursor: null };
    const entries = await this.entries.newestFirst(layout, { id, first, last });
    return { entries, nextCursor: first > 1 ? first : null };
  }

  private pastPage(request: RequestOf<'pastMarkets' | 'pastMarketTexts'>): Page<number> {
    const { asset, limit, cursor } = request;
    const [fromMs, toMs] = [request.fromMs ?? 0, request.toMs ?? MAX_TIME_MS];
    const { pastMarketIds } = this.lists;
    const ids: number[] = [];
    // One more than the limit, if there is another page.
    for (let i = pastMarketIds.length - 1; i >= 0 && ids.length <= limit; i--) {
      const marketId = pastMarketIds[i]!;
      const startsAtMs = startOfMarketMs(marketId);
      if (startsAtMs < fromMs) break;
      if (startsAtMs > toMs || (cursor !== null && marketId >= cursor)) continue;
      if (asset === null || assetOfMarket(marketId) === asset) ids.push(marketId);
    }
    const entries = ids.slice(0, limit);
    return { entries, nextCursor: ids.length > limit ? entries.at(-1)! : null };
  }

  private async marketRows(ids: readonly number[]): Promise<MarketRow[]> {
    const sql = `${selectRows(MARKET)} WHERE marketId IN (SELECT value FROM json_each(?)) ORDER BY marketId DESC`;
    const rows = await this.query<MarketRow>(sql, [JSON.stringify(ids)]);
    for (let i = 0; i < Math.max(ids.length, rows.length); i++) {
      const row = rows[i];
      if (row !== undefined) checkRow(MARKET, row);
      if (row?.marketId !== ids[i])
        throw new HistoryDamage('market', `marketId ${ids[i]}`, 'it is missing');
    }
    return rows;
  }

  private async withPoints(markets: readonly MarketRow[]): Promise<StoredMarket[]> {
    const ids = JSON.stringify(markets.map(({ marketId }) => marketId));
    const sql = 'SELECT * FROM marketPrices WHERE marketId IN (SELECT value FROM json_each(?))';
    const rows = await this.query<PricesRow>(sql, [ids]);
    const prices = new Map(rows.map((row) => [row.marketId, row]));
    return markets.map((market) => {
      const row = prices.get(market.marketId);
      if (row === undefined) {
        throw new HistoryDamage('marketPrices', `marketId ${market.marketId}`, 'it is missing');
      }
      return { market: withoutChecksum(market), points: pointsOf(row) };
    });
  }

  private async query<Row>(
    sql: string,
    parameters: readonly (number | string)[] = [],
  ): Promise<Row[]> {
    try {
      return await query<Row>(this.database, sql, parameters);
    } catch (error) {
      throw asDamage(error);
    }
  }
}

function withoutChecksum<Row extends { checksum: number }>(row: Row): Omit<Row, 'checksum'> {
  const { checksum: _, ...rest } = row;
  return rest;
}
