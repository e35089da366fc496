/**
 * The pending work of ended markets: cancelling resting orders, settling positions, paying
 * unclaimed winnings. Each command does a bounded number of units (one order or one position), so
 * that no market delays other commands, however large it is. Money is conserved after every unit.
 *
 * A claim does not wait: it settles its user's position first.
 */

import { CancelReason, PointsReason, Resolution } from '../interface/domain.js';
import { EventType } from '../interface/events.js';
import { MICROS_PER_SET } from '../interface/limits.js';
import { MICRO_POINTS_PER_FEE_MICRO, REFERRAL_DIVISOR } from '../interface/parameters.js';
import { WorkKind } from '../state/schedule.js';
import type { State } from '../state/state.js';
import { addSaturating } from '../storage/arithmetic.js';
import { cancelOrder } from './rest-order.js';

/** Does up to `units` units of pending work. */
export function runPendingWork(state: State, units: number): void {
  let left = units;
  while (left > 0 && state.schedule.hasWork) {
    const slot = state.schedule.workSlot;
    switch (state.schedule.workKind) {
      case WorkKind.CANCEL:
        left = cancelResting(state, slot, left);
        break;
      case WorkKind.SETTLE:
        left = settlePositions(state, slot, left);
        break;
      case WorkKind.PAY:
        left = payUnclaimed(state, slot, left);
        break;
    }
  }
}

