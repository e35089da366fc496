/**
 * What the house loses to traders who know more than it does, against what it earns from customers
 * who do not. What is printed is dollars per hour, with the standard error over the seeds.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { extent, SEED } from '../../support/extent.js';
import { SimulatedMarket, type Strategy } from './market.js';
import { customers, INFORMED } from './strategies.js';

const SEEDS = 20;
const HOURS = extent(4);

interface Estimate {
  mean: number;
  /** Its standard error. */
  error: number;
}

/** Dollars per hour: the trader's after fees, and the house's. */
interface Gains {
  trader: Estimate;
  house: Estimate;
}

async function tried(name: string, strategy: () => Strategy): Promise<Gains> {
  const traders: number[] = [];
  const houses: number[] = [];
  for (let i = 0; i < SEEDS; i++) {
    const market = new SimulatedMarket(`${SEED}:${name}:${i}`, strategy());
    market.run(HOURS);
    traders.push(market.gainMicros / 1e6 / HOURS);
    houses.push(-(market.gainMicros + market.feeMicros) / 1e6 / HOURS);
    // The test runner speaks with this process meanwhile.
    await nextTurn();
  }
  return { trader: summary(traders), house: summary(houses) };
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

  test.for(Object.entries(INFORMED))(
    'loses to one who knows more at most a tenth of that: %s',
    async ([name, strategy], { annotate }) => {
      const gains = await tried(name, strategy);
      await annotate(told(gains));
      expect(-gains.house.mean).toBeLessThan(earned.house.mean / 10);
    },
  );
});
