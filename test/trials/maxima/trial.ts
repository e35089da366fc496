/**
 * Maxima that take too long to reach with the naive engine in lockstep: the fast engine reaches
 * them alone, and keeps working.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import {
  IDEMPOTENCY_KEPT_MS,
  MAX_TRANSFERS,
  TRANSFER_KEPT_MS,
  TRANSFER_PERIOD_MS,
} from '../../../engine/interface/limits.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { POOL_SIZES } from '../../../engine/state/access/room.js';
import { Accounts, Metric, Period } from '../../../engine/state/accounts.js';
import { UndoLog } from '../../../engine/storage/undo.js';
import { at, registration } from '../../support/engine-support.js';

test('what newcomers can have of 64,000,000 keys is remembered for an hour, and no more is taken', () => {
  const engine = new Engine();
  const users = 60;
  for (let userId = 1; userId <= users; userId++)
    engine.apply(registration(`user-${userId}`, 0), at(0));
  const command = { kind: 'claim' as const, userId: 0, marketId: 1, idempotencyKey: '' };
  const ask = (userId: number, key: string, atMs: number): number => {
    command.userId = userId;
    command.idempotencyKey = key;
    engine.apply(command, atMs);
    return engine.result.values[ResultHead.code]!;
  };
  const counts: number[] = [];
  for (let userId = 1; userId <= users; userId++) {
    let count = 0;
    while (ask(userId, `key-${count}`, at(0)) !== Code.idempotency_full) count++;
    counts.push(count);
  }
  // The first user gets a quarter of the newcomers' half, minus what is kept for users with little
  // use.
  expect(counts[0]).toBe(6_000_000);
  expect(counts.at(-1)).toBe(POOL_SIZES.keys.assured);
  const lastMs = at(IDEMPOTENCY_KEPT_MS - 1);
  for (const [index, count] of counts.entries()) {
    for (const i of [0, 1, count >> 1, count - 1]) {
      expect(ask(index + 1, `key-${i}`, lastMs)).toBe(Code.market_not_found);
      expect(engine.replayed).toBe(true);
    }
  }
  for (let userId = 1; userId <= users; userId++) {
    expect(ask(userId, 'key-0', at(IDEMPOTENCY_KEPT_MS))).toBe(Code.market_not_found);
    expect(engine.replayed).toBe(false);
  }
  engine.checkInvariants();
}, 600_000);

test('10,000,000 transfers are remembered: beyond, only withdrawals are taken, until some are forgotten', () => {
  const engine = new Engine();
  engine.apply(registration('rich', 0, '', 'bank'), at(0));
  const deposit = { kind: 'deposit' as const, userId: 1, amountMicros: 1, partner: 'bank' };
  const ask = (number: number): number => {
    engine.apply({ ...deposit, reference: `${number}` }, at(0));
    return engine.result.values[ResultHead.code]!;
  };
  for (let number = 1; number <= MAX_TRANSFERS; number++)
    if (ask(number) !== Code.ok) throw new Error(`transfer ${number} was refused`);
  expect(ask(MAX_TRANSFERS + 1)).toBe(Code.limit_reached);
  expect([ask(1), engine.replayed]).toEqual([Code.ok, true]);
  expect(engine.funds().netDepositsMicros).toBe(MAX_TRANSFERS);
  engine.apply({ ...deposit, kind: 'withdraw', reference: 'w' }, at(0));
  expect(engine.result.values[ResultHead.code]).toBe(Code.ok);
  engine.apply({ ...deposit, reference: '1' }, at(TRANSFER_KEPT_MS + TRANSFER_PERIOD_MS));
  expect([engine.result.values[ResultHead.code], engine.replayed]).toEqual([Code.ok, false]);
});

test('leaderboard values saturate at the largest and smallest safe integers', () => {
  const most = Number.MAX_SAFE_INTEGER;
  const statistics = new Accounts(new UndoLog());
  statistics.ensureUsers(3);
  statistics.setTime(at(0));
  for (let i = 0; i < 3; i++) {
    statistics.addTrade(1, most - 5, most - 5);
    statistics.addPoints(1, most - 5);
    statistics.addProfit(2, 5 - most);
  }
  for (const period of Object.values(Period)) {
    for (const metric of Object.values(Metric))
      expect(statistics.value(1, metric, period)).toBe(most);
    expect(statistics.value(2, Metric.profit, period)).toBe(-most);
  }
  expect(statistics.tradeCount(1)).toBe(3);
});
