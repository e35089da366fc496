/**
 * The shown market's order book, in ticks and lots. `null` while unknown, so that the previous
 * market's levels are never shown.
 */
import { computed, signal } from '@preact/signals';
import type { Level } from '../../../client/index.js';
import { market } from './markets.js';

export type OutcomeName = 'UP' | 'DOWN';

export interface Book {
  marketId: string;
  /** Returns levels, best first, at most `depth`. */
  levels: (outcome: OutcomeName, side: 'bids' | 'asks', depth?: number) => readonly Level[];
}

/** The last received book, which may be another market's. Each change creates a new object. */
export const received = signal<Book | null>(null);

export const book = computed(() => {
  const shown = received.value;
  return shown !== null && shown.marketId === market.value?.id ? shown : null;
});

/** An outcome's best prices as separate signals, because most changes of a book affect neither. */
function bestOf(outcome: OutcomeName) {
  return {
    bid: computed(() => book.value?.levels(outcome, 'bids', 1)[0]?.priceTicks ?? null),
    ask: computed(() => book.value?.levels(outcome, 'asks', 1)[0]?.priceTicks ?? null),
  };
}

export const best = { UP: bestOf('UP'), DOWN: bestOf('DOWN') };
