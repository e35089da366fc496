/** The pauses in force, in the operators' terms. */
import type { Engine } from '../../../engine/engine.js';
import { marketIdText } from '../../../engine/interface/notation.js';

/** `everything`, assets, or markets, except those of a paused asset. */
export function pausesIn(engine: Engine): string[] {
  const { everything, assets } = engine.pauses();
  if (everything) return ['everything', ...assets.map((asset) => engine.assetSymbol(asset))];
  return Array.from({ length: engine.assetCount }, (_, asset) => {
    if (assets.includes(asset)) return [engine.assetSymbol(asset)];
    return [engine.activeMarket(asset), ...engine.upcomingMarkets(asset)]
      .filter((marketId) => engine.market(marketId)?.paused === true)
      .map((marketId) => marketIdText(engine, marketId));
  }).flat();
}
