/**
 * Scripts about the number of resting orders and of makers, amendments, and the bounds of orders.
 */
import { Code } from '../../../../engine/interface/codes.js';
import type { BatchOperation, Cancel, Command } from '../../../../engine/interface/commands.js';
import { marketIdOf, TimeInForce, WINDOW_MS } from '../../../../engine/interface/domain.js';
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
  fillBook,
  LIMIT_REACHED,
  type LimitPlay,
  MARKET,
  openMarket,
  own,
  type Play,
  registration,
  SIGNED,
  START_MS,
  STATE,
  sale,
  UP,
} from './script.js';

const { price_not_met: PRICE_NOT_MET } = Code;

function* orders(duel: Duel): Play {
  yield* openMarket(7);
  const { GTC, IOC, FOK } = TimeInForce;
  // Shares for user 1 to sell.
  yield [bid(2, DOWN, 5, GTC)];
  yield [bid(1, UP, 5, IOC)];
  yield* fillBook(duel, 6);
  yield [bid(1, DOWN, 1, GTC), LIMIT_REACHED];
  yield [batchOf(1, [bid(1, DOWN, 1, GTC)])];
  yield [sale(1, UP, 5, GTC), LIMIT_REACHED];

  const tooMany = MAX_FILLS_PER_ORDER + 1;
  yield [bid(7, UP, tooMany, FOK), PRICE_NOT_MET];
  const failing: Cancel = { kind: 'cancel', ...own(7), marketId: MARKET, orderId: 1 };
  yield [batchOf(7, [bid(7, UP, MAX_FILLS_PER_ORDER, IOC), failing])];
  // A batch may trade with no more makers than one order.
  const half = MAX_FILLS_PER_ORDER / 2;
  yield [batchOf(7, [bid(7, UP, half, IOC), bid(7, UP, half + 5, FOK), bid(7, UP, 1, IOC)])];
  // 500 lots are left and are dropped, although the order is GTC.
  yield [bid(7, UP, MAX_FILLS_PER_ORDER + 500, GTC)];
  yield STATE;
}

/**
 * As many makers as an order may trade with, then the user's own order, which does not count; then
 * one maker too many.
 */
function* ownOrderBehindTheLastMaker(duel: Duel): Play {
  const makers = MAX_FILLS_PER_ORDER / MAX_OPEN_ORDERS_PER_USER;
  yield* openMarket(makers + 2);
  const user = makers + 1;
  const { GTC, FOK } = TimeInForce;
  function* fill(): Play {
    yield* fillBook(duel, makers);
    yield [bid(user, DOWN, 1, GTC)];
  }
  // The naive engine needs seconds for each of these.
  if (extent(1, 0) > 0) {
    yield* fill();
    yield [bid(user, UP, MAX_FILLS_PER_ORDER, FOK)];
    yield* fill();
    yield [bid(user, UP, MAX_FILLS_PER_ORDER + 1, GTC)];
    yield [{ kind: 'cancelAll', ...own(user), marketId: MARKET }];
  }
  yield* fill();
  yield [bid(user + 1, DOWN, 1, GTC)];
  yield [bid(user, UP, MAX_FILLS_PER_ORDER + 1, GTC)];
  yield STATE;
}

/** Makers that refused FOK orders examine count against the batch's maximum. */
function* fillOrKillInVain(duel: Duel): Play {
  yield* openMarket(4);
  const { IOC, FOK } = TimeInForce;
  yield* fillBook(duel, 3);
  const tooMany = bid(4, UP, 3 * MAX_OPEN_ORDERS_PER_USER + 1, FOK);
  const atomic = { ...batchOf(4, [bid(4, UP, 2, IOC), tooMany]), atomic: true };
  yield [atomic];
  yield [{ ...atomic, operations: [tooMany, tooMany, bid(4, UP, 2, IOC)], atomic: false }];
  yield [{ ...atomic, operations: [tooMany, bid(4, UP, 2_001, IOC), tooMany], atomic: false }];
  yield STATE;
}

/**
 * Every refusal of an amendment that depends on money, shares or the book, alone and in a batch.
 */
