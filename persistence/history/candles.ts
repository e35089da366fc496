/**
 * Candles: a market's trades and an asset's prices in each interval of time. A market's candles are
 * combined from the stored candles of 5 s (markets.ts). An asset's candles are computed from the
 * list of its prices, so they need no storage.
 *
 * Invariant: a page has a candle for every interval, even for one without trades and prices. A read
 * examines about 30,000 prices at most, unless a single interval has more.
 */
import { startOfMarketMs, WINDOW_MS } from '../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import { UPCOMING_WINDOWS } from '../../engine/interface/parameters.js';
import { addSaturating } from '../../engine/storage/arithmetic.js';
import { startOf } from './markets.js';
import { ASSET_PRICE, type EntryOf, RUN_ENTRIES, type TradeCandle } from './runs/format.js';
import { ENTRIES_MAX, type ListReader, type Page } from './runs/reader.js';

/** Every window begins at a multiple of each interval. */
export const INTERVALS_MS = { '5s': 5_000, '1m': 60_000 } as const;

/** The first, highest, lowest and last price; all in ticks of UP, or all in micros. */
export interface PriceRange {
  open: number;
  high: number;
  low: number;
  close: number;
}

export interface Candle {
  /** When the interval begins. */
  atMs: number;
  /** Prices of UP in ticks; null without a trade, and for an asset. */
  up: PriceRange | null;
  /** The asset's prices, in micros, in the order of their arrival; null if none arrived. */
  assetPrice: PriceRange | null;
  volumeMicros: number;
  trades: number;
}

export interface CandlesRequest {
  /** The market; null for candles of the asset, with the trades of all its markets. */
  marketId: number | null;
  asset: number;
  intervalMs: number;
  limit: number;
  /** Only intervals that begin before this time are wanted. */
  cursor: number | null;
  /** The first and last beginnings of wanted intervals, both included. */
  fromMs: number | null;
  toMs: number | null;
}

/** The beginnings of the first and of the last interval. */
export interface Span {
  fromMs: number;
  toMs: number;
}

/** The intervals of a page of a market or an asset that existed during the whole time. */
export function widestSpan(request: CandlesRequest, nowMs: number): Span {
  const { intervalMs, limit, cursor } = request;
  const endMs =
    request.marketId === null ? nowMs : startOfMarketMs(request.marketId) + WINDOW_MS - 1;
  const lastMs = Math.min(nowMs, endMs, request.toMs ?? MAX_TIME_MS, (cursor ?? MAX_TIME_MS) - 1);
  const toMs = startOf(lastMs, intervalMs);
  return { fromMs: Math.max(firstWanted(request), toMs - (limit - 1) * intervalMs), toMs };
}

/** The first interval that begins at `fromMs` or later. */
function firstWanted({ fromMs, intervalMs }: CandlesRequest): number {
  return startOf((fromMs ?? 0) + intervalMs - 1, intervalMs);
}

/** The start times of the windows whose markets may have traded within the span. */
export function windowsTradedIn({ fromMs, toMs }: Span, intervalMs: number): number[] {
  const starts: number[] = [];
  const lastMs = toMs + intervalMs - 1 + UPCOMING_WINDOWS * WINDOW_MS;
  for (let startMs = startOf(fromMs, WINDOW_MS); startMs <= lastMs; startMs += WINDOW_MS)
    starts.push(startMs);
  return starts;
}

export interface CandleSources {
  lists: ListReader;
  /** The number of prices of the asset. */
  priceCount: number;
  /** The candles of each market, oldest first. */
  traded: readonly (readonly TradeCandle[])[];
}

/**
 * Reads candles, newest first. A page may hold fewer than its limit, and still have a next page.
 */
export async function readCandles(
  request: CandlesRequest,
  { fromMs, toMs }: Span,
  sources: CandleSources,
): Promise<Page<Candle>> {
  const { marketId, intervalMs } = request;
  const beganMs = startOf(await firstMsOf(request, sources), intervalMs);
  const pageMs = { fromMs: Math.max(fromMs, beganMs), toMs };
  if (pageMs.fromMs > toMs) return { entries: [], nextCursor: null };
  const { prices, completeMs } = await pricesIn(pageMs, request, sources);
  const candles = new Map<number, Candle>();
  for (let atMs = toMs; atMs >= completeMs; atMs -= intervalMs)
    candles.set(atMs, { atMs, up: null, assetPrice: null, volumeMicros: 0, trades: 0 });
  for (const { atMs, priceMicros: each } of prices.reverse()) {
    const candle = candles.get(startOf(atMs, intervalMs));
    const only = { open: each, high: each, low: each, close: each };
    if (candle !== undefined) candle.assetPrice = followedBy(candle.assetPrice, only);
  }
  for (const stored of sources.traded.flat()) {
    const candle = candles.get(startOf(stored.atMs, intervalMs));
    if (candle !== undefined) addStored(candle, stored, marketId !== null);
  }
  const oldestMs = Math.max(beganMs, firstWanted(request));
  return { entries: [...candles.values()], nextCursor: completeMs > oldestMs ? completeMs : null };
}

/**
 * The first time of an interval: a market begins with its first trade, or else with its window; an
 * asset with its first price.
 */
async function firstMsOf(
  { marketId, asset }: CandlesRequest,
  { lists, priceCount, traded }: CandleSources,
): Promise<number> {
  if (marketId !== null)
    return Math.min(startOfMarketMs(marketId), traded[0]![0]?.atMs ?? Number.POSITIVE_INFINITY);
  return priceCount === 0 ? MAX_TIME_MS : (await lists.at(ASSET_PRICE, asset, 1)).atMs;
}

/** Prices, newest first. All prices that arrived from `completeMs` on are included. */
async function pricesIn(
  { fromMs, toMs }: Span,
  { asset: id, intervalMs }: CandlesRequest,
  { lists, priceCount }: CandleSources,
) {
  const endMs = toMs + intervalMs;
  const firstAt = (value: number, count: number) =>
    lists.firstFrom(ASSET_PRICE, { id, count, column: 'atMs', value });
  let last = (await firstAt(endMs, priceCount)) - 1;
  const oldest = await firstAt(fromMs, last);
  const prices: EntryOf<typeof ASSET_PRICE>[] = [];
  let completeMs = endMs;
  while (last >= oldest && (prices.length < ENTRIES_MAX || completeMs === endMs)) {
    const first = Math.max(oldest, last - RUN_ENTRIES + 1);
    prices.push(...(await lists.newestFirst(ASSET_PRICE, { id, first, last })));
    completeMs = startOf(prices.at(-1)!.atMs, intervalMs) + intervalMs;
    last = first - 1;
  }
  return { prices, completeMs: last < oldest ? fromMs : completeMs };
}

function addStored(candle: Candle, stored: TradeCandle, ofMarket: boolean): void {
  const { open, high, low, close, valueMicros, trades } = stored;
  if (ofMarket) candle.up = followedBy(candle.up, { open, high, low, close });
  candle.volumeMicros = addSaturating(candle.volumeMicros, valueMicros);
  candle.trades += trades;
}

function followedBy(range: PriceRange | null, next: PriceRange): PriceRange {
  if (range === null) return next;
  const high = Math.max(range.high, next.high);
  const low = Math.min(range.low, next.low);
  return { open: range.open, high, low, close: next.close };
}
