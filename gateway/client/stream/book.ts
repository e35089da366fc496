/**
 * A local order book of one market.
 *
 * Always holds: it is the exchange's book at `sequence`. Only the levels of UP are kept: a bid for
 * DOWN at q is an ask for UP at 1 − q.
 */
import { toLots, toTicks } from '../amounts.js';
import type { OutcomeName } from '../terms.js';
import type { ChannelMessage } from './messages.js';
import type { Stream } from './stream.js';

export interface Level {
  priceTicks: number;
  lots: number;
}

/** Ticks in a dollar. */
const DOLLAR = 1_000;

export class Book {
  /** The journal sequence that the book is true at; 0 before the first message. */
  sequence = 0;
  /** Lots by the ticks of UP. */
  private readonly bids = new Float64Array(DOLLAR);
  private readonly asks = new Float64Array(DOLLAR);

  constructor(readonly marketId: string) {}

  apply(message: ChannelMessage<'book'>): void {
    if (message.type === 'snapshot') {
      this.bids.fill(0);
      this.asks.fill(0);
    }
    const { bids, asks } = message.data.UP;
    for (const { price, shares } of bids) this.bids[toTicks(price)] = toLots(shares);
    for (const { price, shares } of asks) this.asks[toTicks(price)] = toLots(shares);
    this.sequence = message.sequence;
  }

  /** Best first. */
  levels(outcome: OutcomeName, side: 'bids' | 'asks', depth = DOLLAR): Level[] {
    const found: Level[] = [];
    const isUp = outcome === 'UP';
    const lots = (side === 'bids') === isUp ? this.bids : this.asks;
    for (let i = 1; i < DOLLAR && found.length < depth; i++) {
      const priceTicks = side === 'bids' ? DOLLAR - i : i;
      const at = lots[isUp ? priceTicks : DOLLAR - priceTicks]!;
      if (at > 0) found.push({ priceTicks, lots: at });
    }
    return found;
  }

  /** null: nobody bids. */
  bestBid(outcome: OutcomeName): Level | null {
    return this.levels(outcome, 'bids', 1)[0] ?? null;
  }

  /** null: nobody offers. */
  bestAsk(outcome: OutcomeName): Level | null {
    return this.levels(outcome, 'asks', 1)[0] ?? null;
  }
}

/** A book that follows the stream, and the function that ends that. */
export function followBook(
  stream: Stream,
  marketId: string,
  onChange?: (book: Book) => void,
): { book: Book; stop: () => void } {
  const book = new Book(marketId);
  const stop = stream.subscribe(`book:${marketId}`, (message) => {
    book.apply(message);
    onChange?.(book);
  });
  return { book, stop };
}
