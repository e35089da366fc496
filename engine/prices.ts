/**
 * Asset prices: the last few minutes of each asset, in the order in which they were observed, and the reference price
 * that markets start and end at.
 *
 * The reference price at T is the time-weighted average over the 60 s before T of the last known price, rounded down
 * to a micro-dollar. The price in force when the minute begins counts from there if it is at most 120 s old by then.
 */
import type { Archive } from './archive.js';
import { MAX_REMEMBERED_PRICES } from './limits.js';

export const REFERENCE_WINDOW_MS = 60_000;
const IN_FORCE_AT_MOST_MS = 120_000;
/** A reference price is needed until 60 s after its time, and looks back 180 s from there. */
export const PRICE_REMEMBERED_MS = 300_000;

interface AssetPrices {
  symbol: string;
  /** Ascending; equal times stand in order of arrival. Entries before `start` are forgotten. */
  observedAtMs: number[];
  priceMicros: number[];
  start: number;
  lastPriceMicros: number;
  /** When the last price was observed. */
  lastObservedAtMs: number;
}

export class Prices {
  private readonly assets: AssetPrices[] = [];

  get assetCount(): number {
    return this.assets.length;
  }

  add(symbol: string): number {
    this.assets.push({
      symbol,
      observedAtMs: [],
      priceMicros: [],
      start: 0,
      lastPriceMicros: 0,
      lastObservedAtMs: 0,
    });
    return this.assets.length - 1;
  }

  symbol(asset: number): string {
    return this.assets[asset]!.symbol;
  }

  /** -1: no such asset. */
  find(symbol: string): number {
    return this.assets.findIndex((prices) => prices.symbol === symbol);
  }

  /** The price observed last; null: none yet. */
  last(asset: number): number | null {
    const prices = this.assets[asset]!;
    return prices.lastPriceMicros === 0 ? null : prices.lastPriceMicros;
  }

  /** When that price was observed; null: none yet. */
  lastObserved(asset: number): number | null {
    const prices = this.assets[asset]!;
    return prices.lastPriceMicros === 0 ? null : prices.lastObservedAtMs;
  }

  isFull(asset: number): boolean {
    const prices = this.assets[asset]!;
    return prices.observedAtMs.length - prices.start >= MAX_REMEMBERED_PRICES;
  }

  /** Forgets what no reference price can need any more: all but the last price that is older than that. */
  forgetOld(asset: number, nowMs: number): void {
    const prices = this.assets[asset]!;
    const keepFromMs = nowMs - PRICE_REMEMBERED_MS;
    const times = prices.observedAtMs;
    while (prices.start + 1 < times.length && times[prices.start + 1]! <= keepFromMs) prices.start++;
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
    if (observedAtMs >= prices.lastObservedAtMs) {
      prices.lastObservedAtMs = observedAtMs;
      prices.lastPriceMicros = priceMicros;
    }
  }

  /** The reference price at `atMs` from the prices known so far; null: no price counts. */
  reference(asset: number, atMs: number): number | null {
    const { observedAtMs: times, priceMicros, start } = this.assets[asset]!;
    const fromMs = atMs - REFERENCE_WINDOW_MS;
    // After a long silence nothing counts, however much is remembered.
    if (times.length === 0 || times[times.length - 1]! < fromMs - IN_FORCE_AT_MOST_MS) return null;
    let at = start;
    while (at < times.length && times[at]! <= fromMs) at++;
    // The price in force at the beginning is the one before the first inside.
    const inForce = at - 1;
    const hasInForce = inForce >= start && times[inForce]! >= fromMs - IN_FORCE_AT_MOST_MS;
    let sum = 0n;
    let coveredMs = 0;
    let sinceMs = hasInForce ? fromMs : Number.NaN;
    let price = hasInForce ? priceMicros[inForce]! : 0;
    for (; at < times.length && times[at]! < atMs; at++) {
      if (price !== 0) {
        sum += BigInt(price) * BigInt(times[at]! - sinceMs);
        coveredMs += times[at]! - sinceMs;
      }
      sinceMs = times[at]!;
      price = priceMicros[at]!;
    }
    if (price !== 0) {
      sum += BigInt(price) * BigInt(atMs - sinceMs);
      coveredMs += atMs - sinceMs;
    }
    return coveredMs === 0 ? null : Number(sum / BigInt(coveredMs));
  }

  archive(archive: Archive): void {
    const count = archive.number(this.assets.length);
    for (let asset = 0; asset < count; asset++) {
      if (archive.reading) this.add('');
      const prices = this.assets[asset]!;
      prices.symbol = archive.text(prices.symbol);
      prices.lastPriceMicros = archive.number(prices.lastPriceMicros);
      prices.lastObservedAtMs = archive.number(prices.lastObservedAtMs);
      const length = archive.number(prices.observedAtMs.length - prices.start);
      for (let i = 0; i < length; i++) {
        prices.observedAtMs[prices.start + i] = archive.number(prices.observedAtMs[prices.start + i] ?? 0);
        prices.priceMicros[prices.start + i] = archive.number(prices.priceMicros[prices.start + i] ?? 0);
      }
    }
  }
}
