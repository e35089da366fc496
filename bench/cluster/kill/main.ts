/**
 * `npm run cluster-kill`: processes of a cluster are killed and paused under load. Exit status 0:
 * nothing was lost or doubled, and there was one leader at a time; 1: not so; 2: bad arguments.
 */
import { commandLine, listOf, oneOf, wholeNumberFrom } from '../../measure/command-line.js';
import { median } from '../../measure/samples.js';
import { FAULTS } from './faults.js';
import { faultsOf, killRounds, type Round } from './run.js';

const { rounds, seed, only } = commandLine(
  'cluster-kill',
  'Kills and pauses the processes of a cluster at random, under load.',
)
  .option('--rounds <n>', 'how many times', wholeNumberFrom(1, 10_000), 100)
  .option('--seed <text>', 'of the choice of faults and commands', `${Date.now() % 1_000_000}`)
  .option('--only <names>', 'these faults only', listOf(oneOf(Object.keys(FAULTS))))
  .parse()
  .opts<{ rounds: number; seed: string; only?: string[] }>();

console.log(`seed ${seed}`);
const result = await killRounds({
  faults: faultsOf(seed, rounds, only),
  seed,
  report: (line) => console.log(line),
});
for (const fault of new Set(result.rounds.map((round) => round.fault)))
  console.log(
    summary(
      fault,
      result.rounds.filter((round) => round.fault === fault),
    ),
  );
console.log(summary('all', result.rounds));
console.log(
  `${result.acknowledged} commands acknowledged after ${result.retries} retries; ` +
    `${result.commands} commands in the journal, of ${result.epochs} epochs; ` +
    `refused: ${[...result.refused].map(([code, times]) => `${times} ${code}`).join(', ') || 'none'}`,
);
let isBroken = false;
for (const what of ['lost', 'doubled', 'different', 'twoLeaders'] as const) {
  const problems = result[what];
  console.log(`${what}: ${problems.length}`);
  for (const problem of problems.slice(0, 10)) console.log(`  ${problem}`);
  isBroken ||= problems.length > 0;
}
process.exit(isBroken ? 1 : 0);

function summary(name: string, some: readonly Round[]): string {
  const times = some.map(({ withoutServiceMs }) => withoutServiceMs);
  const [p50, max] = [median(times), Math.max(...times)].map(Math.round);
  return `${name}: ${some.length} rounds, without service p50 ${p50} ms, max ${max} ms`;
}
