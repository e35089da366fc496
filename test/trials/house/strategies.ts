/** Who trades with the house, and what the exchange does not know of the price. */

import { Outcome } from '../../../engine/interface/domain.js';
import { normalRandom } from '../../../gateway/inputs/feeds/random.js';
import { DOLLAR, WINDOW_START_MS } from '../../support/engine-support.js';
import { Random } from '../../support/workload/random.js';
import type { SimulatedMarket, Strategy } from './market.js';

const CUSTOMER_ORDERS_PER_HOUR = 1_000;
const HOUR_MS = 3_600_000;

type NewStrategy = (seed: string) => Strategy;

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
      received({ nowMs, random, intervalMs, priceMicros }) {
        if (nowMs >= untilMs && random.chance(intervalMs / 600_000)) untilMs = nowMs + lengthMs;
        return nowMs < untilMs ? null : priceMicros;
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

/** The exchange gets each price this much later, and takes it for a new one. */
function late(lateMs: number): () => Strategy {
  return () => {
    const prices: number[] = [];
    return {
      ...sniper,
      received({ priceMicros, intervalMs }) {
        prices.push(priceMicros);
        return prices.length > lateMs / intervalMs ? prices.shift()! : null;
      },
    };
  };
}

/** Twice an hour, the volatility is so many times as high for ten minutes. */
function jumps(times: number): NewStrategy {
  return (seed) => {
    const random = new Random(`${seed}:jumps`);
    let [fromMs, halfHourMs] = [0, 0];
    return {
      ...sniper,
      volatility(nowMs, untilMs) {
        if (nowMs >= halfHourMs) {
          halfHourMs = nowMs + HOUR_MS / 2;
          fromMs = nowMs + random.whole(0, 1_200_000);
        }
        if (nowMs < fromMs || nowMs >= fromMs + 600_000) return 0.5;
        const share = Math.min(1, (fromMs + 600_000 - nowMs) / Math.max(1, untilMs - nowMs));
        return 0.5 * Math.sqrt(1 + (times ** 2 - 1) * share);
      },
    };
  };
}

const calm = (annual: number) => (): Strategy => ({ ...sniper, volatility: () => annual });

/** Each price that the exchange gets is off by this much of it, at random. */
function noisy(share: number): NewStrategy {
  return (seed) => {
    const normal = normalRandom(new Random(`${seed}:noise`).next);
    return { ...sniper, received: ({ priceMicros }) => priceMicros * (1 + share * normal()) };
  };
}

/** The exchange gets the mean of the price and of another source's last one. */
function twoSources(everyMs: number): () => Strategy {
  return () => {
    let other = 0;
    return {
      ...sniper,
      received({ priceMicros, nowMs }) {
        if (other === 0 || nowMs % everyMs === 0) other = priceMicros;
        return (priceMicros + other) / 2;
      },
    };
  };
}

/** Once an hour the exchange gets no price for five minutes, and the house starts anew. */
function restarts(): Strategy {
  const sinceHour = (nowMs: number) => nowMs % HOUR_MS;
  return {
    ...sniper,
    ...calm(0.2)(),
    received: ({ nowMs, priceMicros }) => (sinceHour(nowMs) < 300_000 ? null : priceMicros),
    restarts: ({ nowMs }) => sinceHour(nowMs) === 300_000,
  };
}

/** The first price that the exchange ever gets comes when the market has 600 s left. */
const firstStart: Strategy = {
  ...sniper,
  ...calm(0.2)(),
  hours: 0.25,
  received: ({ nowMs, priceMicros }) => (nowMs < WINDOW_START_MS + 300_000 ? null : priceMicros),
};

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
export const INFORMED: Readonly<Record<string, NewStrategy>> = {
  sniper: () => sniper,
  'one price ahead, 100 ms': () => ahead(100),
  'one price ahead, 250 ms': () => ahead(250),
  'outages of 5 s': outages(5_000),
  'outages of 20 s': outages(20_000),
  'outages of 115 s': outages(115_000),
  momentum,
  'prices that are stamped 1 s late': late(1_000),
  'twice the volatility for ten minutes, twice an hour': jumps(2),
  'four times the volatility for ten minutes, twice an hour': jumps(4),
  'a volatility of .2': calm(0.2),
  'a volatility of .15': calm(0.15),
  'a volatility of .1': calm(0.1),
  'noise of half a basis point': noisy(0.5e-4),
  'noise of a basis point': noisy(1e-4),
  'two sources, one every second': twoSources(1_000),
  'two sources, one every 5 s': twoSources(5_000),
  'a restart of the house every hour, after five minutes': restarts,
  'a first start with 600 s left': () => firstStart,
};
