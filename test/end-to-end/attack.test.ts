/**
 * Some attacks of the trial `attack`, others with each seed; and its runner, which must not report
 * a broken promise as held.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import { eventually } from '../support/eventually.js';
import { SEED } from '../support/extent.js';
import type { Attack, AttackClass } from '../trials/attack/attack.js';
import { bodies } from '../trials/attack/classes/bodies.js';
import { numbers } from '../trials/attack/classes/numbers.js';
import { races } from '../trials/attack/classes/races.js';
import { smuggling } from '../trials/attack/classes/smuggling.js';
import { tokens } from '../trials/attack/classes/tokens.js';
import { BrokenPromise, CannotRun } from '../trials/attack/promises.js';
import { type Row, runClass } from '../trials/attack/run.js';

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'attacks-'));
});
afterEach(() => rm(parent, { recursive: true }));

async function rowsOf(attackClass: AttackClass): Promise<Row[]> {
  const rows: Row[] = [];
  const random = new Random(`${SEED}:${attackClass.name}`);
  await runClass(attackClass, { parent, random, told: (row) => rows.push(row) });
  return rows;
}

const CLASSES = [tokens, races, numbers, bodies, smuggling];
/** Of each class. */
const SAMPLE = 4;

test(`some attacks of each class break nothing, SEED=${SEED}`, async () => {
  const random = new Random(`${SEED}:attacks`);
  const attacks = CLASSES.flatMap(({ name, attacks: all }) => {
    const from = random.whole(0, all.length - 1);
    const some = [...all.slice(from), ...all].slice(0, Math.min(SAMPLE, all.length));
    return some.map((attack) => ({ ...attack, name: `${name}: ${attack.name}` }));
  });
  const rows = await rowsOf({ name: 'some', attacks });
  expect(rows.filter(({ verdict }) => verdict !== 'held')).toEqual([]);
  expect(rows).toHaveLength(attacks.length + 1);
  expect(await readdir(parent)).toEqual([]);
});

test('broken, failed and held attacks are told, and go on after the exchange has exited', async () => {
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
  const rows = await rowsOf({ name: 'class', attacks });
  expect(rows.map(({ attack, verdict, figure }) => [attack, verdict, figure])).toEqual([
    ['class: breaks', 'BROKEN', 'a promise'],
    ['class: cannot', 'could not run', 'no disk'],
    ['class: fails', 'BROKEN', 'a bug in the attack'],
    ['class: kills', 'BROKEN', expect.stringContaining('the process has ended')],
    ['class: holds', 'held', expect.stringContaining('a figure')],
    ['class: afterwards', 'held', expect.any(String)],
  ]);
});
