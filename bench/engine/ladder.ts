/**
 * A bare price ladder: the cost of matching alone, without users, money, events, undo or digest.
 *
 * Invariant: on the same tape it makes the same trades as the engine.
 */
import { MICROS_PER_SET } from '../../engine/interface/limits.js';
import {
  ENTRY_INTS,
  Entry,
  Field,
  type OrderTape,
} from '../../test/support/workload/order-tape.js';
import type { Run, Start } from '../measure/race.js';

const LEVEL_BITS = 10;
const WORD_BITS = 5;
const WORDS = 1 << (LEVEL_BITS - WORD_BITS);

export class Ladder {
  trades = 0;
  restingLots = 0;
  private lastId = 0;
  private free = 0;
  private used = 0;
  // By row of an order. `after` also links the free rows.
  private readonly ids: Int32Array;
  private readonly lots: Int32Array;
  private readonly levels: Int32Array;
  private readonly before: Int32Array;
  private readonly after: Int32Array;
  /** By order id; 0 if the order does not rest. */
  private readonly rows: Int32Array;
  // By level: ladder << LEVEL_BITS | price.
  private readonly first: Int32Array;
  private readonly last: Int32Array;
  private readonly levelLots: Float64Array;
  /** One bit per level with orders; and, per ladder, one bit for each nonzero word. */
  private readonly words: Int32Array;
  private readonly summaries: Int32Array;

  constructor(size: { orders: number; ladders: number }) {
    const [orders, levels] = [size.orders + 1, size.ladders << LEVEL_BITS];
    this.ids = new Int32Array(orders);
    this.lots = new Int32Array(orders);
    this.levels = new Int32Array(orders);
    this.before = new Int32Array(orders);
    this.after = new Int32Array(orders);
    this.rows = new Int32Array(orders);
    this.first = new Int32Array(levels);
    this.last = new Int32Array(levels);
    this.levelLots = new Float64Array(levels);
    this.words = new Int32Array(size.ladders * WORDS);
    this.summaries = new Int32Array(size.ladders);
  }

  run({ ints }: OrderTape, from: number, to: number): void {
    for (let at = from * ENTRY_INTS; at < to * ENTRY_INTS; at += ENTRY_INTS) {
      if (ints[at + Field.type] === Entry.CANCEL) this.cancel(ints[at + Field.orderId]!);
      else this.place(ints[at + Field.ladder]!, ints[at + Field.level]!, ints[at + Field.lots]!);
    }
  }

  private place(ladder: number, price: number, lots: number): void {
    const id = ++this.lastId;
    let left = lots;
    while (left > 0) {
      const best = this.best(ladder ^ 1);
      if (best === 0 || best + price < MICROS_PER_SET) break;
      const level = ((ladder ^ 1) << LEVEL_BITS) | best;
      const row = this.first[level]!;
      const traded = Math.min(left, this.lots[row]!);
      left -= traded;
      this.trades++;
      this.takeLots(row, level, traded);
    }
    if (left > 0) this.rest(id, (ladder << LEVEL_BITS) | price, left);
  }

  private cancel(id: number): void {
    const row = this.rows[id]!;
    if (row !== 0) this.takeLots(row, this.levels[row]!, this.lots[row]!);
  }

  private takeLots(row: number, level: number, lots: number): void {
    this.restingLots -= lots;
    this.levelLots[level]! -= lots;
    this.lots[row]! -= lots;
    if (this.lots[row] === 0) this.remove(row, level);
  }

  private rest(id: number, level: number, lots: number): void {
    const row = this.free === 0 ? ++this.used : this.free;
    if (row === this.free) this.free = this.after[row]!;
    const before = this.last[level]!;
    this.ids[row] = id;
    this.rows[id] = row;
    this.lots[row] = lots;
    this.levels[row] = level;
    this.before[row] = before;
    this.after[row] = 0;
    this.last[level] = row;
    this.restingLots += lots;
    this.levelLots[level]! += lots;
    if (before !== 0) {
      this.after[before] = row;
      return;
    }
    this.first[level] = row;
    const word = level >>> WORD_BITS;
    this.words[word]! |= 1 << (level & 31);
    this.summaries[level >>> LEVEL_BITS]! |= 1 << (word & (WORDS - 1));
  }

  private remove(row: number, level: number): void {
    const before = this.before[row]!;
    const after = this.after[row]!;
    if (before === 0) this.first[level] = after;
    else this.after[before] = after;
    if (after === 0) this.last[level] = before;
    else this.before[after] = before;
    this.rows[this.ids[row]!] = 0;
    this.after[row] = this.free;
    this.free = row;
    if (before !== 0 || after !== 0) return;
    const word = level >>> WORD_BITS;
    this.words[word]! &= ~(1 << (level & 31));
    if (this.words[word] === 0) {
      this.summaries[level >>> LEVEL_BITS]! &= ~(1 << (word & (WORDS - 1)));
    }
  }

  /** 0 if there are no orders. */
  private best(ladder: number): number {
    const summary = this.summaries[ladder]!;
    if (summary === 0) return 0;
    const word = 31 - Math.clz32(summary);
    return (word << WORD_BITS) | (31 - Math.clz32(this.words[ladder * WORDS + word]!));
  }
}

export function ladderStart(tape: OrderTape): Start {
  return (): Run => {
    const ladder = new Ladder(tape);
    return {
      length: tape.length,
      advance: (from, to) => ladder.run(tape, from, to),
      finish: () => checkBook('ladder', ladder, tape),
    };
  };
}

export function checkBook(
  name: string,
  book: { trades: number; restingLots: number },
  tape: OrderTape,
): void {
  if (book.trades === tape.trades && book.restingLots === tape.restingLots) return;
  throw new Error(
    `the ${name} made ${book.trades} trades and has ${book.restingLots} lots; the plan has ${tape.trades} and ${tape.restingLots}`,
  );
}
