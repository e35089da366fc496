/**
 * Commands in a market other than placing orders: cancelling orders and claiming winnings. Each
 * function checks everything, then changes the state and writes the fields of its result; it
 * returns the code.
 */

import { Code } from '../interface/codes.js';
import type { Cancel, CancelAll, Claim } from '../interface/commands.js';
import { CancelReason, MarketStatus, Resolution } from '../interface/domain.js';
import type { State } from '../state/state.js';
import { cancelOrder } from './rest-order.js';
import { cancelAllOf, claimPosition, paidLots, payoutOf, refundOf } from './settlement.js';

export function cancel(state: State, command: Cancel): number {
  const { orders } = state;
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const slot = state.markets.find(command.marketId);
  if (slot === 0) return Code.market_not_found;
  const row = isActive(state, slot) ? orders.find(command.orderId) : 0;
  const isMine = row !== 0 && orders.userId(row) === command.userId && orders.slot(row) === slot;
  if (!isMine) return Code.order_not_found;

  const lots = orders.lots(row);
  cancelOrder(state, row, CancelReason.REQUESTED);
  const at = state.result.reserve(4);
  const { values } = state.result;
  values[at] = command.orderId;
  values[at + 1] = command.marketId;
  values[at + 2] = command.userId;
  values[at + 3] = lots;
  state.writeBalance(command.userId);
  return Code.ok;
}

export function cancelAll(state: State, command: CancelAll): number {
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const slot = state.markets.find(command.marketId);
  if (slot === 0) return Code.market_not_found;

  const cancelled = isActive(state, slot)
    ? cancelAllOf(state, command.userId, slot, CancelReason.REQUESTED)
    : 0;
  state.result.write(command.marketId, command.userId, cancelled);
  state.writeBalance(command.userId);
  return Code.ok;
}

/** The orders of an ended market count as cancelled, even while their cancellation is pending. */
function isActive(state: State, slot: number): boolean {
  return state.markets.status(slot) === MarketStatus.ACTIVE;
}

export function claim(state: State, command: Claim): number {
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const slot = state.markets.find(command.marketId);
  if (slot === 0) return Code.market_not_found;
  if (state.markets.status(slot) !== MarketStatus.RESOLVED) return Code.market_not_resolved;
  const row = state.positions.find(command.userId, slot);
  if (row === 0) return Code.nothing_to_claim;
  const lots = paidLots(state, slot, row);
  const payout = payoutOf(state, slot, row);
  const refund = refundOf(state, slot, row);
  if (!claimPosition(state, slot, command.userId)) return Code.nothing_to_claim;

  const resolution = state.markets.resolution(slot) ?? Resolution.NONE;
  state.result.write(command.marketId, command.userId, resolution, lots, payout, refund);
  state.writeBalance(command.userId);
  return Code.ok;
}
