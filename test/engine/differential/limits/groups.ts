/**
 * Scripts about order groups: sweeps over several groups, what they cancel, and how much in one
 * command.
 */
import { Code } from '../../../../engine/interface/codes.js';
import type { BatchOperation, Buy, Cancel } from '../../../../engine/interface/commands.js';
import { marketIdOf, TimeInForce } from '../../../../engine/interface/domain.js';
import {
  MAX_FILLS_PER_ORDER,
  MAX_ORDER_GROUPS_PER_USER,
} from '../../../../engine/interface/limits.js';
import type { Duel } from '../duel.js';
import {
  batchOf,
  bid,
  DOWN,
  expectCode,
  LIMIT_REACHED,
  type LimitPlay,
  MARKET,
  OK,
  openMarket,
  restMany,
  START_MS,
  UP,
} from './script.js';

const { GTC, IOC, FOK } = TimeInForce;
const { order_group_not_found: NOT_FOUND, order_group_tripped: TRIPPED } = Code;

function group(duel: Duel, userId: number, maxFilledLots: number, windowMs = 5_000): number {
  const own = { userId, idempotencyKey: null, maxFilledLots, windowMs };
  expectCode(duel, { kind: 'createOrderGroup', ...own }, OK);
  return duel.naive.state.groupsMade;
}

/** A bid for DOWN that a buyer of UP meets; the first bid has the best price. */
function quote(userId: number, sizeLots: number, groupId: number, priceTicks = 500): Buy {
  const terms = { priceTicks, budgetMicros: sizeLots * priceTicks, groupId };
  return { ...bid(userId, DOWN, sizeLots, GTC), ...terms };
}

const isTripped = (duel: Duel, groupId: number) =>
  duel.naive.state.groups.find((one) => one.groupId === groupId)!.tripped;

function expectTripped(duel: Duel, groupIds: number[], tripped: boolean[]): void {
  duel.compareState();
  const got = groupIds.map((groupId) => isTripped(duel, groupId));
  if (String(got) !== String(tripped)) throw new Error(`tripped: ${got}, not ${tripped}`);
}

/**
 * One taker meets orders of three groups of two users; a fourth group's orders are in another
 * market.
 */
function sweeps(duel: Duel): void {
  openMarket(duel, 4);
  expectCode(duel, { kind: 'listAsset', symbol: 'ETH' }, OK);
  const price = { asset: 1, priceMicros: 3e9, observedAtMs: START_MS };
  expectCode(duel, { kind: 'observePrice', ...price }, OK);
  const [a, b, c] = [group(duel, 1, 10), group(duel, 1, 10), group(duel, 2, 4)];
  const all = [a, b, c];
  const quotes = [
    quote(1, 4, a),
    quote(1, 9, b),
    quote(2, 4, c),
    quote(1, 6, a),
    quote(2, 5, c),
    quote(1, 5, a),
    quote(1, 1, b),
    quote(3, 7, 0),
    quote(1, 8, a, 400),
    { ...quote(1, 8, a), marketId: marketIdOf(1, START_MS) },
  ];
  for (const each of quotes) expectCode(duel, each, OK);
  // 4 + 9 + 4 lots, and group c is tripped; 6, and group a is tripped; 1 trips group b; 7 of no
  // group.
  expectCode(duel, { ...bid(4, UP, 32, FOK) }, Code.price_not_met);
  expectTripped(duel, all, [false, false, false]);
  const failing: Cancel = { kind: 'cancel', ...own(4), marketId: MARKET, orderId: 1 };
  expectCode(duel, batchOf(4, [bid(4, UP, 31, FOK), failing]), OK);
  expectTripped(duel, all, [false, false, false]);
  expectCode(duel, batchOf(4, [bid(4, UP, 31, FOK)]), OK);
  expectTripped(duel, all, [true, true, true]);
  if (duel.engine.orders(1).length > 0) throw new Error('an order of a tripped group rests');
  expectCode(duel, quote(1, 1, a), TRIPPED);
  expectCode(duel, quote(2, 1, a), NOT_FOUND);
  expectCode(duel, batchOf(1, [quote(1, 1, a)]), OK);
  expectCode(duel, batchOf(2, [quote(2, 1, a)]), OK);
  expectCode(duel, { kind: 'resetOrderGroup', ...own(1), groupId: a }, OK);
  expectCode(duel, quote(1, 1, a), OK);
  duel.compareState();
}

const own = (userId: number) => ({ userId, idempotencyKey: null });

