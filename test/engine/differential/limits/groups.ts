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
  LIMIT_REACHED,
  type LimitPlay,
  MARKET,
  OK,
  openMarket,
  own,
  type Play,
  type Row,
  restMany,
  START_MS,
  STATE,
  sale,
  UP,
} from './script.js';

const { GTC, IOC, FOK } = TimeInForce;
const { order_group_not_found: NOT_FOUND, order_group_tripped: TRIPPED } = Code;

/** Makes a group; returns its id. */
function* group(duel: Duel, userId: number, maxFilledLots: number, windowMs = 5_000): Play<number> {
  yield [{ kind: 'createOrderGroup', ...own(userId), maxFilledLots, windowMs }];
  return duel.naive.state.groupsMade;
}

/** A bid for DOWN that a buyer of UP meets; the first bid has the best price. */
function quote(userId: number, sizeLots: number, groupId: number, priceTicks = 500): Buy {
  return { ...bid(userId, DOWN, sizeLots, GTC, priceTicks), groupId };
}

function expectTripped(duel: Duel, groupIds: number[], tripped: boolean[]): void {
  duel.compareState();
  const isTripped = (groupId: number) =>
    duel.naive.state.groups.find((one) => one.groupId === groupId)!.tripped;
  const got = groupIds.map(isTripped);
  if (String(got) !== String(tripped)) throw new Error(`tripped: ${got}, not ${tripped}`);
}

/**
 * One taker meets orders of three groups of two users; a fourth group's orders are in another
 * market.
 */
function* sweeps(duel: Duel): Play {
  yield* openMarket(4);
  yield [{ kind: 'listAsset', symbol: 'ETH' }];
  const price = { asset: 1, priceMicros: 3e9, observedAtMs: START_MS };
  yield [{ kind: 'observePrice', ...price }];
  const a = yield* group(duel, 1, 10);
  const b = yield* group(duel, 1, 10);
  const c = yield* group(duel, 2, 4);
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
  for (const each of quotes) yield [each];
  // 4 + 9 + 4 lots, and group c is tripped; 6, and group a is tripped; 1 trips group b; 7 of no
  // group.
  yield [{ ...bid(4, UP, 32, FOK) }, Code.price_not_met];
  expectTripped(duel, all, [false, false, false]);
  const failing: Cancel = { kind: 'cancel', ...own(4), marketId: MARKET, orderId: 1 };
  yield [batchOf(4, [bid(4, UP, 31, FOK), failing])];
  expectTripped(duel, all, [false, false, false]);
  yield [batchOf(4, [bid(4, UP, 31, FOK)])];
  expectTripped(duel, all, [true, true, true]);
  if (duel.engine.orders(1).length > 0) throw new Error('an order of a tripped group rests');
  yield [quote(1, 1, a), TRIPPED];
  yield [quote(2, 1, a), NOT_FOUND];
  yield [batchOf(1, [quote(1, 1, a)])];
  yield [batchOf(2, [quote(2, 1, a)])];
  yield [{ kind: 'resetOrderGroup', ...own(1), groupId: a }];
  yield [quote(1, 1, a)];
  yield STATE;
}

/** Two buyers mint a set, two sellers merge one, and both groups of a trade trip. */
function* bothSides(duel: Duel): Play {
  yield* openMarket(3);
  const a = yield* group(duel, 1, 100);
  const b = yield* group(duel, 2, 100);
  yield [quote(1, 50, a)];
  yield [quote(1, 200, a, 490)];
  yield [{ ...bid(2, UP, 30, GTC, 300), groupId: b }];
  yield [{ ...bid(2, UP, 300, GTC, 600), groupId: b }];
  expectTripped(duel, [a, b], [true, true]);
  for (const [userId, groupId] of [
    [1, a],
    [2, b],
  ] as const)
    yield [{ kind: 'resetOrderGroup', ...own(userId), groupId }];
  yield [{ ...sale(1, DOWN, 120, GTC), groupId: a }];
  yield [{ ...sale(2, UP, 120, GTC), groupId: b }];
  expectTripped(duel, [a, b], [true, true]);
  // An amendment that trades trips its own group and cancels the group's other orders.
  yield [{ kind: 'resetOrderGroup', ...own(1), groupId: a }];
  yield [quote(1, 150, a, 400)];
  yield [quote(1, 20, a, 300)];
  const amended = duel.naive.state.ordersAccepted - 1;
  yield [bid(3, UP, 110, GTC)];
  yield [bid(3, UP, 10, GTC)];
  const terms = { marketId: MARKET, orderId: amended, sizeLots: 0, priceTicks: 500 };
  yield [batchOf(1, [{ kind: 'amend', ...own(1), ...terms }, unknownCancel(1)])];
  expectTripped(duel, [a], [false]);
  yield [{ kind: 'amend', ...own(1), ...terms }];
  expectTripped(duel, [a], [true]);
}