/** Cancels resting orders, best bid first, then best ask. Returns the units left. */
function cancelResting(state: State, slot: number, units: number): number {
  const book = state.markets.book(slot);
  let left = units;
  for (const ladder of book) {
    for (let level = ladder.best(); level !== 0; level = ladder.best()) {
      if (left === 0) return 0;
      cancelOrder(state, ladder.levels.first(level), CancelReason.MARKET_ENDED);
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
  for (
    let row = markets.settleCursor.values[slot]!;
    row !== 0;
    row = markets.settleCursor.values[slot]!
  ) {
    if (left === 0) return 0;
    markets.settleCursor.set(slot, state.positions.nextInMarket(row));
    if (state.positions.settled.values[row] === 0) settlePosition(state, slot, row);
    if (payoutOf(state, slot, row) === 0 && refundOf(state, slot, row) === 0)
      state.positions.forget(row);
    left--;
  }
  shareRestOfFees(state, slot);
  state.schedule.removeWork();
  return left;
}

/** Applies the resolution to one position: profit, points, and the referrer's part of the fees. */
function settlePosition(state: State, slot: number, row: number): void {
  const { positions } = state;
  const userId = positions.userId.values[row]!;
  positions.settled.set(row, 1);
  const payout = payoutOf(state, slot, row);
  const refund = refundOf(state, slot, row);
  const up = row * 2;
  const upLots = positions.lots.values[up]!;
  const downLots = positions.lots.values[up + 1]!;
  const upCost = positions.costMicros.values[up]!;
  const downCost = positions.costMicros.values[up + 1]!;
  const fees = positions.feesMicros.values[row]!;
  const profit = payout + refund - upCost - downCost;
  if (upLots + downLots + refund > 0) {
    state.userStatistics.addProfit(userId, profit);
    const marketId = state.markets.id.values[slot]!;
    state.events.write(EventType.positionSettled, marketId, userId, upLots, downLots);
    state.events.write(upCost, downCost, fees, payout, refund, profit);
  }
  if (fees > 0) settleFees(state, slot, row, userId, fees);
}

function settleFees(state: State, slot: number, row: number, userId: number, fees: number): void {
  const referrerId = state.users.referrer.values[userId]!;
  if (referrerId !== 0) state.users.referralPendingFees.add(referrerId, 0 - fees);
  if (state.markets.resolution.values[slot] === Resolution.VOID) return;
  const marketId = state.markets.id.values[slot]!;
  if (referrerId !== 0) payReferrer(state, slot, { referrerId, userId, marketId, fees });
  const earned = state.positions.pointFeesMicros.values[row]! * MICRO_POINTS_PER_FEE_MICRO;
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
  payment: { referrerId: number; userId: number; marketId: number; fees: number },
): void {
  const amountMicros = Math.floor(payment.fees / REFERRAL_DIVISOR);
  if (amountMicros === 0) return;
  state.ledger.addEscrow(slot, 0 - amountMicros);
  state.ledger.addAvailable(payment.referrerId, amountMicros);
  const { referralEarned } = state.users;
  referralEarned.set(
    payment.referrerId,
    addSaturating(referralEarned.values[payment.referrerId]!, amountMicros),
  );
  state.markets.referrersMicros.add(slot, amountMicros);
  state.events.write(
    EventType.referralEarned,
    payment.referrerId,
    payment.userId,
    payment.marketId,
    amountMicros,
  );
}

function creditPoints(
  state: State,
  userId: number,
  marketId: number,
  reason: PointsReason,
  microPoints: number,
): void {
  if (microPoints === 0) return;
  state.userStatistics.addPoints(userId, microPoints);
  state.events.write(EventType.pointsCredited, userId, marketId, reason, microPoints);
}

/** The rest of the fees goes to the treasury; on VOID it stays in escrow to be refunded. */
function shareRestOfFees(state: State, slot: number): void {
  const { markets, ledger } = state;
  const isVoid = markets.resolution.values[slot] === Resolution.VOID;
  const rest = isVoid ? 0 : ledger.escrow.values[slot]!;
  ledger.addEscrow(slot, 0 - rest);
  ledger.treasury.add(rest);
  state.events.write(
    EventType.feesShared,
    markets.id.values[slot]!,
    markets.vaultMicros.values[slot]!,
    markets.referrersMicros.values[slot]!,
    rest,
  );
}

/** Pays the positions that nobody claimed, then forgets the market. Returns the units left. */
function payUnclaimed(state: State, slot: number, units: number): number {
  let left = units;
  const { positions } = state;
  for (let row = positions.firstInMarket(slot); row !== 0; row = positions.firstInMarket(slot)) {
    if (left === 0) return 0;
    pay(state, slot, row, true);
    left--;
  }
  if (state.ledger.collateral.values[slot] !== 0 || state.ledger.escrow.values[slot] !== 0) {
    throw new Error('a market that still holds money cannot be closed');
  }
  state.events.write(EventType.marketClosed, state.markets.id.values[slot]!);
  state.markets.close(slot);
  state.schedule.removeWork();
  return left;
}

/**
 * Pays a user's position in a resolved market and forgets it. Returns false and changes nothing if
 * there is nothing to pay.
 */
export function claimPosition(state: State, slot: number, userId: number): boolean {
  const row = state.positions.find(userId, slot);
  if (row === 0 || payoutOf(state, slot, row) + refundOf(state, slot, row) === 0) return false;
  if (state.positions.settled.values[row] === 0) {
    cancelAllOf(state, userId, slot, CancelReason.MARKET_ENDED);
    settlePosition(state, slot, row);
  }
  if (state.markets.settleCursor.values[slot] === row) {
    state.markets.settleCursor.set(slot, state.positions.nextInMarket(row));
  }
  pay(state, slot, row, false);
  return true;
}

/** Cancels all resting orders of a user in a market, oldest first; returns how many. */
export function cancelAllOf(
  state: State,
  userId: number,
  slot: number,
  reason: CancelReason,
): number {
  const { orders } = state;
  let cancelled = 0;
  let row = orders.firstOfUser(userId);
  while (row !== 0) {
    const next = orders.nextOfUser(row);
    if (orders.slot.values[row] === slot) {
      cancelOrder(state, row, reason);
      cancelled++;
    }
    row = next;
  }
  return cancelled;
}

function pay(state: State, slot: number, row: number, automatic: boolean): void {
  const { ledger } = state;
  const userId = state.positions.userId.values[row]!;
  const payout = payoutOf(state, slot, row);
  const refund = refundOf(state, slot, row);
  ledger.addCollateral(slot, 0 - payout);
  ledger.addEscrow(slot, 0 - refund);
  ledger.addAvailable(userId, payout + refund);
  const lots = paidLots(state, slot, row);
  const marketId = state.markets.id.values[slot]!;
  state.events.write(EventType.claimed, marketId, userId, lots, payout, refund, Number(automatic));
  state.positions.forget(row);
}

/** The shares that a resolution pays for. */
export function paidLots(state: State, slot: number, row: number): number {
  const lots = state.positions.lots.values;
  switch (state.markets.resolution.values[slot]) {
    case Resolution.UP:
      return lots[row * 2]!;
    case Resolution.DOWN:
      return lots[row * 2 + 1]!;
    case Resolution.VOID:
      return lots[row * 2]! + lots[row * 2 + 1]!;
    default:
      throw new Error('a market that is not resolved cannot be paid out');
  }
}

/** A dollar per winning share; half a dollar per share of either outcome when VOID. */
export function payoutOf(state: State, slot: number, row: number): number {
  const isVoid = state.markets.resolution.values[slot] === Resolution.VOID;
  return paidLots(state, slot, row) * (isVoid ? MICROS_PER_SET / 2 : MICROS_PER_SET);
}

/** The fees that a VOID market refunds. */
export function refundOf(state: State, slot: number, row: number): number {
  return state.markets.resolution.values[slot] === Resolution.VOID
    ? state.positions.feesMicros.values[row]!
    : 0;
}
