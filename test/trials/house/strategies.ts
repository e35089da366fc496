/** Who trades with the house. */
import { Outcome } from '../../../engine/interface/domain.js';
import { DOLLAR } from '../../support/engine-support.js';
import type { SimulatedMarket, Strategy } from './market.js';

const CUSTOMER_ORDERS_PER_HOUR = 1_000;
const HOUR_MS = 3_600_000;

/** Knows the price and the formula, and acts before the house can do anything but withdraw. */
const sniper: Strategy = { afterPrice: (market) => market.takeWhatGains() };

/** Knows each price before the exchange does. */
const ahead = (intervalMs: number): Strategy => ({
  intervalMs,
  beforePrice: (market) => market.takeWhatGains(),
});

/** Knows the price while the exchange gets none, about every ten minutes for this long. */
function outages(lengthMs: number): () => Strategy {
  return () => {
    let untilMs = 0;
    return {
      isSilent({ nowMs, random, intervalMs }) {
        if (nowMs >= untilMs && random.chance(intervalMs / 600_000)) untilMs = nowMs + lengthMs;
        return nowMs < untilMs;
      },
      afterPrice(market) {
        if (market.nowMs < untilMs) market.takeWhatGains();
      },
    };
  };
}

/** Buys what has risen: a move of ten seconds that is larger than usual. */
function momentum(): Strategy {
  const seen: number[] = [];
  return {
    afterPrice(market) {
      if (market.nowMs % 1_000 !== 0) return;
      seen.push(market.priceMicros);
      if (seen.length <= 10) return;
      const move = Math.log(market.priceMicros / seen.shift()!);
      if (Math.abs(move) > 3e-4) market.buy(move > 0 ? Outcome.UP : Outcome.DOWN, 100 * DOLLAR);
    },
  };
}

/** 1,000 orders an hour of 5 to 50 dollars, a half of them to sell what the last ones bought. */
export function customers(): Strategy {
  let nextMs = 0;
  return {
    afterPrice(market: SimulatedMarket) {
      const { nowMs, random } = market;
      if (nextMs === 0) nextMs = nowMs;
      while (nextMs <= nowMs) {
        nextMs += random.untilNext(CUSTOMER_ORDERS_PER_HOUR / HOUR_MS);
        if (random.chance(0.5) && market.sellAll()) continue;
        market.buy(random.pick([Outcome.UP, Outcome.DOWN]), random.whole(5, 50) * DOLLAR);
      }
    },
  };
}

/** A new trader of each kind. The informed ones know more than the exchange, or act faster. */
export const INFORMED: Readonly<Record<string, () => Strategy>> = {
  sniper: () => sniper,
  'one price ahead, 100 ms': () => ahead(100),
  'one price ahead, 250 ms': () => ahead(250),
  'outages of 5 s': outages(5_000),
  'outages of 20 s': outages(20_000),
  'outages of 115 s': outages(115_000),
  momentum,
};
