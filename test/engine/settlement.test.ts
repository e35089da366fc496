/**
 * Large markets end, settle and pay in slices. No command does much work, money is conserved
 * between slices, and a user who claims during the slices gets the same as at the end. Also the
 * rules that share the fees.
 */
import { describe, expect, test } from 'vitest';
import type { Engine } from '../../engine/engine.js';
import { Code } from '../../engine/interface/codes.js';
import type { Buy, Command } from '../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../engine/interface/domain.js';
import { WORK_UNITS_PER_COMMAND } from '../../engine/interface/limits.js';
import { OrderResult, RESULT_HEAD_LENGTH } from '../../engine/interface/results.js';
import type { Rules } from '../../engine/interface/rule-sets.js';
import {
  ANY_SIZE_RESTS,
  at,
  buy,
  codeOf,
  DOLLAR,
  eventsOf,
  openMarket,
  price,
  registration,
  run,
  sell,
} from '../support/engine-support.js';

const END = 900_000;
const USERS = 5_000;

/**
 * Each odd user buys UP against the next user's DOWN bid, and every user leaves one order resting.
 */
function crowdedMarket(): { engine: Engine; marketId: number } {
  const { engine, marketId } = openMarket(USERS);
  for (let userId = 1; userId < USERS; userId += 2) {
    const gtc = { timeInForce: TimeInForce.GTC };
    const down = { userId: userId + 1, marketId, outcome: Outcome.DOWN, ...gtc };
    const orders = [
      buy({ ...down, sizeLots: 1_000, priceTicks: 500 }),
      buy({ userId, marketId, sizeLots: 1_000, priceTicks: 500 }),
      buy({ userId, marketId, sizeLots: 100, priceTicks: 100, ...gtc }),
      sell({ ...down, sizeLots: 300, priceTicks: 900 }),
    ];
    for (const order of orders) engine.apply(order, at(1_000));
  }
  engine.checkInvariants();
  return { engine, marketId };
}

function balanceOf(engine: Engine, userId: number) {
  const { availableMicros, heldMicros } = engine.account(userId)!;
  return { availableMicros, heldMicros };
}

function totalOf(engine: Engine): number {
  let total = 0;
  for (let userId = 1; userId <= engine.userCount; userId++) {
    const account = engine.account(userId)!;
    total += account.availableMicros + account.heldMicros;
  }
  return total + engine.funds().treasuryMicros;
}

