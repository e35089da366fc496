/**
 * An order book without users and money: an array of resting orders, best price first, then oldest
 * first. With `keepsPlace` it is wrong on purpose: a modification at the same price keeps its
 * place.
 */
import type { Message } from '../../support/workload/messages.js';

type Resting = { id: number; isBid: boolean; ticks: number; lots: number };

export class BareBook {
  private resting: Resting[] = [];

  constructor(private readonly keepsPlace = false) {}

  /** Returns a report in the form of MessageOrders. */
  report(message: Message): string {
    if (message.kind === 'new') return this.place({ ...message }, message.rests);
    const order = this.resting.find(({ id }) => id === message.id);
    if (order === undefined) return 'gone';
    if (this.keepsPlace && message.kind === 'modify' && message.ticks === order.ticks) {
      order.lots = message.lots;
      return `${order.lots}`;
    }
    this.resting = this.resting.filter((one) => one !== order);
    if (message.kind === 'cancel') return `cancelled ${order.lots}`;
    return this.place({ ...order, ticks: message.ticks, lots: message.lots }, true);
  }

  private place({ id, isBid, ticks, lots }: Resting, rests: boolean): string {
    const fills: string[] = [];
    const others = this.resting.filter((one) => one.isBid !== isBid);
    others.sort((a, b) => (isBid ? a.ticks - b.ticks : b.ticks - a.ticks));
    for (const maker of others) {
      if (lots === 0 || (isBid ? maker.ticks > ticks : maker.ticks < ticks)) break;
      const traded = Math.min(lots, maker.lots);
      maker.lots -= traded;
      lots -= traded;
      fills.push(`${maker.id}@${maker.ticks}*${traded}`);
    }
    this.resting = this.resting.filter((one) => one.lots > 0);
    if (rests && lots > 0) this.resting.push({ id, isBid, ticks, lots });
    return [...fills, rests ? lots : 0].join(' ');
  }
}
