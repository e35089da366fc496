/**
 * The house's arithmetic: the normal distribution against exact series, the fair value against
 * simulated paths.
 */
import { Big } from 'big.js';
import { describe, expect, test } from 'vitest';
import { normalRandom, uniformRandom } from '../../../gateway/inputs/feeds/random.js';
import { PriceAges } from '../../../gateway/inputs/house/prices.js';
import {
  type FairValueInput,
  fairValue,
  normalCdf,
  normalDensity,
} from '../../../persistence/history/market-json/fair-value.js';
import { VolatilityEstimate } from '../../../persistence/history/market-json/volatility.js';

const YEAR_MS = 365.25 * 86_400_000;
const perMs = (annual: number) => annual / Math.sqrt(YEAR_MS);

/**
 * Phi(x) = 1/2 + phi(x) × (x + x^3/3 + x^5/(3×5) + …) in 50 decimals, with phi by its own series.
 */
function exactCdf(x: number): Big {
  Big.DP = 50;
  const square = new Big(x).times(x);
  let exponential = new Big(1);
  let power = new Big(1);
  for (let n = 1; n < 200; n++) {
    power = power.times(square).div(-2 * n);
    exponential = exponential.plus(power);
  }
  let term = new Big(x);
  let sum = term;
  for (let n = 1; n < 300; n++) {
    term = term.times(square).div(2 * n + 1);
    sum = sum.plus(term);
  }
  const rootOfTwoPi = new Big('2.50662827463100050241576528481104525300698674060994');
  return exponential.div(rootOfTwoPi).times(sum).plus('0.5');
}

describe('the normal distribution', () => {
  test.each(Array.from({ length: 49 }, (_, i) => (i - 24) / 4))('at %d', (x) => {
    const exact = exactCdf(x).toNumber();
    expect(Math.abs(normalCdf(x) - exact)).toBeLessThan(2e-15);
    // The lower tail has few significant digits, and they matter, too.
    if (x < 0) expect(Math.abs(normalCdf(x) / exact - 1)).toBeLessThan(1e-9);
  });

  test('has its known values, symmetry and limits', () => {
    expect(normalCdf(0)).toBe(0.5);
    expect(normalCdf(1.959963984540054)).toBeCloseTo(0.975, 14);
    for (const x of [0.1, 1, 3, 7, 7.2, 20, 40]) {
      expect(normalCdf(x) + normalCdf(-x)).toBeCloseTo(1, 15);
      expect(normalCdf(x)).toBeGreaterThanOrEqual(normalCdf(x - 0.05));
    }
    // Both formulas agree where they change over.
    expect(normalCdf(-7.0710678) / normalCdf(-7.0710679)).toBeCloseTo(1, 5);
    expect([normalCdf(-100), normalCdf(100)]).toEqual([0, 1]);
    expect(normalDensity(0)).toBeCloseTo(0.3989422804014327, 15);
  });
});

const at100k: FairValueInput = {
  priceMicros: 100_000_000_000,
  startPriceMicros: 100_000_000_000,
  remainingMs: 900_000,
  averageMicros: 100_000_000_000,
  volatility: perMs(0.5),
};

/**
 * The share of simulated paths, in steps of a second, whose average over the last minute is at
 * least the start price.
 */
function simulated(input: FairValueInput, seed: string): number {
  const normal = normalRandom(uniformRandom(seed));
  const stepMs = 1_000;
  const deviation = input.priceMicros * input.volatility * Math.sqrt(stepMs);
  const paths = 20_000;
  let up = 0;
  for (let path = 0; path < paths; path++) {
    let price = input.priceMicros;
    const passedMs = Math.max(0, 60_000 - input.remainingMs);
    let sum = input.averageMicros * passedMs;
    for (let leftMs = input.remainingMs; leftMs > 0; leftMs -= stepMs) {
      const before = price;
      price += deviation * normal();
      if (leftMs <= 60_000) sum += ((before + price) / 2) * stepMs;
    }
    if (sum / 60_000 >= input.startPriceMicros) up++;
  }
  return up / paths;
}

describe('the fair value', () => {
  test.each([
    [{ priceMicros: 100_100_000_000 }],
    [{ priceMicros: 99_850_000_000 }],
    [{ priceMicros: 100_050_000_000, remainingMs: 120_000 }],
    [{ priceMicros: 100_030_000_000, remainingMs: 60_000 }],
    [{ priceMicros: 100_020_000_000, remainingMs: 40_000, averageMicros: 99_995_000_000 }],
    [{ priceMicros: 99_980_000_000, remainingMs: 20_000, averageMicros: 100_010_000_000 }],
  ])('agrees with simulated paths: %j', (change) => {
    const input = { ...at100k, ...change };
    const { probability } = fairValue(input);
    expect(probability).toBeGreaterThan(0.02);
    expect(probability).toBeLessThan(0.98);
    // 20,000 paths: the standard deviation is at most 0.0035.
    expect(Math.abs(probability - simulated(input, 'paths'))).toBeLessThan(0.014);
  });

  test('becomes certain as time runs out, and counts a tie as UP', () => {
    const above = { ...at100k, averageMicros: 100_001_000_000 };
    const below = { ...at100k, averageMicros: 99_999_000_000 };
    expect(fairValue({ ...above, remainingMs: 100 }).probability).toBeGreaterThan(0.999);
    expect(fairValue({ ...below, remainingMs: 100 }).probability).toBeLessThan(0.001);
    expect(fairValue({ ...above, remainingMs: 0 })).toMatchObject({ probability: 1, perSecond: 0 });
    expect(fairValue({ ...below, remainingMs: 0 })).toMatchObject({ probability: 0, perSecond: 0 });
    expect(fairValue({ ...at100k, remainingMs: 0 })).toMatchObject({
      probability: 1,
      perSecond: 0,
    });
  });

  test('is continuous where the last minute begins', () => {
    const priceMicros = 100_020_000_000;
    const before = fairValue({ ...at100k, priceMicros, remainingMs: 60_001, averageMicros: 0 });
    const after = fairValue({
      ...at100k,
      priceMicros,
      remainingMs: 59_999,
      averageMicros: priceMicros,
    });
    expect(before.probability).toBeCloseTo(after.probability, 4);
    expect(before.perSecond).toBeCloseTo(after.perSecond, 4);
  });

  test('moves per second as much as predicted', () => {
    const input = { ...at100k, priceMicros: 100_040_000_000, remainingMs: 200_000 };
    const move = input.priceMicros * input.volatility * Math.sqrt(1_000);
    const moved = fairValue({ ...input, priceMicros: input.priceMicros + move / 100 }).probability;
    const slope = (moved - fairValue(input).probability) * 100;
    expect(fairValue(input).perSecond / slope).toBeCloseTo(1, 2);
  });
});

