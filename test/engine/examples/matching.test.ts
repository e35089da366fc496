/** Matching by worked examples: mint, transfer, merge, price, time and resting. */
import { describe, expect, test } from 'vitest';
import { CODES } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import {
  CancelReason,
  MatchType,
  OrderStatus,
  TimeInForce,
} from '../../../engine/interface/domain.js';
import { OrderResult } from '../../../engine/interface/results.js';
import {
  ALICE,
  ask,
  BOB,
  bid,
  buyFor,
  CAROL,
  DAVE,
  DOWN,
  EXCHANGES,
  exchangeAfter,
  PAIR,
  sellAtAnyPrice,
  UP,
} from './exchanges.js';

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
    name: 'mint: buy DOWN meets buy UP',
    given: [bid(BOB, UP, 10, 0.25)],
    when: buyFor(ALICE, DOWN, 7.5),
    expected: {
      trades: [[MatchType.MINT, 0.25, 10]],
      fee: 0.0375,
      available: { [ALICE]: 992.4625, [BOB]: 997.5 },
      shares: { [ALICE]: [0, 10], [BOB]: [10, 0] },
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
    name: 'transfer: buy DOWN meets sell DOWN',
    given: [...PAIR, ask(BOB, DOWN, 10, 0.65)],
    when: buyFor(CAROL, DOWN, 6.5),
    expected: {
      trades: [[MatchType.TRANSFER, 0.35, 10]],
      fee: 0.0325,
      available: { [BOB]: 1000.5, [CAROL]: 993.4675 },
      shares: { [BOB]: [0, 0], [CAROL]: [0, 10] },
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
    given: [
      bid(BOB, DOWN, 100, 0.5),
      {
        kind: 'withdraw',
        userId: ALICE,
        amountMicros: 989_950_001,
        partner: 'bank',
        reference: 'w1',
      },
    ],
    when: buyFor(ALICE, UP, 10),
    expected: { code: 'insufficient_balance', trades: [], available: { [ALICE]: 10.049999 } },
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

describe.each(Object.entries(EXCHANGES))('%s', (_name, start) => {
  test.each(EXAMPLES)('$name', ({ given, when, expected }) => {
    const { exchange, atMs } = exchangeAfter(start, given);
    exchange.apply(when, atMs);
    const result = exchange.result();
    expect(CODES[result[1]!]).toBe(expected.code ?? 'ok');
    if (expected.fee !== undefined) expect(result[OrderResult.feeMicros]! / 1e6).toBe(expected.fee);
    if (expected.status !== undefined) expect(result[OrderResult.status]).toBe(expected.status);
    if (expected.trades !== undefined) {
      const trades = exchange.events().filter((event) => event.type === 'trade');
      expect(trades.map((one) => [one.matchType, one.upTicks / 1000, one.sizeLots / 1000])).toEqual(
        expected.trades,
      );
    }
    for (const [userId, available] of Object.entries(expected.available)) {
      expect(exchange.money(Number(userId)).available, `available of ${userId}`).toBe(available);
    }
    for (const [userId, held] of Object.entries(expected.held ?? {})) {
      expect(exchange.money(Number(userId)).held, `held of ${userId}`).toBe(held);
    }
    for (const [userId, shares] of Object.entries(expected.shares ?? {})) {
      const { up, down } = exchange.shares(Number(userId));
      expect([up, down], `shares of ${userId}`).toEqual(shares);
    }
    if (expected.openInterest !== undefined)
      expect(exchange.openInterest()).toBe(expected.openInterest);
  });

  test("an order that meets the user's own resting order cancels it and continues", () => {
    const { exchange, atMs } = exchangeAfter(start, [
      bid(ALICE, DOWN, 5, 0.7),
      bid(BOB, DOWN, 5, 0.6),
    ]);
    exchange.apply(buyFor(ALICE, UP, 2), atMs);
    const [cancelled, trade] = exchange.events();
    expect(cancelled).toMatchObject({
      type: 'orderCancelled',
      userId: ALICE,
      reason: CancelReason.SELF_TRADE,
    });
    expect(trade).toMatchObject({ type: 'trade', makerId: BOB, upTicks: 400, sizeLots: 5000 });
    expect(exchange.money(ALICE)).toEqual({ available: 997.99, held: 0 });
  });
});