function* amendments(): Play {
  yield* openMarket(2);
  const { GTC, IOC } = TimeInForce;
  yield [bid(2, DOWN, 100, GTC, 400)];
  yield [bid(1, UP, 100, GTC)];
  yield [{ ...bid(1, UP, 100, GTC, 400), postOnly: true }];
  yield [bid(1, UP, 10, IOC, 600)];
  yield [sale(1, UP, 10, GTC, 900)];
  const amend = (orderId: number, sizeLots: number, priceTicks: number): BatchOperation => {
    return { kind: 'amend', ...own(1), marketId: MARKET, orderId, sizeLots, priceTicks };
  };
  const refused: [BatchOperation, number][] = [
    [amend(2, 10_000_000_000, 0), LIMIT_REACHED],
    [amend(2, 1_900_000_000, 0), Code.insufficient_balance],
    [amend(3, 0, 600), Code.post_only_would_trade],
    [amend(5, 50, 0), Code.insufficient_shares],
  ];
  for (const [operation, code] of refused) {
    yield [operation, code];
    yield [batchOf(1, [operation])];
  }
  // User 1 sells UP for 0.9: a sale of DOWN for 0.1 would trade with it.
  const postOnly = { ...sale(2, DOWN, 10, GTC, 100), postOnly: true };
  yield [postOnly, Code.post_only_would_trade];
  yield [batchOf(2, [postOnly])];
  yield STATE;
  yield [amend(2, 110, 0)];
  yield [amend(2, 5, 0)];
  yield* pausedAmendment(amend(3, 0, 450));
}

function* pausedAmendment(operation: BatchOperation): Play {
  const unknown = marketIdOf(0, START_MS + 10 * WINDOW_MS);
  const terms = { marketId: unknown, asset: -1, paused: true };
  const pause: Command = { kind: 'setPaused', ...terms, ...SIGNED };
  yield [pause, Code.market_not_found];
  yield [{ ...pause, marketId: 0, asset: 1 }, Code.asset_not_found];
  yield [{ ...pause, marketId: MARKET }];
  yield [operation, Code.market_paused];
  yield [batchOf(1, [operation])];
  yield [{ ...pause, marketId: MARKET }, Code.market_not_active, START_MS + WINDOW_MS];
}

/** The bounds of every parameter of rule sets 2 and 3, and orders at the limits that they set. */
function* rules(): Play {
  yield* openMarket(2);
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
    for (const value of [least, most]) yield [given({ [name]: value })];
    for (const value of [least - 1, most + 1, least + 0.5])
      yield [given({ [name]: value }), Code.invalid_command];
    yield [given({ ruleSet: 1, [name]: least }), Code.invalid_command];
  }
  for (const name of ['curveFeeBasisPoints', 'makerSharePercent'] as const)
    yield [given({ ruleSet: 2, [name]: 1 }), Code.invalid_command];
  for (const ruleSet of [0, 4]) yield [given({ ruleSet }), Code.invalid_command];
  yield [given({ maxOrderMicros: 1_000_000, maxOpenOrders: 2 })];
  const buy = (sizeLots: number, rest: object = {}) => ({ ...bid(1, UP, sizeLots, GTC), ...rest });
  yield [buy(1_000, { priceTicks: 500, budgetMicros: 1_000_001 }), LIMIT_REACHED];
  yield [buy(1_000, { priceTicks: 500, budgetMicros: 1_000_000 })];
  yield [buy(1_000, { priceTicks: 500, budgetMicros: 500_000 })];
  yield [buy(1_000, { priceTicks: 500, budgetMicros: 500_000 }), LIMIT_REACHED];
  yield [batchOf(1, [sale(1, UP, 5, GTC)])];
  const terms = { marketId: MARKET, orderId: 1, sizeLots: 2_001, priceTicks: 0 };
  yield [{ kind: 'amend', ...own(1), ...terms }, LIMIT_REACHED];
  for (const takerFeeBasisPoints of [0, 7, 1_000]) {
    yield [given({ takerFeeBasisPoints })];
    yield [bid(2, DOWN, 333, IOC)];
    yield STATE;
  }
  yield [given({ ...FIRST_RULES })];
  yield [buy(2_000, { priceTicks: 500, budgetMicros: 1_000_000 })];
  yield STATE;
}

