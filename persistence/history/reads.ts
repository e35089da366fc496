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
import type { RunQuery } from './fair-read-scheduler.js';
import type { MEASURED } from './lists.js';
import { readMarketEvents, readMarketTicks } from './market-events.js';
import {
  bytesOf,
  type HashedParts,
  type MarketAssets,
  marketParts,
  type PricePoint,
} from './market-json/market.js';
import { copyOf } from './markets.js';
import type { CommittedLists } from './opening.js';
import type { HistoryFiles } from './parts/files.js';
import { type HistoryAnswers, type RequestOf, type UserTrade, viewOfPast } from './requests.js';
import { checkedValue, selectValues, type ValueRow } from './rows.js';
import {
  type EntryOf,
  MARKET,
  MARKET_CANDLE,
  MARKET_POINT,
  MARKET_TRADE,
  type MarketRecord,
  type TradeCandle,
  USER_TRADE,
} from './runs/format.js';
import { KEYED_RESULT, resultIn } from './runs/keyed-results.js';
import { ListReader, type Page, type PageRequest } from './runs/reader.js';

/** A prepared read. @throws HistoryDamage, or another error of SQLite. */
type Read<Answer> = () => Promise<Answer>;

export interface ReadState {
  /** The contents after the last transaction. */
  lists: CommittedLists;
  /** A market that may still change, for reading until the next command; null for any other. */
  openMarket: (marketId: number) => MarketRecord | null;
}

export class HistoryReads {
  readonly entries: ListReader;
  readonly lists: CommittedLists;

  constructor(
    private readonly files: HistoryFiles,
    private readonly state: ReadState,
    private readonly runQuery: RunQuery = (query) => query(),
  ) {
    this.lists = state.lists;
    this.entries = new ListReader({
      parts: files.parts,
      query: (part, sql, parameters) => runQuery(() => files.query(part, sql, parameters)),
      holding: (place) => runQuery(() => files.holding(place)),
      lastPruned: (list, id) => runQuery(() => files.lastPruned(list, id)),
    });
  }

  /** A market trades from its listing to its end, so every filter of trades is a range of time. */
  userTrades(request: RequestOf<'userTrades'>): Read<Page<UserTrade>> {
    const { userId: id, fromMs, toMs, marketId = null, orderId = null, ...page } = request;
    const startsAtMs = startOfMarketMs(marketId ?? 0);
    const listedMs = marketId === null ? 0 : startsAtMs - UPCOMING_WINDOWS * WINDOW_MS;
    const endedMs = marketId === null ? MAX_TIME_MS : startsAtMs + WINDOW_MS;
    const time = {
      fromMs: Math.max(fromMs ?? 0, listedMs),
      toMs: Math.min(toMs ?? MAX_TIME_MS, endedMs),
    };
    const isWanted = (trade: UserTrade) =>
      (marketId === null || trade.marketId === marketId) &&
      (orderId === null || trade.orderId === orderId);
    const isFiltered = marketId !== null || orderId !== null;
    const count = this.lists.lengths.userTrade.of(id);
    return async () => {
      const range = { id, ...(await this.entries.inTime(USER_TRADE, { id, count, ...time })) };
      return this.entries.page(USER_TRADE, range, page, isFiltered ? isWanted : null);
    };
  }

  listOfUser<Layout extends (typeof MEASURED)[number]>(
    layout: Layout,
    { userId: id, ...page }: { userId: number } & PageRequest,
  ): Read<Page<EntryOf<Layout>>> {
    const last = this.lists.lengths[layout.name].of(id);
    return () => this.entries.page(layout, { id, first: 1, last }, page);
  }

  /** The integers of a keyed result; null if the history does not have it. */
  keyedResult({ sequence }: RequestOf<'keyedResult'>): Read<Float64Array | null> {
    const sql = `${selectValues(KEYED_RESULT)} WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1`;
    return async () => {
      const { files, runQuery } = this;
      const [row] = await runQuery(() => files.query<ValueRow<Buffer>>(null, sql, [sequence]));
      return row === undefined ? null : resultIn(row, sequence);
    };
  }

