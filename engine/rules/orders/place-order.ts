/**
 * Placing an order: the checks of a buy or sell, and the matching with makers. taker.ts has the
 * order, trade.ts one trade, rest-order.ts the remainder in the book, placed-order.ts the result.
 *
 * Book sides and levels (state/orders.ts) let one loop serve all four kinds of match. A taker
 * trades with the opposite side, best level first. At a maker's level j it pays or gets 1000 − j:
 *
 * | taker | maker | match | taker's money | maker's money | collateral |
 * |---|---|---|---|---|---|
 * | buys 10 lots UP | sells UP at 400 (level 600) | transfer | −4,000 | +4,000 | |
 * | buys 10 lots UP | buys DOWN at 600 (level 600) | mint | −4,000 | −6,000 | +10,000 |
 * | sells 10 lots UP | sells DOWN at 600 (level 400) | merge | +4,000 | +6,000 | −10,000 |
 * | sells 10 lots UP | buys UP at 400 (level 400) | transfer | +4,000 | −4,000 | |
 */

import { Code } from '../../interface/codes.js';
import type { CommandRecord } from '../../interface/command-record.js';
import {
  CancelReason,
  Deadline,
  hasEnded,
  OrderEnd,
  OrderStatus,
  Outcome,
  SelfTrade,
  Side,
  TimeInForce,
} from '../../interface/domain.js';
import { isClientOrderId } from '../../interface/fields.js';
import {
  Limit,
  MAX_ORDER_LOTS,
  MAX_ORDER_MICROS,
  MAX_POSITIONS_PER_USER,
  MAX_PRICE_TICKS,
  MAX_TIME_MS,
  MICROS_PER_SET,
  MIN_PRICE_TICKS,
  UNSIZED_LOTS,
} from '../../interface/limits.js';
import { feeOn } from '../../interface/parameters.js';
import type { RecordBuffer } from '../../interface/records.js';
import { ORDER_RESULT_LENGTH, RESULT_HEAD_LENGTH } from '../../interface/results.js';
import { Pool } from '../../state/access/room.js';
import { cancelledFor } from '../../state/book/recent-orders.js';
import { levelRow } from '../../state/levels.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { isOverdue, orderNamed } from './find-order.js';
import { countFills } from './order-groups.js';
import {
  statusOf,
  writeGroupEvent,
  writeNameEvent,
  writeOrderResult,
  writePlacedEvent,
} from './placed-order.js';
import { cancelOrder, mayRest, restOrder } from './rest-order.js';
import type { Taker } from './taker.js';
import { chargeFeeRemainder, escrowFee, executeTrade } from './trade.js';

/** Writes the fields of the result, whose head is at `base`, if the code is `ok`. */
export function placeOrder(
  state: State,
  taker: Taker,
  command: CommandRecord,
  base: number,
): number {
  taker.read(command);
  const { records } = command;
  const slot = state.markets.find(taker.marketId);
  const code = checkOrder(state, taker, slot, records);
  if (code !== Code.ok) return code;
  taker.family = state.accounts.family(taker.userId);
  const liquidity = checkLiquidity(state, taker);
  if (liquidity !== Code.ok) return liquidity;

  taker.orderId = state.nextOrderId();
  if (taker.isNamed) nameOrder(state, taker, records.bytes);
  else if (taker.expiresAtMs !== MAX_TIME_MS || taker.groupRow !== 0)
    taker.detailsRow = state.orderDetails.add(taker.orderId);
  if (taker.groupRow !== 0) state.orderDetails.setGroup(taker.detailsRow, taker.groupRow);
  takeAndRest(state, taker, base);
  if (taker.isNamed) writeNameEvent(state, taker, records.bytes);
  if (taker.groupRow !== 0) writeGroupEvent(state, taker);
  return Code.ok;
}

/**
 * Trades with makers and rests the remainder. Writes the fields of an order's result, as if the
 * head were at `base`.
 */
