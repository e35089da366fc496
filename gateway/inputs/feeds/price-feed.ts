/**
 * A price feed: an external source of asset prices, delivered to a sink.
 *
 * Invariant: prices are positive integers within the engine's limits. `observedAtMs` is never later
 * than the exchange's clock and never decreases for one asset.
 */
import { Big } from 'big.js';
import { MAX_ASSET_PRICE_MICROS, MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';

/** `source` is absent if there is only one. */
export type PriceSink = (
  symbol: string,
  priceMicros: number,
  observedAtMs: number,
  source?: string,
) => void;

export interface PriceFeed {
  /** Starts delivering, but never within this call. Call at most once. */
  start(sink: PriceSink): void;
  /** Delivers no price after this call. Resolves when all resources are closed. */
  stop(): Promise<void>;
}

const DECIMAL = /^\d{1,12}(\.\d{1,12})?$/;

/** "20375.76" → 20,375,760,000 micros; `null` if not a positive price with at most 6 decimals. */
export function parsePriceMicros(text: string): number | null {
  if (!DECIMAL.test(text)) return null;
  const micros = new Big(text).times(MICROS_PER_DOLLAR);
  if (!micros.eq(micros.round())) return null;
  const priceMicros = micros.toNumber();
  return priceMicros >= 1 && priceMicros <= MAX_ASSET_PRICE_MICROS ? priceMicros : null;
}
