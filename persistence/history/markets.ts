/**
 * Markets of the history, made from their events alone: a row each, a price history, and the
 * candles of their trades (runs/candles.ts).
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
import { NO_PRICE, upPrice } from './market-json/market.js';
import { addTrade, candleBytes, pointBytes } from './runs/candles.js';
import type { MarketRecord } from './runs/format.js';

const MARK_MS = 5_000;

const Trade = EventSlot.trade;
const Shared = EventSlot.feesShared;
const Resolved = EventSlot.marketResolved;

export class MarketHistory implements MarketRecord {
  previousId = 0;
  status: number = MarketStatus.UPCOMING;
  resolution: number = Resolution.NONE;
  openedAtMs = 0;
  startPriceMicros = 0;
  endPriceMicros = 0;
  resolvedAtMs = 0;
  volumeMicros = 0;
  openInterestLots = 0;
  lastTradeTicks = 0;
  tradeCount = 0;
  bookCount = 0;
  vaultMicros = 0;
  referrersMicros = 0;
  makersMicros = 0;
  treasuryMicros = 0;
  isClosed = 0;
  sequence = 0;
  /** UP's price before the last command that crossed a mark, for an upcoming market. */
  halfTicksBefore = NO_PRICE;
  /**
   * Triples of time, UP's price in half ticks (or NO_PRICE), and the asset's in micros (0 if none).
   */
  readonly points: number[] = [];
  /** Candles in the form of {@link addTrade}. */
  readonly candles: number[] = [];

  constructor(readonly marketId: number) {}

  get endsAtMs(): number {
    return startOfMarketMs(this.marketId) + WINDOW_MS;
  }

  /** A copy of the market's row. */
  get record(): MarketRecord {
    const { points: _, candles: __, halfTicksBefore: ___, ...record } = this;
    return record;
  }

  /** A copy of the market's row and its price history. */
  get stored(): StoredMarket {
    return { market: this.record, points: Float64Array.from(this.points) };
  }

  static from({ market, points, candles }: OpenMarket): MarketHistory {
    const history = Object.assign(new MarketHistory(market.marketId), market);
    history.points.push(...points);
    history.candles.push(...candles);
    return history;
  }
}

/** A market with its price history, in triples (runs/candles.ts), oldest point first. */
export interface StoredMarket {
  market: MarketRecord;
  points: Float64Array;
}

/** A stored market with its candles, in the form of {@link addTrade}. */
export interface OpenMarket extends StoredMarket {
  candles: readonly number[];
}

export type MarketsEngine = Pick<
  Engine,
  'sequence' | 'nowMs' | 'assetCount' | 'assetPriceMicros' | 'market'
>;

export interface MarketsState {
  /** The markets that the engine still has, oldest first. */
  markets: MarketHistory[];
  /** The newest market of each asset; 0 or missing if there is none. */
  lastMarketIds: number[];
}

export interface MarketChanges {
  markets: MarketRecord[];
  /** Whole price histories and candles, which replace the stored ones. */
  prices: { marketId: number; bytes: Buffer }[];
  candles: { marketId: number; bytes: Buffer }[];
  addedIds: number[];
  endedIds: number[];
}

/** The markets that the engine still has, kept up to date from its events. */
export class Markets {
  private addedIds: number[] = [];
  private endedIds: number[] = [];
  private readonly changed = new Set<MarketHistory>();
  private readonly changedPoints = new Set<MarketHistory>();
  private readonly changedCandles = new Set<MarketHistory>();

  private readonly known = new Map<number, MarketHistory>();
  private readonly active = new Set<MarketHistory>();
  private readonly upcoming = new Set<MarketHistory>();
  /** Asset prices before the last command that crossed a mark. */
  private pricesBefore: number[] = [];
  private nextMarkMs: number;

  constructor(
    private readonly engine: MarketsEngine,
    private readonly state: MarketsState,
  ) {
    for (const market of state.markets) {
      this.known.set(market.marketId, market);
      if (market.status === MarketStatus.ACTIVE) this.active.add(market);
      if (market.status === MarketStatus.UPCOMING) this.upcoming.add(market);
    }
    this.nextMarkMs = markAfter(engine.nowMs);
  }

  /** Adds the points of all marks up to `atMs`, inclusive; called before a command of that time. */
  advance(atMs: number): void {
    if (atMs < this.nextMarkMs) return;
    const { engine } = this;
    for (let asset = 0; asset < engine.assetCount; asset++)
      this.pricesBefore[asset] = engine.assetPriceMicros(asset) ?? 0;
    for (const market of this.active) {
      this.addPoints(market, this.nextMarkMs, atMs, this.upHalfTicks(market.marketId));
    }
    for (const market of this.upcoming) market.halfTicksBefore = this.upHalfTicks(market.marketId);
    this.nextMarkMs = markAfter(atMs);
  }

  /** A market that the engine still has, for reading until the next command. */
  live(marketId: number): MarketHistory | null {
    return this.known.get(marketId) ?? null;
  }

