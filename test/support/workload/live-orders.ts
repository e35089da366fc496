/** The resting orders and their lots, from the engine's events alone, for the workload. */
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import { eachEvent } from './events.js';

export interface LiveOrder {
  orderId: number;
  userId: number;
  marketId: number;
  lots: number;
}

/** How many ended orders are kept for late cancels. */
const GONE_REMEMBERED = 256;

export interface EventCounts {
  trades: number;
  /** Counts of matches by type: transfer, mint, merge. */
  matches: [number, number, number];
  byEvent: Map<string, number>;
}

export class LiveOrders {
  private readonly byMarket = new Map<number, LiveOrder[]>();
  private readonly placeOf = new Map<number, { order: LiveOrder; index: number }>();
  private readonly gone: LiveOrder[] = [];
  private goneNext = 0;
  most = 0;

  get count(): number {
    return this.placeOf.size;
  }

  get lots(): number {
    let lots = 0;
    for (const { order } of this.placeOf.values()) lots += order.lots;
    return lots;
  }

  in(marketId: number): readonly LiveOrder[] {
    return this.byMarket.get(marketId) ?? [];
  }

  /** A recently filled or cancelled order, or null. */
  lastGone(index: number): LiveOrder | null {
    return this.gone.length === 0 ? null : this.gone[index % this.gone.length]!;
  }

  rested(order: LiveOrder): void {
    let orders = this.byMarket.get(order.marketId);
    if (orders === undefined) {
      orders = [];
      this.byMarket.set(order.marketId, orders);
    }
    this.placeOf.set(order.orderId, { order, index: orders.length });
    orders.push(order);
    this.most = Math.max(this.most, this.placeOf.size);
  }

  filled(orderId: number, lots: number): void {
    const place = this.placeOf.get(orderId);
    if (place === undefined)
      throw new Error(`a trade names the order ${orderId}, which does not rest`);
    place.order.lots -= lots;
    if (place.order.lots === 0) this.remove(orderId);
  }

  remove(orderId: number): void {
    const place = this.placeOf.get(orderId);
    if (place === undefined) throw new Error(`the order ${orderId} does not rest`);
    const { order, index } = place;
    const orders = this.byMarket.get(order.marketId)!;
    const last = orders.pop()!;
    if (last !== order) {
      orders[index] = last;
      this.placeOf.get(last.orderId)!.index = index;
    }
    if (orders.length === 0) this.byMarket.delete(order.marketId);
    this.placeOf.delete(orderId);
    this.gone[this.goneNext] = order;
    this.goneNext = (this.goneNext + 1) % GONE_REMEMBERED;
  }
}

/** Further results of `follow`: orders cancelled from the book, positions with a payout. */
export interface Followed {
  cancelled: (orderId: number) => void;
  claimable: (userId: number, marketId: number) => void;
}

export function follow(
  events: NumberBuffer,
  orders: LiveOrders,
  counts: EventCounts,
  { cancelled, claimable }: Followed,
): void {
  eachEvent(events, (name, field) => {
    counts.byEvent.set(name, (counts.byEvent.get(name) ?? 0) + 1);
    switch (name) {
      case 'orderPlaced': {
        const [orderId, marketId] = [field('orderId'), field('marketId')];
        const lots = field('restingLots');
        if (lots > 0) orders.rested({ orderId, marketId, userId: field('userId'), lots });
        return;
      }
      case 'orderCancelled':
        orders.remove(field('orderId'));
        cancelled(field('orderId'));
        return;
      case 'trade':
        counts.trades++;
        counts.matches[field('matchType') as 0 | 1 | 2]++;
        orders.filled(field('makerOrderId'), field('sizeLots'));
        return;
      case 'positionSettled':
        if (field('payoutMicros') > 0) claimable(field('userId'), field('marketId'));
    }
  });
}