export function takeAndRest(state: State, taker: Taker, base: number): void {
  // The fills follow the fields as they happen.
  state.result.reserve(ORDER_RESULT_LENGTH - RESULT_HEAD_LENGTH);
  const nextMakerLevel = takeLiquidity(state, taker);
  const done = taker.isDone(nextMakerLevel);
  const feeMicros = taker.orderFeeMicros(nextMakerLevel, state.rules);
  chargeFeeRemainder(state, taker, feeMicros - taker.feeMicros);
  settleTaker(state, taker);
  state.fillsLeft -= taker.fillCount;
  // An order that stopped before an acceptable maker must not rest: it would cross the book.
  const isLeft =
    taker.timeInForce === TimeInForce.GTC && !done && nextMakerLevel === 0 && !taker.hasTripped;
  const rests = isLeft && mayRest(state, taker, taker.remainderLots());
  const restingLots = rests ? restOrder(state, taker) : 0;
  const status = done ? OrderStatus.FILLED : statusOf(taker, restingLots, nextMakerLevel);
  if (restingLots === 0) endTaker(state, taker, status);
  writePlacedEvent(state, taker, restingLots, status);
  writeOrderResult(state, taker, base, restingLots, status);
}

const END_BY_STATUS = {
  [OrderStatus.FILLED]: OrderEnd.FILLED,
  [OrderStatus.PARTIALLY_FILLED]: OrderEnd.UNFILLED,
  [OrderStatus.RESTING]: OrderEnd.RESTING,
  [OrderStatus.STOPPED_UNFILLED]: cancelledFor(CancelReason.SELF_TRADE),
  [OrderStatus.STOPPED]: cancelledFor(CancelReason.SELF_TRADE),
  [OrderStatus.TRADE_LIMIT]: OrderEnd.TRADE_LIMIT,
  [OrderStatus.TOO_SMALL_TO_REST]: OrderEnd.TOO_SMALL_TO_REST,
  [OrderStatus.ORDER_GROUP]: cancelledFor(CancelReason.ORDER_GROUP),
};

function endTaker(state: State, taker: Taker, status: OrderStatus): void {
  state.recentOrders.end(taker.orderId, taker.userId, taker.marketId, END_BY_STATUS[status]);
  if (taker.detailsRow !== 0) state.orderDetails.end(taker.detailsRow);
}

/**
 * The checks that need no makers, in the order of the codes. Also starts the taker, and finds the
 * user's position.
 */
function checkOrder(state: State, taker: Taker, slot: number, records: RecordBuffer): number {
  if (!isWellFormed(taker)) return Code.invalid_command;
  if (taker.isNamed && !isNameWellFormed(state, taker, records.bytes)) return Code.invalid_command;
  if (!state.users.exists(taker.userId)) return Code.user_not_found;
  if (taker.isNamed) {
    const first = orderNamed(state, taker.userId, records.ints, taker.nameFrom, taker.nameLength);
    taker.nameLow = state.hash.low;
    taker.nameHigh = state.hash.high;
    // An order of this atomic batch will be undone, so its id is not reported.
    if (first !== 0) {
      const named = first > state.lastKeptOrderId ? 0 : first;
      return state.refuse(Code.client_order_id_reused, named, 0);
    }
  }
  if (slot === 0) return Code.market_not_found;
  readPosition(state, taker, slot);
  taker.start(slot, state.markets.ladder(slot, 0));
  if (taker.groupId !== 0) {
    taker.groupRow = state.orderGroups.find(taker.userId, taker.groupId);
    if (taker.groupRow === 0) return Code.order_group_not_found;
  }
  if (state.accounts.isFrozen(taker.userId)) return Code.user_frozen;
  if (taker.validUntilMs < state.nowMs)
    return state.refuse(Code.deadline_passed, Deadline.VALID_UNTIL, state.nowMs);
  if (taker.expiresAtMs <= state.nowMs)
    return state.refuse(Code.deadline_passed, Deadline.EXPIRES_AT, state.nowMs);
  if (hasEnded(state.markets.status(slot))) return Code.market_not_active;
  if (state.markets.pausedBy(slot) !== 0) return Code.market_paused;
  if (taker.groupRow !== 0 && state.orderGroups.hasTripped(taker.groupRow) === 1)
    return Code.order_group_tripped;
  const limit = limitReached(state, taker);
  if (limit !== null) return state.refuseLimit(limit);
  return taker.side === Side.BUY ? checkMoney(state, taker) : checkShares(state, taker);
}

