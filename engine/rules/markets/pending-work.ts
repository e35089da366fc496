/**
 * The pending work: orders that expire, orders and positions of ended markets, tokens and timers
 * that are due. Each command does a bounded number of units (an order, a position, a token or a
 * timer), so that a large market does not delay other commands. A claim settles its user's position
 * without waiting for its turn.
 *
 * Invariant: money is conserved after every unit.
 */

import { CancelReason, Resolution } from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { Pot } from '../../state/ledger.js';
import { levelRow } from '../../state/levels.js';
import { WorkKind } from '../../state/schedule.js';
import type { State } from '../../state/state.js';
import { fireTimers } from '../access/cancel-after.js';
import { expireTokens } from '../access/tokens.js';
import { cancelOrder } from '../orders/rest-order.js';
import { pay, payoutOf, refundOf, settlePosition } from './settlement.js';

export function runPendingWork(state: State, units: number): void {
  let left = units;
  while (left > 0 && state.schedule.hasWork) {
    const subject = state.schedule.workSubject;
    switch (state.schedule.workKind) {
      case WorkKind.EXPIRE:
        left = expireOrders(state, subject, left);
        break;
      case WorkKind.CANCEL:
        left = cancelResting(state, subject, left);
        break;
      case WorkKind.SETTLE:
        left = settlePositions(state, subject, left);
        break;
      case WorkKind.PAY:
        left = payUnclaimed(state, subject, left);
        break;
      case WorkKind.TOKENS:
        left = expireTokens(state, left);
        break;
      case WorkKind.TIMERS:
        left = fireTimers(state, left);
        break;
    }
  }
}

/** Cancels the orders that expire before a time, earliest first. Returns the units left. */
function expireOrders(state: State, beforeMs: number, units: number): number {
  const { expiries } = state;
  let left = units;
  for (; expiries.firstAtMs < beforeMs; left--) {
    if (left === 0) return 0;
    cancelOrder(state, state.orderDetails.order(expiries.first), CancelReason.EXPIRED);
  }
  state.schedule.removeWork();
  return left;
}

/** Cancels resting orders, best bid first, then best ask. Returns the units left. */
function cancelResting(state: State, slot: number, units: number): number {
  const { levels, markets } = state;
  let left = units;
  for (const ladder of [markets.ladder(slot, 0), markets.ladder(slot, 1)]) {
    for (let level = levels.best(ladder); level !== 0; level = levels.best(ladder)) {
      if (left === 0) return 0;
      cancelOrder(state, levels.first(levelRow(ladder, level)), CancelReason.MARKET_ENDED);
      left--;
    }
  }
  state.markets.dropBook(slot);
  state.schedule.removeWork();
  return left;
}

function settlePositions(state: State, slot: number, units: number): number {
  const { markets } = state;
  let left = units;
  for (let row = markets.settleCursor(slot); row !== 0; row = markets.settleCursor(slot)) {
    if (left === 0) return 0;
    markets.setSettleCursor(slot, state.positions.owners.marketAfter(row));
    const owed = payoutOf(state, slot, row) + refundOf(state, slot, row);
    const userId = state.positions.owners.userId(row);
    settlePosition(state, slot, row);
    if (owed === 0) state.positions.forget(row);
    else if (state.users.autoClaim(userId) === 1) pay(state, slot, row, true);
    left--;
  }
  shareRestOfFees(state, slot);
  state.schedule.removeWork();
  return left;
}

/** Moves the rest of the fees to the treasury; on VOID the fees stay in escrow for refunds. */
function shareRestOfFees(state: State, slot: number): void {
  const { markets, ledger } = state;
  const isVoid = markets.resolution(slot) === Resolution.VOID;
  const rest = isVoid ? 0 : state.markets.escrowMicros(slot);
  if (rest < 0 || markets.makersDueMicros(slot) !== 0)
    throw new Error('the shares of the fees do not add up to the fees');
  ledger.addEscrow(slot, 0 - rest);
  ledger.add(Pot.treasury, rest);
  state.events.write(
    EventType.feesShared,
    markets.id(slot),
    markets.vaultMicros(slot),
    markets.referrersMicros(slot),
    markets.makersMicros(slot),
    rest,
  );
}

/** Pays the unclaimed positions, then forgets the market. Returns the units left. */
function payUnclaimed(state: State, slot: number, units: number): number {
  let left = units;
  const { markets } = state;
  for (let row = markets.firstPosition(slot); row !== 0; row = markets.firstPosition(slot)) {
    if (left === 0) return 0;
    pay(state, slot, row, true);
    left--;
  }
  if (state.markets.collateralMicros(slot) !== 0 || state.markets.escrowMicros(slot) !== 0) {
    throw new Error('a market that still holds money cannot be closed');
  }
  state.events.write(EventType.marketClosed, state.markets.id(slot));
  state.markets.close(slot);
  state.schedule.removeWork();
  return left;
}
