/** Amending a resting order in the naive engine. */
import type { Amend } from '../../../engine/interface/commands.js';
import { OrderEnd, OrderStatus, Side, TimeInForce } from '../../../engine/interface/domain.js';
import { isPaused } from './access/operators.js';
import { isFull } from './access/room.js';
import { planOrder, type Taker } from './book.js';
import { micros, tradeValue } from './decimal.js';
import { orderWithClientId } from './memory.js';
import {
  carryOut,
  gone,
  holdings,
  missingMoney,
  refusal,
  release,
  smallRest,
  tooSmall,
} from './orders.js';
import {
  type Answer,
  emit,
  heldLotsOf,
  lotsOf,
  marketOf,
  type NaiveMarket,
  type NaiveOrder,
  type NaiveState,
  ok,
  reject,
  rejectLimit,
  takesOrders,
  userOf,
} from './state.js';

export function amend(state: NaiveState, command: Amend): Answer {
  const { userId, marketId } = command;
  if (userOf(state, userId) === undefined) return reject('user_not_found');
  const market = marketOf(state, marketId);
  if (market === undefined) return reject('market_not_found');
  const orderId =
    typeof command.clientOrderId === 'string'
      ? orderWithClientId(state, userId, command.clientOrderId)
      : command.orderId;
  const order = market.orders.find((one) => one.orderId === orderId && one.userId === userId);
  if (order === undefined || !takesOrders(market)) return gone(state, userId, marketId, orderId);
  const wantedLots = command.sizeLots === 0 ? order.originalLots : command.sizeLots;
  const priceTicks = command.priceTicks === 0 ? order.priceTicks : command.priceTicks;
  const leftLots = Math.max(0, wantedLots - order.filledLots);
  const isSmaller = priceTicks === order.priceTicks && leftLots <= order.sizeLots;
  const answer =
    leftLots === 0 || isSmaller
      ? shrink(state, market, order, leftLots)
      : placeAnew(state, market, order, { leftLots, priceTicks });
  return answer.code === 'ok' ? { ...answer, name: order.clientOrderId } : answer;
}

/** Makes the order smaller in place, or closes it. */
function shrink(
  state: NaiveState,
  market: NaiveMarket,
  order: NaiveOrder,
  leftLots: number,
): Answer {
  const { priceTicks } = order;
  const small = leftLots === 0 ? null : smallRest(state, order, leftLots);
  if (small !== null) return small;
  emitAmended(state, order, { priceTicks, leftLots, keptPriority: 1 });
  release(state, order, order.sizeLots - leftLots);
  order.sizeLots = leftLots;
  order.originalLots = order.filledLots + leftLots;
  order.amountMicros = null;
  if (leftLots === 0) {
    market.orders.splice(market.orders.indexOf(order), 1);
    state.history[order.orderId - 1]!.end = OrderEnd.FILLED;
  }
  return ok({
    side: order.side,
    keptPriority: 1,
    orderId: order.orderId,
    marketId: market.marketId,
    outcome: order.outcome,
    status: leftLots === 0 ? OrderStatus.FILLED : OrderStatus.RESTING,
    filledLots: 0,
    valueMicros: 0,
    feeMicros: 0,
    unspentMicros: 0,
    restingLots: leftLots,
    aheadLots: 0,
    fillCount: 0,
    ...holdings(market, userOf(state, order.userId)!),
  });
}

interface NewTerms {
  leftLots: number;
  priceTicks: number;
}

/** Removes the order from the book and places the remainder as a new order. */
function placeAnew(
  state: NaiveState,
  market: NaiveMarket,
  order: NaiveOrder,
  { leftLots, priceTicks }: NewTerms,
): Answer {
  const { orderId, userId, side, outcome, postOnly, selfTrade, groupId } = order;
  if (isPaused(state, market)) return reject('market_paused');
  const value = tradeValue(leftLots, priceTicks);
  if (side === Side.BUY && micros(value) > state.rules.maxOrderMicros)
    return rejectLimit('orderAmount');
  if (state.fillsLeft <= 0) return rejectLimit('trades');
  if (isFull(state, 'positions')) return rejectLimit('positions');
  const lacking = missing(state, market, order, { leftLots, priceTicks });
  if (lacking !== null) return lacking;
  const budget = side === Side.BUY ? value : null;
  const taker: Taker = {
    userId,
    side,
    outcome,
    budget,
    sizeLots: leftLots,
    priceTicks,
    selfTrade,
    groupId,
    orderId,
  };
  const plan = planOrder(state, market, taker, state.fillsLeft);
  const timeInForce = TimeInForce.GTC;
  const refused =
    refusal({ postOnly, timeInForce, priceTicks }, taker, plan) ?? tooSmall(state, taker, plan);
  if (refused !== null) return refused;

  emitAmended(state, order, { priceTicks, leftLots, keptPriority: 0 });
  release(state, order, order.sizeLots);
  market.orders.splice(market.orders.indexOf(order), 1);
  const { clientOrderId, expiresAtMs, filledLots, fee, placedAtMs } = order;
  const before = { isAnew: true, filledLots, value: order.value, fee, placedAtMs };
  const placed = { orderId, clientOrderId, timeInForce, postOnly, expiresAtMs, before };
  const { fields, fills } = carryOut(state, market, { order: placed, taker, plan });
  return ok({ ...fields, side, keptPriority: 0 }, fills);
}

/**
 * The refusal for a lack of money or shares, where the order's own hold counts as available; null
 * if there is enough.
 */
function missing(
  state: NaiveState,
  market: NaiveMarket,
  order: NaiveOrder,
  { leftLots, priceTicks }: NewTerms,
): Answer | null {
  const { userId, outcome, sizeLots, side } = order;
  if (side === Side.SELL) {
    const owned = lotsOf(market, userId, outcome);
    const free = owned - heldLotsOf(market, userId, outcome) + sizeLots;
    return free < leftLots ? reject('insufficient_shares', leftLots, free) : null;
  }
  const budgetMicros = micros(tradeValue(leftLots, priceTicks));
  const held = tradeValue(sizeLots, order.priceTicks);
  const available = userOf(state, userId)!.available.plus(held);
  return missingMoney(state, market, { ...order, budgetMicros, priceTicks }, available);
}

interface Amendment extends NewTerms {
  keptPriority: number;
}

function emitAmended(state: NaiveState, order: NaiveOrder, to: Amendment): void {
  const { orderId, marketId, userId, side, outcome } = order;
  emit(state, {
    type: 'orderAmended',
    orderId,
    marketId,
    userId,
    side,
    outcome,
    oldPriceTicks: order.priceTicks,
    oldSizeLots: order.sizeLots,
    priceTicks: to.priceTicks,
    sizeLots: to.leftLots,
    originalLots: order.filledLots + to.leftLots,
    keptPriority: to.keptPriority,
  });
}
