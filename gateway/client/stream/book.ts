/**
 * A local order book of one market, or of an asset's active market.
 *
 * Invariant: it equals the exchange's book at `sequence`. Only levels of UP are stored: a bid for
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

const DOLLAR = 1_000;

export class Book {
  /** The journal sequence of the state; 0 before the first message. */
  sequence = 0;
  private readonly bids = new Float64Array(DOLLAR);
  private readonly asks = new Float64Array(DOLLAR);

  constructor(readonly marketId: string) {}

  apply(type: 'snapshot' | 'delta', data: ChannelMessage<'book'>['data']): void {
    if (type === 'snapshot') {
      this.bids.fill(0);
      this.asks.fill(0);
    }
    const { bids, asks } = data.UP;
    for (const { price, shares } of bids) this.bids[toTicks(price)] = toLots(shares);
    for (const { price, shares } of asks) this.asks[toTicks(price)] = toLots(shares);
    this.sequence = data.sequence;
  }

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

  bestBid(outcome: OutcomeName): Level | null {
    return this.levels(outcome, 'bids', 1)[0] ?? null;
  }

  bestAsk(outcome: OutcomeName): Level | null {
    return this.levels(outcome, 'asks', 1)[0] ?? null;
  }
}

/** Follows a market's book. `onEnd`: see Subscriber. An unlisted market is refused. */
export function followBook(
  stream: Stream,
  marketId: string,
  onChange?: (book: Book) => void,
  onEnd?: (error: Error | null) => void,
): { book: Book; stop: () => void } {
  const book = new Book(marketId);
  const onMessage = ({ type, data }: ChannelMessage<'book'>) => {
    book.apply(type, data);
    onChange?.(book);
  };
  return { book, stop: stream.subscribe(`book:${marketId}`, { onMessage, onEnd }) };
}

/** Follows an asset's active market, if any. Returns a function that stops following. */
export function followBooks(
  stream: Stream,
  asset: string,
  onChange: (book: Book | null) => void,
  onEnd?: (error: Error | null) => void,
): () => void {
  let book: Book | null = null;
  const onMessage = ({ type, data }: ChannelMessage<'books'>) => {
    if (data.book === null) book = null;
    else {
      if (book?.marketId !== data.book.marketId) book = new Book(data.book.marketId);
      book.apply(type, data.book);
    }
    onChange(book);
  };
  return stream.subscribe(`books:${asset}`, { onMessage, onEnd });
}
