/**
 * The vault against exact fractions: after any stakes, unstakes, claims and shares, it pays out
 * exactly what it received, no deposit gets more than its share, and the rest is in the treasury.
 */
import Big from 'big.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import { Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { CLOSED_DEPOSITS_REMEMBERED } from '../../engine/interface/limits.js';
import { RESULT_HEAD_LENGTH, ResultHead } from '../../engine/interface/results.js';
import { Vault } from '../../engine/state/vault.js';
import type { VaultDeposit } from '../../engine/state/vault-deposits.js';
import {
  archiveOf,
  at,
  buy,
  codeOf,
  DOLLAR,
  eventsOf,
  openMarket,
  price,
  run,
} from '../support/engine-support.js';

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
      expect(shared).toBeLessThanOrEqual(step.shareMicros);
      expect(earning.length === 0).toBe(shared === 0);
      given += shared;
      for (const shadow of earning) {
        const part = new Exact(step.shareMicros).times(shadow.deposit.amountMicros).div(staked);
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

/** One action between two settlements; `pick` chooses among the deposits. */
type Action =
  | { do: 'stake'; userId: number; amountMicros: number }
  | { do: 'unstake' | 'claim'; pick: number }
  | { do: 'settle'; spentMicros: number };

const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('stake' as const),
      userId: fc.integer({ min: 3, max: 5 }),
      amountMicros: fc.integer({ min: DOLLAR, max: 90 * DOLLAR }),
    }),
    fc.record({ do: fc.constantFrom('unstake' as const, 'claim' as const), pick: fc.nat() }),
    fc.record({
      do: fc.constant('settle' as const),
      spentMicros: fc.integer({ min: 500_000, max: 50 * DOLLAR }),
    }),
  ),
  { minLength: 10, maxLength: 40 },
);

/** A deposit in the engine, and its exact part of the fees. */
interface Stake {
  depositId: number;
  userId: number;
  amountMicros: number;
  earnsFromMs: number;
  earned: Big;
  paid: number;
}

/** Runs the actions through the engine; at the end every deposit is unstaked. */
class VaultRun {
  private readonly engine = openMarket(5).engine;
  private readonly open: Stake[] = [];
  private windowStartMs = at(0);
  private feesMicros = 0;
  private givenMicros = 0;
  private paidMicros = 0;

  play(script: Action[]): void {
    for (const action of script) {
      if (action.do === 'stake') this.stake(action.userId, action.amountMicros);
      else if (action.do === 'settle') this.settle(action.spentMicros);
      else if (this.open.length > 0)
        this.pay(action.do, this.open[action.pick % this.open.length]!);
    }
    while (this.open.length > 0) this.pay('unstake', this.open[0]!);
    const { stakedMicros, yieldDueMicros, treasuryMicros } = this.engine.funds();
    expect([stakedMicros, yieldDueMicros]).toEqual([0, 0]);
    // Every micro-dollar of fees was paid out or is in the treasury.
    expect(this.paidMicros + treasuryMicros).toBe(this.feesMicros);
    expect(this.paidMicros).toBeLessThanOrEqual(this.givenMicros);
  }

  private stake(userId: number, amountMicros: number): void {
    const { engine } = this;
    run(engine, { kind: 'stake', userId, amountMicros, idempotencyKey: null });
    const { depositId, earnsFromMs } = engine.vaultDeposits(userId).at(-1)!;
    this.open.push({ depositId, userId, amountMicros, earnsFromMs, earned: new Exact(0), paid: 0 });
  }

  private pay(verb: 'unstake' | 'claim', stake: Stake): void {
    const { engine } = this;
    const { userId, depositId, amountMicros } = stake;
    const before = engine.account(userId)!.availableMicros;
    const kind = verb === 'claim' ? 'claimYield' : 'unstake';
    run(engine, { kind, userId, depositId, idempotencyKey: null });
    const principal = verb === 'unstake' ? amountMicros : 0;
    const paid = engine.account(userId)!.availableMicros - before - principal;
    stake.paid += paid;
    this.paidMicros += paid;
    // At most the share, and less than two micro-dollars below it.
    expect(stake.earned.gte(stake.paid) && stake.earned.minus(stake.paid).lt(2)).toBe(true);
    if (verb === 'unstake') this.open.splice(this.open.indexOf(stake), 1);
  }

  /** Charges a user a fee in the current market, and ends the market. */
  private settle(spentMicros: number): void {
    const { engine } = this;
    const marketId = engine.activeMarket(0);
    const sizeLots = Math.ceil(spentMicros / 500);
    const terms = { outcome: Outcome.DOWN, priceTicks: 500, timeInForce: TimeInForce.GTC };
    run(engine, buy({ userId: 2, marketId, sizeLots, ...terms }));
    run(engine, buy({ userId: 1, marketId, budgetMicros: spentMicros }));
    this.windowStartMs += WINDOW;
    run(engine, price(100_000, this.windowStartMs - 1_000), this.windowStartMs - 1_000);
    run(engine, { kind: 'advanceTime' }, this.windowStartMs + 2_000);
    const [shared] = eventsOf(engine, 'feesShared');
    const { vaultMicros, treasuryMicros } = shared!;
    const fees = vaultMicros + treasuryMicros;
    this.feesMicros += fees;
    this.givenMicros += vaultMicros;
    const earning = this.open.filter(({ earnsFromMs }) => earnsFromMs <= engine.nowMs);
    const staked = earning.reduce((sum, { amountMicros }) => sum.plus(amountMicros), new Exact(0));
    const share = Math.floor((fees * 40) / 100);
    expect(vaultMicros).toBeLessThanOrEqual(earning.length === 0 ? 0 : share);
    for (const stake of earning) {
      stake.earned = stake.earned.plus(new Exact(share).times(stake.amountMicros).div(staked));
    }
    for (const userId of [1, 2])
      engine.apply({ kind: 'claim', userId, marketId, idempotencyKey: null }, engine.nowMs);
  }
}

