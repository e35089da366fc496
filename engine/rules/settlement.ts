/**
 * The pending work: orders that expire, the orders and positions of ended markets, tokens and
 * timers that are due. Each command does a bounded number of units (an order, a position, a token
 * or a timer), so that no market delays other commands, however large it is. Money is conserved
 * after every unit.
 *
 * A claim does not wait: it settles its user's position first.
 */

import { CancelReason, Outcome, PointsReason, Resolution } from '../interface/domain.js';
import { beginEvent, EventSlot, EventType } from '../interface/events.js';
import { MICROS_PER_SET } from '../interface/limits.js';
import { MICRO_POINTS_PER_FEE_MICRO, REFERRAL_DIVISOR } from '../interface/parameters.js';
import { levelRow } from '../state/levels.js';
import { WorkKind } from '../state/schedule.js';
import type { State } from '../state/state.js';
import { addSaturating } from '../storage/arithmetic.js';
import { fireTimers } from './access/cancel-after.js';
import { expireTokens } from './access/tokens.js';
import { cancelOrder } from './rest-order.js';

const Settled = EventSlot.positionSettled;
const Earned = EventSlot.referralEarned;
const Credited = EventSlot.pointsCredited;
const Claimed = EventSlot.claimed;

/** Does up to `units` units of pending work. */
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

/** Cancels the orders that expire before a time, the first one first. Returns the units left. */
function expireOrders(state: State, beforeMs: number, units: number): number {
  const { expiries } = state;
  let left = units;
  for (; expiries.nextAtMs < beforeMs; left--) {
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
    if (state.positions.owners.settled(row) === 0) settlePosition(state, slot, row);
    if (owed === 0) state.positions.forget(row);
    left--;
  }
  shareRestOfFees(state, slot);
  state.schedule.removeWork();
  return left;
}

/** Applies the resolution to one position: profit, points, and the referrer's part of the fees. */
function settlePosition(state: State, slot: number, row: number): void {
  const { positions } = state;
  const userId = positions.owners.userId(row);
  positions.owners.touch(row);
  positions.owners.setSettled(row, 1);
  const payout = payoutOf(state, slot, row);
  const refund = refundOf(state, slot, row);
  const upLots = positions.lots(row, Outcome.UP);
  const downLots = positions.lots(row, Outcome.DOWN);
  const upCost = positions.costMicros(row, Outcome.UP);
  const downCost = positions.costMicros(row, Outcome.DOWN);
  const fees = positions.feesMicros(row);
  const profit = payout + refund - upCost - downCost;
  if (upLots + downLots + refund > 0) {
    state.accounts.addProfit(userId, profit);
    const at = beginEvent(state.events, EventType.positionSettled);
    const { values } = state.events;
    values[at + Settled.marketId] = state.markets.id(slot);
    values[at + Settled.userId] = userId;
    values[at + Settled.upLots] = upLots;
    values[at + Settled.downLots] = downLots;
    values[at + Settled.upCostMicros] = upCost;
    values[at + Settled.downCostMicros] = downCost;
    values[at + Settled.feesMicros] = fees;
    values[at + Settled.payoutMicros] = payout;
    values[at + Settled.refundMicros] = refund;
    values[at + Settled.profitMicros] = profit;
  }
  if (fees > 0) settleFees(state, slot, row, userId, fees);
}

function settleFees(state: State, slot: number, row: number, userId: number, fees: number): void {
  const referrerId = state.accounts.referrer(userId);
  if (referrerId !== 0) {
    state.users.touch(referrerId);
    state.users.addReferralPendingFees(referrerId, 0 - fees);
  }
  if (state.markets.resolution(slot) === Resolution.VOID) return;
  const marketId = state.markets.id(slot);
  if (referrerId !== 0) payReferrer(state, slot, referrerId, userId, fees);
  const earned = state.positions.pointFeesMicros(row) * MICRO_POINTS_PER_FEE_MICRO;
  const microPoints = Math.min(earned, Number.MAX_SAFE_INTEGER);
  creditPoints(state, userId, marketId, PointsReason.FEES, microPoints);
  if (referrerId !== 0) {
    const share = Math.floor(microPoints / REFERRAL_DIVISOR);
    creditPoints(state, referrerId, marketId, PointsReason.REFERRAL, share);
  }
}

