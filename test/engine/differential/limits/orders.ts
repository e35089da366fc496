/**
 * Scripts about the number of resting orders and of makers, amendments, and the bounds of orders.
 */
import { Code } from '../../../../engine/interface/codes.js';
import type {
  BatchOperation,
  Buy,
  Cancel,
  Command,
} from '../../../../engine/interface/commands.js';
import {
  marketIdOf,
  type Outcome,
  TimeInForce,
  WINDOW_MS,
} from '../../../../engine/interface/domain.js';
import {
  MAX_FILLS_PER_ORDER,
  MAX_OPEN_ORDERS_PER_USER,
  MAX_ORDER_LOTS,
  UNSIZED_LOTS,
} from '../../../../engine/interface/limits.js';
import { FIRST_RULES, type Rules } from '../../../../engine/interface/rule-sets.js';
import { POOL_SIZES, type PoolSizes } from '../../../../engine/state/access/room.js';
import { ANY_SIZE_RESTS } from '../../../support/engine-support.js';
import { extent } from '../../../support/extent.js';
import type { Duel } from '../duel.js';
import {
  batchOf,
  bid,
  DOWN,
  expectCode,
  fillBook,
  LIMIT_REACHED,
  type LimitPlay,
  MARKET,
  OK,
  openMarket,
  registration,
  START_MS,
  UP,
} from './script.js';

const { price_not_met: PRICE_NOT_MET } = Code;

function orders(duel: Duel): void {
  openMarket(duel, 7);
  const { GTC, IOC, FOK } = TimeInForce;
  // Shares for user 1 to sell.
  expectCode(duel, bid(2, DOWN, 5, GTC), OK);
  expectCode(duel, bid(1, UP, 5, IOC), OK);
  fillBook(duel, 6);
  expectCode(duel, bid(1, DOWN, 1, GTC), LIMIT_REACHED);
  expectCode(duel, batchOf(1, [bid(1, DOWN, 1, GTC)]), OK);
  const { budgetMicros: _, ...sale } = bid(1, UP, 5, GTC);
  expectCode(duel, { ...sale, kind: 'sell' }, LIMIT_REACHED);

  const tooMany = MAX_FILLS_PER_ORDER + 1;
  expectCode(duel, bid(7, UP, tooMany, FOK), PRICE_NOT_MET);
  const failing: Cancel = {
    kind: 'cancel',
    userId: 7,
    marketId: MARKET,
    orderId: 1,
    idempotencyKey: null,
  };
  expectCode(duel, batchOf(7, [bid(7, UP, MAX_FILLS_PER_ORDER, IOC), failing]), OK);
  // A batch may trade with no more makers than one order.
  const half = MAX_FILLS_PER_ORDER / 2;
  expectCode(
    duel,
    batchOf(7, [bid(7, UP, half, IOC), bid(7, UP, half + 5, FOK), bid(7, UP, 1, IOC)]),
    OK,
  );
  // 500 lots are left and are dropped, although the order is GTC.
  expectCode(duel, bid(7, UP, MAX_FILLS_PER_ORDER + 500, GTC), OK);
  duel.compareState();
}

/**
 * As many makers as an order may trade with, then the user's own order, which does not count; then
 * one maker too many.
 */
function ownOrderBehindTheLastMaker(duel: Duel): void {
  const makers = MAX_FILLS_PER_ORDER / MAX_OPEN_ORDERS_PER_USER;
  openMarket(duel, makers + 2);
  const own = makers + 1;
  const { GTC, FOK } = TimeInForce;
  const fill = () => {
    fillBook(duel, makers);
    expectCode(duel, bid(own, DOWN, 1, GTC), OK);
  };
  // The naive engine needs seconds for each of these.
  if (extent(1, 0) > 0) {
    fill();
    expectCode(duel, bid(own, UP, MAX_FILLS_PER_ORDER, FOK), OK);
    fill();
    expectCode(duel, bid(own, UP, MAX_FILLS_PER_ORDER + 1, GTC), OK);
    const all = { userId: own, marketId: MARKET, idempotencyKey: null };
    expectCode(duel, { kind: 'cancelAll', ...all }, OK);
  }
  fill();
  expectCode(duel, bid(own + 1, DOWN, 1, GTC), OK);
  expectCode(duel, bid(own, UP, MAX_FILLS_PER_ORDER + 1, GTC), OK);
  duel.compareState();
}

