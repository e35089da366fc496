/**
 * Settles and pays one position of a resolved market: profit, points, the referrer's and the
 * maker's parts of the fees, and the money. pending-work.ts and claim.ts decide which position is
 * next; market-life.ts resolves markets.
 */

import { Outcome, PointsReason, Resolution } from '../../interface/domain.js';
import { beginEvent, EventSlot, EventType } from '../../interface/events.js';
import { MICROS_PER_SET } from '../../interface/limits.js';
import {
  ESTABLISHED_MICRO_POINTS,
  MICRO_POINTS_PER_FEE_MICRO,
  REFERRAL_DIVISOR,
} from '../../interface/parameters.js';
import type { State } from '../../state/state.js';
import { addSaturating } from '../../storage/arithmetic.js';

const Settled = EventSlot.positionSettled;
const Earned = EventSlot.referralEarned;
const MakerEarned = EventSlot.makerShareEarned;
const Credited = EventSlot.pointsCredited;
const Claimed = EventSlot.claimed;

export function settlePosition(state: State, slot: number, row: number): void {
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
    values[at + Settled.userId] = userId;
    values[at + Settled.marketId] = state.markets.id(slot);
    values[at + Settled.resolution] = state.markets.resolution(slot);
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
  if (state.markets.makersDueMicros(slot) > 0) settleMaker(state, slot, row, userId);
}

/** Pays what the user has earned as a maker; on VOID the fees go back to the takers. */
function settleMaker(state: State, slot: number, row: number, userId: number): void {
  const { ledger, markets, positions, events } = state;
  const amountMicros = positions.makerShares.micros(row);
  if (amountMicros === 0) return;
  positions.makerShares.touch(row);
  positions.makerShares.setMicros(row, 0);
  markets.touch(slot);
  markets.addMakersDueMicros(slot, 0 - amountMicros);
  if (markets.resolution(slot) === Resolution.VOID) return;
  ledger.addEscrow(slot, 0 - amountMicros);
  ledger.addAvailable(userId, amountMicros);
  markets.addMakersMicros(slot, amountMicros);
  const at = beginEvent(events, EventType.makerShareEarned);
  events.values[at + MakerEarned.userId] = userId;
  events.values[at + MakerEarned.marketId] = markets.id(slot);
  events.values[at + MakerEarned.amountMicros] = amountMicros;
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
  const { accounts, events } = state;
  accounts.addPoints(userId, microPoints);
  if (!accounts.isEstablished(userId) && accounts.microPoints(userId) >= ESTABLISHED_MICRO_POINTS)
    state.establish(userId);
  const at = beginEvent(events, EventType.pointsCredited);
  events.values[at + Credited.userId] = userId;
  events.values[at + Credited.marketId] = marketId;
  events.values[at + Credited.reason] = reason;
  events.values[at + Credited.microPoints] = microPoints;
}

/** Pays a settled position and forgets it. `automatic`: without a claim. */
export function pay(state: State, slot: number, row: number, automatic: boolean): void {
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
  values[at + Claimed.upLots] = paidLotsOf(state, slot, row, Outcome.UP);
  values[at + Claimed.downLots] = paidLotsOf(state, slot, row, Outcome.DOWN);
  values[at + Claimed.payoutMicros] = payout;
  values[at + Claimed.refundMicros] = refund;
  values[at + Claimed.automatic] = Number(automatic);
  state.positions.forget(row);
}

export function paidLots(state: State, slot: number, row: number): number {
  return paidLotsOf(state, slot, row, Outcome.UP) + paidLotsOf(state, slot, row, Outcome.DOWN);
}

function paidLotsOf(state: State, slot: number, row: number, outcome: Outcome): number {
  const resolution = state.markets.resolution(slot);
  if (resolution === Resolution.NONE)
    throw new Error('a market that is not resolved cannot be paid out');
  const loses = outcome === Outcome.UP ? Resolution.DOWN : Resolution.UP;
  return resolution === loses ? 0 : state.positions.lots(row, outcome);
}

/** A dollar per winning share; half a dollar per share of either outcome when VOID. */
export function payoutOf(state: State, slot: number, row: number): number {
  const isVoid = state.markets.resolution(slot) === Resolution.VOID;
  return paidLots(state, slot, row) * (isVoid ? MICROS_PER_SET / 2 : MICROS_PER_SET);
}

export function refundOf(state: State, slot: number, row: number): number {
  return state.markets.resolution(slot) === Resolution.VOID ? state.positions.feesMicros(row) : 0;
}