/** Two buyers mint a set, two sellers merge one, and both groups of a trade trip. */
function bothSides(duel: Duel): void {
  openMarket(duel, 3);
  const [a, b] = [group(duel, 1, 100), group(duel, 2, 100)];
  expectCode(duel, quote(1, 50, a), OK);
  expectCode(duel, quote(1, 200, a, 490), OK);
  expectCode(
    duel,
    { ...bid(2, UP, 30, GTC), priceTicks: 300, budgetMicros: 9_000, groupId: b },
    OK,
  );
  expectCode(
    duel,
    { ...bid(2, UP, 300, GTC), priceTicks: 600, budgetMicros: 180_000, groupId: b },
    OK,
  );
  expectTripped(duel, [a, b], [true, true]);
  for (const [userId, groupId] of [
    [1, a],
    [2, b],
  ] as const)
    expectCode(duel, { kind: 'resetOrderGroup', ...own(userId), groupId }, OK);
  const sale = (userId: number, outcome: typeof UP | typeof DOWN, groupId: number) => {
    const { budgetMicros: _, ...terms } = bid(userId, outcome, 120, GTC);
    return { ...terms, kind: 'sell' as const, groupId };
  };
  expectCode(duel, sale(1, DOWN, a), OK);
  expectCode(duel, sale(2, UP, b), OK);
  expectTripped(duel, [a, b], [true, true]);
  // An amendment that trades trips its own group and cancels the group's other orders.
  expectCode(duel, { kind: 'resetOrderGroup', ...own(1), groupId: a }, OK);
  expectCode(duel, quote(1, 150, a, 400), OK);
  expectCode(duel, quote(1, 20, a, 300), OK);
  const amended = duel.naive.state.ordersAccepted - 1;
  expectCode(duel, bid(3, UP, 110, GTC), OK);
  expectCode(duel, bid(3, UP, 10, GTC), OK);
  const terms = { marketId: MARKET, orderId: amended, sizeLots: 0, priceTicks: 500 };
  expectCode(duel, batchOf(1, [{ kind: 'amend', ...own(1), ...terms }, unknownCancel(1)]), OK);
  expectTripped(duel, [a], [false]);
  expectCode(duel, { kind: 'amend', ...own(1), ...terms }, OK);
  expectTripped(duel, [a], [true]);
}

const unknownCancel = (userId: number): BatchOperation => ({
  kind: 'cancel',
  ...own(userId),
  marketId: MARKET,
  orderId: 1e9,
});

/** A user's list of groups; the end of a group's window; and orders that have ended or expired. */
function lives(duel: Duel): void {
  openMarket(duel, 2);
  const groups = Array.from({ length: MAX_ORDER_GROUPS_PER_USER }, () => group(duel, 1, 10));
  const terms = { maxFilledLots: 10, windowMs: 5_000 };
  expectCode(duel, { kind: 'createOrderGroup', ...own(1), ...terms }, LIMIT_REACHED);
  const [a, b] = groups as [number, number];
  const at = (ms: number) => START_MS + ms;
  const take = (lots: number, atMs: number) => expectCode(duel, bid(2, UP, lots, IOC), OK, atMs);
  expectCode(duel, quote(1, 100, a), OK);
  take(9, at(1_000));
  take(9, at(6_000));
  take(0 + 1, at(10_999));
  expectTripped(duel, [a], [true]);
  expectCode(duel, quote(1, 100, b), OK);
  expectCode(duel, { ...quote(1, 7, b, 499), expiresAtMs: at(20_000) }, OK);
  expectCode(duel, { kind: 'removeOrderGroup', ...own(1), groupId: b }, OK, at(20_000));
  expectCode(duel, { kind: 'removeOrderGroup', ...own(1), groupId: b }, NOT_FOUND);
  expectCode(duel, { kind: 'createOrderGroup', ...own(1), ...terms }, OK);
  const last = duel.naive.state.groupsMade;
  expectCode(duel, quote(1, 100, last), OK);
  expectCode(duel, { kind: 'advanceTime' }, OK, at(900_000));
  expectCode(duel, { kind: 'removeOrderGroup', ...own(1), groupId: last }, OK);
  duel.compareState();
}

/**
 * Orders that tripped groups cancel count towards the limit of makers, for one order and for a
 * batch.
 */
function cancelsCount(duel: Duel): void {
  const makers = 6;
  openMarket(duel, makers + 2);
  const [taker, last] = [makers + 1, makers + 2];
  const groups: number[] = [];
  const fill = () => {
    for (let userId = 1; userId <= makers; userId++) {
      const groupId = groups[userId - 1] ?? group(duel, userId, 1);
      groups[userId - 1] = groupId;
      expectCode(duel, { kind: 'resetOrderGroup', ...own(userId), groupId }, OK);
      expectCode(duel, quote(userId, 1, groupId), OK);
      restMany(duel, quote(userId, 1, groupId, 1), 998);
    }
    expectCode(duel, { kind: 'cancelEverywhere', ...own(last) }, OK);
    expectCode(duel, quote(last, 10, 0), OK);
  };
  fill();
  // Five trades and their cancellations make 4,995; the sixth trade still trips the last group.
  expectCode(duel, bid(taker, UP, 9, FOK), Code.price_not_met);
  expectCode(duel, bid(taker, UP, 6, FOK), OK);
  expectTripped(
    duel,
    groups,
    groups.map(() => true),
  );
  fill();
  const left = MAX_FILLS_PER_ORDER - 5 * 999;
  if (left !== 5) throw new Error('the play counts with other maxima');
  expectCode(duel, batchOf(taker, [bid(taker, UP, 9, GTC), bid(taker, UP, 1, IOC)]), OK);
  const open = {
    ...batchOf(taker, [bid(taker, UP, 9, GTC), bid(taker, UP, 1, IOC)]),
    atomic: false,
  };
  expectCode(duel, open, OK);
  duel.compareState();
}

export const GROUP_PLAYS: LimitPlay[] = [
  { name: 'sweeps over order groups', play: sweeps },
  { name: 'order groups of both sides of a trade', play: bothSides },
  { name: 'the life of order groups', play: lives },
  { name: 'orders that order groups cancel', isLong: true, play: cancelsCount },
];
