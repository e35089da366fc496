/** The commands that cancel orders. */

import { Code } from '../../interface/codes.js';
import type { CommandRecord } from '../../interface/command-record.js';
import type { CommandOf } from '../../interface/commands.js';
import { CancelReason } from '../../interface/domain.js';
import { CancelAllField, CancelField } from '../../interface/records.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { findResting, isOverdue, isWellNamed, orderOf, refuseGone } from './find-order.js';
import { cancelOrder, cancelOrders } from './rest-order.js';

const { REQUESTED } = CancelReason;

export function cancel(state: State, command: CommandRecord): number {
  const { userId } = command;
  const marketId = command.number(CancelField.marketId);
  const { orders } = state;
  if (!isWellNamed(state, command, CancelField.orderId)) return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  const slot = state.markets.find(marketId);
  if (slot === 0) return Code.market_not_found;
  const orderId = orderOf(state, command, CancelField.orderId);
  const row =
    state.accounts.firstOrder(userId) === 0 ? 0 : findResting(state, userId, slot, orderId);
  if (row === 0) return refuseGone(state, userId, marketId, orderId);

  const lots = orders.lots(row);
  cancelOrder(state, row, REQUESTED);
  const at = state.result.reserve(4);
  const { values } = state.result;
  values[at] = orderId;
  values[at + 1] = marketId;
  values[at + 2] = userId;
  values[at + 3] = lots;
  state.writeBalance(userId);
  return Code.ok;
}

export function cancelAll(state: State, command: CommandRecord): number {
  const { userId } = command;
  const marketId = command.number(CancelAllField.marketId);
  if (!state.users.exists(userId)) return Code.user_not_found;
  const slot = state.markets.find(marketId);
  if (slot === 0) return Code.market_not_found;

  const at = state.result.reserve(5);
  const cancelled = cancelAndList(state, userId, slot, Number.MAX_SAFE_INTEGER, REQUESTED);
  const { values } = state.result;
  values[at] = marketId;
  values[at + 1] = userId;
  values[at + 2] = state.ledger.available(userId);
  values[at + 3] = state.ledger.held(userId);
  values[at + 4] = cancelled;
  return Code.ok;
}

export function cancelEverywhere(state: State, command: CommandRecord): number {
  return cancelInAllMarkets(state, command.userId, Number.MAX_SAFE_INTEGER, REQUESTED);
}

export function cancelDisconnected(state: State, command: CommandOf<'cancelDisconnected'>): number {
  const { userId, lastOrderId } = command;
  if (!isIntegerBetween(lastOrderId, 1, Number.MAX_SAFE_INTEGER)) return Code.invalid_command;
  return cancelInAllMarkets(state, userId, lastOrderId, CancelReason.DISCONNECTED);
}

function cancelInAllMarkets(
  state: State,
  userId: number,
  lastOrderId: number,
  reason: CancelReason,
): number {
  if (!state.users.exists(userId)) return Code.user_not_found;
  const at = state.result.reserve(4);
  const cancelled = cancelAndList(state, userId, 0, lastOrderId, reason);
  const { values } = state.result;
  values[at] = userId;
  values[at + 1] = state.ledger.available(userId);
  values[at + 2] = state.ledger.held(userId);
  values[at + 3] = cancelled;
  return Code.ok;
}

/**
 * Cancels the user's orders in a market (0: in all) with ids up to `lastOrderId`, in the order in
 * which they began to rest, and writes their ids to the result. Overdue orders and orders of ended
 * markets count as already cancelled.
 */
function cancelAndList(
  state: State,
  userId: number,
  slot: number,
  lastOrderId: number,
  reason: CancelReason,
): number {
  const { orders, markets, result } = state;
  return cancelOrders(state, userId, reason, (row) => {
    const of = orders.slot(row);
    const isNamed = (slot === 0 || of === slot) && orders.id(row) <= lastOrderId;
    if (!isNamed || !markets.takesOrders(of) || isOverdue(state, row)) return false;
    result.push(orders.id(row));
    return true;
  });
}
