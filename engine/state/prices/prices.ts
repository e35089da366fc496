/**
 * Asset prices: the last few minutes of each asset, by time of observation, and the reference
 * prices at which markets start and end.
 *
 * The reference price at T is the time-weighted average of the last known price over the 60 s
 * before T, rounded down to a micro-dollar. The price in force when the minute begins counts from
 * then on if it is at most 120 s old.
 *
 * price-guard.ts holds back a price that is far from the last one.
 */

import { MAX_ASSET_PRICE_MICROS, MAX_REMEMBERED_PRICES } from '../../interface/limits.js';
import {
  PRICE_REMEMBERED_MS,
  REFERENCE_PRICE_AGE_MAX_MS,
  REFERENCE_WINDOW_MS,
} from '../../interface/parameters.js';
import { type Archive, archivedList } from '../../storage/archive.js';
import { PriceGuard } from './price-guard.js';

interface AssetPrices {
  symbol: string;
  readonly guard: PriceGuard;
  /**
   * Times in ascending order; equal times are in order of arrival. Entries before `start` are
   * forgotten.
   */
  observedAtMs: number[];
  priceMicros: number[];
  start: number;
  lastPriceMicros: number;
  lastObservedAtMs: number;
  insertedCount: number;
  /** The cached reference price and its time; -1 after a price that may change it. */
  referenceAtMs: number;
  referenceMicros: number | null;
}

/** Sums of price × time have two parts, price = high × PART + low, so that both stay below 2^53. */
const PART = 2 ** 22;
if (Math.max(MAX_ASSET_PRICE_MICROS / PART, PART) * REFERENCE_WINDOW_MS > Number.MAX_SAFE_INTEGER) {
  throw new Error('a part of the greatest price, over a minute, is not a safe integer');
}

export class Prices {
  private readonly assets: AssetPrices[] = [];

  get assetCount(): number {
    return this.assets.length;
  }

  add(symbol: string): number {
    this.assets.push({
      symbol,
      guard: new PriceGuard(),
      observedAtMs: [],
      priceMicros: [],
      start: 0,
      lastPriceMicros: 0,
      lastObservedAtMs: 0,
      insertedCount: 0,
      referenceAtMs: -1,
      referenceMicros: null,
    });
    return this.assets.length - 1;
  }

  symbol(asset: number): string {
    return this.assets[asset]!.symbol;
  }

  /** The number of an asset; -1 if there is no such asset. */
  find(symbol: string): number {
    return this.assets.findIndex((prices) => prices.symbol === symbol);
  }

  /** The price with the latest observation time; null if none yet. */
  last(asset: number): number | null {
    const prices = this.assets[asset]!;
    return prices.lastPriceMicros === 0 ? null : prices.lastPriceMicros;
  }

  /** When the last price was observed; null if none yet. */
  lastObserved(asset: number): number | null {
    const prices = this.assets[asset]!;
    return prices.lastPriceMicros === 0 ? null : prices.lastObservedAtMs;
  }

  /** Changes with each price. Not part of the state. */
  insertedCount(asset: number): number {
    return this.assets[asset]!.insertedCount;
  }

  /** A sample of the remembered prices, at least `everyMs` apart: pairs of time and price. */
  sampled(asset: number, everyMs: number): number[] {
    const prices = this.assets[asset]!;
    const samples: number[] = [];
    for (let at = prices.start; at < prices.observedAtMs.length; ) {
      const atMs = prices.observedAtMs[at]!;
      samples.push(atMs, prices.priceMicros[at]!);
      at = firstAfter(prices, atMs + everyMs - 1);
    }
    return samples;
  }

  guard(asset: number): PriceGuard {
    return this.assets[asset]!.guard;
  }

  isFull(asset: number): boolean {
    const prices = this.assets[asset]!;
    return prices.observedAtMs.length - prices.start >= MAX_REMEMBERED_PRICES;
  }