test('the engine pays all fees to the deposits by their shares, or to the treasury', () => {
  fc.assert(
    fc.property(actions, (script) => new VaultRun().play(script)),
    { numRuns: 150 },
  );
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

describe('in the engine', () => {
  /** User 1 pays about 5 cents of fees in the current market, which ends UP. */
  function tradeThrough(engine: Engine, startMs: number): void {
    const marketId = engine.activeMarket(0);
    const gtc = { timeInForce: TimeInForce.GTC };
    const atMs = startMs + 1_000;
    engine.apply(
      buy({
        userId: 2,
        marketId,
        outcome: Outcome.DOWN,
        sizeLots: 20_000,
        priceTicks: 500,
        ...gtc,
      }),
      atMs,
    );
    engine.apply(buy({ userId: 1, marketId, budgetMicros: 10 * DOLLAR }), atMs);
    engine.apply(price(100_000, startMs + WINDOW - 1_000), startMs + WINDOW - 1_000);
    run(engine, { kind: 'advanceTime' }, startMs + WINDOW + 2_000);
  }

  test('40% of the fees go to deposits staked for the whole window, the rest to the treasury', () => {
    const { engine } = openMarket(5);
    run(
      engine,
      { kind: 'stake', userId: 3, amountMicros: 300 * DOLLAR, idempotencyKey: null },
      at(0),
    );
    run(
      engine,
      { kind: 'stake', userId: 4, amountMicros: 100 * DOLLAR, idempotencyKey: null },
      at(0),
    );
    // Too late for the current window.
    run(
      engine,
      { kind: 'stake', userId: 5, amountMicros: 900 * DOLLAR, idempotencyKey: null },
      at(1),
    );
    tradeThrough(engine, at(0));
    expect(eventsOf(engine, 'feesShared')).toMatchObject([
      { vaultMicros: 20_000, referrersMicros: 0, treasuryMicros: 30_000 },
    ]);
    expect(engine.vaultDeposits(3)[0]!.accruedYieldMicros).toBe(15_000);
    expect(engine.vaultDeposits(4)[0]!.accruedYieldMicros).toBe(5_000);
    expect(engine.vaultDeposits(5)[0]!.accruedYieldMicros).toBe(0);

    const claimed = run(engine, {
      kind: 'claimYield',
      userId: 3,
      depositId: 1,
      idempotencyKey: null,
    });
    expect(claimed[RESULT_HEAD_LENGTH + 6]).toBe(15_000);
    const again = run(engine, {
      kind: 'claimYield',
      userId: 3,
      depositId: 1,
      idempotencyKey: null,
    });
    expect(codeOf(again)).toBe(Code.nothing_to_claim);
    const unstake = { kind: 'unstake', userId: 4, depositId: 2, idempotencyKey: null } as const;
    run(engine, unstake);
    expect(engine.account(4)!.availableMicros).toBe(10_000 * DOLLAR + 5_000);
    expect(codeOf(run(engine, unstake))).toBe(Code.deposit_closed);
    expect(codeOf(run(engine, { ...unstake, userId: 3 }))).toBe(Code.deposit_not_found);
    expect(codeOf(run(engine, { ...unstake, depositId: 99 }))).toBe(Code.deposit_not_found);
  });

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

  test("without stakes, the vault's part goes to the treasury", () => {
    const { engine } = openMarket(2);
    tradeThrough(engine, at(0));
    expect(engine.treasuryMicros()).toBe(50_000);
  });

  test('the rounding remainder goes to the treasury with the last deposit', () => {
    const { engine } = openMarket(5);
    for (const userId of [3, 4, 5]) {
      run(engine, { kind: 'stake', userId, amountMicros: 7 * DOLLAR, idempotencyKey: null }, at(0));
    }
    tradeThrough(engine, at(0));
    const before = engine.treasuryMicros();
    for (const [userId, depositId] of [
      [3, 1],
      [4, 2],
      [5, 3],
    ] as const) {
      run(engine, { kind: 'unstake', userId, depositId, idempotencyKey: null });
      expect(engine.account(userId)!.availableMicros).toBe(10_000 * DOLLAR + 6_666);
    }
    expect(eventsOf(engine, 'vaultRemainder')).toMatchObject([{ amountMicros: 2 }]);
    expect(engine.treasuryMicros()).toBe(before + 2);
  });
});
