/**
 * The orders and cancels of a workload without users and money, for the two books that have
 * neither: the bare ladder and the peer.
 *
 * Invariant: a book that takes the entries in order, best price first and oldest order first,
 * makes the trades of the plan. So the tape has the lots that an order filled and rested, not its
 * budget; a cancel for each order that the engine removed from the book (a self-trade, the end of a
 * market); and no order that the engine refused. The n-th order has the id n, as in the engine.
 */
import { type Outcome, Side } from '../../../engine/interface/domain.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { bookSideOf, kindOf, priceTicksOf } from '../../../engine/state/orders.js';

export const Entry = { CANCEL: 0, LIMIT: 1, MARKET: 2 } as const;
export const ENTRY_INTS = 4;
/** The fields of an entry. An order's ladder and level are those of engine/state/orders.ts. */
export const Field = { type: 0, ladder: 1, level: 2, lots: 3, orderId: 3 } as const;

export interface TapeOrder {
  marketId: number;
  side: Side;
  outcome: Outcome;
  priceTicks: number;
  lots: number;
  rests: boolean;
}

export class OrderTape {
  ints = new Int32Array(1 << 12);
  length = 0;
  /** The number of orders, which is also the last order's id. */
  orders = 0;
  /** The book's trades, and its lots after the last entry. */
  trades = 0;
  restingLots = 0;
  private readonly books = new Map<number, number>();

  get ladders(): number {
    return 2 * this.books.size;
  }

  order({ marketId, side, outcome, priceTicks, lots, rests }: TapeOrder): void {
    const kind = kindOf(side, outcome);
    const ladder = 2 * this.bookOf(marketId) + bookSideOf(kind);
    this.orders++;
    this.append(rests ? Entry.LIMIT : Entry.MARKET, ladder, priceTicksOf(kind, priceTicks), lots);
  }

  cancel(orderId: number): void {
    this.append(Entry.CANCEL, 0, 0, orderId);
  }

  clear(): void {
    this.length = 0;
  }

  private bookOf(marketId: number): number {
    const book = this.books.get(marketId) ?? this.books.size;
    this.books.set(marketId, book);
    return book;
  }

  private append(...fields: [type: number, ladder: number, level: number, number: number]): void {
    if (fields[Field.lots] > 0x7fffffff) throw new RangeError(`${fields[Field.lots]} in an entry`);
    const at = this.length++ * ENTRY_INTS;
    if (at === this.ints.length) {
      const { ints } = this;
      this.ints = new Int32Array(2 * ints.length);
      this.ints.set(ints);
    }
    this.ints.set(fields, at);
  }
}

/** A ladder's side, and the price of a level in ticks of UP. */
export function sideOf(ladder: number): Side {
  return (ladder & 1) === 0 ? Side.BUY : Side.SELL;
}
export function upTicksOf(ladder: number, level: number): number {
  return sideOf(ladder) === Side.BUY ? level : MICROS_PER_SET - level;
}
