/**
 * The order book of the market that is shown, in ticks and lots. null while it is not known: a
 * level of the market before is never shown.
 */
import { computed, signal } from '@preact/signals';
import type { Level } from '../../../client/stream/book.js';
import { market } from './markets.js';

export type OutcomeName = 'UP' | 'DOWN';

export interface BookSide {
  /** Best first. */
  bids: readonly Level[];
  asks: readonly Level[];
}

export interface Book extends Record<OutcomeName, BookSide> {
  marketId: string;
}

export const PRICE_TICKS = 1_000;

/** As it was received last, perhaps of another market. */
export const received = signal<Book | null>(null);

export const book = computed(() => {
  const shown = received.value;
  return shown !== null && shown.marketId === market.value?.id ? shown : null;
});

/** The best prices of an outcome, each a signal of its own: most changes of a book change none. */
function bestOf(outcome: OutcomeName) {
  return {
    bid: computed(() => book.value?.[outcome].bids[0]?.priceTicks ?? null),
    ask: computed(() => book.value?.[outcome].asks[0]?.priceTicks ?? null),
  };
}

/** In ticks; null: nobody bids or offers. */
export const best = { UP: bestOf('UP'), DOWN: bestOf('DOWN') };
