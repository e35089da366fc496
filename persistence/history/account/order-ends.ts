/**
 * Records how orders that rested end, so that an order is found complete however long it rested and
 * whatever its account did in the meantime.
 *
 * Invariant: an order that has rested, and no longer rests, has an entry in orderEnd, and the last
 * of its entries says how it ended.
 */
import type { Engine } from '../../../engine/engine.js';
import { ticksIn } from '../../../engine/interface/domain.js';
import { EventSlot } from '../../../engine/interface/events.js';
import { PendingLists } from '../lists.js';
import {
  AMENDED,
  columnsOf,
  ENDED_ANEW,
  FILLED_IN_BOOK,
  ORDER_END,
  ORDERS_IN_BLOCK,
} from '../runs/format.js';

export type OrdersEngine = Pick<Engine, 'sequence' | 'nowMs' | 'rests' | 'filledBeforeRest'>;

const Trade = EventSlot.trade;
const Placed = EventSlot.orderPlaced;
const Cancelled = EventSlot.orderCancelled;
const Amended = EventSlot.orderAmended;
const End = columnsOf(ORDER_END);

/** The list that contains the end of an order. */
export function blockOf(orderId: number): number {
  return Math.floor(orderId / ORDERS_IN_BLOCK);
}

interface OrderEnd {
  orderId: number;
  how: number;
  leftLots: number;
  priceTicks: number;
}

export class OrderEnds {
  readonly ends = new PendingLists(ORDER_END);
  /** The fills, in this command, of the order that is being placed. */
  private taken = { orderId: 0, lots: 0, micros: 0, feeMicros: 0 };

  constructor(
    private readonly engine: OrdersEngine,
    /** The number of entries. */
    private readonly state: { orderEnds: number },
  ) {}

  /**
   * Notes a trade. If the maker's order is gone by the end of the command, this trade or a later
   * event ended it.
   */
  trade(values: Float64Array, at: number): void {
    this.take(values, at);
    const orderId = values[at + Trade.makerOrderId]!;
    if (this.engine.rests(orderId)) return;
    const priceTicks = ticksIn(values[at + Trade.makerOutcome]!, values[at + Trade.upTicks]!);
    this.add({ orderId, how: FILLED_IN_BOOK, leftLots: 0, priceTicks });
  }

  cancelled(values: Float64Array, at: number): void {
    this.add({
      orderId: values[at + Cancelled.orderId]!,
      how: values[at + Cancelled.reason]!,
      leftLots: values[at + Cancelled.sizeLots]!,
      priceTicks: values[at + Cancelled.priceTicks]!,
    });
  }

  amendment(values: Float64Array, at: number): void {
    const orderId = values[at + Amended.orderId]!;
    const leftLots = values[at + Amended.originalLots]!;
    this.add({ orderId, how: AMENDED, leftLots, priceTicks: 0 });
    const isFilled = values[at + Amended.keptPriority] === 1 && values[at + Amended.sizeLots] === 0;
    const priceTicks = values[at + Amended.oldPriceTicks]!;
    if (isFilled) this.add({ orderId, how: FILLED_IN_BOOK, leftLots: 0, priceTicks });
  }

  placed(values: Float64Array, at: number): void {
    if (values[at + Placed.anew] === 0 || values[at + Placed.restingLots]! > 0) return;
    this.add({
      orderId: values[at + Placed.orderId]!,
      how: ENDED_ANEW + values[at + Placed.status]!,
      leftLots: 0,
      priceTicks: values[at + Placed.priceTicks]!,
    });
  }

  private take(values: Float64Array, at: number): void {
    const orderId = values[at + Trade.takerOrderId]!;
    if (orderId !== this.taken.orderId) this.taken = { orderId, lots: 0, micros: 0, feeMicros: 0 };
    const lots = values[at + Trade.sizeLots]!;
    const ticks = ticksIn(values[at + Trade.takerOutcome]!, values[at + Trade.upTicks]!);
    this.taken.lots += lots;
    this.taken.micros += lots * ticks;
    this.taken.feeMicros += values[at + Trade.feeMicros]!;
  }

  private add({ orderId, how, leftLots, priceTicks }: OrderEnd): void {
    const { engine, ends, taken } = this;
    const before = engine.filledBeforeRest(orderId);
    const isTaker = how >= ENDED_ANEW && taken.orderId === orderId;
    const to = ends.add(blockOf(orderId), ++this.state.orderEnds);
    const { values } = ends;
    values[to + End.orderId] = orderId;
    values[to + End.how] = how;
    values[to + End.leftLots] = leftLots;
    values[to + End.priceTicks] = priceTicks;
    values[to + End.filledLots] = before.filledLots + (isTaker ? taken.lots : 0);
    values[to + End.valueMicros] = before.valueMicros + (isTaker ? taken.micros : 0);
    values[to + End.feeMicros] = before.feeMicros + (isTaker ? taken.feeMicros : 0);
    values[to + End.atMs] = engine.nowMs;
  }
}
