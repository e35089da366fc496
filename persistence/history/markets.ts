/**
 * Markets of the history, made from their events alone: a row each, and the lists of their price
 * histories and of the candles of their trades.
 *
 * A price history has a point at every 5 s mark from the market's opening to its end, both
 * included. A point shows the state after the last command before the mark; before a market was
 * listed it had no book. A market that opens late, with the first price to arrive, has its first
 * point then, which shows the state after that command.
 */
import type { Engine } from '../../engine/engine.js';
import {
  assetOfMarket,
  MarketStatus,
  MatchType,
  Resolution,
  startOfMarketMs,
  ticksIn,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import { EventSlot } from '../../engine/interface/events.js';
import { addSaturating } from '../../engine/storage/arithmetic.js';
import { PendingLists } from './lists.js';
import { NO_PRICE, upPrice } from './market-json/market.js';
import {
  columnsOf,
  MARKET_CANDLE,
  MARKET_POINT,
  type MarketRecord,
  type TradeCandle,
} from './runs/format.js';

/** The time from one mark to the next. */
const MARK_MS = 5_000;
export const CANDLE_MS = 5_000;

const Trade = EventSlot.trade;
const Resolved = EventSlot.marketResolved;
const Point = columnsOf(MARKET_POINT);

export function newMarket(marketId: number): MarketRecord {
  return {
    marketId,
    status: MarketStatus.UPCOMING,
    resolution: Resolution.NONE,
    startPriceMicros: 0,
    endPriceMicros: 0,
    resolvedAtMs: 0,
    volumeMicros: 0,
    openInterestLots: 0,
    lastTradeTicks: 0,
    tradeCount: 0,
    bookCount: 0,
    pointCount: 0,
    candleCount: 0,
    candle: null,
    isClosed: 0,
    sequence: 0,
  };
}

export function copyOf(market: MarketRecord): MarketRecord {
  return { ...market, candle: market.candle && { ...market.candle } };
}

interface TradeOfMarket {
  atMs: number;
  upTicks: number;
  sizeLots: number;
  takerOutcome: number;
}

/** The value of a trade is what its taker pays or receives. */
function valueMicrosOf({ upTicks, sizeLots, takerOutcome }: TradeOfMarket): number {
  return sizeLots * ticksIn(takerOutcome, upTicks);
}

/** Adds a trade to the candle, or returns a new candle if the trade is after its interval. */
export function candleWith(candle: TradeCandle | null, trade: TradeOfMarket): TradeCandle {
  const { upTicks } = trade;
  const atMs = startOf(trade.atMs, CANDLE_MS);
  const valueMicros = valueMicrosOf(trade);
  if (candle?.atMs !== atMs) {
    const range = { open: upTicks, high: upTicks, low: upTicks, close: upTicks };
    return { atMs, ...range, valueMicros, trades: 1 };
  }
  candle.high = Math.max(candle.high, upTicks);
  candle.low = Math.min(candle.low, upTicks);
  candle.close = upTicks;
  candle.valueMicros = addSaturating(candle.valueMicros, valueMicros);
  candle.trades++;
  return candle;
}

/** When the interval with this time begins. */
export function startOf(atMs: number, intervalMs: number): number {
  return atMs - (atMs % intervalMs);
}

export type MarketsEngine = Pick<
  Engine,
  'sequence' | 'nowMs' | 'assetCount' | 'assetPriceMicros' | 'market'
>;

export interface MarketChanges {
  markets: MarketRecord[];
  addedIds: number[];
  endedIds: number[];
}

/** The markets that the engine still has, kept up to date from its events. */
export class Markets {
  readonly points = new PendingLists(MARKET_POINT);
  readonly candles = new PendingLists(MARKET_CANDLE);
  private addedIds: number[] = [];
  private endedIds: number[] = [];
  private readonly changed = new Set<MarketRecord>();
  private readonly known = new Map<number, MarketRecord>();
  /** UP's price in upcoming markets, and the assets' prices, before the last mark. */
  private readonly halfTicksBefore = new Map<number, number>();
  private readonly pricesBefore: number[] = [];
  private nextMarkMs: number;

  /** @param markets that the engine still has */
  constructor(
    private readonly engine: MarketsEngine,
    markets: readonly MarketRecord[],
  ) {
    for (const market of markets) this.known.set(market.marketId, market);
    this.nextMarkMs = markAfter(engine.nowMs);
  }

  /** Adds the points of all marks up to `atMs`, inclusive; called before a command of that time. */
  advance(atMs: number): void {
    if (atMs < this.nextMarkMs) return;
    const { engine } = this;
    for (let asset = 0; asset < engine.assetCount; asset++)
      this.pricesBefore[asset] = engine.assetPriceMicros(asset) ?? 0;
    for (const market of this.known.values()) {
      const { marketId, status } = market;
      if (status === MarketStatus.ACTIVE)
        this.addPoints(market, this.nextMarkMs, atMs, this.upHalfTicks(marketId));
      if (status === MarketStatus.UPCOMING)
        this.halfTicksBefore.set(marketId, this.upHalfTicks(marketId));
    }
    this.nextMarkMs = markAfter(atMs);
  }

  /** A market that the engine still has, for reading until the next command. */
  live(marketId: number): MarketRecord | null {
    return this.known.get(marketId) ?? null;
  }

  /** The market's row, for the caller to change. */
  change(marketId: number): MarketRecord {
    const market = this.known.get(marketId);
    if (market === undefined) throw new Error(`the history does not know market ${marketId}`);
    market.sequence = this.engine.sequence;
    this.changed.add(market);
    return market;
  }

  list(marketId: number): void {
    this.known.set(marketId, newMarket(marketId));
    this.addedIds.push(marketId);
    this.change(marketId);
  }

  /** @param isLate whether a price that arrived after the market's start opened it */
  open(marketId: number, startPriceMicros: number, isLate: boolean): void {
    const { engine } = this;
    if (!this.known.has(marketId)) this.list(marketId);
    const market = this.change(marketId);
    market.status = MarketStatus.ACTIVE;
    market.startPriceMicros = startPriceMicros;
    const halfTicks = this.halfTicksBefore.get(marketId) ?? NO_PRICE;
    this.halfTicksBefore.delete(marketId);
    if (isLate) {
      const priceMicros = engine.assetPriceMicros(assetOfMarket(marketId)) ?? 0;
      this.addPoint(market, engine.nowMs, this.upHalfTicks(marketId), priceMicros);
    } else this.addPoints(market, startOfMarketMs(marketId), engine.nowMs, halfTicks);
  }

  end(marketId: number): void {
    this.change(marketId).status = MarketStatus.ENDED;
    this.halfTicksBefore.delete(marketId);
    this.endedIds.push(marketId);
  }

  addTrade(values: Float64Array, at: number): MarketRecord {
    const market = this.change(values[at + Trade.marketId]!);
    const { candle } = market;
    const trade = {
      atMs: this.engine.nowMs,
      upTicks: values[at + Trade.upTicks]!,
      sizeLots: values[at + Trade.sizeLots]!,
      takerOutcome: values[at + Trade.takerOutcome]!,
    };
    const { upTicks, sizeLots } = trade;
    const matchType = values[at + Trade.matchType]!;
    market.tradeCount++;
    market.lastTradeTicks = upTicks;
    market.volumeMicros = addSaturating(market.volumeMicros, valueMicrosOf(trade));
    market.candle = candleWith(candle, trade);
    if (candle !== null && market.candle !== candle) this.addCandle(market, candle);
    if (matchType === MatchType.MINT) market.openInterestLots += sizeLots;
    else if (matchType === MatchType.MERGE) market.openInterestLots -= sizeLots;
    return market;
  }

  resolve(values: Float64Array, at: number): void {
    const market = this.change(values[at + Resolved.marketId]!);
    market.status = MarketStatus.RESOLVED;
    market.resolution = values[at + Resolved.resolution]!;
    market.endPriceMicros = values[at + Resolved.endPriceMicros]!;
    market.resolvedAtMs = this.engine.nowMs;
  }

  close(marketId: number): void {
    this.change(marketId).isClosed = 1;
    this.known.delete(marketId);
  }

  drain(): MarketChanges {
    const { addedIds, endedIds } = this;
    const markets = Array.from(this.changed, copyOf);
    this.changed.clear();
    this.addedIds = [];
    this.endedIds = [];
    return { markets, addedIds, endedIds };
  }

  private upHalfTicks(marketId: number): number {
    return upPrice(this.engine.market(marketId)!)?.halfTicks ?? NO_PRICE;
  }

  /**
   * Adds points at the marks from `fromMs` to `toMs`, both included, but none after the market's
   * end.
   */
  private addPoints(market: MarketRecord, fromMs: number, toMs: number, halfTicks: number): void {
    const { marketId } = market;
    const priceMicros = this.pricesBefore[assetOfMarket(marketId)] ?? 0;
    const lastMs = Math.min(toMs, startOfMarketMs(marketId) + WINDOW_MS);
    for (let atMs = fromMs; atMs <= lastMs; atMs += MARK_MS)
      this.addPoint(market, atMs, halfTicks, priceMicros);
  }

  private addPoint(
    market: MarketRecord,
    atMs: number,
    halfTicks: number,
    assetPriceMicros: number,
  ): void {
    this.changed.add(market);
    const { points } = this;
    const to = points.add(market.marketId, ++market.pointCount);
    points.values[to + Point.atMs] = atMs;
    points.values[to + Point.upHalfTicks] = halfTicks;
    points.values[to + Point.assetPriceMicros] = assetPriceMicros;
  }

  private addCandle(market: MarketRecord, candle: TradeCandle): void {
    const to = this.candles.add(market.marketId, ++market.candleCount);
    for (const [i, column] of MARKET_CANDLE.columns.entries())
      this.candles.values[to + i] = candle[column];
  }
}

function markAfter(atMs: number): number {
  return startOf(atMs, MARK_MS) + MARK_MS;
}
