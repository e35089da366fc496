/**
 * Worked examples of matching: mint, transfer, merge, price, time and resting, in dollars and
 * shares as a trader would check them by hand. Each starts with one BTC market and four users who
 * have 1,000 dollars each. The differential test shows that the naive engine agrees.
 */
import { expect, test } from 'vitest';
import { CODES, Code } from '../../../engine/interface/codes.js';
import type { Buy, Command, Sell } from '../../../engine/interface/commands.js';
import {
  CancelReason,
  MatchType,
  marketIdOf,
  OrderStatus,
  Outcome,
  TimeInForce,
} from '../../../engine/interface/domain.js';
import { decodeEvents } from '../../../engine/interface/events.js';
import { OrderResult } from '../../../engine/interface/results.js';
import {
  buy,
  codeOf,
  eventsOf,
  openMarket,
  run,
  sell,
  WINDOW_START_MS,
} from '../../support/engine-support.js';

const MARKET = marketIdOf(0, WINDOW_START_MS);
const [ALICE, BOB, CAROL, DAVE] = [1, 2, 3, 4] as const;
const { UP, DOWN } = Outcome;
const NOTHING = { upLots: 0, downLots: 0 };

const limit = (userId: number, outcome: Outcome, shares: number, price: number) => ({
  userId,
  marketId: MARKET,
  outcome,
  sizeLots: Math.round(shares * 1_000),
  priceTicks: Math.round(price * 1_000),
});

/** Buys for an amount in dollars at any price. */
function buyFor(userId: number, outcome: Outcome, amount: number): Buy {
  return buy({ userId, marketId: MARKET, outcome, budgetMicros: Math.round(amount * 1e6) });
}

/** A limit buy at a price in dollars, which rests. */
function bid(...terms: Parameters<typeof limit>): Buy {
  return buy({ ...limit(...terms), timeInForce: TimeInForce.GTC });
}

/** A limit sell at a price in dollars, which rests. */
function ask(...terms: Parameters<typeof limit>): Sell {
  return sell({ ...limit(...terms), timeInForce: TimeInForce.GTC });
}

function sellAtAnyPrice(userId: number, outcome: Outcome, shares: number): Sell {
  return sell(limit(userId, outcome, shares, 0.001));
}

/** Alice holds 10 UP that cost 4 dollars, Bob 10 DOWN that cost 6; Alice paid a fee of 0.02. */
const PAIR = [bid(BOB, DOWN, 10, 0.6), buyFor(ALICE, UP, 4)];

interface Example {
  name: string;
  given: Command[];
  when: Command;
  expected: {
    code?: (typeof CODES)[number];
    status?: OrderStatus;
    /** Each trade's match, price of UP in dollars, and shares. */
    trades?: [MatchType, number, number][];
    fee?: number;
    available: Partial<Record<number, number>>;
    held?: Partial<Record<number, number>>;
    shares?: Partial<Record<number, [number, number]>>;
    openInterest?: number;
  };
}

