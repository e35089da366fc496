/**
 * The terms of an order in one integer, the column `terms` of userOrder: what the entry is, and the
 * small facts about the order. A number never changes its meaning within a version of the history.
 */
import type { CommandRecord } from '../../../engine/interface/command-record.js';
import { CommandKind } from '../../../engine/interface/commands.js';
import {
  type CancelReason,
  type OrderStatus,
  type Outcome,
  Side,
} from '../../../engine/interface/domain.js';

/**
 * What an entry of userOrder is. An amendment that makes an order smaller where it is, or closes
 * it, is REDUCED. Any other is two entries: TAKEN_OUT of the book, and then REPLACED, placed anew.
 */
export const OrderEntry = {
  PLACED: 0,
  CANCELLED: 1,
  REDUCED: 2,
  TAKEN_OUT: 3,
  REPLACED: 4,
} as const;
export type OrderEntry = (typeof OrderEntry)[keyof typeof OrderEntry];

export interface OrderTerms {
  entry: OrderEntry;
  side: Side;
  outcome: Outcome;
  /** 0 in an entry of lots that leave the book, like the two below. */
  timeInForce: number;
  postOnly: number;
  /** At the end of the command that placed it. */
  status: OrderStatus;
  /** Of a cancellation; otherwise 0. */
  reason: CancelReason;
  /** Where the rest of the order's terms is (order-details.ts); 0: it has none. */
  detail: number;
}

/** entry 3 bits, side 1, outcome 1, time in force 2, postOnly 1, status 3, reason 4, detail 7. */
const SIDE = 3;
const OUTCOME = 4;
const TIME_IN_FORCE = 5;
const POST_ONLY = 7;
const STATUS = 8;
const REASON = 11;
const DETAIL = 15;

/** @param order the command, or the operation of a batch, that places it. */
export function placedTerms(order: CommandRecord, status: number, detail: number): number {
  const side = order.kind === CommandKind.buy ? Side.BUY : Side.SELL;
  return (
    OrderEntry.PLACED |
    (side << SIDE) |
    (order.outcome << OUTCOME) |
    (order.timeInForce << TIME_IN_FORCE) |
    (Number(order.isSet) << POST_ONLY) |
    (status << STATUS) |
    (detail << DETAIL)
  );
}

/** Of an order that is placed anew, which is GTC. The first entry knows whether it is post-only. */
export function replacedTerms(sideOfIt: number, outcome: number, status: number): number {
  return OrderEntry.REPLACED | (sideOfIt << SIDE) | (outcome << OUTCOME) | (status << STATUS);
}

/** Of lots that an amendment takes from the book. */
export function leavingTerms(
  entry: typeof OrderEntry.REDUCED | typeof OrderEntry.TAKEN_OUT,
  sideOfIt: number,
  outcome: number,
): number {
  return entry | (sideOfIt << SIDE) | (outcome << OUTCOME);
}

export function cancelledTerms(sideOfIt: number, outcome: number, reason: number): number {
  return OrderEntry.CANCELLED | (sideOfIt << SIDE) | (outcome << OUTCOME) | (reason << REASON);
}

export function orderEntryOf(terms: number): number {
  return terms & 7;
}

export function termsOf(terms: number): OrderTerms {
  return {
    entry: orderEntryOf(terms) as OrderEntry,
    side: ((terms >> SIDE) & 1) as Side,
    outcome: ((terms >> OUTCOME) & 1) as Outcome,
    timeInForce: (terms >> TIME_IN_FORCE) & 3,
    postOnly: (terms >> POST_ONLY) & 1,
    status: ((terms >> STATUS) & 7) as OrderStatus,
    reason: ((terms >> REASON) & 15) as CancelReason,
    detail: terms >> DETAIL,
  };
}