/**
 * Call it before the other checks: they run while the position's row, seldom in a cache, loads.
 */
function readPosition({ positions }: State, taker: Taker, slot: number): void {
  const row = positions.find(taker.userId, slot);
  taker.positionRow = row;
  taker.freeLots = row === 0 ? 0 : positions.freeLots(row, taker.outcome);
}

function isWellFormed(taker: Taker): boolean {
  return (
    (taker.outcome === Outcome.UP || taker.outcome === Outcome.DOWN) &&
    (taker.side === Side.SELL || isIntegerBetween(taker.budgetMicros, 1, MAX_ORDER_MICROS)) &&
    isIntegerBetween(taker.sizeLots, 1, taker.side === Side.SELL ? MAX_ORDER_LOTS : UNSIZED_LOTS) &&
    isIntegerBetween(taker.priceTicks, MIN_PRICE_TICKS, MAX_PRICE_TICKS) &&
    taker.timeInForce <= TimeInForce.GTC &&
    (!taker.postOnly || taker.timeInForce === TimeInForce.GTC) &&
    (taker.validUntilMs === MAX_TIME_MS || isIntegerBetween(taker.validUntilMs, 0, MAX_TIME_MS)) &&
    (taker.expiresAtMs === MAX_TIME_MS || isExpiryWellFormed(taker)) &&
    (taker.groupId === 0 || isGroupWellFormed(taker)) &&
    taker.selfTrade <= SelfTrade.CANCEL_BOTH
  );
}

function isExpiryWellFormed({ timeInForce, expiresAtMs }: Taker): boolean {
  return timeInForce === TimeInForce.GTC && isIntegerBetween(expiresAtMs, 0, MAX_TIME_MS);
}

function isGroupWellFormed({ timeInForce, groupId }: Taker): boolean {
  return timeInForce === TimeInForce.GTC && isIntegerBetween(groupId, 1, Number.MAX_SAFE_INTEGER);
}

/** Before the first credential the hash has no key, so names are refused, like idempotency keys. */
function isNameWellFormed(state: State, taker: Taker, bytes: Uint8Array): boolean {
  return state.hash.hasKey && isClientOrderId(bytes, taker.nameFrom, taker.nameLength);
}

function nameOrder(state: State, taker: Taker, bytes: Uint8Array): void {
  const { userId, nameLow, nameHigh, orderId } = taker;
  const nameRow = state.clientOrderIds.add(userId, nameLow, nameHigh, orderId);
  taker.detailsRow = state.orderDetails.add(orderId);
  state.orderDetails.setName(taker.detailsRow, nameRow, bytes, taker.nameFrom, taker.nameLength);
}

/** The limit that the order has reached; null if none. */
function limitReached(state: State, taker: Taker): Limit | null {
  if (state.fillsLeft <= 0) return Limit.trades;
  if (taker.budgetMicros > state.rules.maxOrderMicros) return Limit.orderAmount;
  if (!mayHavePosition(state, taker.userId, taker.positionRow)) return Limit.positions;
  if (taker.timeInForce !== TimeInForce.GTC) return null;
  const mayRest =
    state.accounts.orderCount(taker.userId) < state.rules.maxOpenOrders &&
    state.mayTake(Pool.orders, taker.userId);
  return mayRest ? null : Limit.openOrders;
}

/**
 * Whether the user has or may take a position. A maker's position is made when it trades, so an
 * order needs room for one. The user's use is looked up only if it can matter.
 */
export function mayHavePosition(
  { room, users }: State,
  userId: number,
  positionRow: number,
): boolean {
  if (room.isFull(Pool.positions)) return false;
  return (
    room.mayTake(Pool.positions, userId, MAX_POSITIONS_PER_USER) ||
    positionRow !== 0 ||
    room.mayTake(Pool.positions, userId, users.positionCount(userId))
  );
}

