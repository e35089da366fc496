/**
 * The signed-in user's account from the stream: balance, resting orders and positions, all at one
 * sequence.
 */
import { computed, signal } from '@preact/signals';
import {
  type Account,
  fromMicros,
  type Position,
  type RestingOrder,
  positions as readPositions,
  toLots,
  toMicros,
} from '../../../client/index.js';
import { book, type OutcomeName } from './book.js';
import { api } from './exchange.js';
import { market } from './markets.js';

const TICKS_PER_DOLLAR = 1_000;

interface Balance {
  availableMicros: number;
  heldMicros: number;
}

export const balance = signal<Balance | null>(null);
export const orders = signal<readonly RestingOrder[]>([]);
export const positions = signal<readonly Position[]>([]);
export const trueAt = signal(0);

/** The user's lots of each outcome in the shown market, in total and not held by sales. */
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

/** Lots of which the user has both outcomes in the shown market. Each pair is worth a dollar. */
export const pairLots = computed(() => Math.min(held.value.UP.freeLots, held.value.DOWN.freeLots));

export const claimable = computed(() =>
  positions.value.filter(({ status }) => status === 'claimable'),
);

const elsewhere = signal<readonly Position[]>([]);

/** Re-reads positions in other markets, whose books the account's stream does not report. */
export async function readElsewhere(userId: string): Promise<void> {
  const shown = market.peek()?.id;
  const isElsewhere = (of: Position) => of.status === 'open' && of.marketId !== shown;
  if (document.hidden || !positions.peek().some(isElsewhere)) return;
  elsewhere.value = (await readPositions(api, userId, { status: 'open', limit: 200 })).positions;
}

/** What a sale would bring now, by the exchange's rule; `null` without bids. */
export function worthMicros(of: Position): number | null {
  const shown = book.value;
  if (of.status === 'claimable' || of.outcome === null) return microsOrNull(of.value);
  if (shown?.marketId !== of.marketId) {
    const isSame = (one: Position) =>
      one.marketId === of.marketId && one.outcome === of.outcome && one.shares === of.shares;
    return microsOrNull((elsewhere.value.find(isSame) ?? of).value);
  }
  const own = ownBidLots(of.marketId, of.outcome);
  let leftLots = toLots(of.shares);
  let micros = 0;
  for (const { priceTicks, lots } of shown.levels(of.outcome, 'bids')) {
    const soldLots = Math.min(leftLots, Math.max(0, lots - (own.get(priceTicks) ?? 0)));
    leftLots -= soldLots;
    micros += soldLots * priceTicks;
    if (leftLots === 0) break;
  }
  return micros === 0 ? null : micros;
}

const microsOrNull = (dollars: number | null) => (dollars === null ? null : toMicros(dollars));

/** The user's bids by price. Offers of the other outcome count, as they are equivalent. */
function ownBidLots(marketId: string, outcome: OutcomeName): Map<number, number> {
  const own = new Map<number, number>();
  for (const each of orders.value) {
    if (each.marketId !== marketId || (each.side === 'BUY') !== (each.outcome === outcome))
      continue;
    const ticks = each.side === 'BUY' ? each.priceTicks : TICKS_PER_DOLLAR - each.priceTicks;
    own.set(ticks, (own.get(ticks) ?? 0) + each.lots);
  }
  return own;
}

export function forgetAccount(): void {
  balance.value = null;
  orders.value = [];
  positions.value = [];
  elsewhere.value = [];
  trueAt.value = 0;
}

/** A VOID market returns its fees with its shares, so both are one value. */
function withFees(ofMarket: readonly Position[]): readonly Position[] {
  const fees = ofMarket.find(({ outcome }) => outcome === null);
  const [first, ...others] = ofMarket.filter((each) => each !== fees);
  if (fees?.value == null || first?.value == null) return ofMarket;
  const value = Number(fromMicros(toMicros(first.value) + toMicros(fees.value)));
  return [{ ...first, value }, ...others];
}

export function setAccount(account: Account): void {
  const { availableMicros, heldMicros } = account;
  balance.value = { availableMicros, heldMicros };
  orders.value = [...account.orders.values()].map((order) => ({ ...order }));
  positions.value = [...account.positions.values()].flatMap(withFees);
  trueAt.value = account.sequence;
}