  /** The market's row, for the caller to change. */
  change(marketId: number): MarketHistory {
    const market = this.known.get(marketId);
    if (market === undefined) throw new Error(`the history does not know market ${marketId}`);
    market.sequence = this.engine.sequence;
    this.changed.add(market);
    return market;
  }

  /**
   * Adds an upcoming market, newer than all others of its asset. Its price history and its candles
   * are empty.
   */
  list(marketId: number): void {
    const { lastMarketIds } = this.state;
    const market = new MarketHistory(marketId);
    const asset = assetOfMarket(marketId);
    market.previousId = lastMarketIds[asset] ?? 0;
    lastMarketIds[asset] = marketId;
    this.known.set(marketId, market);
    this.upcoming.add(market);
    this.addedIds.push(marketId);
    this.changedPoints.add(market);
    this.changedCandles.add(market);
    this.change(marketId);
  }

  /** @param isLate whether a price that arrived after the market's start opened it */
  open(marketId: number, startPriceMicros: number, isLate: boolean): void {
    const { engine } = this;
    if (!this.known.has(marketId)) this.list(marketId);
    const market = this.change(marketId);
    const startsAtMs = startOfMarketMs(marketId);
    market.status = MarketStatus.ACTIVE;
    market.startPriceMicros = startPriceMicros;
    market.openedAtMs = isLate ? engine.nowMs : startsAtMs;
    this.upcoming.delete(market);
    this.active.add(market);
    if (isLate) {
      const priceMicros = engine.assetPriceMicros(assetOfMarket(marketId)) ?? 0;
      this.addPoint(market, market.openedAtMs, this.upHalfTicks(marketId), priceMicros);
    } else this.addPoints(market, startsAtMs, engine.nowMs, market.halfTicksBefore);
  }

  end(marketId: number): void {
    const market = this.change(marketId);
    market.status = MarketStatus.ENDED;
    this.active.delete(market);
    this.upcoming.delete(market);
    this.endedIds.push(marketId);
  }

  addTrade(values: Float64Array, at: number): MarketHistory {
    const market = this.change(values[at + Trade.marketId]!);
    const upTicks = values[at + Trade.upTicks]!;
    const sizeLots = values[at + Trade.sizeLots]!;
    const takerTicks = ticksIn(values[at + Trade.takerOutcome]!, upTicks);
    const matchType = values[at + Trade.matchType]!;
    market.tradeCount++;
    market.lastTradeTicks = upTicks;
    const valueMicros = sizeLots * takerTicks;
    market.volumeMicros = addSaturating(market.volumeMicros, valueMicros);
    addTrade(market.candles, { atMs: this.engine.nowMs, upTicks, valueMicros });
    this.changedCandles.add(market);
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

  shareFees(values: Float64Array, at: number): void {
    const market = this.change(values[at + Shared.marketId]!);
    market.vaultMicros = values[at + Shared.vaultMicros]!;
    market.referrersMicros = values[at + Shared.referrersMicros]!;
    market.makersMicros = values[at + Shared.makersMicros]!;
    market.treasuryMicros = values[at + Shared.treasuryMicros]!;
  }

  close(marketId: number): void {
    this.change(marketId).isClosed = 1;
    this.known.delete(marketId);
  }

  drain(): MarketChanges {
    const markets = Array.from(this.changed, ({ record }) => record);
    const prices = Array.from(this.changedPoints, ({ marketId, points }) => ({
      marketId,
      bytes: pointBytes(points),
    }));
    const candles = Array.from(this.changedCandles, ({ marketId, candles }) => ({
      marketId,
      bytes: candleBytes(candles),
    }));
    const { addedIds, endedIds } = this;
    this.changed.clear();
    this.changedPoints.clear();
    this.changedCandles.clear();
    this.addedIds = [];
    this.endedIds = [];
    return { markets, prices, candles, addedIds, endedIds };
  }

  private upHalfTicks(marketId: number): number {
    return upPrice(this.engine.market(marketId)!)?.halfTicks ?? NO_PRICE;
  }

  /**
   * Adds points at the marks from `fromMs` to `toMs`, both included, but none after the market's
   * end.
   */
  private addPoints(market: MarketHistory, fromMs: number, toMs: number, halfTicks: number): void {
    const priceMicros = this.pricesBefore[assetOfMarket(market.marketId)] ?? 0;
    const lastMs = Math.min(toMs, market.endsAtMs);
    for (let atMs = fromMs; atMs <= lastMs; atMs += MARK_MS) {
      this.addPoint(market, atMs, halfTicks, priceMicros);
    }
  }

  private addPoint(
    market: MarketHistory,
    atMs: number,
    halfTicks: number,
    assetPriceMicros: number,
  ): void {
    market.points.push(atMs, halfTicks, assetPriceMicros);
    this.changedPoints.add(market);
  }
}

function markAfter(atMs: number): number {
  return Math.floor(atMs / MARK_MS) * MARK_MS + MARK_MS;
}
