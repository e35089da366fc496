/** The fee of an order by worked examples, to the micro-dollar. */
import { describe, expect, test } from 'vitest';
import { CODES } from '../../../engine/interface/codes.js';
import type { Buy, Command } from '../../../engine/interface/commands.js';
import { OrderStatus, TimeInForce } from '../../../engine/interface/domain.js';
import { OrderResult } from '../../../engine/interface/results.js';
import {
  ALICE,
  BOB,
  bid,
  buyFor,
  CAROL,
  DOWN,
  END_MS,
  EXCHANGES,
  exchangeAfter,
  UP,
} from './exchanges.js';

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

describe.each(Object.entries(EXCHANGES))('%s', (_name, start) => {
  test.each(FEES)('the fee: $name', ({ given = [], when, status, spent, fee, parts }) => {
    const { exchange, atMs } = exchangeAfter(start, given);
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

  test('a void market refunds the whole fee of an amount, including the part for unspent money', () => {
    const { exchange } = exchangeAfter(start, [...TWO_OFFERS, buyFor(ALICE, UP, 1.000599)]);
    exchange.apply({ kind: 'advanceTime' }, END_MS + 60_000);
    const refunds = exchange.events().filter((event) => event.type === 'positionSettled');
    expect(refunds.find((one) => one.userId === ALICE)).toMatchObject({
      feesMicros: 5_003,
      refundMicros: 5_003,
    });
  });
});
