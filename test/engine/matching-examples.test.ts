/**
 * The rules by worked examples, in dollars and shares as a trader would check them by hand. One
 * suite runs against both engines, the fast one and the naive one. Every example opens with one BTC
 * market and four users who have 1,000 dollars each: alice, bob, carol, and dave, whom carol
 * referred. The house has as much.
 */
import { describe, expect, test } from 'vitest';
import { Engine } from '../../engine/engine.js';
import { CODES, Code } from '../../engine/interface/codes.js';
import type { Buy, Command, Deposit, Sell, Withdraw } from '../../engine/interface/commands.js';
import {
  CancelReason,
  MatchType,
  marketIdOf,
  OrderStatus,
  Outcome,
  Resolution,
  TimeInForce,
} from '../../engine/interface/domain.js';
import { decodeEvents, type EventRecord } from '../../engine/interface/events.js';
import { MAX_ORDER_LOTS, MAX_TIME_MS } from '../../engine/interface/limits.js';
import { OrderResult } from '../../engine/interface/results.js';
import { NaiveEngine } from '../support/naive-engine/naive-engine.js';

const START_MS = 1_763_700_300_000;
const END_MS = START_MS + 900_000;
const MARKET = marketIdOf(0, START_MS);
const [ALICE, BOB, CAROL, DAVE, HOUSE] = [1, 2, 3, 4, 5] as const;
const { UP, DOWN } = Outcome;

/** By name. The house is the exchange's own account, so nobody can sign in to it. */
const PEOPLE = {
  alice: { partner: 'bank', credential: 'c', referralCode: '' },
  bob: { partner: null, credential: 'c', referralCode: '' },
  carol: { partner: 'card', credential: 'c', referralCode: '' },
  dave: { partner: 'bank', credential: 'c', referralCode: 'Q000003' },
  house: { partner: null, credential: '', referralCode: '' },
};

/** What the examples need from an engine. */
interface Exchange {
  apply(command: Command, atMs: number): void;
  result(): number[];
  events(): EventRecord[];
  money(userId: number): { available: number; held: number };
  shares(userId: number): { up: number; down: number };
  openInterest(): number;
  /** Realized, in micros. */
  profit(userId: number): number;
}

type AnyEngine = Pick<Engine, 'apply' | 'account' | 'position' | 'market' | 'checkInvariants'>;

function exchangeOn(engine: AnyEngine, answers: Pick<Exchange, 'result' | 'events'>): Exchange {
  return {
    apply(command, atMs) {
      engine.apply(command, atMs);
      engine.checkInvariants();
    },
    ...answers,
    money(userId) {
      const { availableMicros, heldMicros } = engine.account(userId)!;
      return { available: availableMicros / 1e6, held: heldMicros / 1e6 };
    },
    shares(userId) {
      const position = engine.position(userId, MARKET);
      return { up: (position?.upLots ?? 0) / 1000, down: (position?.downLots ?? 0) / 1000 };
    },
    openInterest: () => engine.market(MARKET)!.openInterestLots / 1000,
    profit: (userId) => engine.account(userId)!.realizedProfitMicros,
  };
}

const EXCHANGES: Record<string, () => Exchange> = {
  'the engine': () => {
    const engine = new Engine();
    return exchangeOn(engine, {
      result: () => Array.from(engine.result.values.subarray(0, engine.result.length)),
      events: () => decodeEvents(engine.events),
    });
  },
  'the naive engine': () => {
    const engine = new NaiveEngine();
    return exchangeOn(engine, { result: () => engine.result, events: () => engine.events });
  },
};

const terms = {
  idempotencyKey: null,
  marketId: MARKET,
  timeInForce: TimeInForce.IOC,
  postOnly: false,
  validUntilMs: MAX_TIME_MS,
};

/** Buys for an amount in dollars at any price. */
function buyFor(userId: number, outcome: Outcome, amount: number): Buy {
  const bounds = {
    budgetMicros: Math.round(amount * 1e6),
    sizeLots: MAX_ORDER_LOTS,
    priceTicks: 999,
  };
  return { ...terms, kind: 'buy', userId, outcome, ...bounds };
}

/** A limit buy at a price in dollars, which rests. */
function bid(userId: number, outcome: Outcome, shares: number, price: number): Buy {
  const [sizeLots, priceTicks] = [Math.round(shares * 1000), Math.round(price * 1000)];
  const bounds = { budgetMicros: sizeLots * priceTicks, sizeLots, priceTicks };
  return { ...terms, kind: 'buy', userId, outcome, ...bounds, timeInForce: TimeInForce.GTC };
}

