/** A handful of simulated runs; `npm run trials` makes hundreds. */
import { expect, test } from 'vitest';
import { simulate } from '../trials/simulation/simulation.js';

test.each(['1', '2', '3'])(
  'every promise is kept in the simulated run of seed %s',
  async (seed) => {
    const result = await simulate(seed);
    expect(result.crashes + result.diskFailures).toBeGreaterThan(1);
    expect(result.snapshots).toBeGreaterThan(1);
    expect(result.answered).toBeGreaterThan(500);
    expect(result.trades).toBeGreaterThan(100);
    expect(result.settled).toBeGreaterThan(0);
  },
);

test('a seed repeats its run', async () => {
  expect(await simulate('4')).toEqual(await simulate('4'));
});