  /** A page of a market's trades; null if there never was such a market. */
  marketTrades(request: RequestOf<'marketTrades'>): Read<HistoryAnswers['marketTrades']> {
    const { marketId: id, fromMs = null, toMs = null, ...page } = request;
    return this.ofMarket(id, async ({ tradeCount: count }) => {
      const time = { fromMs: fromMs ?? 0, toMs: toMs ?? MAX_TIME_MS };
      const range = { id, ...(await this.entries.inTime(MARKET_TRADE, { id, count, ...time })) };
      return this.entries.page(MARKET_TRADE, range, page);
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
    const read = this.markets(ids);
    return async () => {
      const traded: TradeCandle[][] = [];
      for (const market of await read()) traded.push(await this.candlesOf(market));
      return readCandles(request, span, { lists: this.entries, priceCount, traded });
    };
  }

  /** Null if there never was such a market; `points` is null unless `withPrices`. */
  market(
    marketId: number,
    withPrices: boolean,
  ): Read<{ market: MarketRecord; points: PricePoint[] | null } | null> {
    return this.ofMarket(marketId, async (market) => {
      return { market, points: withPrices ? await this.pointsOf(market) : null };
    });
  }

  pastMarkets(request: RequestOf<'pastMarkets'>): Read<Page<MarketRecord>> {
    const { entries: ids, nextCursor } = this.pastPage(request);
    const read = this.markets(ids);
    return async () => ({ entries: await read(), nextCursor });
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
    const { texts } = this.files;
    const { withPrices } = request;
    const found = new Map(ids.map((id) => [id, withPrices ? texts.get(id) : undefined]));
    const read = this.markets(ids.filter((id) => found.get(id) === undefined));
    return async () => {
      for (const market of await read()) {
        const points = withPrices ? await this.pointsOf(market) : null;
        const parts = bytesOf(marketParts(assets, viewOfPast(market), null, points));
        found.set(market.marketId, parts);
        if (withPrices && market.status === MarketStatus.RESOLVED)
          texts.add(market.marketId, parts);
      }
      return { entries: ids.map((id) => found.get(id)!), nextCursor };
    };
  }

  private pointsOf({ marketId: id, pointCount: last }: MarketRecord): Promise<PricePoint[]> {
    return this.entries.oldestFirst(MARKET_POINT, { id, first: 1, last });
  }

  /** Oldest first. */
  private async candlesOf(market: MarketRecord): Promise<TradeCandle[]> {
    const { marketId: id, candleCount: last, candle } = market;
    const stored = await this.entries.oldestFirst(MARKET_CANDLE, { id, first: 1, last });
    return candle === null ? stored : [...stored, candle];
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
    const markets = this.markets([marketId]);
    return async () => read((await markets())[0]!, prices);
  }

  /**
   * The records of markets, all of which exist, in the order of the ids. Those that may still
   * change are copied now; the others come from the open part or else from the catalogue.
   */
  private markets(ids: readonly number[]): Read<MarketRecord[]> {
    const { files, runQuery } = this;
    const found = new Map<number, MarketRecord>();
    for (const id of ids) {
      const market = this.state.openMarket(id);
      if (market !== null) found.set(id, copyOf(market));
    }
    const sql = `${selectValues(MARKET)} WHERE marketId IN (SELECT value FROM json_each(?))`;
    const readIn = async (part: () => number | null) => {
      const wanted = ids.filter((id) => !found.has(id));
      if (wanted.length === 0) return;
      // The open part may have changed by the time of the turn.
      const read = () => files.query<ValueRow<string>>(part(), sql, [JSON.stringify(wanted)]);
      for (const row of await runQuery(read))
        found.set(row.key, JSON.parse(checkedValue(MARKET, row)));
    };
    return async () => {
      await readIn(() => files.parts.open);
      await readIn(() => null);
      for (const id of ids) if (!found.has(id)) checkedValue(MARKET, undefined, id);
      return ids.map((id) => found.get(id)!);
    };
  }
}
