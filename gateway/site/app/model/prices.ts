/**
 * The price of the chosen asset: now, over the last minutes for the chart, and its average over the
 * last minute of the market, which decides it. It goes on from one market to the next.
 *
 * Always holds: the points are in order of time, at most one in {@link POINT_EVERY_MS}, and no
 * older than {@link KEPT_MS}; everything is of one asset.
 */
import { signal } from '@preact/signals';
import { pastMarkets, market as readMarket } from '../../../client/index.js';
import type { Market, MarketDetail } from '../../../client/types.js';
import { readOdds } from '../chart/odds.js';
import type { Point } from '../chart/plot.js';
import { publicApi } from './exchange.js';
import { beforePaint } from './frame.js';
import { chance, market, noteChance } from './markets.js';

/** The window in which the average counts. */
export const SETTLEMENT_MS = 60_000;
const POINT_EVERY_MS = 1_000;
/** A window, and the end of the one before. */
const KEPT_MS = 20 * 60_000;

/** null: unknown. */
export const price = signal<number | null>(null);
/** Rises with every change of {@link points}. */
export const pointsVersion = signal(0);

let asset = '';
let points: Point[] = [];
/** Every price of the last minutes, for the average. */
let ticks: Point[] = [];
/** What the exchange said of the average, and the time it counts from. */
let anchor: { marketId: string; atMs: number; average: number } | null = null;

export function chartPoints(): readonly Point[] {
  return points;
}

/** Forgets the prices of another asset. */
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

/** After prices that the stream did not send: all are read anew, so there is no hole. */
export async function readMissedPrices(): Promise<void> {
  forget();
  const shown = market.peek();
  if (shown !== null) await readEarlier(await readMarket(publicApi, shown.id));
}

/** A price of the stream. */
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
  // The last point is the newest price; it moves on until it is a second after the one before.
  if (last !== undefined && before !== undefined && point.atMs - before.atMs < POINT_EVERY_MS)
    points.pop();
  points.push(point);
  let old = 0;
  while (old < points.length - 1 && points[old]!.atMs < point.atMs - KEPT_MS) old++;
  if (old > 0) points = points.slice(old);
}

/** Reads what was before: the prices since the market began, and those of the market before. */
export async function readEarlier(current: Market): Promise<void> {
  const of = current.asset;
  if (current.averageSoFar !== null) noteAverage(current);
  const [own, past] = await Promise.all([
    readMarket(publicApi, current.id).catch(() => null),
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
    price.value = current.assetPrice;
    noteChance(current.id, current.indicative);
  }
  pointsVersion.value++;
}

/** Of a market's history. */
export function pricesOf(history: MarketDetail['priceHistory']): Point[] {
  return (history ?? []).flatMap(({ atMs, assetPrice }) =>
    assetPrice === null ? [] : [{ atMs, value: assetPrice }],
  );
}

/** The exchange's own average so far, for a page that is opened within the last minute. */
function noteAverage({ id, averageSoFar }: Market): void {
  const first = ticks[0];
  if (averageSoFar !== null && first !== undefined)
    anchor = { marketId: id, atMs: first.atMs, average: averageSoFar };
}

/**
 * The average of the price since the last minute began, each price weighted by the time it was the
 * last one known; null before that minute, and while nothing of it is known.
 */
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