const EXAMPLES: Example[] = [
  {
    name: 'mint: buy UP meets buy DOWN, and together they pay a dollar a share',
    given: [bid(BOB, DOWN, 10, 0.6)],
    when: buyFor(ALICE, UP, 4),
    expected: {
      status: OrderStatus.FILLED,
      trades: [[MatchType.MINT, 0.4, 10]],
      fee: 0.02,
      available: { [ALICE]: 995.98, [BOB]: 994 },
      held: { [BOB]: 0 },
      shares: { [ALICE]: [10, 0], [BOB]: [0, 10] },
      openInterest: 10,
    },
  },
  {
    name: 'transfer: buy UP meets sell UP, and no share is created',
    given: [...PAIR, ask(ALICE, UP, 10, 0.55)],
    when: buyFor(CAROL, UP, 5.5),
    expected: {
      trades: [[MatchType.TRANSFER, 0.55, 10]],
      fee: 0.0275,
      available: { [ALICE]: 1001.48, [CAROL]: 994.4725, [BOB]: 994 },
      shares: { [ALICE]: [0, 0], [CAROL]: [10, 0] },
      openInterest: 10,
    },
  },
  {
    name: 'transfer: sell UP meets buy UP, without a fee',
    given: [...PAIR, bid(CAROL, UP, 10, 0.5)],
    when: sellAtAnyPrice(ALICE, UP, 10),
    expected: {
      trades: [[MatchType.TRANSFER, 0.5, 10]],
      fee: 0,
      available: { [ALICE]: 1000.98, [CAROL]: 995 },
      held: { [CAROL]: 0 },
      shares: { [ALICE]: [0, 0], [CAROL]: [10, 0] },
      openInterest: 10,
    },
  },
  {
    name: 'transfer: sell DOWN meets buy DOWN',
    given: [...PAIR, bid(CAROL, DOWN, 4, 0.7)],
    when: sellAtAnyPrice(BOB, DOWN, 4),
    expected: {
      trades: [[MatchType.TRANSFER, 0.3, 4]],
      fee: 0,
      available: { [BOB]: 996.8, [CAROL]: 997.2 },
      shares: { [BOB]: [0, 6], [CAROL]: [0, 4] },
      openInterest: 10,
    },
  },
  {
    name: 'merge: sell UP meets sell DOWN, collateral pays both and the shares are destroyed',
    given: [...PAIR, ask(BOB, DOWN, 10, 0.45)],
    when: sellAtAnyPrice(ALICE, UP, 10),
    expected: {
      trades: [[MatchType.MERGE, 0.55, 10]],
      fee: 0,
      available: { [ALICE]: 1001.48, [BOB]: 998.5 },
      shares: { [ALICE]: [0, 0], [BOB]: [0, 0] },
      openInterest: 0,
    },
  },
  {
    name: 'merge: sell DOWN meets sell UP, a partial fill',
    given: [...PAIR, ask(ALICE, UP, 3, 0.2)],
    when: sellAtAnyPrice(BOB, DOWN, 10),
    expected: {
      status: OrderStatus.PARTIALLY_FILLED,
      trades: [[MatchType.MERGE, 0.2, 3]],
      fee: 0,
      available: { [ALICE]: 996.58, [BOB]: 996.4 },
      shares: { [ALICE]: [7, 0], [BOB]: [0, 7] },
      openInterest: 7,
    },
  },
  {
    name: 'a buy of 10 dollars pays 0.05 on top',
    given: [bid(BOB, DOWN, 100, 0.5)],
    when: buyFor(ALICE, UP, 10),
    expected: {
      status: OrderStatus.FILLED,
      trades: [[MatchType.MINT, 0.5, 20]],
      fee: 0.05,
      available: { [ALICE]: 989.95, [BOB]: 950 },
      held: { [BOB]: 40 },
    },
  },
  {
    name: 'the fee is rounded up to a micro-dollar once per order, not per fill',
    given: [
      bid(BOB, DOWN, 0.001, 0.999),
      bid(CAROL, DOWN, 0.001, 0.999),
      bid(DAVE, DOWN, 0.001, 0.999),
    ],
    when: buyFor(ALICE, UP, 0.000003),
    expected: {
      status: OrderStatus.FILLED,
      trades: [
        [MatchType.MINT, 0.001, 0.001],
        [MatchType.MINT, 0.001, 0.001],
        [MatchType.MINT, 0.001, 0.001],
      ],
      fee: 0.000001,
      available: { [ALICE]: 999.999996 },
    },
  },
  {
    name: 'refuses a buy when the balance covers the amount but not the fee',
    given: [bid(BOB, DOWN, 1_990, 0.5)],
    when: buyFor(ALICE, UP, 995.03),
    expected: { code: 'insufficient_balance', trades: [], available: { [ALICE]: 1000 } },
  },
  {
    name: 'money that does not buy a whole lot is not spent, but the fee is on the amount',
    given: [bid(BOB, DOWN, 100, 0.3)],
    when: buyFor(ALICE, UP, 1),
    expected: {
      status: OrderStatus.FILLED,
      trades: [[MatchType.MINT, 0.7, 1.428]],
      fee: 0.005,
      available: { [ALICE]: 998.9954 },
    },
  },
  {
    name: 'refuses an amount that does not buy one lot',
    given: [bid(BOB, DOWN, 100, 0.3)],
    when: buyFor(ALICE, UP, 0.000699),
    expected: { code: 'amount_too_small', trades: [], available: { [ALICE]: 1000 } },
  },
  {
    name: "trades at the maker's price, so the taker gets the better price",
    given: [bid(BOB, DOWN, 10, 0.6)],
    when: bid(ALICE, UP, 10, 0.5),
    expected: {
      status: OrderStatus.FILLED,
      trades: [[MatchType.MINT, 0.4, 10]],
      fee: 0.02,
      available: { [ALICE]: 995.98 },
      held: { [ALICE]: 0 },
    },
  },
  {
    name: 'fills the best price first, and the oldest order within a price',
    given: [bid(BOB, DOWN, 1, 0.5), bid(CAROL, DOWN, 1, 0.6), bid(DAVE, DOWN, 1, 0.5)],
    when: { ...bid(ALICE, UP, 2, 0.5), timeInForce: TimeInForce.FOK },
    expected: {
      status: OrderStatus.FILLED,
      trades: [
        [MatchType.MINT, 0.4, 1],
        [MatchType.MINT, 0.5, 1],
      ],
      available: { [ALICE]: 999.0955 },
      shares: { [BOB]: [0, 1], [CAROL]: [0, 1], [DAVE]: [0, 0] },
    },
  },
  {
    name: 'rests the unfilled part of a limit order and holds its money',
    given: [bid(BOB, DOWN, 4, 0.6)],
    when: bid(ALICE, UP, 10, 0.5),
    expected: {
      status: OrderStatus.PARTIALLY_FILLED,
      trades: [[MatchType.MINT, 0.4, 4]],
      fee: 0.008,
      available: { [ALICE]: 995.392 },
      held: { [ALICE]: 3 },
      shares: { [ALICE]: [4, 0] },
    },
  },
  {
    name: 'a FOK order that cannot fill completely changes nothing',
    given: [bid(BOB, DOWN, 4, 0.6)],
    when: { ...bid(ALICE, UP, 10, 0.5), timeInForce: TimeInForce.FOK },
    expected: { code: 'price_not_met', trades: [], available: { [ALICE]: 1000, [BOB]: 997.6 } },
  },
  {
    name: 'refuses a post-only order that would trade',
    given: [bid(BOB, DOWN, 4, 0.6)],
    when: { ...bid(ALICE, UP, 10, 0.4), postOnly: true },
    expected: { code: 'post_only_would_trade', trades: [], available: { [ALICE]: 1000 } },
  },
  {
    name: 'a buy on an empty book is refused and costs nothing',
    given: [],
    when: buyFor(ALICE, UP, 10),
    expected: { code: 'insufficient_liquidity', trades: [], available: { [ALICE]: 1000 } },
  },
  {
    name: 'refuses to sell shares that a resting sell holds',
    given: [...PAIR, ask(ALICE, UP, 8, 0.9)],
    when: ask(ALICE, UP, 3, 0.9),
    expected: {
      code: 'insufficient_shares',
      trades: [],
      available: { [ALICE]: 995.98 },
      shares: { [ALICE]: [10, 0] },
    },
  },
];

