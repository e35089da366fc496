/**
 * Orders enter the book, and leave it by cancellation. A resting buy holds its money and a resting
 * sell its shares. Leaving the book releases the rest of the hold.
 */

import { type CancelReason, Side } from '../interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../interface/events.js';
import { bookSideOf, outcomeOf, ownTicks, sideOf } from '../state/orders.js';
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
    const row = state.positions.find(taker.userId, taker.slot);
    state.positions.heldLots.add(row * 2 + taker.outcome, lots);
  }
  const row = state.orders.add(
    state.markets.book(taker.slot)[taker.bookSide],
    taker,
    lots,
    state.nowMs,
  );
  writeOrderEvent(state, EventType.orderRested, row);
  return lots;
}

/** Takes a resting order out of the book and releases what it held. */
export function cancelOrder(state: State, row: number, reason: CancelReason): void {
  const { orders } = state;
  const kind = orders.kind.values[row]!;
  const userId = orders.userId.values[row]!;
  const slot = orders.slot.values[row]!;
  const lots = orders.lots.values[row]!;
  if (sideOf(kind) === Side.BUY) {
    state.ledger.hold(userId, 0 - lots * orders.level.values[row]!);
  } else {
    const position = state.positions.find(userId, slot);
    state.positions.heldLots.add(position * 2 + outcomeOf(kind), 0 - lots);
  }
  writeOrderEvent(state, EventType.orderCancelled, row);
  state.events.push(reason);
  orders.remove(state.markets.book(slot)[bookSideOf(kind)], row);
}

/** The fields that both events share. */
function writeOrderEvent(state: State, type: number, row: number): void {
  const { orders } = state;
  const kind = orders.kind.values[row]!;
  const at = state.events.reserve(EVENT_LENGTHS[EventType.orderRested]!);
  const { values } = state.events;
  values[at] = type;
  values[at + Slot.orderId] = orders.id.values[row]!;
  values[at + Slot.marketId] = state.markets.id.values[orders.slot.values[row]!]!;
  values[at + Slot.userId] = orders.userId.values[row]!;
  values[at + Slot.side] = sideOf(kind);
  values[at + Slot.outcome] = outcomeOf(kind);
  values[at + Slot.priceTicks] = ownTicks(kind, orders.level.values[row]!);
  values[at + Slot.sizeLots] = orders.lots.values[row]!;
}