const unknownCancel = (userId: number): BatchOperation => ({
  kind: 'cancel',
  ...own(userId),
  marketId: MARKET,
  orderId: 1e9,
});

/** A user's list of groups; the end of a group's window; and orders that have ended or expired. */
function* lives(duel: Duel): Play {
  yield* openMarket(2);
  const groups: number[] = [];
  for (let i = 0; i < MAX_ORDER_GROUPS_PER_USER; i++) groups.push(yield* group(duel, 1, 10));
  const terms = { maxFilledLots: 10, windowMs: 5_000 };
  yield [{ kind: 'createOrderGroup', ...own(1), ...terms }, LIMIT_REACHED];
  const [a, b] = groups as [number, number];
  const at = (ms: number) => START_MS + ms;
  const take = (lots: number, atMs: number): Row => [bid(2, UP, lots, IOC), OK, atMs];
  yield [quote(1, 100, a)];
  yield take(9, at(1_000));
  yield take(9, at(6_000));
  yield take(1, at(10_999));
  expectTripped(duel, [a], [true]);
  yield [quote(1, 100, b)];
  yield [{ ...quote(1, 7, b, 499), expiresAtMs: at(20_000) }];
  yield [{ kind: 'removeOrderGroup', ...own(1), groupId: b }, OK, at(20_000)];
  yield [{ kind: 'removeOrderGroup', ...own(1), groupId: b }, NOT_FOUND];
  yield [{ kind: 'createOrderGroup', ...own(1), ...terms }];
  const last = duel.naive.state.groupsMade;
  yield [quote(1, 100, last)];
  yield [{ kind: 'advanceTime' }, OK, at(900_000)];
  yield [{ kind: 'removeOrderGroup', ...own(1), groupId: last }];
  yield STATE;
}

/**
 * Orders that tripped groups cancel count towards the limit of makers, for one order and for a
 * batch.
 */
function* cancelsCount(duel: Duel): Play {
  const makers = 6;
  yield* openMarket(makers + 2);
  const [taker, last] = [makers + 1, makers + 2];
  const groups: number[] = [];
  function* fill(): Play {
    for (let userId = 1; userId <= makers; userId++) {
      const groupId = groups[userId - 1] ?? (yield* group(duel, userId, 1));
      groups[userId - 1] = groupId;
      yield [{ kind: 'resetOrderGroup', ...own(userId), groupId }];
      yield [quote(userId, 1, groupId)];
      yield* restMany(duel, quote(userId, 1, groupId, 1), 998);
    }
    yield [{ kind: 'cancelEverywhere', ...own(last) }];
    yield [quote(last, 10, 0)];
  }
  yield* fill();
  // Five trades and their cancellations make 4,995; the sixth trade still trips the last group.
  yield [bid(taker, UP, 9, FOK), Code.price_not_met];
  yield [bid(taker, UP, 6, FOK)];
  expectTripped(
    duel,
    groups,
    groups.map(() => true),
  );
  yield* fill();
  const left = MAX_FILLS_PER_ORDER - 5 * 999;
  if (left !== 5) throw new Error('the play counts with other maxima');
  yield [batchOf(taker, [bid(taker, UP, 9, GTC), bid(taker, UP, 1, IOC)])];
  const open = {
    ...batchOf(taker, [bid(taker, UP, 9, GTC), bid(taker, UP, 1, IOC)]),
    atomic: false,
  };
  yield [open];
  yield STATE;
}

export const GROUP_PLAYS: LimitPlay[] = [
  { name: 'sweeps over order groups', play: sweeps },
  { name: 'order groups of both sides of a trade', play: bothSides },
  { name: 'the life of order groups', play: lives },
  { name: 'orders that order groups cancel', isLong: true, play: cancelsCount },
];
