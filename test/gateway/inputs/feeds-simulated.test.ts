/** The simulated feed: repeatable, with the stated volatility, continuing from the last price. */
import { expect, test } from 'vitest';
import {
  SIMULATED_ASSETS,
  type SimulatedAsset,
  SimulatedFeed,
} from '../../../gateway/inputs/feeds/simulated.js';
import { ManualClock } from '../../support/clock.js';
import { eventually } from '../../support/eventually.js';

const START_MS = 1_763_700_300_000;
const YEAR_MS = 365.25 * 86_400_000;

type Ticks = Map<string, { priceMicros: number; observedAtMs: number }[]>;

/** Runs a feed until each asset has `count` prices. The clock advances one interval per price. */
async function ticksOf(options: {
  seed: string;
  count: number;
  intervalMs?: number;
  assets?: readonly SimulatedAsset[];
}): Promise<Ticks> {
  const { seed, count, intervalMs = 250, assets = SIMULATED_ASSETS } = options;
  const clock = new ManualClock(START_MS, 1);
  const feed = new SimulatedFeed({ assets, clock, seed, intervalMs });
  const ticks: Ticks = new Map(assets.map((asset) => [asset.symbol, []]));
  const last = assets.at(-1)!.symbol;
  feed.start((symbol, priceMicros, observedAtMs) => {
    ticks.get(symbol)!.push({ priceMicros, observedAtMs });
    if (symbol === last) clock.set(clock.nowMs() + intervalMs);
  });
  await eventually(() => expect(ticks.get(last)!.length).toBeGreaterThanOrEqual(count));
  await feed.stop();
  for (const list of ticks.values()) list.length = count;
  return ticks;
}

test('starts at the given prices and gives every asset one price per interval, in whole cents', async () => {
  const ticks = await ticksOf({ seed: 'a', count: 40 });
  for (const { symbol, startPriceMicros } of SIMULATED_ASSETS) {
    const list = ticks.get(symbol)!;
    expect(list[0]).toEqual({ priceMicros: startPriceMicros, observedAtMs: START_MS });
    expect(list.map((tick) => tick.observedAtMs)).toEqual(list.map((_, i) => START_MS + 250 * i));
    for (const tick of list) expect(tick.priceMicros % 10_000).toBe(0);
    expect(new Set(list.map((tick) => tick.priceMicros)).size).toBeGreaterThan(1);
  }
});

test('the same seed gives the same prices, another seed others, and assets move independently', async () => {
  const [a, again, b] = await Promise.all(
    ['a', 'a', 'b'].map((seed) => ticksOf({ seed, count: 40 })),
  );
  expect(again).toEqual(a);
  expect(b).not.toEqual(a);
  const moves = (symbol: string) =>
    a!.get(symbol)!.map((tick) => tick.priceMicros / a!.get(symbol)![0]!.priceMicros);
  expect(moves('BTC')).not.toEqual(moves('ETH'));
});

test('has the configured volatility', async () => {
  const asset = { symbol: 'BTC', startPriceMicros: 95_000_000_000, annualVolatility: 0.5 };
  const assets = [asset, ...[1, 2, 3].map((i) => ({ ...asset, symbol: `B${i}` }))];
  const ticks = await ticksOf({ seed: 'v', count: 300, intervalMs: 10_000, assets });
  const moves = [...ticks.values()].flatMap((list) =>
    list.slice(1).map((tick, i) => Math.log(tick.priceMicros / list[i]!.priceMicros)),
  );
  const variance = moves.reduce((sum, move) => sum + move * move, 0) / moves.length;
  const annual = Math.sqrt((variance * YEAR_MS) / 10_000);
  expect(annual).toBeGreaterThan(0.45);
  expect(annual).toBeLessThan(0.55);
});

test('stays between a cent and a million dollars', async () => {
  const wild = { symbol: 'W', startPriceMicros: 10_000, annualVolatility: 3_000 };
  const ticks = await ticksOf({ seed: 'w', count: 200, assets: [wild], intervalMs: 60_000 });
  for (const { priceMicros } of ticks.get('W')!) {
    expect(priceMicros).toBeGreaterThanOrEqual(10_000);
    expect(priceMicros).toBeLessThanOrEqual(1_000_000_000_000);
  }
});

test('delivers nothing after stop', async () => {
  const clock = new ManualClock(START_MS, 1);
  const delivered = [0, 0];
  const start = (which: 0 | 1): SimulatedFeed => {
    const feed = new SimulatedFeed({ assets: SIMULATED_ASSETS, clock, seed: 's', intervalMs: 1 });
    feed.start(() => {
      delivered[which]!++;
      clock.set(clock.nowMs() + 1);
    });
    return feed;
  };
  const feed = start(0);
  await eventually(() => expect(delivered[0]).toBeGreaterThan(3));
  await feed.stop();
  const count = delivered[0]!;
  const later = start(1);
  await eventually(() => expect(delivered[1]).toBeGreaterThan(9));
  await later.stop();
  expect(delivered[0]).toBe(count);
});
