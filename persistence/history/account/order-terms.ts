/**
 * The terms of an order in one integer, the column `terms` of userOrder: what the entry is, and the
 * small facts about the order. A number never changes its meaning within a version of the history.
 */
import type { CancelReason, OrderStatus, Outcome, Side } from '../../../engine/interface/domain.js';

/** What an entry of userOrder is. */
export const OrderEntry = { PLACED: 0, CANCELLED: 1 } as const;
export type OrderEntry = (typeof OrderEntry)[keyof typeof OrderEntry];

export interface OrderTerms {
  entry: OrderEntry;
  side: Side;
  outcome: Outcome;
  /** 0 in a cancellation, like the two below. */
  timeInForce: number;
  postOnly: number;
  /** At the end of the command that placed it. */
  status: OrderStatus;
  /** 0 when placed. */
  reason: CancelReason;
}

/** entry 2 bits, side 1, outcome 1, time in force 2, postOnly 1, status 2, then the reason. */
const SIDE = 2;
const OUTCOME = 3;
const TIME_IN_FORCE = 4;
const POST_ONLY = 6;
const STATUS = 7;
const REASON = 9;

export function placedTerms(
  sideOfIt: number,
  outcome: number,
  timeInForce: number,
  postOnly: boolean,
  status: number,
): number {
  return (
    OrderEntry.PLACED |
    (sideOfIt << SIDE) |
    (outcome << OUTCOME) |
    (timeInForce << TIME_IN_FORCE) |
    (Number(postOnly) << POST_ONLY) |
    (status << STATUS)
  );
}

export function cancelledTerms(sideOfIt: number, outcome: number, reason: number): number {
  return OrderEntry.CANCELLED | (sideOfIt << SIDE) | (outcome << OUTCOME) | (reason << REASON);
}

export function orderEntryOf(terms: number): number {
  return terms & 3;
}

export function termsOf(terms: number): OrderTerms {
  return {
    entry: orderEntryOf(terms) as OrderEntry,
    side: ((terms >> SIDE) & 1) as Side,
    outcome: ((terms >> OUTCOME) & 1) as Outcome,
    timeInForce: (terms >> TIME_IN_FORCE) & 3,
    postOnly: (terms >> POST_ONLY) & 1,
    status: ((terms >> STATUS) & 3) as OrderStatus,
    reason: (terms >> REASON) as CancelReason,
  };
}
