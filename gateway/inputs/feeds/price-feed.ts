/**
 * A price feed: something outside the exchange that says what an asset is worth. It hands each price to a sink,
 * which turns it into an `observePrice` command. A feed knows assets by symbol and nothing of the engine.
 *
 * What always holds of each feed: prices are positive integers within the engine's limits, and `observedAtMs` is
 * never later than the exchange's clock and never goes back for one asset.
 */
import { Big } from 'big.js';
import { MAX_ASSET_PRICE_MICROS, MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';

export type PriceSink = (symbol: string, priceMicros: number, observedAtMs: number) => void;

export interface PriceFeed {
  /** Begins to deliver, never from within this call. Once only. */
  start(sink: PriceSink): void;
  /** No price is delivered after this call. Resolves when nothing of the feed is left open. */
  stop(): Promise<void>;
}

const DECIMAL = /^\d{1,12}(\.\d{1,12})?$/;

/** "20375.76" → 20,375,760,000 micros, exactly; null when it is no positive price with at most 6 decimals. */
export function parsePriceMicros(text: string): number | null {
  if (!DECIMAL.test(text)) return null;
  const micros = new Big(text).times(MICROS_PER_DOLLAR);
  if (!micros.eq(micros.round())) return null;
  const priceMicros = micros.toNumber();
  return priceMicros >= 1 && priceMicros <= MAX_ASSET_PRICE_MICROS ? priceMicros : null;
}
