/** A simulated run; `npm run trials` makes hundreds. */
import { expect, test } from 'vitest';
import { simulate } from './simulation.js';

test('every promise is kept in a simulated run, and a seed repeats its run', async () => {
  const result = await simulate('1');
  expect(result.crashes + result.diskFailures).toBeGreaterThan(1);
  expect(result.snapshots).toBeGreaterThan(1);
  expect(result.answered).toBeGreaterThan(500);
  expect(result.trades).toBeGreaterThan(100);
  expect(result.settled).toBeGreaterThan(0);
  expect(await simulate('1')).toEqual(result);
});
