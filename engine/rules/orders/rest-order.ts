/**
 * Orders enter the book, and leave it by cancellation.
 *
 * Invariant: a resting buy holds its money and a resting sell its shares, and leaving the book
 * releases the rest of the hold.
 */

import { type CancelReason, Side, startOfMarketMs, WINDOW_MS } from '../../interface/domain.js';
import { beginEvent, EventSlot, EventType } from '../../interface/events.js';
import { MAX_ORDER_LOTS } from '../../interface/limits.js';
import { cancelledFor } from '../../state/book/recent-orders.js';
import { outcomeOf, priceTicksOf, sideOf } from '../../state/orders.js';
import type { State } from '../../state/state.js';
import { type Taker, WITH_THIS_COMMAND } from './taker.js';

const Cancelled = EventSlot.orderCancelled;

/**
 * Whether the lots are worth the minimum. A sale of a whole position is no exception: many accounts
 * with a lot each could wall off the book for nothing.
 */
export function mayRest({ rules }: State, taker: Taker, lots: number): boolean {
  return lots * taker.priceTicks >= rules.minRestingMicros;
}

/** Adds the remainder of an order to the book at its own price; returns its lots, at least one. */
export function restOrder(state: State, taker: Taker): number {
  const lots = taker.remainderLots();
  if (taker.side === Side.BUY) {
    state.ledger.hold(taker.userId, lots * taker.priceTicks);
    taker.budgetLeft -= lots * taker.priceTicks;
  } else {
    state.positions.touch(taker.positionRow);
    state.positions.addHeldLots(taker.positionRow, taker.outcome, lots);
  }
  const row = state.orders.add(
    taker,
    lots,
    restedLots(state, taker, lots),
    taker.placedAfterMs === WITH_THIS_COMMAND
      ? state.nowMs - startOfMarketMs(taker.marketId)
      : taker.placedAfterMs,
  );
  taker.aheadLots = state.levels.lots(state.orders.levelRow(row)) - lots;
  if (taker.isForAmount) {
    const isMost = state.orders.originalLots(row) === MAX_ORDER_LOTS;
    state.orders.noteUnspent(row, isMost ? 0 : taker.budgetLeft);
  }
  if (taker.detailsRow !== 0) restDetails(state, taker, row);
  return lots;
}

/** Total size: resting plus filled. Fills are in the details, if there are any. */
function restedLots(state: State, taker: Taker, lots: number): number {
  if (taker.filledLots > 0 || taker.detailsRow !== 0) rememberFills(state, taker);
  const details = taker.detailsRow;
  return lots + (details === 0 ? 0 : state.orderDetails.filledLots(details));
}

function rememberFills(state: State, taker: Taker): void {
  const { orderDetails } = state;
  if (taker.detailsRow === 0) taker.detailsRow = orderDetails.add(taker.orderId);
  const details = taker.detailsRow;
  orderDetails.touch(details);
  orderDetails.addFilledLots(details, taker.filledLots);
  orderDetails.addValueMicros(details, taker.valueMicros);
  orderDetails.addFeeMicros(details, taker.feeMicros);
}

function restDetails(state: State, taker: Taker, row: number): void {
  const { orderDetails } = state;
  const details = taker.detailsRow;
  orderDetails.touch(details);
  orderDetails.setOrder(details, row);
  orderDetails.setExpiresAtMs(details, taker.expiresAtMs);
  if (taker.groupRow !== 0) state.orderGroups.addOrder(taker.groupRow, details);
  if (taker.expiresAtMs < startOfMarketMs(taker.marketId) + WINDOW_MS) state.expiries.add(details);
}

/** When a resting order was placed; an amendment does not change it. */
export function placedAtMs({ markets, orders }: State, row: number): number {
  return startOfMarketMs(markets.id(orders.slot(row))) + orders.placedAfterMs(row);
}

/** Takes a resting order out of the book and releases what it held. */
export function cancelOrder(state: State, row: number, reason: CancelReason): void {
  const { orders } = state;
  const lots = orders.lots(row);
  const kind = orders.kind(row);
  const marketId = state.markets.id(orders.slot(row));
  releaseOrder(state, row, lots);
  const at = beginEvent(state.events, EventType.orderCancelled);
  const { values } = state.events;
  values[at + Cancelled.orderId] = orders.id(row);
  values[at + Cancelled.marketId] = marketId;
  values[at + Cancelled.userId] = orders.userId(row);
  values[at + Cancelled.side] = sideOf(kind);
  values[at + Cancelled.outcome] = outcomeOf(kind);
  values[at + Cancelled.priceTicks] = priceTicksOf(kind, orders.level(row));
  values[at + Cancelled.sizeLots] = lots;
  values[at + Cancelled.reason] = reason;
  orders.remove(row, marketId, cancelledFor(reason));
}

/**
 * Cancels those of a user's orders that `picks` accepts, in the order in which they began to rest.
 * Returns their number.
 */
export function cancelOrders(
  state: State,
  userId: number,
  reason: CancelReason,
  picks: (row: number) => boolean,
): number {
  const { accounts, orders } = state;
  let cancelled = 0;
  for (let row = accounts.firstOrder(userId); row !== 0; ) {
    const next = orders.userAfter(row);
    if (picks(row)) {
      cancelOrder(state, row, reason);
      cancelled++;
    }
    row = next;
  }
  return cancelled;
}

export function releaseOrder(state: State, row: number, lots: number): void {
  const { orders } = state;
  const kind = orders.kind(row);
  if (sideOf(kind) === Side.BUY) {
    state.ledger.hold(orders.userId(row), 0 - lots * orders.level(row));
  } else {
    const position = orders.position(row);
    state.positions.touch(position);
    state.positions.addHeldLots(position, outcomeOf(kind), 0 - lots);
  }
}