/** Makers that refused FOK orders examine count against the batch's maximum. */
function fillOrKillInVain(duel: Duel): void {
  openMarket(duel, 4);
  const { IOC, FOK } = TimeInForce;
  fillBook(duel, 3);
  const tooMany = bid(4, UP, 3 * MAX_OPEN_ORDERS_PER_USER + 1, FOK);
  const atomic = { ...batchOf(4, [bid(4, UP, 2, IOC), tooMany]), atomic: true };
  expectCode(duel, atomic, OK);
  expectCode(
    duel,
    { ...atomic, operations: [tooMany, tooMany, bid(4, UP, 2, IOC)], atomic: false },
    OK,
  );
  expectCode(
    duel,
    { ...atomic, operations: [tooMany, bid(4, UP, 2_001, IOC), tooMany], atomic: false },
    OK,
  );
  duel.compareState();
}

/**
 * Every refusal of an amendment that depends on money, shares or the book, alone and in a batch.
 */
function amendments(duel: Duel): void {
  openMarket(duel, 2);
  const { GTC, IOC } = TimeInForce;
  const at = (userId: number, outcome: Outcome, priceTicks: number, rest: object): Buy => {
    const order = { ...bid(userId, outcome, 100, GTC), priceTicks, budgetMicros: 100 * priceTicks };
    return { ...order, ...rest };
  };
  expectCode(duel, at(2, DOWN, 400, {}), OK);
  expectCode(duel, at(1, UP, 500, {}), OK);
  expectCode(duel, at(1, UP, 400, { postOnly: true }), OK);
  expectCode(duel, at(1, UP, 600, { timeInForce: IOC, sizeLots: 10, budgetMicros: 6_000 }), OK);
  const { budgetMicros: _, ...sale } = bid(1, UP, 10, GTC);
  expectCode(duel, { ...sale, kind: 'sell', priceTicks: 900 }, OK);
  const amend = (orderId: number, sizeLots: number, priceTicks: number): BatchOperation => {
    const head = { userId: 1, idempotencyKey: null, marketId: MARKET };
    return { kind: 'amend', ...head, orderId, sizeLots, priceTicks };
  };
  const refused: [BatchOperation, number][] = [
    [amend(2, 10_000_000_000, 0), LIMIT_REACHED],
    [amend(2, 1_900_000_000, 0), Code.insufficient_balance],
    [amend(3, 0, 600), Code.post_only_would_trade],
    [amend(5, 50, 0), Code.insufficient_shares],
  ];
  for (const [operation, code] of refused) {
    expectCode(duel, operation, code);
    expectCode(duel, batchOf(1, [operation]), OK);
  }
  // User 1 sells UP for 0.9: a sale of DOWN for 0.1 would trade with it.
  const crossing = { ...sale, kind: 'sell', userId: 2, outcome: DOWN, priceTicks: 100 } as const;
  const postOnly = { ...crossing, postOnly: true };
  expectCode(duel, postOnly, Code.post_only_would_trade);
  expectCode(duel, batchOf(2, [postOnly]), OK);
  duel.compareState();
  expectCode(duel, amend(2, 110, 0), OK);
  expectCode(duel, amend(2, 5, 0), OK);
  pausedAmendment(duel, amend(3, 0, 450));
}

function pausedAmendment(duel: Duel, operation: BatchOperation): void {
  const by = { operator: 'op', reason: 'a test' };
  const unknown = marketIdOf(0, START_MS + 10 * WINDOW_MS);
  const pause: Command = { kind: 'setPaused', marketId: unknown, asset: -1, paused: true, ...by };
  expectCode(duel, pause, Code.market_not_found);
  expectCode(duel, { ...pause, marketId: 0, asset: 1 }, Code.asset_not_found);
  expectCode(duel, { ...pause, marketId: MARKET }, OK);
  expectCode(duel, operation, Code.market_paused);
  expectCode(duel, batchOf(1, [operation]), OK);
  expectCode(duel, { ...pause, marketId: MARKET }, Code.market_not_active, START_MS + WINDOW_MS);
}