/**
 * The minimum value of a resting order: orders that are refused, remainders that are dropped after
 * a trade, and sales of a whole position, which are no exception.
 */
function* leastValue(duel: Duel): Play {
  yield* openMarket(4);
  yield [{ kind: 'setRules', ...FIRST_RULES, ...SIGNED }];
  const { GTC, IOC } = TimeInForce;
  const { too_small_to_rest: TOO_SMALL } = Code;
  const amend = (orderId: number, sizeLots: number, priceTicks: number): Command => {
    return { kind: 'amend', ...own(2), marketId: MARKET, orderId, sizeLots, priceTicks };
  };
  yield [bid(1, DOWN, 1_999, GTC), TOO_SMALL];
  yield [{ ...bid(1, DOWN, 1_999, GTC), postOnly: true }, TOO_SMALL];
  yield [bid(1, DOWN, 2_000, GTC)];
  // The order leaves 1,999 of its lots, which are dropped; one more lot would rest.
  yield [bid(2, UP, 3_999, GTC)];
  yield [bid(1, DOWN, 2_000, GTC)];
  yield [bid(2, UP, 4_000, GTC)];
  const resting = duel.naive.state.ordersAccepted;
  yield [bid(3, DOWN, 1_999, IOC)];
  // One lot of the order is left: an amendment must make it as large as a new order, or close it.
  yield [amend(resting, 0, 499), TOO_SMALL];
  yield [amend(resting, 5_998, 0), TOO_SMALL];
  yield [amend(resting, 5_999, 0)];
  yield [amend(resting, 5_998, 0), TOO_SMALL];
  yield [amend(resting, 3_999, 0)];
  yield STATE;
  // The 10 lots that are left of a position of 5,999 may only trade immediately.
  yield [bid(4, UP, 5_989, GTC)];
  yield [sale(2, UP, 5_989, IOC, 1)];
  yield [sale(2, UP, 10, GTC, 600), TOO_SMALL];
  yield [sale(2, UP, 10, IOC, 600), Code.insufficient_liquidity];
  yield STATE;
}

/**
 * Room for two positions, so an order whose trade may need a third is neither placed nor amended.
 */
const TWO_POSITIONS: PoolSizes = { ...POOL_SIZES, positions: { size: 2, most: 100, assured: 2 } };

function* amendWithoutRoom(): Play {
  yield* openMarket(3);
  yield [{ ...bid(3, UP, 5, TimeInForce.GTC), priceTicks: 400 }];
  yield [bid(1, UP, 5, TimeInForce.GTC)];
  yield [bid(2, DOWN, 5, TimeInForce.IOC)];
  const terms = { marketId: MARKET, orderId: 1, sizeLots: 0, priceTicks: 401 };
  yield [{ kind: 'amend', ...own(3), ...terms }, LIMIT_REACHED];
  yield [bid(3, UP, 5, TimeInForce.GTC), LIMIT_REACHED];
  yield STATE;
}

/** Buys at and above the maximum order size, given as an amount and as a size. */
function* mostShares(duel: Duel): Play {
  yield* openMarket(1);
  yield [registration('rich', 9e11)];
  const { GTC, IOC } = TimeInForce;
  const most = { ...bid(2, UP, MAX_ORDER_LOTS, GTC), priceTicks: 2 };
  const all = { ...own(2), marketId: MARKET };
  for (const sizeLots of [MAX_ORDER_LOTS, UNSIZED_LOTS])
    for (const budgetMicros of [5e10, 2 * MAX_ORDER_LOTS + 1, 2 * MAX_ORDER_LOTS, 5_001])
      for (const timeInForce of [GTC, IOC]) {
        yield [{ kind: 'cancelAll', ...all }];
        // The trade is at a better price than the order's own.
        yield [bid(1, DOWN, 5, GTC, 999)];
        yield [{ ...most, sizeLots, budgetMicros, timeInForce }];
        yield STATE;
      }
  yield [{ ...most, budgetMicros: 5_000 }];
  const orderId = duel.naive.state.ordersAccepted;
  yield [{ kind: 'amend', ...all, orderId, sizeLots: MAX_ORDER_LOTS, priceTicks: 1 }];
  yield STATE;
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
