/**
 * `npm run trials`: runs the trials, one file after the other, and prints what held and what broke
 * as a table. Exit status 0: every promise was kept; 1: one broke, or no trial ran; 2: invalid
 * arguments.
 *
 * Each test of a trial's files is a promise, and a row.
 */
import Table from 'cli-table3';
import { Command, InvalidArgumentError } from 'commander';
import { startVitest, type TestCase, type TestModule } from 'vitest/node';

interface Trial {
  files: readonly string[];
  edgeThreads?: number;
}

const own = (name: string): Trial => ({ files: [`test/trials/${name}/trial.ts`] });
/** A file of `npm test`, which tries more in a trial. */
const longer = (path: string): Trial => ({ files: [`test/${path}.test.ts`] });

const TRIALS: Readonly<Record<string, Trial>> = {
  simulation: own('simulation'),
  maxima: own('maxima'),
  differential: longer('engine/differential'),
  sequencer: longer('persistence/journal/sequencer-random'),
  'order-reader': longer('gateway/resources/order-reader'),
  fuzz: longer('end-to-end/fuzz'),
  fuzzing: { files: ['test/trials/fuzzing/fuzzing.test.ts'] },
  edges: {
    edgeThreads: 2,
    files: [
      'test/gateway/{http,limits,access,contract,resources,stream}/**/*.test.ts',
      'test/end-to-end/{kill,linearizable,stop,recovery-http,fuzz}.test.ts',
      'test/trials/attack/trial.ts',
    ],
  },
  attack: {
    files: ['test/trials/attack/trial.ts', 'test/gateway/limits/sign-in-queue.test.ts'],
  },
  kill: longer('end-to-end/kill'),
  linearizable: longer('end-to-end/linearizable'),
  image: longer('gateway/deploy'),
  bots: longer('gateway/client/bots'),
  ccxt: own('ccxt'),
  takeover: longer('end-to-end/bad-days/takeover'),
  'power-cut': own('power-cut'),
  'failing-disk': own('failing-disk'),
  'fault-table': longer('persistence/fault-table'),
  history: longer('persistence/history/history'),
  'long-journal': own('long-journal'),
  'a-year': own('a-year'),
  house: own('house'),
  site: own('site'),
  soak: own('soak'),
  standstill: own('standstill'),
  cluster: own('cluster'),
  'cluster-kill': own('cluster-kill'),
  models: own('models'),
  mutations: own('mutations'),
};
const names = Object.keys(TRIALS);
const LIMIT_MS = 60 * 60_000;
const VERDICTS = { passed: 'held', failed: 'BROKEN', skipped: 'could not run', pending: 'BROKEN' };

const { only, named, times, seed } = new Command('trials')
  .description('Tries for a long time to break what the exchange promises.')
  .option('--only <names>', `of ${names.join(', ')}`, namesOf, names)
  .option('--named <pattern>', 'only promises whose names match', '')
  .option('--times <n>', 'how much each tries, as a multiple of the usual', positive, 1)
  .option('--seed <text>', 'of all random choices', `${Date.now() % 1_000_000}`)
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse()
  .opts<{ only: string[]; named: string; times: number; seed: string }>();

await startVitest('test', [], {
  config: false,
  root: `${import.meta.dirname}/../..`,
  watch: false,
  fileParallelism: false,
  testNamePattern: named,
  reporters: ['default', { onTestRunEnd: (trials) => console.log(`\n${report(trials)}`) }],
  projects: only.map((name) => {
    const { files, ...provided } = TRIALS[name]!;
    return {
      test: {
        name,
        include: [...files],
        provide: { times, seed, ...provided },
        testTimeout: LIMIT_MS * Math.max(times, 1),
        hookTimeout: 10 * 60_000,
        expect: { poll: { timeout: 90_000 } },
      },
    };
  }),
});

function namesOf(text: string): string[] {
  const given = text.split(',');
  const unknown = given.find((name) => !names.includes(name));
  if (unknown === undefined) return given;
  throw new InvalidArgumentError(`There is no trial ${unknown}.`);
}

function positive(text: string): number {
  if (Number(text) > 0 && Number(text) < 1e6) return Number(text);
  throw new InvalidArgumentError('It must be a positive number.');
}

function report(trials: readonly TestModule[]): string {
  const table = new Table({
    head: ['trial', 'promise', 'verdict', 'what was counted', 'seconds'],
    colWidths: [16, 44, 15, 60, 9],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  const isAsked = ([, , verdict]: string[]) => named === '' || verdict !== VERDICTS.skipped;
  const rows = trials.flatMap(rowsOf).filter(isAsked);
  for (const name of only) table.push(...shortened(rows.filter((row) => row[0] === name)));
  const count = (verdict: string) => rows.filter((row) => row[2] === verdict).length;
  return `${table}\n${count('held')} held, ${count('BROKEN')} broke, ${count('could not run')} could not run; seed ${seed}`;
}

/** Joins the rows of kept promises without details into one. */
function shortened(rows: readonly string[][]): string[][] {
  const isPlain = ([, , verdict, figure]: string[]) => verdict === 'held' && figure === '';
  const plain = rows.filter(isPlain);
  if (plain.length < 2) return [...rows];
  const seconds = plain.reduce((sum, row) => sum + Number(row[4]), 0).toFixed(1);
  const name = plain[0]![0]!;
  return [
    ...rows.filter((row) => !isPlain(row)),
    [name, `${plain.length} tests`, 'held', '', seconds],
  ];
}

function rowsOf(trial: TestModule): string[][] {
  const { name } = trial.project;
  const rows = [...trial.children.allTests()].map((test) => rowOf(name, test));
  // Errors outside a test, for example of a file that cannot be loaded.
  for (const { message } of trial.errors()) rows.push([name, '', 'BROKEN', message, '']);
  return rows;
}

function rowOf(name: string, test: TestCase): string[] {
  const result = test.result();
  const why = result.state === 'skipped' ? [result.note ?? ''] : [];
  const counted = test.annotations().map(({ message }) => message);
  const broken = (result.errors ?? []).map(({ message }) => message);
  const figure = [...why, ...counted, ...broken].join('\n');
  const seconds = (test.diagnostic()?.duration ?? 0) / 1_000;
  return [name, test.fullName, VERDICTS[result.state], figure, seconds.toFixed(1)];
}
