/**
 * What the house loses to traders who know more than it does, against what it earns from customers
 * who do not. What is printed is dollars per hour, with the standard error over the seeds.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { extent, SEED } from '../../support/extent.js';
import { SimulatedMarket, type Strategy, TIMES_LEFT_MS } from './market.js';
import { customers, INFORMED } from './strategies.js';

const SEEDS = 20;
const HOURS = extent(4);
/** Medians, in ticks, by TIMES_LEFT_MS. Wider in the first hours, until the volatility is known. */
const MAX_SPREADS = [100, 50, 40, 30];

interface Estimate {
  mean: number;
  /** Its standard error. */
  error: number;
}

/** Dollars per hour: the trader's after fees, and the house's. */
interface Gains {
  trader: Estimate;
  house: Estimate;
  markets: SimulatedMarket[];
}

async function tried(name: string, strategy: (seed: string) => Strategy): Promise<Gains> {
  const traders: number[] = [];
  const houses: number[] = [];
  const markets: SimulatedMarket[] = [];
  for (let i = 0; i < SEEDS; i++) {
    const seed = `${SEED}:${name}:${i}`;
    const trader = strategy(seed);
    const hours = trader.hours ?? HOURS;
    const market = new SimulatedMarket(seed, trader);
    market.run(hours);
    markets.push(market);
    traders.push(market.gainMicros / 1e6 / hours);
    houses.push(-(market.gainMicros + market.feeMicros) / 1e6 / hours);
    // The test runner speaks with this process meanwhile.
    await nextTurn();
  }
  return { trader: summary(traders), house: summary(houses), markets };
}

function summary(values: readonly number[]): Estimate {
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  const squares = values.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / (values.length - 1) / values.length) };
}

const dollars = ({ mean, error }: Estimate): string => `${mean.toFixed(1)} ± ${error.toFixed(1)}`;
const told = ({ trader, house }: Gains): string =>
  `dollars an hour: trader ${dollars(trader)}, house ${dollars(house)}`;

describe('the house', () => {
  let earned: Gains;

  beforeAll(async () => {
    earned = await tried('customers', customers);
  });

  test('earns from 1,000 orders an hour of customers', async ({ annotate }) => {
    await annotate(told(earned));
    expect(earned.house.mean).toBeGreaterThan(10 * earned.house.error);
  });

  test('quotes both sides, closely', async ({ annotate }) => {
    const medians = TIMES_LEFT_MS.map((_, i) => {
      const ticks = earned.markets.flatMap((market) => market.spreads[i]!.ticks);
      return ticks.sort((a, b) => a - b)[ticks.length >> 1]!;
    });
    const empty = TIMES_LEFT_MS.map((_, i) => {
      const each = earned.markets.map((market) => market.spreads[i]!);
      const empties = each.reduce((sum, { empty }) => sum + empty, 0);
      return empties / (empties + each.reduce((sum, { ticks }) => sum + ticks.length, 0));
    });
    const shares = empty.map((share) => `${(share * 100).toFixed(1)}%`);
    await annotate(`spread in ticks ${medians.join(', ')}, a side is empty ${shares.join(', ')}`);
    for (const [i, most] of MAX_SPREADS.entries()) {
      expect(medians[i]).toBeLessThanOrEqual(most);
      expect(empty[i]).toBeLessThan(0.05);
    }
  });

  test.for(Object.entries(INFORMED))(
    'loses to one who knows more at most a tenth of that: %s',
    async ([name, strategy], { annotate }) => {
      const gains = await tried(name, strategy);
      await annotate(told(gains));
      expect(-gains.house.mean).toBeLessThan(earned.house.mean / 10);
    },
  );
});
