/** A handful of simulated runs; `npm run trials` makes hundreds. */
import { expect, test } from 'vitest';
import { simulate } from '../trials/simulation/simulation.js';

test('every promise is kept in two simulated runs, and a seed repeats its run', async () => {
  const runs = [await simulate('1'), await simulate('2')];
  for (const result of runs) {
    expect(result.crashes + result.diskFailures).toBeGreaterThan(1);
    expect(result.snapshots).toBeGreaterThan(1);
    expect(result.answered).toBeGreaterThan(500);
    expect(result.trades).toBeGreaterThan(100);
    expect(result.settled).toBeGreaterThan(0);
  }
  expect(await simulate('2')).toEqual(runs[1]);
});
