/**
 * Amending a resting order. A smaller size at the same price keeps the order's place in the queue;
 * a size at or below its fills closes it. Any other change takes the order out of the book and
 * places its remainder again, under the same id: it may trade immediately, as a taker with the fee.
 *
 * Invariant: a refused amendment does not change the order, its place or its hold, because all
 * checks come before any change.
 */

import { Code } from '../../interface/codes.js';
import type { CommandRecord } from '../../interface/command-record.js';
import { OrderEnd, OrderStatus, Side, TimeInForce } from '../../interface/domain.js';
import { beginEvent, EventSlot, EventType } from '../../interface/events.js';
import { Limit, MAX_ORDER_LOTS, MAX_PRICE_TICKS, MAX_TIME_MS } from '../../interface/limits.js';
import { AmendField } from '../../interface/records.js';
import {
  AMEND_ORDER_AT,
  ORDER_RESULT_LENGTH,
  RESULT_HEAD_LENGTH,
} from '../../interface/results.js';
import { Pool } from '../../state/access/room.js';
import { outcomeOf, priceTicksOf, sideOf } from '../../state/orders.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { findResting, isWellNamed, orderOf, refuseGone } from './find-order.js';
import { checkLiquidity, checkRest, costAtMost, takeAndRest } from './place-order.js';
import { writeOrderResult } from './placed-order.js';
import { releaseOrder } from './rest-order.js';
import type { Taker } from './taker.js';

const Amended = EventSlot.orderAmended;

export function amendOrder(
  state: State,
  taker: Taker,
  command: CommandRecord,
  base: number,
): number {
  const { userId } = command;
  const marketId = command.number(AmendField.marketId);
  const sizeLots = command.number(AmendField.sizeLots);
  const priceTicks = command.number(AmendField.priceTicks);
  if (!isWellFormed(sizeLots, priceTicks)) return Code.invalid_command;
  if (!isWellNamed(state, command, AmendField.orderId)) return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  const slot = state.markets.find(marketId);
  if (slot === 0) return Code.market_not_found;
  const orderId = orderOf(state, command, AmendField.orderId);
  const row = findResting(state, userId, slot, orderId);
  if (row === 0) return refuseGone(state, userId, marketId, orderId);

  const { orders } = state;
  readOrder(state, taker, row);
  const lots = orders.lots(row);
  const filledLots = orders.originalLots(row) - lots;
  const wantedLots = sizeLots === 0 ? orders.originalLots(row) : sizeLots;
  const isSamePrice = priceTicks === 0 || priceTicks === taker.priceTicks;
  const leftLots = Math.max(0, wantedLots - filledLots);
  if (leftLots === 0 || (isSamePrice && leftLots <= lots)) {
    const rest = leftLots === 0 ? Code.ok : checkRest(state, taker, leftLots);
    if (rest !== Code.ok) return rest;
    state.result.push(taker.side);
    state.result.push(1);
    keepPlace(state, taker, row, leftLots, base + AMEND_ORDER_AT);
    writeName(state, taker);
    return Code.ok;
  }

  if (state.markets.pausedBy(slot) !== 0) return Code.market_paused;
  if (priceTicks !== 0) taker.priceTicks = priceTicks;
  taker.sizeLots = leftLots;
  taker.budgetMicros = taker.side === Side.BUY ? leftLots * taker.priceTicks : 0;
  taker.start(slot, state.markets.ladder(slot, 0));
  const code = checkNewTerms(state, taker, row);
  if (code !== Code.ok) return code;
  const liquidity = checkLiquidity(state, taker);
  if (liquidity !== Code.ok) return liquidity;

  state.result.push(taker.side);
  state.result.push(0);
  takeOut(state, taker, row, filledLots);
  takeAndRest(state, taker, base + AMEND_ORDER_AT);
  writeName(state, taker);
  return Code.ok;
}

function writeName({ orderDetails, result }: State, { detailsRow }: Taker): void {
  if (detailsRow !== 0) orderDetails.writeName(detailsRow, result);
}

/** At least one of the two must be given. */
function isWellFormed(sizeLots: number, priceTicks: number): boolean {
  return (
    isIntegerBetween(sizeLots, 0, MAX_ORDER_LOTS) &&
    isIntegerBetween(priceTicks, 0, MAX_PRICE_TICKS) &&
    sizeLots + priceTicks > 0
  );
}

