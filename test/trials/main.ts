/**
 * `npm run trials`: runs every trial of this folder, one after the other, and prints what held and
 * what broke as a table. Exit status 0: every promise was kept; 1: one broke, or no trial ran; 2:
 * invalid arguments.
 *
 * A trial is `NAME/trial.ts`, a test file of vitest. Each of its tests is a promise, and a row.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Table from 'cli-table3';
import { Command, InvalidArgumentError } from 'commander';
import { startVitest, type TestCase, type TestModule } from 'vitest/node';

const HERE = import.meta.dirname;
const LIMIT_MS = 60 * 60_000;
const VERDICTS = { passed: 'held', failed: 'BROKEN', skipped: 'could not run', pending: 'BROKEN' };

const names = readdirSync(HERE).filter((name) => existsSync(join(HERE, name, 'trial.ts')));

const { only, times, seed } = new Command('trials')
  .description('Tries for a long time to break what the exchange promises.')
  .option('--only <names>', `of ${names.join(', ')}`, namesOf, names)
  .option('--times <n>', 'how much each tries, as a multiple of the usual', positive, 1)
  .option('--seed <text>', 'of all random choices', `${Date.now() % 1_000_000}`)
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse()
  .opts<{ only: string[]; times: number; seed: string }>();

await startVitest('test', [], {
  config: false,
  root: join(HERE, '../..'),
  watch: false,
  include: only.map((name) => `test/trials/${name}/trial.ts`),
  provide: { times, seed },
  fileParallelism: false,
  testTimeout: LIMIT_MS * times,
  hookTimeout: 10 * 60_000,
  expect: { poll: { timeout: 30_000 } },
  reporters: ['default', { onTestRunEnd: (trials) => console.log(`\n${report(trials)}`) }],
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
  const rows = trials.flatMap(rowsOf);
  for (const row of rows) table.push(row);
  const count = (verdict: string) => rows.filter((row) => row[2] === verdict).length;
  return `${table}\n${count('held')} held, ${count('BROKEN')} broke, ${count('could not run')} could not run; seed ${seed}`;
}

function rowsOf(trial: TestModule): string[][] {
  const name = trial.moduleId.split('/').at(-2)!;
  const rows = [...trial.children.allTests()].map((test) => rowOf(name, test));
  // Such as one that cannot be loaded.
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