/** The bounds of every parameter of rule sets 2 and 3, and orders at the limits that they set. */
function rules(duel: Duel): void {
  openMarket(duel, 2);
  const { GTC, IOC } = TimeInForce;
  const given = (values: Partial<Rules>): Command => {
    return { ...ANY_SIZE_RESTS, ruleSet: 3, ...values };
  };
  const bounds: [keyof Rules, number, number][] = [
    ['takerFeeBasisPoints', 0, 1_000],
    ['curveFeeBasisPoints', 0, 1_000],
    ['makerSharePercent', 0, 50],
    ['vaultSharePercent', 0, 90],
    ['maxOrderMicros', 1_000_000, 1_000_000_000_000],
    ['maxOpenOrders', 1, 1_000],
    ['minRestingMicros', 0, 1_000_000_000],
  ];
  for (const [name, least, most] of bounds) {
    for (const value of [least, most]) expectCode(duel, given({ [name]: value }), OK);
    for (const value of [least - 1, most + 1, least + 0.5])
      expectCode(duel, given({ [name]: value }), Code.invalid_command);
    expectCode(duel, given({ ruleSet: 1, [name]: least }), Code.invalid_command);
  }
  for (const name of ['curveFeeBasisPoints', 'makerSharePercent'] as const)
    expectCode(duel, given({ ruleSet: 2, [name]: 1 }), Code.invalid_command);
  for (const ruleSet of [0, 4]) expectCode(duel, given({ ruleSet }), Code.invalid_command);
  expectCode(duel, given({ maxOrderMicros: 1_000_000, maxOpenOrders: 2 }), OK);
  const buy = (sizeLots: number, rest: object = {}) => ({ ...bid(1, UP, sizeLots, GTC), ...rest });
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 1_000_001 }), LIMIT_REACHED);
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 1_000_000 }), OK);
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 500_000 }), OK);
  expectCode(duel, buy(1_000, { priceTicks: 500, budgetMicros: 500_000 }), LIMIT_REACHED);
  const { budgetMicros: _, ...sale } = bid(1, UP, 5, GTC);
  expectCode(duel, batchOf(1, [{ ...sale, kind: 'sell' }]), OK);
  const user = { userId: 1, idempotencyKey: null };
  const terms = { orderId: 1, sizeLots: 2_001, priceTicks: 0 };
  expectCode(duel, { kind: 'amend', ...user, marketId: MARKET, ...terms }, LIMIT_REACHED);
  for (const takerFeeBasisPoints of [0, 7, 1_000]) {
    expectCode(duel, given({ takerFeeBasisPoints }), OK);
    const taker = { ...bid(2, DOWN, 333, IOC), priceTicks: 500, budgetMicros: 166_500 };
    expectCode(duel, taker, OK);
    duel.compareState();
  }
  expectCode(duel, given({ ...FIRST_RULES }), OK);
  expectCode(duel, buy(2_000, { priceTicks: 500, budgetMicros: 1_000_000 }), OK);
  duel.compareState();
}

/**
 * The minimum value of a resting order: orders that are refused, remainders that are dropped after
 * a trade, and sales of a whole position, which are no exception.
 */
function leastValue(duel: Duel): void {
  openMarket(duel, 4);
  expectCode(duel, { kind: 'setRules', ...FIRST_RULES, operator: 'op', reason: 'a test' }, OK);
  const { GTC, IOC } = TimeInForce;
  const { too_small_to_rest: TOO_SMALL } = Code;
  const sale = (userId: number, sizeLots: number, priceTicks: number) => {
    const { budgetMicros: _, ...order } = bid(userId, UP, sizeLots, GTC);
    return { ...order, kind: 'sell' as const, priceTicks };
  };
  const amend = (orderId: number, sizeLots: number, priceTicks: number): Command => {
    const user = { userId: 2, idempotencyKey: null, marketId: MARKET };
    return { kind: 'amend', ...user, orderId, sizeLots, priceTicks };
  };
  expectCode(duel, bid(1, DOWN, 1_999, GTC), TOO_SMALL);
  expectCode(duel, { ...bid(1, DOWN, 1_999, GTC), postOnly: true }, TOO_SMALL);
  expectCode(duel, bid(1, DOWN, 2_000, GTC), OK);
  // The order leaves 1,999 of its lots, which are dropped; one more lot would rest.
  expectCode(duel, bid(2, UP, 3_999, GTC), OK);
  expectCode(duel, bid(1, DOWN, 2_000, GTC), OK);
  expectCode(duel, bid(2, UP, 4_000, GTC), OK);
  const resting = duel.naive.state.ordersAccepted;
  expectCode(duel, bid(3, DOWN, 1_999, IOC), OK);
  // One lot of the order is left: an amendment must make it as large as a new order, or close it.
  expectCode(duel, amend(resting, 0, 499), TOO_SMALL);
  expectCode(duel, amend(resting, 5_998, 0), TOO_SMALL);
  expectCode(duel, amend(resting, 5_999, 0), OK);
  expectCode(duel, amend(resting, 5_998, 0), TOO_SMALL);
  expectCode(duel, amend(resting, 3_999, 0), OK);
  duel.compareState();
  // The 10 lots that are left of a position of 5,999 may only trade immediately.
  expectCode(duel, bid(4, UP, 5_989, GTC), OK);
  expectCode(duel, { ...sale(2, 5_989, 1), timeInForce: IOC }, OK);
  expectCode(duel, sale(2, 10, 600), TOO_SMALL);
  expectCode(duel, { ...sale(2, 10, 600), timeInForce: IOC }, Code.insufficient_liquidity);
  duel.compareState();
}

