/** The status, the events and the result fields of an order that a command has placed. */
import { OrderStatus, Outcome, TimeInForce } from '../../interface/domain.js';
import { beginEvent, EventSlot, EventType, packName } from '../../interface/events.js';
import { MAX_TIME_MS } from '../../interface/limits.js';
import { amountFor, OrderResult, placedLots } from '../../interface/results.js';
import type { State } from '../../state/state.js';
import { type Taker, WITH_THIS_COMMAND } from './taker.js';

const Placed = EventSlot.orderPlaced;

/** `nextMakerLevel`: the level of the next acceptable maker; 0 if none. */
export function statusOf(taker: Taker, restingLots: number, nextMakerLevel: number): OrderStatus {
  const isPartial = taker.filledLots > 0;
  if (restingLots > 0) return isPartial ? OrderStatus.PARTIALLY_FILLED : OrderStatus.RESTING;
  if (taker.hasTripped) return OrderStatus.ORDER_GROUP;
  if (taker.isStopped) return isPartial ? OrderStatus.STOPPED : OrderStatus.STOPPED_UNFILLED;
  if (nextMakerLevel > 0) return OrderStatus.TRADE_LIMIT;
  const isDropped = taker.timeInForce === TimeInForce.GTC;
  return isDropped ? OrderStatus.TOO_SMALL_TO_REST : OrderStatus.PARTIALLY_FILLED;
}

export function writePlacedEvent(
  state: State,
  taker: Taker,
  restingLots: number,
  status: number,
): void {
  const at = beginEvent(state.events, EventType.orderPlaced);
  const { values } = state.events;
  values[at + Placed.orderId] = taker.orderId;
  values[at + Placed.marketId] = taker.marketId;
  values[at + Placed.userId] = taker.userId;
  values[at + Placed.side] = taker.side;
  values[at + Placed.outcome] = taker.outcome;
  values[at + Placed.priceTicks] = taker.priceTicks;
  values[at + Placed.restingLots] = restingLots;
  const { sizeLots, filledLots } = taker;
  values[at + Placed.sizeLots] = placedLots(sizeLots, filledLots, restingLots, status);
  values[at + Placed.status] = status;
  values[at + Placed.timeInForce] = taker.timeInForce;
  values[at + Placed.postOnly] = Number(taker.postOnly);
  values[at + Placed.selfTrade] = taker.selfTrade;
  values[at + Placed.expiresAtMs] = taker.expiresAtMs === MAX_TIME_MS ? 0 : taker.expiresAtMs;
  values[at + Placed.anew] = taker.placedAfterMs === WITH_THIS_COMMAND ? 0 : 1;
  values[at + Placed.aheadLots] = taker.aheadLots;
  if (taker.isForAmount) {
    state.amounts.push(taker.orderId);
    state.amounts.push(amountFor(taker.budgetMicros, taker.budgetLeft, filledLots + restingLots));
  }
}

export function writeNameEvent({ events }: State, taker: Taker, bytes: Uint8Array): void {
  const at = beginEvent(events, EventType.orderNamed);
  events.values[at + EventSlot.orderNamed.orderId] = taker.orderId;
  events.values[at + EventSlot.orderNamed.userId] = taker.userId;
  packName(events.values, at, bytes, taker.nameFrom, taker.nameLength);
}

export function writeGroupEvent({ events, orderGroups }: State, taker: Taker): void {
  events.write(
    EventType.orderGrouped,
    taker.orderId,
    taker.userId,
    orderGroups.groupId(taker.groupRow),
  );
}

/** Writes the fields after the head at `base`, without the fills. */
export function writeOrderResult(
  state: State,
  taker: Taker,
  base: number,
  restingLots: number,
  status: number,
): void {
  const { values } = state.result;
  const row = taker.positionRow;
  values[base + OrderResult.orderId] = taker.orderId;
  values[base + OrderResult.marketId] = taker.marketId;
  values[base + OrderResult.userId] = taker.userId;
  values[base + OrderResult.outcome] = taker.outcome;
  values[base + OrderResult.status] = status;
  values[base + OrderResult.filledLots] = taker.filledLots;
  values[base + OrderResult.valueMicros] = taker.valueMicros;
  values[base + OrderResult.feeMicros] = taker.feeMicros;
  values[base + OrderResult.unspentMicros] = taker.budgetLeft;
  values[base + OrderResult.restingLots] = restingLots;
  values[base + OrderResult.aheadLots] = taker.aheadLots;
  values[base + OrderResult.availableMicros] = state.ledger.available(taker.userId);
  values[base + OrderResult.heldMicros] = state.ledger.held(taker.userId);
  values[base + OrderResult.upLots] = row === 0 ? 0 : state.positions.lots(row, Outcome.UP);
  values[base + OrderResult.downLots] = row === 0 ? 0 : state.positions.lots(row, Outcome.DOWN);
  values[base + OrderResult.fillCount] = taker.fillCount;
}