function payReferrer(
  state: State,
  slot: number,
  referrerId: number,
  userId: number,
  fees: number,
): void {
  const { users, markets, events } = state;
  const amountMicros = Math.floor(fees / REFERRAL_DIVISOR);
  if (amountMicros === 0) return;
  state.ledger.addEscrow(slot, 0 - amountMicros);
  state.ledger.addAvailable(referrerId, amountMicros);
  users.touch(referrerId);
  users.setReferralEarned(
    referrerId,
    addSaturating(users.referralEarned(referrerId), amountMicros),
  );
  markets.touch(slot);
  markets.addReferrersMicros(slot, amountMicros);
  const at = beginEvent(events, EventType.referralEarned);
  events.values[at + Earned.referrerId] = referrerId;
  events.values[at + Earned.userId] = userId;
  events.values[at + Earned.marketId] = markets.id(slot);
  events.values[at + Earned.amountMicros] = amountMicros;
}

function creditPoints(
  state: State,
  userId: number,
  marketId: number,
  reason: PointsReason,
  microPoints: number,
): void {
  if (microPoints === 0) return;
  state.accounts.addPoints(userId, microPoints);
  const { events } = state;
  const at = beginEvent(events, EventType.pointsCredited);
  events.values[at + Credited.userId] = userId;
  events.values[at + Credited.marketId] = marketId;
  events.values[at + Credited.reason] = reason;
  events.values[at + Credited.microPoints] = microPoints;
}

/** The rest of the fees goes to the treasury; on VOID it stays in escrow to be refunded. */
function shareRestOfFees(state: State, slot: number): void {
  const { markets, ledger } = state;
  const isVoid = markets.resolution(slot) === Resolution.VOID;
  const rest = isVoid ? 0 : state.markets.escrowMicros(slot);
  ledger.addEscrow(slot, 0 - rest);
  ledger.addTreasury(rest);
  state.events.write(
    EventType.feesShared,
    markets.id(slot),
    markets.vaultMicros(slot),
    markets.referrersMicros(slot),
    rest,
  );
}

/** Pays the positions that nobody claimed, then forgets the market. Returns the units left. */
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

/** Pays a position in a resolved market, of which something is to be paid, and forgets it. */
export function claimPosition(state: State, slot: number, row: number): void {
  const { owners } = state.positions;
  if (owners.settled(row) === 0) {
    cancelAllOf(state, owners.userId(row), slot);
    settlePosition(state, slot, row);
  }
  if (state.markets.settleCursor(slot) === row) {
    state.markets.touch(slot);
    state.markets.setSettleCursor(slot, owners.marketAfter(row));
  }
  pay(state, slot, row, false);
}

/** Cancels a user's resting orders in an ended market, the one first that came to rest first. */
function cancelAllOf(state: State, userId: number, slot: number): void {
  const { orders } = state;
  let row = state.accounts.firstOrder(userId);
  while (row !== 0) {
    const next = orders.userAfter(row);
    if (orders.slot(row) === slot) cancelOrder(state, row, CancelReason.MARKET_ENDED);
    row = next;
  }
}

function pay(state: State, slot: number, row: number, automatic: boolean): void {
  const { ledger } = state;
  const userId = state.positions.owners.userId(row);
  const payout = payoutOf(state, slot, row);
  const refund = refundOf(state, slot, row);
  ledger.addCollateral(slot, 0 - payout);
  ledger.addEscrow(slot, 0 - refund);
  ledger.addAvailable(userId, payout + refund);
  const at = beginEvent(state.events, EventType.claimed);
  const { values } = state.events;
  values[at + Claimed.marketId] = state.markets.id(slot);
  values[at + Claimed.userId] = userId;
  values[at + Claimed.lots] = paidLots(state, slot, row);
  values[at + Claimed.payoutMicros] = payout;
  values[at + Claimed.refundMicros] = refund;
  values[at + Claimed.automatic] = Number(automatic);
  state.positions.forget(row);
}

/** The shares that a resolution pays for. */
export function paidLots(state: State, slot: number, row: number): number {
  const { positions } = state;
  switch (state.markets.resolution(slot)) {
    case Resolution.UP:
      return positions.lots(row, Outcome.UP);
    case Resolution.DOWN:
      return positions.lots(row, Outcome.DOWN);
    case Resolution.VOID:
      return positions.lots(row, Outcome.UP) + positions.lots(row, Outcome.DOWN);
    default:
      throw new Error('a market that is not resolved cannot be paid out');
  }
}

/** A dollar per winning share; half a dollar per share of either outcome when VOID. */
export function payoutOf(state: State, slot: number, row: number): number {
  const isVoid = state.markets.resolution(slot) === Resolution.VOID;
  return paidLots(state, slot, row) * (isVoid ? MICROS_PER_SET / 2 : MICROS_PER_SET);
}

/** The fees that a VOID market refunds. */
export function refundOf(state: State, slot: number, row: number): number {
  return state.markets.resolution(slot) === Resolution.VOID ? state.positions.feesMicros(row) : 0;
}
