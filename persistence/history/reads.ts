/**
 * The view that one read has of the history. A read is prepared when the history is at some
 * sequence: the lengths of its lists and the markets that may still change are noted then.
 * Everything that it reads afterwards, query by query, never changes.
 *
 * Invariant: an answer is complete and unchanged since it was written. A gap in the ordinals of a
 * page, or a missing market, is a {@link HistoryDamage}, never a shorter list.
 */
import {
  assetOfMarket,
  MarketStatus,
  marketIdOf,
  startOfMarketMs,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import { UPCOMING_WINDOWS } from '../../engine/interface/parameters.js';
import { readCandles, widestSpan, windowsTradedIn } from './candles.js';
import type { MEASURED } from './lists.js';
import { readMarketEvents, readMarketTicks } from './market-events.js';
import { bytesOf, type HashedParts, type MarketAssets, marketParts } from './market-json/market.js';
import type { MarketHistory, StoredMarket } from './markets.js';
import type { CommittedLists } from './opening.js';
import type { HistoryFiles } from './parts/files.js';
import type { Turn } from './read-turns.js';
import {
  type HistoryAnswers,
  type Page,
  type RequestOf,
  type UserTrade,
  viewOfPast,
} from './requests.js';
import { checkedValue, selectValues, type ValueRow } from './rows.js';
import { candlesIn, pointsIn } from './runs/candles.js';
import {
  type EntryOf,
  type ListLayout,
  MARKET,
  MARKET_CANDLES,
  MARKET_PRICES,
  MARKET_TRADE,
  type MarketRecord,
  RUN_ENTRIES,
  USER_TRADE,
  type ValueTable,
} from './runs/format.js';
import { KEYED_RESULT, resultIn } from './runs/keyed-results.js';
import { ENTRIES_MAX, ListReader } from './runs/reader.js';

/** A prepared read. @throws HistoryDamage, or another error of SQLite. */
type Read<Answer> = () => Promise<Answer>;

interface PageOf {
  /** The user or market that the list belongs to. */
  id: number;
  limit: number;
  cursor: number | null;
  /** The ordinal of the newest entry of the list; 0 if the list is empty. */
  newest: number;
  /** The ordinal of the oldest wanted entry. Default: 1. */
  oldest?: number;
}

export interface ReadState {
  /** The contents after the last transaction. */
  lists: CommittedLists;
  /** A market that may still change, for reading until the next command; null for any other. */
  openMarket: (marketId: number) => MarketHistory | null;
}

export class HistoryReads {
  readonly entries: ListReader;
  readonly lists: CommittedLists;

  /** @param turn runs each query. */
  constructor(
    private readonly files: HistoryFiles,
    private readonly state: ReadState,
    private readonly turn: Turn = (query) => query(),
  ) {
    this.lists = state.lists;
    this.entries = new ListReader({
      parts: files.parts,
      query: (part, sql, parameters) => turn(() => files.query(part, sql, parameters)),
      holding: (place) => turn(() => files.holding(place)),
      lastPruned: (list, id) => turn(() => files.lastPruned(list, id)),
    });
  }

  userTrades(request: RequestOf<'userTrades'>): Read<Page<UserTrade>> {
    const { userId, fromMs = null, toMs = null, marketId = null, orderId = null } = request;
    const isFiltered = fromMs !== null || toMs !== null || marketId !== null || orderId !== null;
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

  /** The integers of a keyed result; null if the history does not have it. */
  keyedResult({ sequence }: RequestOf<'keyedResult'>): Read<Float64Array | null> {
    const sql = `${selectValues(KEYED_RESULT)} WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1`;
    return async () => {
      const { files, turn } = this;
      const [row] = await turn(() => files.query<ValueRow<Buffer>>(null, sql, [sequence]));
      return row === undefined ? null : resultIn(row, sequence);
    };
  }

  /** A page of a market's trades; null if there never was such a market. */
  marketTrades(request: RequestOf<'marketTrades'>): Read<HistoryAnswers['marketTrades']> {
    const { marketId: id, limit, cursor, fromMs = null, toMs = null } = request;
    return this.ofMarket(id, async ({ tradeCount: count }) => {
      const firstAt = (value: number) =>
        this.entries.firstFrom(MARKET_TRADE, { id, count, column: 'atMs', value });
      const oldest = fromMs === null ? 1 : await firstAt(fromMs);
      const newest = toMs === null ? count : (await firstAt(toMs + 1)) - 1;
      return this.list(MARKET_TRADE, { id, limit, cursor, newest, oldest });
    });
  }

  /** A page of a market's events; null if there never was such a market. */
  marketEvents(request: RequestOf<'marketEvents'>): Read<HistoryAnswers['marketEvents']> {
    return this.ofMarket(request.marketId, async (market, prices) => {
      return { market, ...(await readMarketEvents(this.entries, market, prices, request)) };
    });
  }

  /** A market's prices; null if there never was such a market. */
  marketTicks({ marketId }: RequestOf<'marketTicks'>): Read<HistoryAnswers['marketTicks']> {
    return this.ofMarket(marketId, (market, prices) =>
      readMarketTicks(this.entries, market, prices),
    );
  }

  /** A page of candles; null if there never was such a market. @param nowMs the engine's time */
  candles(request: RequestOf<'candles'>, nowMs: number): Read<HistoryAnswers['candles']> {
    const { asset, marketId, intervalMs } = request;
    const { knownMarketIds, lengths } = this.lists;
    if (marketId !== null && !knownMarketIds.has(marketId)) return async () => null;
    const span = widestSpan(request, nowMs);
    const ofAsset = () => windowsTradedIn(span, intervalMs).map((ms) => marketIdOf(asset, ms));
    const ids = marketId === null ? ofAsset().filter((id) => knownMarketIds.has(id)) : [marketId];
    const priceCount = lengths.assetPrice.of(asset);
    const read = this.ofMarkets(ids, MARKET_CANDLES, ({ candles }) => [...candles], candlesIn);
    return async () =>
      readCandles(request, span, { lists: this.entries, priceCount, traded: await read() });
  }

  /** Null if there never was such a market; `points` is null unless `withPrices`. */
  market(
    marketId: number,
    withPrices: boolean,
  ): Read<{ market: MarketRecord; points: Float64Array | null } | null> {
    const open = this.state.openMarket(marketId);
    if (open !== null) {
      const found = withPrices ? open.stored : { market: open.record, points: null };
      return async () => found;
    }
    return this.ofMarket(marketId, async (market) =>
      withPrices ? (await this.withPoints([market]))[0]! : { market, points: null },
    );
  }

  /**
   * Reads something about a market, given its record and the number of its asset's prices; null if
   * there never was such a market.
   */
  private ofMarket<Answer>(
    marketId: number,
    read: (market: MarketRecord, prices: number) => Promise<Answer>,
  ): Read<Answer | null> {
    if (!this.lists.knownMarketIds.has(marketId)) return async () => null;
    const prices = this.lists.lengths.assetPrice.of(assetOfMarket(marketId));
    const rows = this.marketRows([marketId]);
    return async () => read((await rows())[0]!, prices);
  }

  pastMarkets(request: RequestOf<'pastMarkets'>): Read<Page<MarketRecord>> {
    const { entries: ids, nextCursor } = this.pastPage(request);
    const rows = this.marketRows(ids);
    return async () => ({ entries: await rows(), nextCursor });
  }

  /**
   * Past markets as parts of JSON. A resolved market with its price history is read from the
   * database once.
   */
  pastMarketParts(
    request: RequestOf<'pastMarketTexts'>,
    assets: MarketAssets,
  ): Read<Page<HashedParts>> {
    const { entries: ids, nextCursor } = this.pastPage(request);
    if (!request.withPrices) {
      const read = this.marketRows(ids);
      const partsOf = (market: MarketRecord) =>
        bytesOf(marketParts(assets, viewOfPast(market), null, null));
      return async () => ({ entries: (await read()).map(partsOf), nextCursor });
    }
    const { texts } = this.files;
    const found = new Map(ids.map((marketId) => [marketId, texts.get(marketId)]));
    const missing = ids.filter((marketId) => found.get(marketId) === undefined);
    const open = missing.flatMap((marketId) => this.state.openMarket(marketId)?.stored ?? []);
    const isOpen = new Set(open.map(({ market }) => market.marketId));
    const read = this.marketRows(missing.filter((marketId) => !isOpen.has(marketId)));
    return async () => {
      for (const { market, points } of [...open, ...(await this.withPoints(await read()))]) {
        const parts = bytesOf(marketParts(assets, viewOfPast(market), null, points));
        found.set(market.marketId, parts);
        if (market.status === MarketStatus.RESOLVED) texts.add(market.marketId, parts);
      }
      return { entries: ids.map((marketId) => found.get(marketId)!), nextCursor };
    };
  }

  /**
   * Trades with filters. A market trades from its listing to its end, so every filter is a range of
   * time.
   */
  private async filteredTrades(
    request: RequestOf<'userTrades'>,
    count: number,
  ): Promise<Page<UserTrade>> {
    const { userId: id, limit, cursor, marketId = null, orderId = null } = request;
    let [fromMs, toMs] = [request.fromMs ?? 0, request.toMs ?? MAX_TIME_MS];
    if (marketId !== null) {
      const startsAtMs = startOfMarketMs(marketId);
      fromMs = Math.max(fromMs, startsAtMs - UPCOMING_WINDOWS * WINDOW_MS);
      toMs = Math.min(toMs, startsAtMs + WINDOW_MS);
    }
    const firstAt = (value: number) =>
      this.entries.firstFrom(USER_TRADE, { id, count, column: 'atMs', value });
    const first = await firstAt(fromMs);
    let last = (await firstAt(toMs + 1)) - 1;
    if (cursor !== null) last = Math.min(last, cursor - 1);
    const found: UserTrade[] = [];
    let read = 0;
    for (; last >= first && found.length <= limit && read < ENTRIES_MAX; last -= RUN_ENTRIES) {
      read += RUN_ENTRIES;
      const place = { id, first: Math.max(first, last - RUN_ENTRIES + 1), last };
      for (const trade of await this.entries.newestFirst(USER_TRADE, place))
        if (
          (marketId === null || trade.marketId === marketId) &&
          (orderId === null || trade.orderId === orderId)
        )
          found.push(trade);
    }
    const entries = found.slice(0, limit);
    if (found.length > limit) return { entries, nextCursor: entries.at(-1)!.ordinal };
    return { entries, nextCursor: last >= first ? last + 1 : null };
  }

  private async list<Layout extends ListLayout>(
    layout: Layout,
    { id, limit, cursor, newest, oldest = 1 }: PageOf,
  ): Promise<Page<EntryOf<Layout>>> {
    const last = cursor === null ? newest : Math.min(cursor - 1, newest);
    const first = Math.max(oldest, last - limit + 1);
    if (last < first) return { entries: [], nextCursor: null };
    const entries = await this.entries.newestFirst(layout, { id, first, last });
    return { entries, nextCursor: first > oldest ? first : null };
  }

  private pastPage(request: RequestOf<'pastMarkets' | 'pastMarketTexts'>): Page<number> {
    const { asset, limit, cursor } = request;
    const [fromMs, toMs] = [request.fromMs ?? 0, request.toMs ?? MAX_TIME_MS];
    const { pastMarketIds } = this.lists;
    const ids: number[] = [];
    // One more id than the limit, if there is another page.
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

  private marketRows(ids: readonly number[]): Read<MarketRecord[]> {
    return this.ofMarkets(ids, MARKET, ({ record }) => record, JSON.parse);
  }

  /** Something of each market, in the order of the ids, all of which exist. */
  private ofMarkets<Value extends string | Buffer, Found>(
    ids: readonly number[],
    table: ValueTable,
    inOpen: (market: MarketHistory) => Found,
    inValue: (value: Value) => Found,
  ): Read<Found[]> {
    const found = new Map<number, Found>();
    for (const id of ids) {
      const market = this.state.openMarket(id);
      if (market !== null) found.set(id, inOpen(market));
    }
    const closed = ids.filter((id) => !found.has(id));
    return async () => {
      const values = await this.valuesOf<Value>(table, closed);
      return ids.map((id) => (found.has(id) ? found.get(id)! : inValue(values.get(id)!)));
    };
  }

  private async withPoints(markets: readonly MarketRecord[]): Promise<StoredMarket[]> {
    const ids = markets.map(({ marketId }) => marketId);
    const prices = await this.valuesOf<Buffer>(MARKET_PRICES, ids);
    return markets.map((market) => {
      return { market, points: pointsIn(prices.get(market.marketId)!) };
    });
  }

  /** Values of markets, from the open part or else from the catalogue. */
  private async valuesOf<Value extends string | Buffer>(
    table: ValueTable,
    ids: readonly number[],
  ): Promise<Map<number, Value>> {
    const { files, turn } = this;
    const sql = `${selectValues(table)} WHERE marketId IN (SELECT value FROM json_each(?))`;
    const found = new Map<number, Value>();
    const readIn = async (part: () => number | null) => {
      const wanted = ids.filter((id) => !found.has(id));
      if (wanted.length === 0) return;
      // The open part may have changed by the time of the turn.
      const read = () => files.query<ValueRow<Value>>(part(), sql, [JSON.stringify(wanted)]);
      for (const row of await turn(read)) found.set(row.key, checkedValue(table, row));
    };
    await readIn(() => files.parts.open);
    await readIn(() => null);
    for (const id of ids) if (!found.has(id)) checkedValue(table, undefined, id);
    return found;
  }
}