/**
 * Room for two positions, so an order whose trade may need a third is neither placed nor amended.
 */
const TWO_POSITIONS: PoolSizes = { ...POOL_SIZES, positions: { size: 2, most: 100, assured: 2 } };

function amendWithoutRoom(duel: Duel): void {
  openMarket(duel, 3);
  expectCode(duel, { ...bid(3, UP, 5, TimeInForce.GTC), priceTicks: 400 }, OK);
  expectCode(duel, bid(1, UP, 5, TimeInForce.GTC), OK);
  expectCode(duel, bid(2, DOWN, 5, TimeInForce.IOC), OK);
  const user = { userId: 3, idempotencyKey: null, marketId: MARKET, orderId: 1 };
  expectCode(duel, { kind: 'amend', ...user, sizeLots: 0, priceTicks: 401 }, LIMIT_REACHED);
  expectCode(duel, bid(3, UP, 5, TimeInForce.GTC), LIMIT_REACHED);
  duel.compareState();
}

/** Buys at and above the maximum order size, given as an amount and as a size. */
function mostShares(duel: Duel): void {
  openMarket(duel, 1);
  expectCode(duel, registration('rich', 9e11), OK);
  const { GTC, IOC } = TimeInForce;
  const most = { ...bid(2, UP, MAX_ORDER_LOTS, GTC), priceTicks: 2 };
  const all = { userId: 2, marketId: MARKET, idempotencyKey: null };
  for (const sizeLots of [MAX_ORDER_LOTS, UNSIZED_LOTS])
    for (const budgetMicros of [5e10, 2 * MAX_ORDER_LOTS + 1, 2 * MAX_ORDER_LOTS, 5_001])
      for (const timeInForce of [GTC, IOC]) {
        expectCode(duel, { kind: 'cancelAll', ...all }, OK);
        // The trade is at a better price than the order's own.
        expectCode(duel, { ...bid(1, DOWN, 5, GTC), budgetMicros: 4_995, priceTicks: 999 }, OK);
        expectCode(duel, { ...most, sizeLots, budgetMicros, timeInForce }, OK);
        duel.compareState();
      }
  expectCode(duel, { ...most, budgetMicros: 5_000 }, OK);
  const orderId = duel.naive.state.ordersAccepted;
  expectCode(duel, { kind: 'amend', ...all, orderId, sizeLots: MAX_ORDER_LOTS, priceTicks: 1 }, OK);
  duel.compareState();
}

export const ORDER_PLAYS: LimitPlay[] = [
  { name: 'the most shares of an order', play: mostShares },
  { name: 'resting orders of a user and makers of an order', isLong: true, play: orders },
  {
    name: "makers, with the user's own order behind the last",
    isLong: true,
    play: ownOrderBehindTheLastMaker,
  },
  { name: 'makers of refused FOK orders', play: fillOrKillInVain },
  { name: 'refused amendments', play: amendments },
  { name: 'an amendment without room', sizes: TWO_POSITIONS, play: amendWithoutRoom },
  { name: 'rules and their bounds', play: rules },
  { name: 'the least value of a resting order', play: leastValue },
];