describe('the volatility', () => {
  const START_MS = 1_763_700_300_000;
  const HOUR_MS = 3_600_000;
  const annual = (estimate: VolatilityEstimate) => estimate.get(0).perMs * Math.sqrt(YEAR_MS);

  /** Prices, of which `received` makes what the estimate gets. */
  function estimated(
    given: { seed: string; annual: (ms: number) => number; everyMs?: number; untilMs: number },
    received: (price: number, ms: number, normal: () => number) => number = (price) => price,
  ): VolatilityEstimate {
    const { everyMs = 250 } = given;
    const normal = normalRandom(uniformRandom(given.seed));
    const estimate = new VolatilityEstimate();
    let price = 95_000_000_000;
    for (let ms = 0; ms <= given.untilMs; ms += everyMs) {
      price *= Math.exp(perMs(given.annual(ms)) * Math.sqrt(everyMs) * normal());
      estimate.add(START_MS + ms, received(price, ms, normal));
    }
    return estimate;
  }

  let other = 0;
  const slow = (everyMs: number) => (price: number, ms: number) => {
    if (ms % everyMs === 0) other = price;
    return (price + other) / 2;
  };
  const noise = (share: number) => (price: number, _ms: number, normal: () => number) =>
    price * (1 + share * normal());

  test.each([
    ['calm', 0.1, 250, undefined],
    ['usual', 0.5, 250, undefined],
    ['wild, with few prices', 1.5, 30_000, undefined],
    ['noise of half a basis point', 0.5, 250, noise(0.5e-4)],
    ['noise of a basis point', 0.5, 250, noise(1e-4)],
    ['two sources, one every second', 0.5, 250, slow(1_000)],
    ['two sources, one every 5 s', 0.5, 250, slow(5_000)],
  ])('is measured from an hour and a half of prices: %s', (_name, true_, everyMs, received) => {
    let [sum, errors] = [0, 0];
    for (let i = 0; i < 12; i++) {
      const given = { seed: `hours ${i}`, annual: () => true_, everyMs, untilMs: 1.5 * HOUR_MS };
      const { perMs: found, error } = estimated(given, received).get(0);
      const off = Math.log(found / perMs(true_));
      sum += off / 12;
      errors += (off / error) ** 2 / 12;
    }
    expect(Math.abs(sum)).toBeLessThan(0.05);
    // As far off as it says, give or take.
    expect(errors).toBeLessThan(6);
  });

  test('tells the error of prices that are noisy or late', () => {
    const given = { seed: 'lag', annual: () => 0.5, untilMs: 2 * HOUR_MS };
    expect(estimated(given).get(0).lagMs).toBe(0);
    // A basis point is what the price moves in 1.26 s.
    const noisy = estimated(given, noise(1e-4)).get(0).lagMs;
    expect([noisy > 900, noisy < 1_700]).toEqual([true, true]);
    expect(estimated(given, slow(5_000)).get(0).lagMs).toBeGreaterThan(50);
  });

  test('follows a jump within half a minute, and expects it to pass', () => {
    const jump = (ms: number) => (ms < HOUR_MS ? 0.5 : 2);
    const given = { seed: 'jump', annual: jump, untilMs: HOUR_MS + 30_000 };
    const estimate = estimated(given);
    expect(annual(estimate)).toBeGreaterThan(1.2);
    expect(estimate.get(900_000).perMs).toBeLessThan(estimate.get(0).perMs * 0.85);
    expect(estimate.get(0).error).toBeGreaterThan(0.3);
  });

  test('starts with an assumption of which it is not sure, and stays within bounds', () => {
    const estimate = new VolatilityEstimate();
    expect(annual(estimate)).toBeCloseTo(0.6, 10);
    expect(estimate.get(0).error).toBeGreaterThan(0.5);
    for (let i = 0; i < 20_000; i++) estimate.add(START_MS + i * 1_000, 95_000_000_000);
    expect(annual(estimate)).toBeCloseTo(0.05, 10);
    for (let i = 0; i < 1_000; i++)
      estimate.add(START_MS + 30_000_000 + i * 1_000, 1_000_000 * (1 + (i % 2)));
    expect(annual(estimate)).toBeCloseTo(5, 10);
  });

  test('the house knows how old the last price usually is when the next one comes', () => {
    const prices = new PriceAges();
    expect(prices.horizonMs).toBe(250);
    const add = (atMs: number) =>
      prices.add({ priceMicros: 1_000, observedAtMs: START_MS + atMs }, START_MS + atMs + 150);
    for (let i = 0; i < 10; i++) add(i * 400);
    expect(prices.horizonMs).toBe(550);
    // An outage is not a habit.
    add(120_000);
    expect(prices.horizonMs).toBeLessThan(700);
  });
});
