/**
 * Orders enter the book, and leave it by cancellation. A resting buy holds its money and a resting
 * sell its shares. Leaving the book releases the rest of the hold.
 */

import { type CancelReason, Side } from '../interface/domain.js';
import { beginEvent, EventSlot, EventType } from '../interface/events.js';
import { outcomeOf, ownTicks, sideOf } from '../state/orders.js';
import type { State } from '../state/state.js';
import type { Taker } from './taker.js';

const Slot = EventSlot.orderRested;

/** Adds the remainder of an order to the book at its own price; returns its lots, at least one. */
export function restOrder(state: State, taker: Taker): number {
  const isBuy = taker.side === Side.BUY;
  const affordable = isBuy ? Math.floor(taker.budgetLeft / taker.priceTicks) : taker.lotsLeft;
  const lots = Math.min(affordable, taker.lotsLeft);
  if (isBuy) {
    state.ledger.hold(taker.userId, lots * taker.priceTicks);
    taker.budgetLeft -= lots * taker.priceTicks;
  } else {
    state.positions.touch(taker.positionRow);
    state.positions.addHeldLots(taker.positionRow, taker.outcome, lots);
  }
  const row = state.orders.add(taker, lots, state.nowMs);
  writeOrderEvent(state, EventType.orderRested, row);
  return lots;
}

/** Takes a resting order out of the book and releases what it held. */
export function cancelOrder(state: State, row: number, reason: CancelReason): void {
  const { orders } = state;
  const kind = orders.kind(row);
  const lots = orders.lots(row);
  if (sideOf(kind) === Side.BUY) {
    state.ledger.hold(orders.userId(row), 0 - lots * orders.level(row));
  } else {
    const position = orders.position(row);
    state.positions.touch(position);
    state.positions.addHeldLots(position, outcomeOf(kind), 0 - lots);
  }
  const at = writeOrderEvent(state, EventType.orderCancelled, row);
  state.events.values[at + EventSlot.orderCancelled.reason] = reason;
  orders.remove(row);
}

/** The fields that both events share; returns where the event starts. */
function writeOrderEvent(state: State, type: number, row: number): number {
  const { orders } = state;
  const kind = orders.kind(row);
  const at = beginEvent(state.events, type);
  const { values } = state.events;
  values[at + Slot.orderId] = orders.id(row);
  values[at + Slot.marketId] = state.markets.id(orders.slot(row));
  values[at + Slot.userId] = orders.userId(row);
  values[at + Slot.side] = sideOf(kind);
  values[at + Slot.outcome] = outcomeOf(kind);
  values[at + Slot.priceTicks] = ownTicks(kind, orders.level(row));
  values[at + Slot.sizeLots] = orders.lots(row);
  return at;
}
