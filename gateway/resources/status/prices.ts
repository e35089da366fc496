/** The prices of the assets and of their sources, as `/status` shows them. */
import { SOURCE_FRESH_MS } from '../../../engine/interface/parameters.js';
import type { Reads } from '../../../engine/reads.js';
import { micros } from '../../json/decimal.js';
import type { PriceTicks } from '../../observe/price-ticks.js';

export function pricesOf(engine: Reads, ticks: PriceTicks, nowMs: number) {
  return Array.from({ length: engine.assetCount }, (_, asset) => {
    const symbol = engine.assetSymbol(asset);
    const priceMicros = engine.assetPriceMicros(asset);
    const held = engine.heldPrice(asset);
    return {
      asset: symbol,
      price: priceMicros === null ? null : micros(priceMicros),
      observedAtMs: engine.assetPriceObservedAtMs(asset),
      held: held === null ? null : { price: micros(held.priceMicros), sinceMs: held.sinceMs },
      sources: ticks.of(symbol).map(({ source, priceMicros, observedAtMs }) => {
        const isFresh = observedAtMs >= nowMs - SOURCE_FRESH_MS;
        return { source, price: micros(priceMicros), observedAtMs, isFresh };
      }),
    };
  });
}