/** The state after the commands, each of which must succeed. */
function after(given: readonly Command[]) {
  const { engine } = openMarket(4, 1_000);
  for (const command of given) expect(codeOf(run(engine, command)), command.kind).toBe(Code.ok);
  const money = (userId: number) => {
    const { availableMicros, heldMicros } = engine.account(userId)!;
    return { available: availableMicros / 1e6, held: heldMicros / 1e6 };
  };
  return { engine, money };
}

test.each(EXAMPLES)('$name', ({ given, when, expected }) => {
  const { engine, money } = after(given);
  const result = run(engine, when);
  const { code = 'ok', status, trades, fee, available, held = {}, shares = {} } = expected;
  expect(CODES[codeOf(result)]).toBe(code);
  if (fee !== undefined) expect(result[OrderResult.feeMicros]! / 1e6).toBe(fee);
  if (status !== undefined) expect(result[OrderResult.status]).toBe(status);
  if (trades !== undefined) {
    const made = eventsOf(engine, 'trade').map(({ matchType, upTicks, sizeLots }) => {
      return [matchType, upTicks / 1_000, sizeLots / 1_000];
    });
    expect(made).toEqual(trades);
  }
  for (const [userId, dollars] of Object.entries(available))
    expect(money(Number(userId)).available, `available of ${userId}`).toBe(dollars);
  for (const [userId, dollars] of Object.entries(held))
    expect(money(Number(userId)).held, `held of ${userId}`).toBe(dollars);
  for (const [userId, owned] of Object.entries(shares)) {
    const { upLots, downLots } = engine.position(Number(userId), MARKET) ?? NOTHING;
    expect([upLots / 1_000, downLots / 1_000], `shares of ${userId}`).toEqual(owned);
  }
  if (expected.openInterest !== undefined)
    expect(engine.market(MARKET)!.openInterestLots / 1_000).toBe(expected.openInterest);
});

test("an order that meets the user's own resting order cancels it and continues", () => {
  const { engine, money } = after([bid(ALICE, DOWN, 5, 0.7), bid(BOB, DOWN, 5, 0.6)]);
  run(engine, buyFor(ALICE, UP, 2));
  const [cancelled, trade] = decodeEvents(engine.events);
  const ofAlice = { type: 'orderCancelled', userId: ALICE, reason: CancelReason.SELF_TRADE };
  expect(cancelled).toMatchObject(ofAlice);
  expect(trade).toMatchObject({ type: 'trade', makerId: BOB, upTicks: 400, sizeLots: 5000 });
  expect(money(ALICE)).toEqual({ available: 997.99, held: 0 });
});
