/**
 * The order book of the market that is shown, in ticks and lots. null while it is not known: a
 * level of the market before is never shown.
 */
import { computed, signal } from '@preact/signals';
import type { Level } from '../../../client/stream/book.js';
import { market } from './markets.js';

export type OutcomeName = 'UP' | 'DOWN';

export interface Book {
  marketId: string;
  /** Best first; at most `depth` of them. */
  levels: (outcome: OutcomeName, side: 'bids' | 'asks', depth?: number) => readonly Level[];
}

/** As it was received last, perhaps of another market: another object at every change. */
export const received = signal<Book | null>(null);

export const book = computed(() => {
  const shown = received.value;
  return shown !== null && shown.marketId === market.value?.id ? shown : null;
});

/** The best prices of an outcome, each a signal of its own: most changes of a book change none. */
function bestOf(outcome: OutcomeName) {
  return {
    bid: computed(() => book.value?.levels(outcome, 'bids', 1)[0]?.priceTicks ?? null),
    ask: computed(() => book.value?.levels(outcome, 'asks', 1)[0]?.priceTicks ?? null),
  };
}

/** In ticks; null: nobody bids or offers. */
export const best = { UP: bestOf('UP'), DOWN: bestOf('DOWN') };
