/**
 * The house's arithmetic: the normal distribution against exact series, the fair value against
 * simulated paths.
 */
import { Big } from 'big.js';
import { describe, expect, test } from 'vitest';
import { Prices } from '../../../engine/state/prices/prices.js';
import { normalRandom, uniformRandom } from '../../../gateway/inputs/feeds/random.js';
import { PriceAges } from '../../../gateway/inputs/house/prices.js';
import { type ChanceReads, volatilityOf } from '../../../persistence/history/market-json/chance.js';
import {
  type FairValueInput,
  fairValue,
  normalCdf,
  normalDensity,
} from '../../../persistence/history/market-json/fair-value.js';

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

  test('is off by as much as predicted if the volatility is', () => {
    const input = { ...at100k, priceMicros: 100_040_000_000, remainingMs: 200_000 };
    const volatility = input.volatility * Math.exp(0.001);
    const { probability, perVolatility } = fairValue(input);
    const slope = (probability - fairValue({ ...input, volatility }).probability) / 0.001;
    expect(perVolatility / slope).toBeCloseTo(1, 2);
  });
});

/** The prices of an asset as the engine keeps them. */
class Remembered {
  private readonly prices = new Prices();

  constructor() {
    this.prices.add('BTC');
  }

  add(priceMicros: number, atMs: number): void {
    this.prices.forgetOld(0, atMs);
    this.prices.insert(0, atMs, priceMicros);
  }

  get volatility() {
    return volatilityOf(this as unknown as ChanceReads, 0);
  }

  pricesInserted = () => this.prices.insertedCount(0);
  sampledPrices = (asset: number, everyMs: number) => this.prices.sampled(asset, everyMs);
}

describe('the volatility', () => {
  const START_MS = 1_763_700_300_000;

  test.each([
    [0.3, 250],
    [0.6, 1_000],
    [1.5, 250],
    [0.8, 30_000],
  ])('measures the volatility %d of prices every %d ms', (annual, everyMs) => {
    const normal = normalRandom(uniformRandom('volatility'));
    const prices = new Remembered();
    let price = 95_000_000_000;
    let sum = 0;
    let errors = 0;
    for (let i = 0; i < 20_000; i++) {
      price *= Math.exp(perMs(annual) * Math.sqrt(everyMs) * normal());
      prices.add(Math.round(price), START_MS + i * everyMs);
      if (i < 10_000) continue;
      const { perMs: measured, error } = prices.volatility;
      sum += measured ** 2;
      errors += (Math.log(measured / perMs(annual)) / error) ** 2;
    }
    // As far off as it says, from what are few independent moves.
    expect(errors / 10_000).toBeGreaterThan(0.2);
    expect(errors / 10_000).toBeLessThan(5);
    const found = Math.sqrt((sum / 10_000) * YEAR_MS);
    expect(found / annual).toBeGreaterThan(0.88);
    expect(found / annual).toBeLessThan(1.12);
  });

  test('starts with an assumption and stays within bounds', () => {
    const prices = new Remembered();
    const annual = () => prices.volatility.perMs * Math.sqrt(YEAR_MS);
    expect(annual()).toBeCloseTo(0.6, 10);
    for (let i = 0; i < 10_000; i++) prices.add(95_000_000_000, START_MS + i * 1_000);
    expect(annual()).toBeCloseTo(0.25, 10);
    for (let i = 0; i < 1_000; i++)
      prices.add(1_000_000 * (1 + (i % 2)), START_MS + 10_000_000 + i * 1_000);
    expect(annual()).toBeCloseTo(5, 10);
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
