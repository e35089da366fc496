/** A finished market at one moment: the sum of its events up to then. */
import { type MarketEvent, toLots, toTicks } from '../../../client/index.js';

export interface MomentLevel {
  ticks: number;
  lots: number;
}

type MomentTrade = Extract<MarketEvent, { type: 'trade' }>;

export interface Moment {
  atMs: number;
  sequence: number;
  price: number | null;
  /** UP's levels, best first. */
  bids: MomentLevel[];
  asks: MomentLevel[];
  trades: MomentTrade[];
}

const TRADES_SHOWN = 8;

export function momentAfter(events: readonly MarketEvent[], count: number): Moment {
  const bids = new Map<number, number>();
  const asks = new Map<number, number>();
  const trades: MomentTrade[] = [];
  let price: number | null = null;
  const happened = events.slice(0, count);
  for (const event of happened) {
    if (event.type === 'price') price = event.price;
    else if (event.type === 'trade') trades.push(event);
    else {
      const side = event.side === 'BUY' ? bids : asks;
      const ticks = toTicks(event.price);
      const lots = (side.get(ticks) ?? 0) + toLots(event.change);
      if (lots === 0) side.delete(ticks);
      else side.set(ticks, lots);
    }
  }
  const { atMs = 0, sequence = 0 } = happened.at(-1) ?? {};
  const levels = (side: Map<number, number>) =>
    [...side].map(([ticks, lots]) => ({ ticks, lots })).sort((a, b) => a.ticks - b.ticks);
  return {
    atMs,
    sequence,
    price,
    bids: levels(bids).reverse(),
    asks: levels(asks),
    trades: trades.slice(-TRADES_SHOWN).reverse(),
  };
}
