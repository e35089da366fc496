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

/** What one share costs and brings now; null: nobody offers. */
export interface BestPrices {
  bid: number | null;
  ask: number | null;
  /** The middle, which the exchange calls the price, in half ticks. */
  middleHalfTicks: number | null;
}

export function bestOf(side: BookSide | undefined): BestPrices {
  const bid = side?.bids[0]?.priceTicks ?? null;
  const ask = side?.asks[0]?.priceTicks ?? null;
  return { bid, ask, middleHalfTicks: bid === null || ask === null ? null : bid + ask };
}

export const best = computed(() => ({
  UP: bestOf(book.value?.UP),
  DOWN: bestOf(book.value?.DOWN),
}));
