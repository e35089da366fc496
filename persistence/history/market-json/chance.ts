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
import type { HeldPriceView, MarketView } from '../../../engine/interface/views.js';
import { type FairValue, fairValue } from './fair-value.js';
import { SAMPLE_MS, VolatilityEstimate } from './volatility.js';

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

/** UP's chance in ticks, 1 to 999, because no end is certain; `null` if the chance is unknown. */
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

/**
 * UP's chance at the engine's time; `null` if the market is not active, or its asset has no price.
 * `perMs` is the price's volatility, by default estimated from the asset's last minutes.
 */
export function fairChance(
  reads: ChanceReads,
  market: MarketView,
  perMs = estimateOf(reads, market.asset).get(market.endsAtMs - reads.nowMs).perMs,
): FairValue | null {
  const priceMicros = reads.assetPriceMicros(market.asset);
  const { status, startPriceMicros, endsAtMs } = market;
  if (status !== MarketStatus.ACTIVE || startPriceMicros === null || priceMicros === null)
    return null;
  return fairValue({
    priceMicros,
    startPriceMicros,
    remainingMs: Math.max(0, endsAtMs - reads.nowMs),
    averageMicros: market.averageSoFarMicros ?? priceMicros,
    volatility: perMs,
  });
}

/** The last estimate for each asset of an engine. */
const known = new WeakMap<ChanceReads, { inserted: number; estimate: VolatilityEstimate }[]>();

/** The volatility of the asset's price, estimated from its last minutes. */
function estimateOf(reads: ChanceReads, asset: number): VolatilityEstimate {
  let ofAssets = known.get(reads);
  if (ofAssets === undefined) {
    ofAssets = [];
    known.set(reads, ofAssets);
  }
  const inserted = reads.pricesInserted(asset);
  let last = ofAssets[asset];
  if (last?.inserted !== inserted) {
    last = { inserted, estimate: rememberedBy(reads, asset) };
    ofAssets[asset] = last;
  }
  return last.estimate;
}

/** An estimate from the last minutes of the asset's prices. */
export function rememberedBy(reads: ChanceReads, asset: number): VolatilityEstimate {
  const estimate = new VolatilityEstimate();
  const samples = reads.sampledPrices(asset, SAMPLE_MS);
  for (let i = 0; i < samples.length; i += 2) estimate.add(samples[i]!, samples[i + 1]!);
  return estimate;
}
