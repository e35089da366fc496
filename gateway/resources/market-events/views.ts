/** Prices of a market as responses show them. */
import type { MarketTicks } from '../../../persistence/history/market-events.js';
import { micros } from '../../json/decimal.js';

export function ticksOf(prices: MarketTicks['start']) {
  return prices.map(({ observedAtMs, priceMicros }) => ({
    observedAtMs,
    price: micros(priceMicros),
  }));
}
