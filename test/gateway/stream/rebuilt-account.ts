/** The account that a client builds from the messages of `user`, checked at every message. */
import { expect } from 'vitest';
import type { Message } from './support.js';

/** Decimals as integers, so that sums are exact. */
export const micros = (dollars: number) => Math.round(dollars * 1e6);
export const lots = (shares: number) => Math.round(shares * 1e3);

/** The change of money by an event: [available, held]. */
function moneyOf(event: Message): [number, number] {
  const isBuy = event.side === 'BUY';
  switch (event.type) {
    case 'order_rested':
    case 'order_cancelled': {
      const hold = isBuy ? lots(event.price) * lots(event.shares) : 0;
      return event.type === 'order_rested' ? [-hold, hold] : [hold, -hold];
    }
    case 'order_amended': {
      const kept = event.keptPriority ? lots(event.price) * lots(event.shares) : 0;
      const released = isBuy ? lots(event.oldPrice) * lots(event.oldShares) - kept : 0;
      return [released, -released];
    }
    case 'fill':
      if (!isBuy) return [micros(event.value), 0];
      return event.role === 'taker'
        ? [-micros(event.value) - micros(event.fee), 0]
        : [0, -micros(event.value)];
    case 'sets_split':
      return [-micros(event.shares) - micros(event.fee), 0];
    case 'sets_merged':
      return [micros(event.shares), 0];
    case 'claimed':
      return [micros(event.payout) + micros(event.refundedFees), 0];
    case 'deposited':
    case 'referral_earned':
      return [micros(event.amount), 0];
    case 'withdrawn':
    case 'staked':
      return [-micros(event.amount), 0];
    case 'unstaked':
      return [micros(event.amount) + micros(event.yield), 0];
    case 'yield_claimed':
      return [micros(event.yield), 0];
    case 'order_ended':
    case 'position_settled':
    case 'points_credited':
      return [0, 0];
    default:
      throw new Error(`an event of an unknown type: ${event.type}`);
  }
}

/** What a client of the stream would implement. */
export class RebuiltAccount {
  available = 0;
  held = 0;
  readonly orders = new Map<string, number>();
  readonly positions = new Map<string, Message[]>();
  readonly seen = new Map<string, number>();

  take({ type, data }: Message): void {
    if (type === 'snapshot') this.begin(data);
    else if (type === 'delta') this.change(data);
    else return;
    for (const { marketId, outcomes } of data.positions) this.positions.set(marketId, outcomes);
  }

  positionList(): object[] {
    return [...this.positions.values()].flat().map(heldOf).sort(byPlace);
  }

  private begin({ balance, orders }: Message): void {
    this.available = micros(balance.available);
    this.held = micros(balance.held);
    this.orders.clear();
    for (const { orderId, shares } of orders) this.orders.set(orderId, lots(shares));
    this.positions.clear();
  }

  private change({ balance, events }: Message): void {
    for (const event of events) {
      this.seen.set(event.type, (this.seen.get(event.type) ?? 0) + 1);
      const [available, held] = moneyOf(event);
      this.available += available;
      this.held += held;
      this.changeOrder(event);
    }
    expect([this.available, this.held]).toEqual([micros(balance.available), micros(balance.held)]);
    expect(micros(balance.total)).toBe(this.available + this.held);
  }

  private changeOrder({ type, orderId, shares, oldShares, keptPriority }: Message): void {
    const left = this.orders.get(orderId);
    if (type === 'order_rested') this.orders.set(orderId, lots(shares));
    else if (type === 'order_cancelled') {
      expect(left).toBe(lots(shares));
      this.orders.delete(orderId);
    } else if (type === 'order_amended') {
      expect(left).toBe(lots(oldShares));
      if (keptPriority && shares > 0) this.orders.set(orderId, lots(shares));
      else this.orders.delete(orderId);
    } else if (type === 'fill' && left !== undefined) {
      if (left === lots(shares)) this.orders.delete(orderId);
      else this.orders.set(orderId, left - lots(shares));
    }
  }
}

/** Price, value and status depend on the book, which is another channel. */
export const heldOf = ({ marketId, outcome, shares, cost, averagePrice }: Message) => ({
  marketId,
  outcome,
  shares,
  cost,
  averagePrice,
});
export const byPlace = (a: Message, b: Message) =>
  `${a.marketId}${a.outcome}`.localeCompare(`${b.marketId}${b.outcome}`);
