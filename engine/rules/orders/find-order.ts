/** Finds the resting order that a user names, or the reason why it no longer rests. */

import { Code } from '../../interface/codes.js';
import type { CommandRecord } from '../../interface/command-record.js';
import { CancelReason } from '../../interface/domain.js';
import { isClientOrderId } from '../../interface/fields.js';
import { cancelledFor } from '../../state/book/recent-orders.js';
import type { State } from '../../state/state.js';

/** The user's resting or remembered order with this clientOrderId (TextHash.pairOf); 0 if none. */
export function orderNamed(
  { hash, clientOrderIds }: State,
  userId: number,
  ints: Int32Array,
  from: number,
  length: number,
): number {
  hash.pairOf(userId, ints, from, length);
  return clientOrderIds.orderOf(userId, hash.low, hash.high);
}

/** A command with a clientOrderId must not also have an order id. */
export function isWellNamed({ hash }: State, command: CommandRecord, idField: number): boolean {
  if (!command.isNamed) return true;
  const { records, nameFrom, nameLength } = command;
  return (
    command.number(idField) === 0 &&
    hash.hasKey &&
    isClientOrderId(records.bytes, nameFrom, nameLength)
  );
}

/** The order that a well named command names; 0 if none is known. */
export function orderOf(state: State, command: CommandRecord, idField: number): number {
  if (!command.isNamed) return command.number(idField);
  const { userId, records, nameFrom, nameLength } = command;
  return orderNamed(state, userId, records.ints, nameFrom, nameLength);
}

/**
 * The row of the user's resting order in a market; 0 if none. Expired orders and orders of an ended
 * market count as cancelled, even while their cancellation is pending.
 */
export function findResting(state: State, userId: number, slot: number, orderId: number): number {
  const { orders } = state;
  if (!state.markets.takesOrders(slot)) return 0;
  const row = orders.find(orderId);
  const isMine = row !== 0 && orders.userId(row) === userId && orders.slot(row) === slot;
  return isMine && !isOverdue(state, row) ? row : 0;
}

/** Whether an order has expired and its cancellation is pending. */
export function isOverdue(state: State, row: number): boolean {
  if (state.overdueMs === -1) return false;
  const details = state.orders.details(row);
  return details !== 0 && state.orderDetails.expiresAtMs(details) <= state.overdueMs;
}

/** The refusal of an amendment or cancel of an order that does not rest. */
export function refuseGone(
  state: State,
  userId: number,
  marketId: number,
  orderId: number,
): number {
  const row = state.orders.find(orderId);
  const end =
    row === 0
      ? state.recentOrders.endOf(orderId, userId, marketId)
      : pendingEnd(state, row, userId, marketId);
  return end === -1 ? Code.order_not_found : state.refuse(Code.order_closed, orderId, end);
}

/** The end of an order whose cancellation is pending; -1 if not one of the user's last orders. */
function pendingEnd(state: State, row: number, userId: number, marketId: number): number {
  const { orders, markets, recentOrders } = state;
  const isMine = orders.userId(row) === userId && markets.id(orders.slot(row)) === marketId;
  if (!isMine || !recentOrders.remembers(orders.id(row))) return -1;
  return cancelledFor(pendingReason(state, row)!);
}

/** The reason of a pending cancellation; null if none is pending. */
export function pendingReason(state: State, row: number): CancelReason | null {
  if (isOverdue(state, row)) return CancelReason.EXPIRED;
  return state.markets.takesOrders(state.orders.slot(row)) ? null : CancelReason.MARKET_ENDED;
}
