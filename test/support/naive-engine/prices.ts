/**
 * The naive engine's asset prices: a list by time of observation, and the reference price by its
 * definition, a sum over the list.
 */
import { type Dollars, floorToMicros, ZERO } from './decimal.js';
import type { NaiveAsset } from './state.js';

export const AVERAGED_MS = 60_000;
/** The maximum age of the price in force when the averaged minute begins. */
const IN_FORCE_MS = 120_000;
/** A price older than this is refused, and forgotten unless it is still in force. */
export const KEPT_MS = 300_000;

/** Drops prices that no reference price can need. Always keeps the last price. */
export function forgetOldPrices(asset: NaiveAsset, nowMs: number): void {
  const needed = asset.prices.findIndex((_, index) => {
    const next = asset.prices[index + 1];
    return next === undefined || next.observedAtMs > nowMs - KEPT_MS;
  });
  if (needed > 0) asset.prices.splice(0, needed);
}

/** The time-weighted average over the minute before `atMs`, or null if no price was known in it. */
export function referencePrice(asset: NaiveAsset, atMs: number): Dollars | null {
  return averagePrice(asset, { fromMs: atMs - AVERAGED_MS, toMs: atMs });
}

/** The average from the start of an averaged minute to any time within it. */
export function averagePrice(
  asset: NaiveAsset,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Dollars | null {
  let weighted = ZERO;
  let coveredMs = 0;
  asset.prices.forEach((one, index) => {
    const next = asset.prices[index + 1]?.observedAtMs ?? Number.POSITIVE_INFINITY;
    if (one.observedAtMs < fromMs - IN_FORCE_MS) return;
    const countedMs = Math.min(next, toMs) - Math.max(one.observedAtMs, fromMs);
    if (countedMs <= 0) return;
    weighted = weighted.plus(one.price.times(countedMs));
    coveredMs += countedMs;
  });
  return coveredMs === 0 ? null : floorToMicros(weighted.div(coveredMs));
}
