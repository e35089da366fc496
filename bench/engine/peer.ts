/**
 * The peer: `nodejs-order-book`, without users or money. Its id texts are made before the timing.
 */
import { OrderBook, Side as PeerSide } from 'nodejs-order-book';
import { Side } from '../../engine/interface/domain.js';
import {
  ENTRY_INTS,
  Entry,
  Field,
  type OrderTape,
  sideOf,
  upTicksOf,
} from '../../test/support/workload/order-tape.js';
import type { Run, Start } from '../measure/race.js';
import { checkBook } from './ladder.js';

/** One book per market. */
export function peerStart(tape: OrderTape): Start {
  const ids = Array.from({ length: tape.orders + 1 }, (_, id) => String(id));
  return () => new PeerRun(tape, ids);
}

class PeerRun implements Run {
  readonly length: number;
  private trades = 0;
  private lastId = 0;
  private readonly books: OrderBook[];

  constructor(
    private readonly tape: OrderTape,
    private readonly ids: readonly string[],
  ) {
    this.length = tape.length;
    this.books = Array.from({ length: tape.ladders / 2 }, () => new OrderBook());
  }

  advance(from: number, to: number): void {
    const { ints } = this.tape;
    for (let at = from * ENTRY_INTS; at < to * ENTRY_INTS; at += ENTRY_INTS) {
      const number = ints[at + Field.lots]!;
      const type = ints[at + Field.type];
      if (type === Entry.CANCEL) for (const book of this.books) book.cancel(this.ids[number]!);
      else this.order(ints[at + Field.ladder]!, ints[at + Field.level]!, number, type);
    }
  }

  private order(ladder: number, level: number, size: number, type: number | undefined): void {
    const book = this.books[ladder >> 1]!;
    const side = sideOf(ladder) === Side.BUY ? PeerSide.BUY : PeerSide.SELL;
    const id = this.ids[++this.lastId]!;
    const answer =
      type === Entry.MARKET
        ? book.market({ side, size })
        : book.limit({ id, side, size, price: upTicksOf(ladder, level) });
    if (answer.err !== null) throw answer.err;
    this.trades += answer.done.length;
    if (answer.quantityLeft > 0) return;
    // `done` includes a filled limit order, but not a partially filled maker.
    if (answer.partial !== null) this.trades++;
    if (type === Entry.LIMIT) this.trades--;
  }

  finish(): void {
    const levels = this.books.flatMap((book) => book.depth().flat());
    const restingLots = levels.reduce((sum, [, lots]) => sum + lots, 0);
    checkBook('peer', { trades: this.trades, restingLots }, this.tape);
  }
}