describe('a market with thousands of orders and positions', () => {
  test('ends, settles and pays in slices, and a claim is paid at once', () => {
    const { engine, marketId } = crowdedMarket();
    engine.apply({ kind: 'listAsset', symbol: 'ETH' }, at(2_000));
    run(engine, { ...price(3_000, at(2_000)), asset: 1 } as Command, at(2_000));
    const elsewhere = { marketId: engine.activeMarket(1), sizeLots: 1_000, priceTicks: 100 };
    run(engine, buy({ userId: 4_001, ...elsewhere, timeInForce: TimeInForce.GTC }));
    run(engine, price(100_001, at(END - 1_000)), at(END - 1_000));
    run(engine, { kind: 'advanceTime' }, at(END + 2_000));
    expect(eventsOf(engine, 'orderCancelled')).toHaveLength(WORK_UNITS_PER_COMMAND);
    expect(engine.nextDueMs()).toBeLessThanOrEqual(engine.nowMs);

    // User 4001 still has an uncancelled order and an unsettled position.
    expect(engine.orders(4_001)).toHaveLength(2);
    const claim = { kind: 'claim', userId: 4_001, marketId, idempotencyKey: null } as const;
    const claimed = run(engine, claim);
    expect(codeOf(claimed)).toBe(Code.ok);
    expect(claimed[RESULT_HEAD_LENGTH + 4]).toBe(1 * DOLLAR);
    expect(engine.orders(4_001)).toHaveLength(1);
    expect(codeOf(run(engine, claim))).toBe(Code.nothing_to_claim);
    expect(codeOf(run(engine, { ...claim, userId: 4_002 }))).toBe(Code.nothing_to_claim);

    let slices = 0;
    while (engine.nextDueMs() <= engine.nowMs) {
      run(engine, { kind: 'advanceTime' });
      slices++;
      expect(slices).toBeLessThan(20);
    }
    expect(slices).toBeGreaterThan(2);
    for (let userId = 1; userId <= USERS; userId++)
      expect(engine.account(userId)!.heldMicros).toBe(0);

    const dayLater = at(END + 2_000 + 86_400_000);
    run(engine, { kind: 'advanceTime' }, dayLater);
    while (engine.nextDueMs() <= engine.nowMs) run(engine, { kind: 'advanceTime' });
    expect(engine.market(marketId)).toBeNull();
    expect(totalOf(engine)).toBe(engine.funds().netDepositsMicros);
    // 0.5 dollars of UP at 0.5 cost 0.5 and a fee of 0.0025; the share paid 1.
    expect(engine.account(1)!.availableMicros).toBe(10_000 * DOLLAR - 500_000 - 2_500 + 1_000_000);
    expect(engine.account(4_001)!.availableMicros).toBe(engine.account(1)!.availableMicros);
    expect(engine.account(2)!.availableMicros).toBe(10_000 * DOLLAR - 500_000);
  });

  test('pays users with automatic claims as it settles, in slices', () => {
    const { engine, marketId } = crowdedMarket();
    const setAutoClaim = (userId: number, enabled: boolean) =>
      run(engine, { kind: 'setAutoClaim', userId, enabled, idempotencyKey: null });
    for (const userId of [1, 3, 2_001, 2_002]) setAutoClaim(userId, true);
    setAutoClaim(3, false);
    run(engine, price(100_001, at(END - 1_000)), at(END - 1_000));
    for (let slice = 1; slice <= 6; slice++) run(engine, { kind: 'advanceTime' }, at(END + 2_000));
    expect(eventsOf(engine, 'claimed')).toMatchObject([
      { userId: 1, payoutMicros: DOLLAR, automatic: 1 },
    ]);
    expect(eventsOf(engine, 'positionSettled')).toHaveLength(WORK_UNITS_PER_COMMAND);
    // What was settled before the change waits for a claim; what is settled after it is paid.
    setAutoClaim(3, true);
    setAutoClaim(4_001, true);
    while (engine.nextDueMs() <= engine.nowMs) run(engine, { kind: 'advanceTime' });
    const claim = { kind: 'claim', marketId, idempotencyKey: null } as const;
    for (const userId of [1, 2_001, 2_002, 4_001])
      expect(codeOf(run(engine, { ...claim, userId }))).toBe(Code.nothing_to_claim);
    for (const userId of [3, 2_005])
      expect(codeOf(run(engine, { ...claim, userId }))).toBe(Code.ok);
    for (const userId of [3, 2_001, 4_001, 2_005])
      expect(balanceOf(engine, userId)).toEqual(balanceOf(engine, 1));
    engine.checkInvariants();
  });

  test('pays a claim of the position that is to be settled next', () => {
    const { engine, marketId } = crowdedMarket();
    run(engine, price(100_001, at(END - 1_000)), at(END - 1_000));
    // 5,000 orders are cancelled in five slices. The sixth settles the first 1,000 positions.
    for (let slice = 1; slice <= 5; slice++) run(engine, { kind: 'advanceTime' }, at(END + 2_000));
    const claim = { kind: 'claim', userId: 1_001, marketId, idempotencyKey: null } as const;
    expect(codeOf(run(engine, claim))).toBe(Code.ok);
    while (engine.nextDueMs() <= engine.nowMs) run(engine, { kind: 'advanceTime' });
    expect(codeOf(run(engine, { ...claim, userId: 1_003 }))).toBe(Code.ok);
    expect(engine.account(1_001)).toMatchObject(balanceOf(engine, 1_003));
  });

  test('is VOID without a price: shares pay half a dollar and fees are refunded', () => {
    const { engine, marketId } = crowdedMarket();
    run(engine, { kind: 'advanceTime' }, at(END + 59_999));
    expect(engine.market(marketId)!.resolution).toBe(0);
    run(engine, { kind: 'advanceTime' }, at(END + 60_000));
    while (engine.nextDueMs() <= engine.nowMs) run(engine, { kind: 'advanceTime' });
    expect(eventsOf(engine, 'referralEarned')).toHaveLength(0);
    const claimed = run(engine, { kind: 'claim', userId: 1, marketId, idempotencyKey: null });
    expect(claimed.slice(RESULT_HEAD_LENGTH + 2, RESULT_HEAD_LENGTH + 6)).toEqual([
      3, 1_000, 500_000, 2_500,
    ]);
    expect(engine.account(1)!.availableMicros).toBe(10_000 * DOLLAR);
    expect(engine.account(1)!.realizedProfitMicros).toBe(0);
    run(engine, { kind: 'advanceTime' }, at(END + 60_000 + 86_400_000));
    while (engine.nextDueMs() <= engine.nowMs) run(engine, { kind: 'advanceTime' });
    expect(engine.funds().treasuryMicros).toBe(0);
    expect(totalOf(engine)).toBe(engine.funds().netDepositsMicros);
  });
});

