/**
 * The plan past one core, simulated: money moves between four engines while they crash, and none is
 * made or lost. `npm run trials -- --only simulation` runs more seeds. The mutations show that the
 * simulation would find it.
 */
import { expect, test } from 'vitest';
import { simulateShards } from '../trials/simulation/shards/simulation.js';

test('money is constant over four shards', async () => {
  const result = await simulateShards('1', { runMs: 5 * 60_000 });
  expect(result.crashes).toBeGreaterThan(5);
  expect(result.answered).toBeGreaterThan(200);
  expect(result.transfers).toBeGreaterThan(5);
  expect(result.creditsSent).toBeGreaterThan(result.transfers);
  expect(result.mostOnTheWayMicros).toBeGreaterThan(10_000_000);
});

test('a credit with a new reference for each attempt is found', async () => {
  const creditId = ({ id }: { id: string }, attempt: number) =>
    attempt === 0 ? id : `${id}/${attempt}`;
  await expect(simulateShards('4', { creditId })).rejects.toThrow('on its way is not');
});

test('a credit that leaves before its debit is durable is found', async () => {
  // Only where a crash comes between the two, which not every seed has.
  const runs = ['1', '2', '3'].map((seed) => simulateShards(seed, { isHasty: true }));
  await expect(Promise.all(runs)).rejects.toThrow('on its way is not');
});
