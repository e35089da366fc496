/** Processes of a cluster are killed and paused under load, at random. */
import { expect, test } from 'vitest';
import { extent, SEED } from '../../support/extent.js';
import { NO_PROBLEM } from '../../support/load/judge.js';
import { median } from '../../support/processes/samples.js';
import { faultsOf, killRounds } from './run.js';

test('nothing is lost or doubled, and one process leads at a time', async ({ annotate }) => {
  const told = (line: string) => process.stdout.write(`${line}\n`);
  const faults = faultsOf(SEED, extent(100));
  const result = await killRounds({ faults, seed: SEED, report: told });
  const { rounds, judgement, counts } = result;
  for (const fault of new Set(faults)) {
    const those = rounds.filter((round) => round.fault === fault);
    const texts = (['withoutServiceMs', 'withoutReadsMs'] as const).map((name) => {
      const times = those.map((round) => round[name]);
      const [p50, most] = [median(times), Math.max(...times)].map(Math.round);
      return `${name} p50 ${p50}, most ${most}`;
    });
    await annotate(`${fault}: ${those.length}, ${texts.join('; ')}`);
  }
  await annotate(JSON.stringify(counts));
  expect(judgement).toEqual(NO_PROBLEM);
});
