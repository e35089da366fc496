/**
 * How long a closed vault deposit is remembered. The differential test covers the rest of the
 * vault.
 */
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import { CLOSED_DEPOSITS_REMEMBERED } from '../../engine/interface/limits.js';
import { ResultHead } from '../../engine/interface/results.js';
import { archiveOf, at, DOLLAR, openMarket } from '../support/engine-support.js';

test('remembers a closed deposit until 100,000 more are closed', () => {
  const { engine } = openMarket(2, 1_000_000);
  const stake = (userId: number) =>
    engine.apply({ kind: 'stake', userId, amountMicros: DOLLAR, idempotencyKey: null }, at(0));
  const unstake = (userId: number, depositId: number): number => {
    engine.apply({ kind: 'unstake', userId, depositId, idempotencyKey: null }, at(0));
    return engine.result.values[ResultHead.code]!;
  };
  const codes = new Set<number>();
  for (let depositId = 1; depositId <= CLOSED_DEPOSITS_REMEMBERED; depositId++) {
    stake(1);
    codes.add(unstake(1, depositId));
  }
  expect([...codes]).toEqual([Code.ok]);
  stake(2);
  const copy = Engine.restore(archiveOf(engine));
  expect(copy.vaultDepositIds(2)).toEqual([CLOSED_DEPOSITS_REMEMBERED + 1]);
  for (const one of [engine, copy]) {
    const unstakeIn = (userId: number, depositId: number): number => {
      one.apply({ kind: 'unstake', userId, depositId, idempotencyKey: null }, at(0));
      return one.result.values[ResultHead.code]!;
    };
    expect(unstakeIn(1, 1)).toBe(Code.deposit_closed);
    expect(unstakeIn(2, CLOSED_DEPOSITS_REMEMBERED + 1)).toBe(Code.ok);
    expect(unstakeIn(1, 1)).toBe(Code.deposit_not_found);
    expect(unstakeIn(1, 2)).toBe(Code.deposit_closed);
    expect(one.vaultDepositIds(2)).toEqual([]);
    one.checkInvariants();
  }
  expect(copy.digest()).toBe(engine.digest());
});
