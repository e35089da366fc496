/**
 * The rows of the book table: the chosen outcome's levels nearest to the middle. Each row is its
 * own signal, because a change of a busy book affects one or two rows.
 */
import { type Signal, signal } from '@preact/signals';
import type { Level } from '../../../client/index.js';
import { book } from '../model/book.js';
import { outcome } from '../model/ticket.js';

export const LEVELS = 7;

export interface BookRow {
  priceTicks: number;
  lots: number;
  totalLots: number;
  /** The bar's length, relative to the longest one. */
  depth: number;
}

const EMPTY: BookRow = { priceTicks: 0, lots: 0, totalLots: 0, depth: 0 };

const side = () => Array.from({ length: LEVELS }, () => signal(EMPTY));
export const offers: readonly Signal<BookRow>[] = side();
export const bids: readonly Signal<BookRow>[] = side();

export function followBook(): void {
  const chosen = outcome.value;
  const levels = book.value?.levels;
  const asked = levels?.(chosen, 'asks', LEVELS) ?? [];
  const bid = levels?.(chosen, 'bids', LEVELS) ?? [];
  const deepest = Math.max(sum(asked), sum(bid), 1);
  show(offers, asked, deepest);
  show(bids, bid, deepest);
}

function show(rows: readonly Signal<BookRow>[], levels: readonly Level[], deepest: number): void {
  let totalLots = 0;
  rows.forEach((row, index) => {
    const level = levels[index];
    totalLots += level?.lots ?? 0;
    const next = level === undefined ? EMPTY : { ...level, totalLots, depth: totalLots / deepest };
    if (!isSame(row.peek(), next)) row.value = next;
  });
}

function isSame(one: BookRow, other: BookRow): boolean {
  const { priceTicks, lots, totalLots, depth } = other;
  const isSameLevel = one.priceTicks === priceTicks && one.lots === lots;
  return isSameLevel && one.totalLots === totalLots && one.depth === depth;
}

function sum(levels: readonly Level[]): number {
  return levels.reduce((total, { lots }) => total + lots, 0);
}
