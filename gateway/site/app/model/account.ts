/**
 * The account of who is signed in, as the stream has it: balance, resting orders and positions,
 * true at one sequence.
 */
import { computed, signal } from '@preact/signals';
import { toLots, toMicros } from '../../../client/amounts.js';
import type { Account, RestingOrder } from '../../../client/stream/account.js';
import type { Position } from '../../../client/types.js';
import { best, type OutcomeName } from './book.js';
import { market } from './markets.js';

interface Balance {
  availableMicros: number;
  heldMicros: number;
}

/** null: not known. */
export const balance = signal<Balance | null>(null);
export const orders = signal<readonly RestingOrder[]>([]);
export const positions = signal<readonly Position[]>([]);
/** The journal sequence at which all three are true. */
export const trueAt = signal(0);

/** Lots of each outcome in the market that is shown, and those that no resting sale holds. */
export const held = computed(() => {
  const marketId = market.value?.id;
  const lotsOf = (outcome: OutcomeName) => {
    const here = positions.value.find(
      (each) => each.marketId === marketId && each.outcome === outcome,
    );
    const lots = here === undefined ? 0 : toLots(here.shares);
    const selling = orders.value
      .filter((each) => each.marketId === marketId && each.side === 'SELL')
      .filter((each) => each.outcome === outcome)
      .reduce((sum, each) => sum + each.lots, 0);
    return { lots, freeLots: lots - selling };
  };
  return { UP: lotsOf('UP'), DOWN: lotsOf('DOWN') };
});

/** Lots of which one has both outcomes in that market: each pair is a dollar. */
export const pairLots = computed(() => Math.min(held.value.UP.freeLots, held.value.DOWN.freeLots));

export const claimable = computed(() =>
  positions.value.filter(({ status }) => status === 'claimable'),
);

/**
 * What a position is worth now, by the exchange's rule: at the middle of the book that is shown. Of
 * another market, or of a book without a middle, as the exchange said last.
 */
export function worthMicros(of: Position): number {
  const { bid, ask } = best[of.outcome];
  const isShown = of.marketId === market.value?.id;
  if (!isShown || bid.value === null || ask.value === null) return toMicros(of.value);
  return Math.floor((toLots(of.shares) * (bid.value + ask.value)) / 2);
}

export function forgetAccount(): void {
  balance.value = null;
  orders.value = [];
  positions.value = [];
  trueAt.value = 0;
}

export function setAccount(account: Account): void {
  const { availableMicros, heldMicros } = account;
  balance.value = { availableMicros, heldMicros };
  orders.value = [...account.orders.values()].map((order) => ({ ...order }));
  positions.value = [...account.positions.values()].flat();
  trueAt.value = account.sequence;
}