/** A limit sell at a price in dollars, which rests. */
function ask(userId: number, outcome: Outcome, shares: number, price: number): Sell {
  const bounds = { sizeLots: Math.round(shares * 1000), priceTicks: Math.round(price * 1000) };
  return { ...terms, kind: 'sell', userId, outcome, ...bounds, timeInForce: TimeInForce.GTC };
}

function sellAtAnyPrice(userId: number, outcome: Outcome, shares: number): Sell {
  return { ...ask(userId, outcome, shares, 0.001), timeInForce: TimeInForce.IOC };
}

function price(dollars: number, observedAtMs: number): Command {
  return { kind: 'observePrice', asset: 0, priceMicros: dollars * 1e6, observedAtMs };
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
    expected: { code: 'price_not_met', trades: [], available: { [ALICE]: 1000 } },
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

interface FeeExample {
  name: string;
  given?: Command[];
  when: Buy;
  status: OrderStatus;
  /** In micros: the amount spent, the order's fee, and each trade's part of it. */
  spent: number;
  fee: number;
  parts: number[];
}

const limited = (buy: Buy, price: number, timeInForce: TimeInForce = TimeInForce.IOC): Buy => ({
  ...buy,
  priceTicks: Math.round(price * 1000),
  timeInForce,
});

/** Bob offers 1 share of UP at 0.4; then carol 1 at 0.7. */
const TWO_OFFERS = [bid(BOB, DOWN, 1, 0.6), bid(CAROL, DOWN, 1, 0.3)];
const ONE_OFFER = [bid(BOB, DOWN, 1, 0.6)];

/** Grouped by what is left of the budget when the order ends, and what the next lot costs then. */
const FEES: FeeExample[] = [
  {
    name: 'all spent: half a percent of the amount',
    given: ONE_OFFER,
    when: buyFor(ALICE, UP, 0.4),
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_000,
    parts: [2_000],
  },
  {
    name: "one micro less than the next level's lot is left: filled, so on the amount",
    given: TWO_OFFERS,
    when: buyFor(ALICE, UP, 0.400699),
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_004,
    parts: [2_004],
  },
  {
    name: "exactly the next level's lot is left: it is bought",
    given: TWO_OFFERS,
    when: buyFor(ALICE, UP, 0.4007),
    status: OrderStatus.FILLED,
    spent: 400_700,
    fee: 2_004,
    parts: [2_000, 4],
  },
  {
    name: 'the last of several trades gets the rest of the fee',
    given: TWO_OFFERS,
    when: buyFor(ALICE, UP, 1.000599),
    status: OrderStatus.FILLED,
    spent: 999_900,
    fee: 5_003,
    parts: [2_000, 3_003],
  },
  {
    name: 'book empty, less left than the most expensive lot: on the amount',
    given: ONE_OFFER,
    when: buyFor(ALICE, UP, 0.400998),
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_005,
    parts: [2_005],
  },
  {
    name: 'book empty, enough left for a lot: on the amount spent',
    given: ONE_OFFER,
    when: buyFor(ALICE, UP, 0.400999),
    status: OrderStatus.PARTIALLY_FILLED,
    spent: 400_000,
    fee: 2_000,
    parts: [2_000],
  },
  {
    name: 'liquidity ran out: on the amount spent',
    given: TWO_OFFERS,
    when: buyFor(ALICE, UP, 100),
    status: OrderStatus.PARTIALLY_FILLED,
    spent: 1_100_000,
    fee: 5_500,
    parts: [2_000, 3_500],
  },
  {
    name: 'price limit reached, less than a lot left: on the amount',
    given: TWO_OFFERS,
    when: limited(buyFor(ALICE, UP, 0.400399), 0.4),
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_002,
    parts: [2_002],
  },
  {
    name: 'price limit reached, enough left for a lot: on the amount spent',
    given: TWO_OFFERS,
    when: limited(buyFor(ALICE, UP, 0.4004), 0.4),
    status: OrderStatus.PARTIALLY_FILLED,
    spent: 400_000,
    fee: 2_000,
    parts: [2_000],
  },
  {
    name: 'the same rule decides whether a FOK amount is filled',
    given: TWO_OFFERS,
    when: { ...buyFor(ALICE, UP, 0.400699), timeInForce: TimeInForce.FOK },
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_004,
    parts: [2_004],
  },
  {
    name: 'an amount that rests in part pays on what it spent as taker',
    given: TWO_OFFERS,
    when: limited(buyFor(ALICE, UP, 0.400801), 0.4, TimeInForce.GTC),
    status: OrderStatus.PARTIALLY_FILLED,
    spent: 400_000,
    fee: 2_000,
    parts: [2_000],
  },
  {
    name: 'a GTC amount with too little left to rest is filled',
    given: TWO_OFFERS,
    when: limited(buyFor(ALICE, UP, 0.400399), 0.4, TimeInForce.GTC),
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_002,
    parts: [2_002],
  },
  {
    name: 'a resting amount pays no fee',
    when: limited(buyFor(ALICE, UP, 1), 0.7, TimeInForce.GTC),
    status: OrderStatus.RESTING,
    spent: 0,
    fee: 0,
    parts: [],
  },
  {
    name: "the user's own order is next: it is cancelled, and matching continues",
    given: [bid(BOB, DOWN, 1, 0.6), bid(ALICE, DOWN, 1, 0.5), bid(CAROL, DOWN, 1, 0.3)],
    when: buyFor(ALICE, UP, 0.400699),
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_004,
    parts: [2_004],
  },
  {
    name: "too little left for a lot of the user's own order, which stays: on the amount",
    given: [bid(BOB, DOWN, 1, 0.6), bid(ALICE, DOWN, 1, 0.5)],
    when: buyFor(ALICE, UP, 0.400499),
    status: OrderStatus.FILLED,
    spent: 400_000,
    fee: 2_003,
    parts: [2_003],
  },
  {
    name: 'a buy of shares pays on what it spent, even when a better price leaves money over',
    given: ONE_OFFER,
    when: { ...bid(ALICE, UP, 0.999, 0.401), timeInForce: TimeInForce.IOC },
    status: OrderStatus.FILLED,
    spent: 399_600,
    fee: 1_998,
    parts: [1_998],
  },
];

function transfer(
  kind: 'deposit' | 'withdraw',
  partner: string,
  userId: number,
  amount: number,
): Deposit | Withdraw {
  return { kind, userId, amountMicros: amount * 1e6, partner, reference: `the first ${kind}` };
}

interface TransferExample {
  name: string;
  given?: Command[];
  when: Deposit | Withdraw;
  code: (typeof CODES)[number];
}

const TRANSFERS: TransferExample[] = [
  {
    name: 'a partner withdraws from its own user',
    when: transfer('withdraw', 'bank', ALICE, 1_000),
    code: 'ok',
  },
  {
    name: "a partner cannot withdraw from another partner's user, whatever the balance",
    when: transfer('withdraw', 'card', ALICE, 5_000),
    code: 'user_not_of_partner',
  },
  {
    name: 'a partner cannot withdraw from a user without a partner',
    when: transfer('withdraw', 'bank', BOB, 1),
    code: 'user_not_of_partner',
  },
  {
    name: 'a partner without users cannot withdraw',
    when: transfer('withdraw', 'newcomer', BOB, 1),
    code: 'user_not_of_partner',
  },
  {
    name: "a partner deposits for another partner's user",
    when: transfer('deposit', 'card', ALICE, 50),
    code: 'ok',
  },
  {
    name: 'a partner deposits for a user without a partner',
    when: transfer('deposit', 'card', BOB, 50),
    code: 'ok',
  },
  {
    name: "a deposit does not make the user the partner's own",
    given: [transfer('deposit', 'card', BOB, 50)],
    when: transfer('withdraw', 'card', BOB, 50),
    code: 'user_not_of_partner',
  },
  {
    name: "another partner's deposit does not take the user away",
    given: [transfer('deposit', 'card', ALICE, 50)],
    when: transfer('withdraw', 'bank', ALICE, 1_050),
    code: 'ok',
  },
  {
    name: 'a partner cannot deposit for an exchange account',
    when: transfer('deposit', 'bank', HOUSE, 1),
    code: 'exchange_account',
  },
  {
    name: 'a partner cannot withdraw from an exchange account',
    when: transfer('withdraw', 'bank', HOUSE, 1),
    code: 'exchange_account',
  },
];

describe.each(Object.entries(EXCHANGES))('%s', (_name, start) => {
  /** An exchange after the commands, 10 ms apart, each of which succeeded. */
  function exchangeAfter(given: Command[]): { exchange: Exchange; atMs: number } {
    const exchange = start();
    const users = Object.entries(PEOPLE).map(
      ([username, { partner, credential, referralCode }]): Command => {
        const grantMicros = 1_000_000_000;
        return { kind: 'register', username, credential, referralCode, grantMicros, partner };
      },
    );
    const opening: Command[] = [
      { kind: 'listAsset', symbol: 'BTC' },
      price(90_000, START_MS),
      ...users,
    ];
    let atMs = START_MS;
    for (const command of [...opening, ...given]) {
      atMs += 10;
      exchange.apply(command, atMs);
      expect(exchange.result()[1], `${command.kind}: ${CODES[exchange.result()[1]!]}`).toBe(
        Code.ok,
      );
    }
    return { exchange, atMs: atMs + 10 };
  }

  test.each(EXAMPLES)('$name', ({ given, when, expected }) => {
    const { exchange, atMs } = exchangeAfter(given);
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

  test.each(FEES)('the fee: $name', ({ given = [], when, status, spent, fee, parts }) => {
    const { exchange, atMs } = exchangeAfter(given);
    const before = exchange.money(when.userId);
    exchange.apply(when, atMs);
    const result = exchange.result();
    expect(CODES[result[1]!]).toBe('ok');
    const { status: statusAt, valueMicros, feeMicros, unspentMicros, restingLots } = OrderResult;
    expect([result[statusAt], result[valueMicros], result[feeMicros]]).toEqual([
      status,
      spent,
      fee,
    ]);
    const held = result[restingLots]! * when.priceTicks;
    expect(result[unspentMicros]).toBe(when.budgetMicros - spent - held);
    const trades = exchange.events().filter((event) => event.type === 'trade');
    expect(trades.map((one) => one.feeMicros)).toEqual(parts);
    expect(trades.map((one) => one.takerProfitMicros)).toEqual(parts.map((part) => -part));
    const released = exchange
      .events()
      .filter((event) => event.type === 'orderCancelled')
      .reduce((sum, { priceTicks, sizeLots }) => sum + priceTicks * sizeLots, 0);
    const available = Math.round(before.available * 1e6) + released - spent - fee - held;
    expect(exchange.money(when.userId).available).toBe(available / 1e6);
    expect(exchange.profit(when.userId)).toBe(0 - fee);
  });

  test.each(TRANSFERS)('partners: $name', ({ given = [], when, code }) => {
    const { exchange, atMs } = exchangeAfter(given);
    const before = exchange.money(when.userId).available;
    exchange.apply(when, atMs);
    expect(CODES[exchange.result()[1]!]).toBe(code);
    const sign = when.kind === 'deposit' ? 1 : -1;
    const change = code === 'ok' ? sign * (when.amountMicros / 1e6) : 0;
    expect(exchange.money(when.userId).available).toBe(before + change);
    // The refusal does not reveal the balance.
    if (code !== 'ok') expect(exchange.result().slice(4)).toEqual([0, 0]);
  });

  test('partners: events name the registering partner by number', () => {
    const exchange = start();
    const numbers: number[] = [];
    for (const [i, { partner, credential }] of Object.values(PEOPLE).entries()) {
      const username = `somebody-${i}`;
      const registration = { username, credential, referralCode: '', grantMicros: 0, partner };
      exchange.apply({ kind: 'register', ...registration }, START_MS);
      for (const event of exchange.events())
        if (event.type === 'userRegistered') numbers.push(event.partner);
    }
    expect(numbers).toEqual([1, 0, 2, 1, 0]);
  });

  test('partners: a refused withdrawal does not use up its reference', () => {
    const { exchange, atMs } = exchangeAfter([]);
    exchange.apply(transfer('withdraw', 'card', ALICE, 1), atMs);
    expect(CODES[exchange.result()[1]!]).toBe('user_not_of_partner');
    exchange.apply(transfer('withdraw', 'card', CAROL, 1), atMs);
    expect(CODES[exchange.result()[1]!]).toBe('ok');
  });

  test('a void market refunds the whole fee of an amount, including the part for unspent money', () => {
    const { exchange } = exchangeAfter([...TWO_OFFERS, buyFor(ALICE, UP, 1.000599)]);
    exchange.apply({ kind: 'advanceTime' }, END_MS + 60_000);
    const refunds = exchange.events().filter((event) => event.type === 'positionSettled');
    expect(refunds.find((one) => one.userId === ALICE)).toMatchObject({
      feesMicros: 5_003,
      refundMicros: 5_003,
    });
  });

  test("an order that meets the user's own resting order cancels it and continues", () => {
    const { exchange, atMs } = exchangeAfter([bid(ALICE, DOWN, 5, 0.7), bid(BOB, DOWN, 5, 0.6)]);
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

  /**
   * Dave, whom Carol referred, buys 20 UP for 10 dollars and a fee of 0.05; Bob pays 10 for 20
   * DOWN.
   */
  const DAVES_BUY = [bid(BOB, DOWN, 20, 0.5), buyFor(DAVE, UP, 10)];

  test('a winning share pays a dollar; 10% of the fee goes to the referrer and, without stakes, the rest to the treasury', () => {
    const { exchange } = exchangeAfter(DAVES_BUY);
    exchange.apply(price(90_000, END_MS - 30_000), END_MS - 30_000);
    exchange.apply({ kind: 'advanceTime' }, END_MS);
    expect(exchange.events().map((event) => event.type)).toEqual(['marketEnded', 'marketOpened']);
    exchange.apply({ kind: 'advanceTime' }, END_MS + 2_000);
    const settled = exchange.events();
    expect(settled[0]).toEqual({
      type: 'marketResolved',
      marketId: MARKET,
      resolution: Resolution.UP,
      endPriceMicros: 90_000_000_000,
    });
    expect(settled).toContainEqual({
      type: 'feesShared',
      marketId: MARKET,
      vaultMicros: 0,
      referrersMicros: 5_000,
      treasuryMicros: 45_000,
    });
    expect(
      settled.filter((event) => event.type === 'pointsCredited').map((event) => event.microPoints),
    ).toEqual([5_000_000, 500_000]);
    expect(exchange.money(CAROL).available).toBe(1000.005);

    exchange.apply(
      { kind: 'claim', userId: DAVE, marketId: MARKET, idempotencyKey: null },
      END_MS + 3_000,
    );
    expect(exchange.money(DAVE).available).toBe(1009.95);
    exchange.apply(
      { kind: 'claim', userId: BOB, marketId: MARKET, idempotencyKey: null },
      END_MS + 3_000,
    );
    expect(CODES[exchange.result()[1]!]).toBe('nothing_to_claim');
    expect(exchange.money(BOB).available).toBe(990);
  });

  test('an earning stake gets 40% of the fees, and unstaking pays both', () => {
    const { exchange } = exchangeAfter([
      { kind: 'stake', userId: ALICE, amountMicros: 100_000_000, idempotencyKey: null },
    ]);
    // The stake earns from the next quarter hour but one, so from the third window's settlement.
    const thirdMs = START_MS + 2 * 900_000;
    const marketId = marketIdOf(0, thirdMs);
    exchange.apply(price(90_000, thirdMs - 1_000), thirdMs - 1_000);
    for (const command of DAVES_BUY)
      exchange.apply({ ...command, marketId } as Command, thirdMs + 10_000);
    exchange.apply(price(90_000, thirdMs + 890_000), thirdMs + 890_000);
    exchange.apply({ kind: 'advanceTime' }, thirdMs + 902_000);
    expect(exchange.events()).toContainEqual({
      type: 'feesShared',
      marketId,
      vaultMicros: 20_000,
      referrersMicros: 5_000,
      treasuryMicros: 25_000,
    });
    exchange.apply(
      { kind: 'unstake', userId: ALICE, depositId: 1, idempotencyKey: null },
      thirdMs + 903_000,
    );
    expect(exchange.money(ALICE).available).toBe(1000.02);
  });

  test('a market without a price is void: shares pay half a dollar and the fee is refunded', () => {
    const { exchange } = exchangeAfter(DAVES_BUY);
    exchange.apply({ kind: 'advanceTime' }, END_MS + 60_000);
    const settled = exchange.events();
    expect(settled).toContainEqual({
      type: 'marketResolved',
      marketId: MARKET,
      resolution: Resolution.VOID,
      endPriceMicros: 0,
    });
    // Nobody claims; a day later everything is paid.
    exchange.apply({ kind: 'advanceTime' }, END_MS + 60_000 + 24 * 3_600_000);
    expect(exchange.events().map((event) => event.type)).toEqual([
      'claimed',
      'claimed',
      'marketClosed',
    ]);
    expect(exchange.money(DAVE).available).toBe(1000);
    expect(exchange.money(BOB).available).toBe(1000);
    expect(exchange.money(CAROL).available).toBe(1000);
  });
});
