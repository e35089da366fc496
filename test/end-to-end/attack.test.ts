/**
 * The attacks that take seconds, as `npm run attack` runs them, and the runner, which must not
 * report a broken promise as held.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Attack } from '../../bench/attack/attack.js';
import { type Row, reportText } from '../../bench/attack/report.js';
import { Random } from '../../bench/workload/random.js';
import { eventually } from '../support/eventually.js';

/** The built attacks, because they start the built exchange. */
const BUILT = new URL('../../dist/bench/attack/', import.meta.url);

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'attacks-'));
});
afterEach(() => rm(parent, { recursive: true }));

interface Ended {
  exitCode: number;
  output: string;
}

function attack(folder: string, ...given: string[]): Promise<Ended> {
  const main = fileURLToPath(new URL('main.js', BUILT));
  return new Promise((resolve) => {
    execFile(process.execPath, [main, '--folder', folder, ...given], (error, stdout, stderr) => {
      resolve({ exitCode: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}

/** Each group runs in a separate process. */
test.each([
  ['tokens', 'races'],
  ['numbers', 'bodies'],
  ['smuggling', 'two-exchanges'],
])('%s and %s break nothing', async (...classes) => {
  const { exitCode, output } = await attack(parent, '--only', classes.join(','));
  expect(output).toMatch(/\d+ attacks held, 0 broke a promise, 0 could not run\./);
  expect(exitCode).toBe(0);
  expect(await readdir(parent)).toEqual([]);
});

describe('the runner', () => {
  test('reports broken, failed and held attacks, and continues after the exchange has exited', async () => {
    const built = <Module>(name: string) => import(new URL(name, BUILT).href) as Promise<Module>;
    const { runClass } = await built<typeof import('../../bench/attack/run.js')>('run.js');
    const { BrokenPromise, CannotRun } =
      await built<typeof import('../../bench/attack/promises.js')>('promises.js');
    const does = (name: string, run: Attack['run']): Attack => ({ name, done: name, run });
    const attacks = [
      does('breaks', () => Promise.reject(new BrokenPromise('a promise'))),
      does('cannot', () => Promise.reject(new CannotRun('no disk'))),
      does('fails', () => Promise.reject(new TypeError('a bug in the attack'))),
      does('kills', async ({ exchange }) => {
        process.kill(exchange.pid, 'SIGKILL');
        await eventually(() => !exchange.isRunning);
        return 'unseen';
      }),
      does('holds', () => Promise.resolve('a figure')),
    ];
    const rows: Row[] = [];
    const deadlineMs = performance.now() + 60_000;
    const options = {
      parent,
      random: new Random('test'),
      deadlineMs,
      told: (row: Row) => rows.push(row),
    };
    await runClass({ name: 'class', attacks }, options);
    expect(rows.map(({ attack, verdict, figure }) => [attack, verdict, figure])).toEqual([
      ['class: breaks', 'BROKEN', 'a promise'],
      ['class: cannot', 'could not run', 'no disk'],
      ['class: fails', 'BROKEN', 'a bug in the attack'],
      ['class: kills', 'BROKEN', expect.stringContaining('the process has ended')],
      ['class: holds', 'held', expect.stringContaining('a figure')],
      ['class: afterwards', 'held', expect.any(String)],
    ]);
    expect(reportText(rows)).toContain('2 attacks held, 3 broke a promise, 1 could not run.');
  });

  test('does not report an attack as held when there was no time for it', async () => {
    const { exitCode, output } = await attack(parent, '--only', 'numbers', '--minutes', '0.000001');
    expect(output).toContain('0 attacks held, 0 broke a promise');
    expect(output).toContain('the time was over');
    expect(exitCode).toBe(0);
  });

  test.each([
    ['--only', 'nonsense'],
    ['--minutes', '-1'],
    ['--frobnicate', '1'],
  ])('refuses %s %s', async (...given) => {
    expect((await attack(parent, ...given)).exitCode).toBe(2);
  });
});