function readOrder(state: State, taker: Taker, row: number): void {
  const { orders } = state;
  const kind = orders.kind(row);
  taker.userId = orders.userId(row);
  taker.family = state.accounts.family(taker.userId);
  taker.marketId = state.markets.id(orders.slot(row));
  taker.side = sideOf(kind);
  taker.outcome = outcomeOf(kind);
  taker.priceTicks = priceTicksOf(kind, orders.level(row));
  taker.budgetMicros = 0;
  taker.sizeLots = 0;
  taker.timeInForce = TimeInForce.GTC;
  taker.postOnly = orders.postOnly(row);
  taker.selfTrade = orders.selfTrade(row);
  taker.placedAfterMs = orders.placedAfterMs(row);
  taker.validUntilMs = MAX_TIME_MS;
  taker.nameLength = -1;
  taker.detailsRow = orders.details(row);
  taker.expiresAtMs =
    taker.detailsRow === 0 ? MAX_TIME_MS : state.orderDetails.expiresAtMs(taker.detailsRow);
  taker.groupRow = orders.group(row);
  const known = orders.position(row);
  taker.positionRow = known === 0 ? state.positions.find(taker.userId, orders.slot(row)) : known;
}

/** The checks of a new order, with the money or shares that the order holds counted as free. */
function checkNewTerms(state: State, taker: Taker, row: number): number {
  const { orders, positions } = state;
  if (taker.budgetMicros > state.rules.maxOrderMicros) return state.refuseLimit(Limit.orderAmount);
  if (state.fillsLeft <= 0) return state.refuseLimit(Limit.trades);
  if (state.room.isFull(Pool.positions)) return state.refuseLimit(Limit.positions);
  const lots = orders.lots(row);
  if (taker.side === Side.SELL) {
    const free = positions.freeLots(taker.positionRow, taker.outcome) + lots;
    return free < taker.sizeLots
      ? state.refuse(Code.insufficient_shares, taker.sizeLots, free)
      : Code.ok;
  }
  const required = costAtMost(state, taker);
  const available = state.ledger.available(taker.userId) + lots * orders.level(row);
  return available < required
    ? state.refuse(Code.insufficient_balance, required, available)
    : Code.ok;
}

/** Makes the order smaller in its place, or closes it if nothing is left. */
function keepPlace(state: State, taker: Taker, row: number, leftLots: number, base: number): void {
  const { orders } = state;
  const less = orders.lots(row) - leftLots;
  const originalLots = orders.originalLots(row) - less;
  taker.start(orders.slot(row), state.markets.ladder(orders.slot(row), 0));
  taker.orderId = orders.id(row);
  writeEvent(state, taker, row, { leftLots, originalLots, keptPriority: 1 });
  releaseOrder(state, row, less);
  if (leftLots === 0) orders.remove(row, taker.marketId, OrderEnd.FILLED);
  else {
    orders.reduce(row, less);
    orders.setOriginalLots(row, originalLots);
    orders.forgetUnspent(row);
  }
  state.result.reserve(ORDER_RESULT_LENGTH - RESULT_HEAD_LENGTH);
  writeOrderResult(
    state,
    taker,
    base,
    leftLots,
    leftLots === 0 ? OrderStatus.FILLED : OrderStatus.RESTING,
  );
}

/** Takes the order out of the book, and keeps its fills so far in its details. */
function takeOut(state: State, taker: Taker, row: number, filledLots: number): void {
  const { orders, orderDetails } = state;
  taker.orderId = orders.id(row);
  const originalLots = filledLots + taker.sizeLots;
  writeEvent(state, taker, row, { leftLots: taker.sizeLots, originalLots, keptPriority: 0 });
  if (filledLots > 0) {
    if (taker.detailsRow === 0) taker.detailsRow = orderDetails.add(taker.orderId);
    const details = taker.detailsRow;
    orderDetails.touch(details);
    const restedFilled = filledLots - orderDetails.filledLots(details);
    const ticks = priceTicksOf(orders.kind(row), orders.level(row));
    orderDetails.setFilledLots(details, filledLots);
    orderDetails.addValueMicros(details, restedFilled * ticks);
  }
  releaseOrder(state, row, orders.lots(row));
  orders.takeOut(row);
}

interface NewTerms {
  leftLots: number;
  originalLots: number;
  keptPriority: number;
}

function writeEvent(state: State, taker: Taker, row: number, terms: NewTerms): void {
  const { orders } = state;
  const kind = orders.kind(row);
  const at = beginEvent(state.events, EventType.orderAmended);
  const { values } = state.events;
  values[at + Amended.orderId] = orders.id(row);
  values[at + Amended.marketId] = taker.marketId;
  values[at + Amended.userId] = taker.userId;
  values[at + Amended.side] = taker.side;
  values[at + Amended.outcome] = taker.outcome;
  values[at + Amended.oldPriceTicks] = priceTicksOf(kind, orders.level(row));
  values[at + Amended.oldSizeLots] = orders.lots(row);
  values[at + Amended.priceTicks] = taker.priceTicks;
  values[at + Amended.sizeLots] = terms.leftLots;
  values[at + Amended.originalLots] = terms.originalLots;
  values[at + Amended.keptPriority] = terms.keptPriority;
}
