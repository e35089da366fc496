/** Attacks the built exchange, each class in a temporary folder. */
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import { SEED } from '../../support/extent.js';
import type { AttackClass } from './attack.js';
import { economy } from './classes/economy.js';
import { races } from './classes/races.js';
import { signIns } from './classes/sign-ins.js';
import { slow } from './classes/slow.js';
import { unread } from './classes/unread.js';
import { type Row, runClass } from './run.js';

const CLASSES: readonly AttackClass[] = [races, slow, signIns, unread, economy];

test.for(CLASSES)('the attacks of the class $name break nothing', async (attackClass, context) => {
  const rows: Row[] = [];
  await runClass(attackClass, {
    parent: tmpdir(),
    random: new Random(`${SEED}:${attackClass.name}`),
    told: (row) => rows.push(row),
  });
  for (const { attack, verdict, figure } of rows)
    await context.annotate(`${attack}: ${verdict}, ${figure}`);
  expect(rows.filter(({ verdict }) => verdict === 'BROKEN')).toEqual([]);
  const isTried = rows.some(({ verdict }) => verdict === 'held');
  if (!isTried) context.skip('this machine lacks what each attack needs');
});
