/**
 * Maxima that take too long to reach with the naive engine in lockstep: the fast engine reaches
 * them alone, and keeps working.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import {
  IDEMPOTENCY_KEPT_IN_ALL,
  IDEMPOTENCY_KEPT_MS,
  IDEMPOTENCY_KEPT_PER_USER,
  MAX_CHOSEN_REFERRAL_CODES,
  MAX_REFERRAL_CODES_PER_USER,
} from '../../../engine/interface/limits.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { Accounts, Metric, Period } from '../../../engine/state/accounts.js';
import { UndoLog } from '../../../engine/storage/undo.js';
import { at, registration } from '../../support/engine-support.js';

test('at the maximum of chosen codes nobody can choose another, but users can still register', () => {
  const engine = new Engine();
  const register = (name: string): number => {
    engine.apply(registration(name, 0), at(0));
    return engine.result.values[ResultHead.code]!;
  };
  const command = { kind: 'setReferralCode' as const, userId: 0, code: '', idempotencyKey: null };
  const choose = (userId: number, code: string): number => {
    command.userId = userId;
    command.code = code;
    engine.apply(command, at(0));
    return engine.result.values[ResultHead.code]!;
  };
  // The engine generates the first code of each user.
  const perUser = MAX_REFERRAL_CODES_PER_USER - 1;
  let refused = 0;
  for (let chosen = 0; chosen < MAX_CHOSEN_REFERRAL_CODES; chosen++) {
    const userId = Math.floor(chosen / perUser) + 1;
    if (chosen % perUser === 0 && register(`user-${userId}`) !== Code.ok) refused++;
    if (choose(userId, `code-${chosen}`) !== Code.ok) refused++;
  }
  expect(refused).toBe(0);
  expect(register('one-more')).toBe(Code.ok);
  const { userCount } = engine;
  expect(choose(userCount, 'one-more')).toBe(Code.limit_reached);
  expect(engine.referral(userCount)!.code).toBe(
    `Q${userCount.toString(36).toUpperCase().padStart(6, '0')}`,
  );
  // Returning to an old code does not count as a new one.
  expect(choose(1, 'CODE-3')).toBe(Code.ok);
  expect(engine.referral(1)!.code).toBe('CODE-3');
  engine.checkInvariants();
});

test('1,000,000 keys of a user and 4,000,000 in all are remembered for an hour, and no more', () => {
  const engine = new Engine();
  const users = IDEMPOTENCY_KEPT_IN_ALL / IDEMPOTENCY_KEPT_PER_USER;
  for (let userId = 1; userId <= users + 1; userId++)
    engine.apply(registration(`user-${userId}`, 0), at(0));
  const command = { kind: 'cancelAll' as const, userId: 0, marketId: 1, idempotencyKey: '' };
  const ask = (userId: number, key: string, atMs: number): number => {
    command.userId = userId;
    command.idempotencyKey = key;
    engine.apply(command, atMs);
    return engine.result.values[ResultHead.code]!;
  };
  let executed = 0;
  for (let userId = 1; userId <= users; userId++) {
    for (let i = 0; i < IDEMPOTENCY_KEPT_PER_USER; i++)
      if (ask(userId, `key-${i}`, at(0)) === Code.market_not_found && !engine.replayed) executed++;
    if (userId < users) expect(ask(userId, 'one more', at(0))).toBe(Code.idempotency_full);
  }
  expect(executed).toBe(IDEMPOTENCY_KEPT_IN_ALL);
  const lastMs = at(IDEMPOTENCY_KEPT_MS - 1);
  expect(ask(users + 1, 'first', lastMs)).toBe(Code.idempotency_full);
  expect(engine.result.values.subarray(4, 6)).toEqual(Float64Array.of(1, 0));
  for (const i of [0, 1, 499_999, IDEMPOTENCY_KEPT_PER_USER - 1]) {
    for (let userId = 1; userId <= users; userId++) {
      expect(ask(userId, `key-${i}`, lastMs)).toBe(Code.market_not_found);
      expect(engine.replayed).toBe(true);
    }
  }
  for (let userId = 1; userId <= users + 1; userId++) {
    expect(ask(userId, 'key-0', at(IDEMPOTENCY_KEPT_MS))).toBe(Code.market_not_found);
    expect(engine.replayed).toBe(false);
  }
  engine.checkInvariants();
}, 120_000);

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
