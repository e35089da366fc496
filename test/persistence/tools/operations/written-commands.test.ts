/**
 * Runs the commands of OPERATIONS.md as they are written, each on the folders `data`, `backup` and
 * `archive` of an exchange that has traded. One command of each tool runs by npm, the others in
 * this process. The commands for PostgreSQL and for a journal of another version have their own
 * tests.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operate } from '../../../support/folders/operations.js';
import { Folders } from '../../../support/journal-fixture.js';
import { runTool } from '../../../support/replay-tool.js';
import { MARKET, TestServer, WINDOW_START_MS } from '../../../support/server.js';
import { ROOT } from '../../../support/sources.js';

const FOLDERS = ['data', 'backup', 'archive', 'restored', 'repaired'];
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const ELSEWHERE = /postgres:|trials|upgrade/;
const written = readFileSync(join(ROOT, 'persistence/OPERATIONS.md'), 'utf8');
const commands = [
  ...new Set(
    [...written.matchAll(/`(npm run \w+ -- [^`]+)`/g)].map(([, text]) =>
      text!.replace(/\s+/g, ' '),
    ),
  ),
].filter((command) => !ELSEWHERE.test(command));

const folders = new Folders();
let made: string;

beforeAll(async () => {
  made = folders.make();
  const server = await TestServer.withMarket({ segmentBytes: 20_000, snapshotEveryCommands: 200 });
  const ids = [];
  for (let i = 0; i < 12; i++) ids.push(await server.register(`trader-${i}`));
  const operations = Array.from({ length: 100 }, () => ({
    op: 'buy',
    marketId: MARKET,
    outcome: 'UP',
    shares: 1,
    price: 0.1,
    timeInForce: 'GTC',
  }));
  for (const { token } of ids)
    for (let i = 0; i < 10; i++) await server.api.post('/batch', { operations }, token);
  await server.passTime(WINDOW_START_MS + 20 * 60_000, 95_000);
  for (let i = 0; i < 1_100; i++) server.submit({ kind: 'advanceTime' });
  await server.followed();
  await server.close();
  cpSync(server.folder, join(made, 'data'), { recursive: true });
  await server.stop();
  const [data, backup, archive] = ['data', 'backup', 'archive'].map((name) => join(made, name));
  expect((await operate('backup', '--data', data!, '--to', backup!)).err).toBe('');
  const copy = join(folders.make(), 'data');
  cpSync(data!, copy, { recursive: true });
  expect((await operate('archive', '--data', copy, '--to', archive!)).err).toBe('');
});
afterAll(() => folders.removeAll());

/** A folder in which npm finds the scripts and the tools find those folders. */
function place(): string {
  const folder = folders.make();
  cpSync(made, folder, { recursive: true });
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  for (const name of ['node_modules', 'dist', 'build.ts'])
    symlinkSync(join(ROOT, name), join(folder, name));
  return folder;
}

test('there are commands to run', () => expect(commands.length).toBeGreaterThan(7));

const toolOf = (command: string) => (command.startsWith('npm run replay ') ? 'replay' : 'other');
const firsts = ['replay', 'other'].map((tool) => commands.find((each) => toolOf(each) === tool));

test.each(commands)('%s', async (command) => {
  const folder = place();
  if (firsts.includes(command)) {
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 30 } as const;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], options);
    expect(status, `${stdout}${stderr}`).toBe(0);
    return;
  }
  const [, name, rest] = /^npm run (\w+) -- (.*)$/.exec(command)!;
  expect(scripts).toHaveProperty(name!);
  const args = rest!.split(' ').map((word) => (FOLDERS.includes(word) ? join(folder, word) : word));
  const run = toolOf(command) === 'replay' ? runTool(...args) : operate(name!, ...args);
  const { status, out, err } = await run;
  expect(status, `${out}${err}`).toBe(0);
});