describe('a fee curve and a share of the fees for makers', () => {
  const FEES = { takerFeeBasisPoints: 50, curveFeeBasisPoints: 700, makerSharePercent: 25 };
  const setRules = (engine: Engine, rules: Partial<Rules>) =>
    run(engine, { ...ANY_SIZE_RESTS, ruleSet: 3, ...rules });

  /** User 3, whom user 2 referred, buys a share of UP at 0.5 from user 1, who bids for DOWN. */
  function market() {
    const { engine, marketId } = openMarket(2);
    run(engine, registration('taker', 10, engine.referral(2)!.code));
    setRules(engine, FEES);
    const down = { outcome: Outcome.DOWN, timeInForce: TimeInForce.GTC };
    run(engine, buy({ userId: 1, marketId, ...down, sizeLots: 1_000, priceTicks: 500 }));
    return { engine, marketId };
  }

  function traded() {
    const { engine, marketId } = market();
    const taken = buy({ userId: 3, marketId, sizeLots: 1_000, priceTicks: 600 });
    const result = run(engine, taken);
    // 0.5% of 50 cents, and 7% of 50 cents times a half.
    expect(result[OrderResult.feeMicros]).toBe(2_500 + 17_500);
    // Later rules do not change what was earned.
    setRules(engine, { makerSharePercent: 50 });
    return { engine, marketId };
  }

  test('come from the fee, at the settlement, under the rules of the trade', () => {
    const { engine } = traded();
    const before = engine.account(1)!.availableMicros;
    run(engine, price(100_001, at(END - 1_000)), at(END - 1_000));
    run(engine, { kind: 'advanceTime' }, at(END + 2_000));
    expect(eventsOf(engine, 'makerShareEarned')).toMatchObject([
      { userId: 1, amountMicros: 5_000 },
    ]);
    const parts = { vaultMicros: 0, referrersMicros: 2_000, makersMicros: 5_000 };
    expect(eventsOf(engine, 'feesShared')).toMatchObject([{ ...parts, treasuryMicros: 13_000 }]);
    expect(engine.account(1)!.availableMicros).toBe(before + 5_000);
  });

  test('are nothing in a VOID market, which gives the whole fee back', () => {
    const { engine } = traded();
    run(engine, { kind: 'advanceTime' }, at(END + 60_000));
    const parts = { vaultMicros: 0, referrersMicros: 0, makersMicros: 0 };
    expect(eventsOf(engine, 'feesShared')).toMatchObject([{ ...parts, treasuryMicros: 0 }]);
    expect(eventsOf(engine, 'positionSettled')).toMatchObject([{ refundMicros: 20_000 }, {}]);
  });

  test('the curve counts at the best price in the balance that a buy needs', () => {
    const { engine, marketId } = market();
    const required = (fields: Partial<Buy>) => {
      const result = run(engine, buy({ userId: 3, marketId, ...fields }));
      expect(codeOf(result)).toBe(Code.insufficient_balance);
      return result[RESULT_HEAD_LENGTH];
    };
    const ten = { budgetMicros: 10 * DOLLAR };
    expect(required(ten)).toBe(10_000_000 + 50_000 + 350_000);
    expect(required({ ...ten, priceTicks: 400 })).toBe(10_000_000 + 50_000 + 420_000);
    const rests = { timeInForce: TimeInForce.GTC, postOnly: true, priceTicks: 400 };
    expect(required({ budgetMicros: 10 * DOLLAR + 1, ...rests })).toBe(10_000_001);
  });

  test('a split pays the curve at its highest, of one half', () => {
    const { engine, marketId } = market();
    const sets = { userId: 3, marketId, sizeLots: 1_000, idempotencyKey: null };
    run(engine, { kind: 'split', ...sets });
    expect(eventsOf(engine, 'setsSplit')).toMatchObject([{ feeMicros: 5_000 + 17_500 }]);
  });
});