/**
 * What a buy may cost at most: its budget, and the fee on the budget. For the curve fee, the budget
 * counts as spent at the best price in the book, or at the order's own price if that is lower: no
 * trade of the order can be at a lower price.
 */
export function costAtMost({ rules, levels }: State, taker: Taker): number {
  const { budgetMicros } = taker;
  if (taker.postOnly) return budgetMicros;
  if (rules.curveFeeBasisPoints === 0) return budgetMicros + feeOn(rules, budgetMicros, 0);
  const level = Math.max(levels.best(taker.makerLadder), MICROS_PER_SET - taker.priceTicks);
  return budgetMicros + feeOn(rules, budgetMicros, budgetMicros * level);
}

function checkMoney(state: State, taker: Taker): number {
  const required = costAtMost(state, taker);
  const available = state.ledger.available(taker.userId);
  return available < required
    ? state.refuse(Code.insufficient_balance, required, available)
    : Code.ok;
}

function checkShares(state: State, { freeLots, sizeLots }: Taker): number {
  return freeLots < sizeLots ? state.refuse(Code.insufficient_shares, sizeLots, freeLots) : Code.ok;
}

export function checkLiquidity(state: State, taker: Taker): number {
  // Negative if an earlier operation of the batch has met too many due orders.
  const leastPasses = Math.min(0, state.passesLeft);
  const level = walk(state, taker, 0);
  if (state.passesLeft < leastPasses) return state.refuseLimit(Limit.expiredOrders);
  // An own order stops the taker, unless the budget does not reach it.
  const isStopped = taker.isStopped && taker.lotsAt(level, 1) > 0;
  const makerLevel = taker.isStopped ? 0 : level;
  taker.isStopped = false;
  if (taker.postOnly && makerLevel > 0) return Code.post_only_would_trade;
  if (taker.timeInForce === TimeInForce.FOK && !wouldFill(state, taker)) {
    if (state.passesLeft < 0) return state.refuseLimit(Limit.expiredOrders);
    const worst = taker.side === Side.BUY ? MAX_PRICE_TICKS : MIN_PRICE_TICKS;
    const code = taker.priceTicks === worst ? Code.insufficient_liquidity : Code.price_not_met;
    return state.refuse(code, taker.valueMicros, taker.filledLots);
  }
  if (isStopped) return Code.ok;
  if (makerLevel === 0) {
    if (taker.timeInForce !== TimeInForce.GTC) return Code.insufficient_liquidity;
    return taker.isDone(0) ? Code.amount_too_small : checkRest(state, taker, taker.remainderLots());
  }
  return taker.isDone(makerLevel) ? Code.amount_too_small : Code.ok;
}

export function checkRest(state: State, taker: Taker, lots: number): number {
  if (mayRest(state, taker, lots)) return Code.ok;
  const { minRestingMicros } = state.rules;
  return state.refuse(Code.too_small_to_rest, minRestingMicros, lots * taker.priceTicks);
}

/** Whether the maker belongs to the taker's user or family, which do not trade with each other. */
function isOwn({ orders, accounts }: State, { userId, family }: Taker, row: number): boolean {
  const makerId = orders.userId(row);
  return makerId === userId || (family !== 0 && accounts.family(makerId) === family);
}

function mayPass(state: State): boolean {
  state.passesLeft -= 1;
  return state.passesLeft >= 0;
}

/**
 * Whether a FOK order would be filled. If not, `taker` holds the lots and value that could be
 * filled. The makers examined still count against the maximum, because checking costs as much as
 * trading.
 */
function wouldFill(state: State, taker: Taker): boolean {
  const nextMakerLevel = walk(state, taker, state.fillsLeft);
  const done = taker.isDone(nextMakerLevel);
  if (done) taker.start(taker.slot, state.markets.ladder(taker.slot, 0));
  else state.fillsLeft -= taker.fillCount;
  return done;
}