  /** Forgets old prices, except the newest of them, which a reference price may need. */
  forgetOld(asset: number, nowMs: number): void {
    const prices = this.assets[asset]!;
    const keepFromMs = nowMs - PRICE_REMEMBERED_MS;
    const times = prices.observedAtMs;
    while (prices.start + 1 < times.length && times[prices.start + 1]! <= keepFromMs)
      prices.start++;
    if (prices.start >= 4_096 && prices.start * 2 > times.length) {
      prices.observedAtMs = times.slice(prices.start);
      prices.priceMicros = prices.priceMicros.slice(prices.start);
      prices.start = 0;
    }
  }

  insert(asset: number, observedAtMs: number, priceMicros: number): void {
    const prices = this.assets[asset]!;
    let at = prices.observedAtMs.length;
    while (at > prices.start && prices.observedAtMs[at - 1]! > observedAtMs) at--;
    if (at === prices.observedAtMs.length) {
      prices.observedAtMs.push(observedAtMs);
      prices.priceMicros.push(priceMicros);
    } else {
      prices.observedAtMs.splice(at, 0, observedAtMs);
      prices.priceMicros.splice(at, 0, priceMicros);
    }
    prices.insertedCount++;
    if (observedAtMs < prices.referenceAtMs) prices.referenceAtMs = -1;
    if (observedAtMs >= prices.lastObservedAtMs) {
      prices.lastObservedAtMs = observedAtMs;
      prices.lastPriceMicros = priceMicros;
    }
  }

  /**
   * The reference price at `atMs` from the prices known so far; null if no price counts. Cached,
   * because each boundary needs it several times.
   */
  reference(asset: number, atMs: number): number | null {
    const prices = this.assets[asset]!;
    if (prices.referenceAtMs !== atMs) {
      prices.referenceMicros = average(prices, atMs - REFERENCE_WINDOW_MS, atMs);
      prices.referenceAtMs = atMs;
    }
    return prices.referenceMicros;
  }

  /** The reference price at `atMs` so far; `nowMs` is in the minute before. */
  averageSoFar(asset: number, atMs: number, nowMs: number): number | null {
    return average(this.assets[asset]!, atMs - REFERENCE_WINDOW_MS, nowMs);
  }

  archive(archive: Archive): void {
    const count = archive.number(this.assets.length);
    for (let asset = 0; asset < count; asset++) {
      if (archive.reading) this.add('');
      const prices = this.assets[asset]!;
      prices.symbol = archive.text(prices.symbol);
      prices.lastPriceMicros = archive.number(prices.lastPriceMicros);
      prices.lastObservedAtMs = archive.number(prices.lastObservedAtMs);
      prices.guard.archive(archive);
      const known = (numbers: number[]) =>
        archivedList(archive, numbers.slice(prices.start), (value = 0) => archive.number(value));
      prices.observedAtMs = known(prices.observedAtMs);
      prices.priceMicros = known(prices.priceMicros);
      prices.start = 0;
    }
  }
}

/** The time-weighted average from `fromMs` to `atMs`; null if no price was known in that time. */
function average(prices: AssetPrices, fromMs: number, atMs: number): number | null {
  const { observedAtMs: times, priceMicros } = prices;
  const inside = firstAfter(prices, fromMs);
  const inForce = inside - 1;
  const hasInForce =
    inForce >= prices.start && times[inForce]! >= fromMs - REFERENCE_PRICE_AGE_MAX_MS;
  const first = hasInForce ? inForce : inside;
  const coveredMs = atMs - Math.max(fromMs, times[first] ?? atMs);
  if (coveredMs <= 0) return null;
  let highSum = 0;
  let lowSum = 0;
  for (let at = first; at < times.length && times[at]! < atMs; at++) {
    const ms = Math.min(times[at + 1] ?? atMs, atMs) - Math.max(times[at]!, fromMs);
    const high = Math.floor(priceMicros[at]! / PART);
    highSum += high * ms;
    lowSum += (priceMicros[at]! - high * PART) * ms;
  }
  return Number((BigInt(highSum) * BigInt(PART) + BigInt(lowSum)) / BigInt(coveredMs));
}

/** The index of the first price observed after `atMs`, by binary search. */
function firstAfter({ observedAtMs: times, start }: AssetPrices, atMs: number): number {
  let from = start;
  let to = times.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (times[middle]! <= atMs) from = middle + 1;
    else to = middle;
  }
  return from;
}
