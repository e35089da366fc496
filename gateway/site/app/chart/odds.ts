/**
 * The odds of UP. The past odds are the shown market's prices in ticks, each the middle of a narrow
 * book. The current odds are derived from the asset's price, without quotes.
 */
import { computed, effect, signal } from '@preact/signals';
import type { MarketDetail } from '../../../client/index.js';
import { best } from '../model/book.js';
import { exchangeNowMs } from '../model/clock.js';
import { chance, market } from '../model/markets.js';
import type { Point } from './plot.js';

/** The spacing of the exchange's price history. Live points have the same, for one texture. */
export const POINT_EVERY_MS = 5_000;
/** The middle of a book may be half a tick. */
const TICKS_PER_DOLLAR = 1_000;
/** The exchange's rule: a book with a wider spread has no price. */
const MAX_SPREAD_TICKS = 100;

export const odds = signal<{ marketId: string; points: readonly Point[] }>({
  marketId: '',
  points: [],
});

/** Adds the odds from before the page was opened. */
export function readOdds({ id, priceHistory }: Pick<MarketDetail, 'id' | 'priceHistory'>): void {
  const points = odds.peek().marketId === id ? odds.peek().points : [];
  const firstMs = points[0]?.atMs ?? Number.POSITIVE_INFINITY;
  const earlier = oddsOf(priceHistory).filter(({ atMs }) => atMs < firstMs);
  odds.value = { marketId: id, points: [...earlier, ...points] };
}

function oddsOf(history: MarketDetail['priceHistory']): Point[] {
  return (history ?? []).flatMap(({ atMs, UP }) =>
    UP === null ? [] : [{ atMs, value: UP * TICKS_PER_DOLLAR }],
  );
}

function middle(): number | null {
  const bid = best.UP.bid.value;
  const ask = best.UP.ask.value;
  return bid === null || ask === null || ask - bid > MAX_SPREAD_TICKS ? null : (bid + ask) / 2;
}

/** Whole percentages that add up to 100, or `null` if unknown. */
export const chances = computed(() => {
  const shown = market.value;
  if (shown === null || chance.value?.marketId !== shown.id) return null;
  const up = Math.min(Math.max(Math.round(chance.value.up * 100), 1), 99);
  return { UP: up, DOWN: 100 - up };
});

effect(() => {
  const marketId = market.value?.id;
  const value = middle();
  if (marketId === undefined || value === null) return;
  const before = odds.peek().marketId === marketId ? odds.peek().points : [];
  const last = before.at(-1);
  const nowMs = exchangeNowMs();
  const isSoon = last !== undefined && nowMs - last.atMs < POINT_EVERY_MS;
  const kept = isSoon ? before.slice(0, -1) : before;
  odds.value = { marketId, points: [...kept, { atMs: isSoon ? last.atMs : nowMs, value }] };
});
