/**
 * The vault against exact fractions: after any stakes, unstakes, claims and shares, it pays out
 * exactly what it received, and no deposit gets more than its share.
 */
import Big from 'big.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import { CLOSED_DEPOSITS_REMEMBERED } from '../../engine/interface/limits.js';
import { YIELD_DIVISOR } from '../../engine/interface/parameters.js';
import { ResultHead } from '../../engine/interface/results.js';
import { Vault } from '../../engine/state/vault.js';
import type { VaultDeposit } from '../../engine/state/vault-deposits.js';
import { archiveOf, at, DOLLAR, openMarket } from '../support/engine-support.js';

const WINDOW = 900_000;
/** Far more digits than any quotient here needs. */
const Exact = Big();
Exact.DP = 60;
Exact.RM = Big.roundDown;

interface Shadow {
  deposit: VaultDeposit;
  /** The deposit's earnings so far, in micros, as an exact fraction. */
  earned: Big;
  paid: number;
}

type Step =
  | { do: 'stake'; amountMicros: number; advanceMs: number }
  | { do: 'unstake' | 'claim'; pick: number }
  | { do: 'share'; shareMicros: number; advanceMs: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('stake' as const),
      amountMicros: fc.oneof(
        fc.integer({ min: DOLLAR, max: 5 * DOLLAR }),
        fc.integer({ min: DOLLAR, max: 1e14 }),
      ),
      advanceMs: fc.nat(WINDOW),
    }),
    fc.record({ do: fc.constantFrom('unstake' as const, 'claim' as const), pick: fc.nat() }),
    fc.record({
      do: fc.constant('share' as const),
      shareMicros: fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 1e13 })),
      advanceMs: fc.nat(2 * WINDOW),
    }),
  ),
  { minLength: 5, maxLength: 60 },
);

/** Runs the steps on a vault and on exact fractions; at the end every deposit is unstaked. */
function play(script: Step[]): void {
  const vault = new Vault();
  vault.deposits.ensureUsers(100);
  const live: Shadow[] = [];
  let nowMs = at(0);
  let given = 0;
  let paid = 0;
  const payTo = (shadow: Shadow): void => {
    const due = vault.payYield(shadow.deposit);
    shadow.paid += due;
    paid += due;
    expect(shadow.earned.gte(shadow.paid)).toBe(true);
    // A deposit can lose less than one accumulator unit per share, and one floor in total.
    expect(shadow.earned.minus(shadow.paid).lt(2)).toBe(true);
  };
  const close = (shadow: Shadow): void => {
    payTo(shadow);
    vault.close(shadow.deposit);
    live.splice(live.indexOf(shadow), 1);
  };
  for (const step of script) {
    if (step.do === 'stake') {
      nowMs += step.advanceMs;
      live.push({ deposit: vault.add(1, step.amountMicros, nowMs), earned: new Exact(0), paid: 0 });
    } else if (step.do === 'share') {
      nowMs += step.advanceMs;
      const earning = live.filter((shadow) => shadow.deposit.earnsFromMs <= nowMs);
      const staked = earning.reduce(
        (sum, shadow) => sum.plus(shadow.deposit.amountMicros),
        new Exact(0),
      );
      const shared = vault.share(step.shareMicros, nowMs);
      const most = Math.min(step.shareMicros, Math.floor(staked.toNumber() / YIELD_DIVISOR));
      expect(shared).toBe(earning.length === 0 ? 0 : most);
      given += shared;
      for (const shadow of earning) {
        const part = new Exact(most).times(shadow.deposit.amountMicros).div(staked);
        shadow.earned = shadow.earned.plus(part);
      }
    } else if (live.length > 0) {
      const shadow = live[step.pick % live.length]!;
      if (step.do === 'claim') payTo(shadow);
      else close(shadow);
    }
    expect(paid).toBeLessThanOrEqual(given);
  }
  while (live.length > 0) close(live[0]!);
  expect(vault.deposits.liveCount).toBe(0);
  expect(vault.yieldPaidMicros).toBe(paid);
}

test('pays each deposit its exact share, floored, and never more than came in', () => {
  fc.assert(fc.property(steps, play), { numRuns: 500 });
});

test.each([
  ['on a quarter hour', 0, WINDOW],
  ['just after it', 1, 2 * WINDOW],
  ['just before the next', WINDOW - 1, 2 * WINDOW],
])(
  'a deposit made %s starts to earn at the first window at least a quarter hour later',
  (_when, madeMs, earnsMs) => {
    expect(Vault.earnsFromMs(at(madeMs))).toBe(at(earnsMs));
  },
);

test('remembers a closed deposit until 100,000 more are closed', () => {
  const { engine } = openMarket(2, 1_000_000);
  const stake = (userId: number) =>
    engine.apply({ kind: 'stake', userId, amountMicros: DOLLAR, idempotencyKey: null }, at(0));
  const unstake = (userId: number, depositId: number): number => {
    engine.apply({ kind: 'unstake', userId, depositId, idempotencyKey: null }, at(0));
    return engine.result.values[ResultHead.code]!;
  };
  for (let depositId = 1; depositId <= CLOSED_DEPOSITS_REMEMBERED; depositId++) {
    stake(1);
    expect(unstake(1, depositId)).toBe(Code.ok);
  }
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
