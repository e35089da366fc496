/**
 * The chance of UP in an active market, computed from the asset's price. The house quotes around it
 * and the market's JSON shows it. It is not a quote: nobody has to trade at it.
 *
 * Invariant: it depends only on the engine's state (its time, the asset's last minutes of prices,
 * the market's start price and its average so far), so every process computes the same value at a
 * sequence. It is computed outside the engine, which stores only integers, and nothing in the
 * journal depends on it.
 */
import { MarketStatus } from '../../../engine/interface/domain.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { PRICE_REMEMBERED_MS } from '../../../engine/interface/parameters.js';
import type { HeldPriceView, MarketView } from '../../../engine/interface/views.js';
import { type FairValue, fairValue } from './fair-value.js';

export interface ChanceReads {
  readonly nowMs: number;
  assetPriceMicros(asset: number): number | null;
  assetPriceObservedAtMs(asset: number): number | null;
  heldPrice(asset: number): HeldPriceView | null;
  pricesInserted(asset: number): number;
  sampledPrices(asset: number, everyMs: number): number[];
}

/** An older price says nothing about now. */
const MAX_PRICE_AGE_MS = 10_000;

/** Moves over a shorter time reflect the noise of order books rather than the price. */
const SAMPLE_MS = 1_000;
const YEAR_MS = 365.25 * 86_400_000;

/** Standard deviation of the price's logarithm over a year: assumed, minimum and maximum. */
const ASSUMED_ANNUAL = 0.6;
const MIN_ANNUAL = 0.25;
const MAX_ANNUAL = 5;
/** Standard error of the logarithm of the assumed deviation. */
const ASSUMED_ERROR = 0.05;

interface Volatility {
  /** Standard deviation of the price's logarithm over a millisecond. */
  perMs: number;
  /** Standard error of the logarithm of `perMs`. */
  error: number;
}

/** In ticks of UP, 1 to 999: nothing is certain before the end. null: it is not known. */
export function indicativeTicks(reads: ChanceReads, market: MarketView): number | null {
  const { asset } = market;
  const observedAtMs = reads.assetPriceObservedAtMs(asset);
  if (observedAtMs === null || reads.nowMs - observedAtMs > MAX_PRICE_AGE_MS) return null;
  if (reads.heldPrice(asset) !== null) return null;
  const chance = fairChance(reads, market);
  if (chance === null) return null;
  const ticks = Math.round(chance.probability * MICROS_PER_SET);
  return Math.min(Math.max(ticks, 1), MICROS_PER_SET - 1);
}

/** As of the engine's time; null if the market is not active, or its asset has no price. */
export function fairChance(reads: ChanceReads, market: MarketView): FairValue | null {
  const priceMicros = reads.assetPriceMicros(market.asset);
  const { status, startPriceMicros, endsAtMs } = market;
  if (status !== MarketStatus.ACTIVE || startPriceMicros === null || priceMicros === null)
    return null;
  return fairValue({
    priceMicros,
    startPriceMicros,
    remainingMs: Math.max(0, endsAtMs - reads.nowMs),
    averageMicros: market.averageSoFarMicros ?? priceMicros,
    volatility: volatilityOf(reads, market.asset).perMs,
  });
}

/** By engine: the last volatility of each asset. */
const known = new WeakMap<ChanceReads, { inserted: number; volatility: Volatility }[]>();

/** How much the asset's price moves, by its last minutes. */
export function volatilityOf(reads: ChanceReads, asset: number): Volatility {
  let ofAssets = known.get(reads);
  if (ofAssets === undefined) {
    ofAssets = [];
    known.set(reads, ofAssets);
  }
  const inserted = reads.pricesInserted(asset);
  let last = ofAssets[asset];
  if (last?.inserted !== inserted) {
    last = { inserted, volatility: measured(reads.sampledPrices(asset, SAMPLE_MS)) };
    ofAssets[asset] = last;
  }
  return last.volatility;
}

/** `samples`: pairs of time and price. Time that they do not cover moves as is assumed. */
function measured(samples: readonly number[]): Volatility {
  let squares = 0;
  let totalMs = 0;
  let durationSquares = 0;
  for (let i = 2; i < samples.length; i += 2) {
    const tookMs = samples[i]! - samples[i - 2]!;
    squares += Math.log(samples[i + 1]! / samples[i - 1]!) ** 2;
    totalMs += tookMs;
    durationSquares += tookMs ** 2;
  }
  const assumedMs = Math.max(0, PRICE_REMEMBERED_MS - totalMs);
  squares += ASSUMED_ANNUAL ** 2 * (assumedMs / YEAR_MS);
  totalMs += assumedMs;
  durationSquares += 2 * (ASSUMED_ERROR * assumedMs) ** 2;
  const annual = Math.sqrt((squares / totalMs) * YEAR_MS);
  return {
    perMs: Math.min(Math.max(annual, MIN_ANNUAL), MAX_ANNUAL) / Math.sqrt(YEAR_MS),
    error: Math.sqrt(durationSquares / 2) / totalMs,
  };
}
