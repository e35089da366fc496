/** Many runs of the simulation; `npm test` has one. */
import { expect, test } from 'vitest';
import { extent, SEED } from '../../support/extent.js';
import { simulate } from './simulation.js';

test('on a simulated disk, clock and network every promise is kept', async ({ annotate }) => {
  await annotate(await total(extent(300)));
});

/** Runs one seed after the other. Returns the sums of their counts. */
async function total(seeds: number): Promise<string> {
  const sums: Record<string, number> = { seeds };
  for (let i = 0; i < seeds; i++) {
    const ofRun = `${SEED}-${i + 1}`;
    const result = await simulate(ofRun).catch((cause) => {
      throw new Error(`the run of seed ${ofRun} broke a promise`, { cause });
    });
    for (const [name, count] of Object.entries(result))
      if (typeof count === 'number') sums[name] = (sums[name] ?? 0) + count;
  }
  expect(sums['answered']).toBeGreaterThan(0);
  return Object.entries(sums)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
