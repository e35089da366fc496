/**
 * The chosen asset's price: now, over the last minutes for the chart, and its average over the
 * market's last minute, which decides the market. Prices continue from one market to the next.
 *
 * Invariant: points are in time order, at most one per {@link POINT_EVERY_MS}, none older than
 * {@link KEPT_MS}, and all of one asset.
 */
import { signal } from '@preact/signals';
import {
  type Market,
  type MarketDetail,
  pastMarkets,
  market as readMarket,
} from '../../../client/index.js';
import { POINT_EVERY_MS, readOdds } from '../chart/odds.js';
import type { Point } from '../chart/plot.js';
import { publicApi } from './exchange.js';
import { beforePaint } from './frame.js';
import { chance, current, market, noteChance } from './markets.js';

/** The market is decided by the average over this time before its end. */
export const SETTLEMENT_MS = 60_000;
/** A window, and the end of the previous one. */
const KEPT_MS = 20 * 60_000;

export const price = signal<number | null>(null);
/** Increases with every change of {@link points}. */
export const pointsVersion = signal(0);

let asset = '';
let points: Point[] = [];
/** Every price of the last minutes, for the average. */
let ticks: Point[] = [];
/** The exchange's own average, and the time from which later prices are added. */
let anchor: { marketId: string; atMs: number; average: number } | null = null;

export function chartPoints(): readonly Point[] {
  return points;
}

export function showPricesOf(chosen: string): void {
  if (chosen === asset) return;
  asset = chosen;
  forget();
  price.value = null;
  chance.value = null;
  pointsVersion.value++;
}

function forget(): void {
  points = [];
  ticks = [];
  anchor = null;
}

/** Call after the stream missed prices. Reads all again, so that the chart has no gap. */
export async function readMissedPrices(): Promise<void> {
  forget();
  const shown = current.peek() ?? market.peek();
  if (shown !== null) await readEarlier(await readMarket(publicApi, shown.id));
}

export function observePrice(of: string, observed: number, atMs: number): void {
  if (of !== asset) return;
  const last = ticks.at(-1);
  if (last !== undefined && atMs < last.atMs) return;
  ticks.push({ atMs, value: observed });
  while (ticks.length > 2 && ticks[1]!.atMs < atMs - 2 * SETTLEMENT_MS) ticks.shift();
  addPoint({ atMs, value: observed });
  beforePaint(show);
}

function show(): void {
  price.value = ticks.at(-1)?.value ?? null;
  pointsVersion.value++;
}

function addPoint(point: Point): void {
  const last = points.at(-1);
  const before = points.at(-2);
  // The last point is the newest price. It moves until it is far enough from the previous one.
  if (last !== undefined && before !== undefined && last.atMs - before.atMs < POINT_EVERY_MS)
    points.pop();
  points.push(point);
  let old = 0;
  while (old < points.length - 1 && points[old]!.atMs < point.atMs - KEPT_MS) old++;
  if (old > 0) points = points.slice(old);
}

/** Reads earlier prices: this market's since its start, and the previous market's. */
export async function readEarlier(shown: Market): Promise<void> {
  const of = shown.asset;
  if (shown.averageSoFar !== null) noteAverage(shown);
  const [own, past] = await Promise.all([
    readMarket(publicApi, shown.id).catch(() => null),
    pastMarkets(publicApi, { asset: of, limit: 1 }).catch(() => null),
  ]);
  if (of !== asset) return;
  if (own?.priceHistory) readOdds(own);
  const earlier = [own, past?.markets[0]]
    .flatMap((each) => pricesOf(each?.priceHistory ?? null))
    .sort((one, other) => one.atMs - other.atMs);
  const firstLive = points[0]?.atMs ?? Number.POSITIVE_INFINITY;
  points = [...earlier.filter(({ atMs }) => atMs < firstLive), ...points];
  if (price.value === null) {
    price.value = shown.assetPrice;
    noteChance(shown.id, shown.indicative);
  }
  pointsVersion.value++;
}

export function pricesOf(history: MarketDetail['priceHistory']): Point[] {
  return (history ?? []).flatMap(({ atMs, assetPrice }) =>
    assetPrice === null ? [] : [{ atMs, value: assetPrice }],
  );
}

/** Stores the exchange's average so far, for a page opened during the last minute. */
function noteAverage({ id, averageSoFar }: Market): void {
  const first = ticks[0];
  if (averageSoFar !== null && first !== undefined)
    anchor = { marketId: id, atMs: first.atMs, average: averageSoFar };
}

/** Each price counts while it is the last known one. `null` without a price or too early. */
export function averageSoFar(
  { id, endsAtMs }: Pick<Market, 'id' | 'endsAtMs'>,
  nowMs: number,
): number | null {
  const fromMs = endsAtMs - SETTLEMENT_MS;
  if (nowMs <= fromMs) return null;
  const untilMs = Math.min(nowMs, endsAtMs);
  let sum = 0;
  let covered = 0;
  ticks.forEach(({ atMs, value: each }, index) => {
    const beganMs = Math.max(atMs, fromMs);
    const endedMs = Math.min(ticks[index + 1]?.atMs ?? untilMs, untilMs);
    if (endedMs <= beganMs) return;
    sum += each * (endedMs - beganMs);
    covered += endedMs - beganMs;
  });
  if (anchor?.marketId === id && anchor.atMs > fromMs) {
    sum += anchor.average * (anchor.atMs - fromMs);
    covered += anchor.atMs - fromMs;
  }
  return covered === 0 ? null : sum / covered;
}
