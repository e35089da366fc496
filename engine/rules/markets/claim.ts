/**
 * The command that claims a user's payout and refund from a resolved market. A claim does not wait
 * for the market's pending work: it does the work of the user's own orders and position first.
 */

import { Code } from '../../interface/codes.js';
import type { CommandRecord } from '../../interface/command-record.js';
import { CancelReason, MarketStatus } from '../../interface/domain.js';
import { ClaimField } from '../../interface/records.js';
import type { State } from '../../state/state.js';
import { cancelOrders } from '../orders/rest-order.js';
import { paidLots, pay, payoutOf, refundOf, settlePosition } from './settlement.js';

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
  if (payout + refund === 0) return Code.nothing_to_claim;

  claimPosition(state, slot, row);
  state.result.write(marketId, userId, state.markets.resolution(slot), lots, payout, refund);
  state.writeBalance(userId);
  return Code.ok;
}

/** Pays a position in a resolved market and forgets it. It must have something to pay. */
function claimPosition(state: State, slot: number, row: number): void {
  const { owners } = state.positions;
  if (owners.settled(row) === 0) {
    const isIn = (order: number) => state.orders.slot(order) === slot;
    cancelOrders(state, owners.userId(row), CancelReason.MARKET_ENDED, isIn);
    settlePosition(state, slot, row);
  }
  if (state.markets.settleCursor(slot) === row) {
    state.markets.touch(slot);
    state.markets.setSettleCursor(slot, owners.marketAfter(row));
  }
  pay(state, slot, row, false);
}
