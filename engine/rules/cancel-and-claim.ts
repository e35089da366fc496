/**
 * Commands in a market other than placing orders: cancelling orders and claiming winnings. Each
 * function checks everything, then changes the state and writes the fields of its result; it
 * returns the code.
 */

import { Code } from '../interface/codes.js';
import type { CommandRecord } from '../interface/command-record.js';
import { CancelReason, MarketStatus, Resolution } from '../interface/domain.js';
import { isClientOrderId } from '../interface/fields.js';
import { CancelAllField, CancelField, ClaimField } from '../interface/records.js';
import type { State } from '../state/state.js';
import { cancelOrder } from './rest-order.js';
import { cancelAllOf, claimPosition, paidLots, payoutOf, refundOf } from './settlement.js';

export function cancel(state: State, command: CommandRecord): number {
  const { userId } = command;
  const marketId = command.number(CancelField.marketId);
  const { orders } = state;
  if (command.isNamed && !isWellFormed(state, command)) return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  const slot = state.markets.find(marketId);
  if (slot === 0) return Code.market_not_found;
  const orderId = command.isNamed
    ? orderNamed(state, command)
    : command.number(CancelField.orderId);
  const row = isActive(state, slot) ? orders.find(orderId) : 0;
  const isMine = row !== 0 && orders.userId(row) === userId && orders.slot(row) === slot;
  if (!isMine) return Code.order_not_found;

  const lots = orders.lots(row);
  cancelOrder(state, row, CancelReason.REQUESTED);
  const at = state.result.reserve(4);
  const { values } = state.result;
  values[at] = orderId;
  values[at + 1] = marketId;
  values[at + 2] = userId;
  values[at + 3] = lots;
  state.writeBalance(userId);
  return Code.ok;
}

/** A cancel with a clientOrderId names no order besides. */
function isWellFormed(state: State, command: CommandRecord): boolean {
  const { nameFrom, nameLength } = command;
  return (
    command.number(CancelField.orderId) === 0 &&
    state.hash.hasKey &&
    isClientOrderId(command.records.bytes, nameFrom, nameLength)
  );
}

/** The user's order with the client's id in the command, 0: none is known. */
function orderNamed(state: State, command: CommandRecord): number {
  const { hash } = state;
  const { userId, nameFrom, nameLength } = command;
  hash.pairOfBytes(userId, command.records.bytes, nameFrom, nameLength);
  return state.clientOrderIds.orderOf(userId, hash.low, hash.high);
}

export function cancelAll(state: State, command: CommandRecord): number {
  const { userId } = command;
  const marketId = command.number(CancelAllField.marketId);
  if (!state.users.exists(userId)) return Code.user_not_found;
  const slot = state.markets.find(marketId);
  if (slot === 0) return Code.market_not_found;

  const cancelled = isActive(state, slot)
    ? cancelAllOf(state, userId, slot, CancelReason.REQUESTED)
    : 0;
  state.result.write(marketId, userId, cancelled);
  state.writeBalance(userId);
  return Code.ok;
}

/** The orders of an ended market count as cancelled, even while their cancellation is pending. */
function isActive(state: State, slot: number): boolean {
  return state.markets.status(slot) === MarketStatus.ACTIVE;
}

export function claim(state: State, command: CommandRecord): number {
  const { userId } = command;
  const marketId = command.number(ClaimField.marketId);
  if (!state.users.exists(userId)) return Code.user_not_found;
  const slot = state.markets.find(marketId);
  if (slot === 0) return Code.market_not_found;
  if (state.markets.status(slot) !== MarketStatus.RESOLVED) return Code.market_not_resolved;
  const row = state.positions.find(userId, slot);
  if (row === 0) return Code.nothing_to_claim;
  const lots = paidLots(state, slot, row);
  const payout = payoutOf(state, slot, row);
  const refund = refundOf(state, slot, row);
  if (!claimPosition(state, slot, userId)) return Code.nothing_to_claim;

  const resolution = state.markets.resolution(slot) ?? Resolution.NONE;
  state.result.write(marketId, userId, resolution, lots, payout, refund);
  state.writeBalance(userId);
  return Code.ok;
}