/**
 * Simulates the matching; changes only the taker, the counters of the command and
 * `orderGroups.walk`. Returns the level of the next acceptable maker; 0 if none. Stops after
 * `maxFills` less the orders that tripped groups would cancel, when no lot can be taken, before a
 * due order that may not be passed over (`passesLeft` is negative), or before an own order that the
 * taker does not cancel (`isStopped`).
 */
export function walk(state: State, taker: Taker, maxFills: number): number {
  const { levels, orders, orderGroups } = state;
  let fillsLeft = maxFills;
  orderGroups.walk.begin();
  const ladder = taker.makerLadder;
  let level = levels.best(ladder);
  while (level !== 0 && level + taker.level >= MICROS_PER_SET) {
    let row = levels.first(levelRow(ladder, level));
    for (; row !== 0; row = orders.after(row)) {
      state.makersSeen++;
      const group = orders.group(row);
      if (group !== 0 && orderGroups.walk.hasTripped(group)) continue;
      if (isOverdue(state, row)) {
        if (!mayPass(state)) return level;
        if (group !== 0) orderGroups.walk.removeOrder(group);
        continue;
      }
      if (isOwn(state, taker, row)) {
        if (taker.selfTrade === SelfTrade.CANCEL_RESTING) continue;
        taker.isStopped = true;
        return level;
      }
      if (taker.fillCount >= fillsLeft) return level;
      const lots = taker.lotsAt(level, orders.lots(row));
      if (lots === 0) return level;
      const priceTicks = taker.ticksAt(level);
      taker.fill(lots, priceTicks, lots * priceTicks);
      if (group === 0) continue;
      if (lots === orders.lots(row)) orderGroups.walk.removeOrder(group);
      fillsLeft -= orderGroups.walk.fill(group, lots, state.nowMs);
    }
    level = levels.nextBelow(ladder, level);
  }
  return 0;
}

/** Trades with makers, best first, as `walk` does. Also stops when the taker's group trips. */
function takeLiquidity(state: State, taker: Taker): number {
  const { levels, orders } = state;
  const ladder = taker.makerLadder;
  for (;;) {
    const level = levels.best(ladder);
    if (level === 0 || level + taker.level < MICROS_PER_SET) return 0;
    const row = levels.first(levelRow(ladder, level));
    const lots = taker.lotsAt(level, orders.lots(row));
    if (lots === 0) return level;
    if (isOverdue(state, row)) {
      // Due orders ahead of the first maker, and all that a FOK order meets, are already counted.
      const isCounted = taker.fillCount > 0 && taker.timeInForce !== TimeInForce.FOK;
      if (isCounted && !mayPass(state)) return level;
      cancelOrder(state, row, CancelReason.EXPIRED);
      continue;
    }
    if (isOwn(state, taker, row)) {
      if (taker.selfTrade !== SelfTrade.CANCEL_RESTING) {
        if (taker.selfTrade === SelfTrade.CANCEL_BOTH)
          cancelOrder(state, row, CancelReason.SELF_TRADE);
        taker.isStopped = true;
        return level;
      }
      cancelOrder(state, row, CancelReason.SELF_TRADE);
      continue;
    }
    if (taker.fillCount >= state.fillsLeft) return level;
    const group = orders.group(row);
    executeTrade(state, taker, row, level, lots);
    if ((group | taker.groupRow) !== 0 && countFills(state, taker, group, lots))
      return acceptableLevel(state, taker);
  }
}

/** The level of the best resting order at an acceptable price, own orders included; 0 if none. */
function acceptableLevel({ levels }: State, taker: Taker): number {
  const level = levels.best(taker.makerLadder);
  return level + taker.level < MICROS_PER_SET ? 0 : level;
}

/** Moves the taker's money for all of its trades, and the fee. */
function settleTaker(state: State, taker: Taker): void {
  if (taker.fillCount === 0) return;
  if (taker.side === Side.SELL) {
    state.ledger.addAvailable(taker.userId, taker.valueMicros);
    return;
  }
  state.ledger.addAvailable(taker.userId, 0 - taker.valueMicros - taker.feeMicros);
  if (taker.feeMicros > 0) escrowFee(state, taker.slot, taker.userId, taker.feeMicros);
}
