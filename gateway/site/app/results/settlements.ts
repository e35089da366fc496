/**
 * Results of the markets in which the user had shares. The browser stores these markets. When one
 * is resolved, even while the page was closed, its result is shown once and stays until read. A
 * profit is all money received in the market minus all money paid in it, including fees.
 */
import { effect, signal } from '@preact/signals';
import {
  type CallOptions,
  type Ledger,
  ledger,
  type Market,
  type Paging,
  market as readMarket,
  toLots,
  toMicros,
} from '../../../client/index.js';
import { positions, trueAt } from '../model/account.js';
import { api, publicApi } from '../model/exchange.js';
import { isListed } from '../model/markets.js';
import { user } from '../model/session.js';
import { keptList } from '../model/settings.js';
import { everyEntry } from './flows.js';

interface Place {
  userId: string;
  marketId: string;
}

export interface Settlement extends Place {
  resolution: NonNullable<Market['resolution']>;
  voidReason: Market['voidReason'];
  /** `null` if there are too many entries to add up on the page. */
  sums: { lots: { UP: number; DOWN: number }; payoutMicros: number; profitMicros: number } | null;
}

type Entry = Pick<Ledger['entries'][number], 'cause' | 'available' | 'held' | 'shares'>;

const LOT_MICROS = 1_000;
/** Wait after a failure, while the history lags, or while the market is undecided. */
const AGAIN_MS = 2_000;

const watched = keptList<Place>('watched-markets');
export const unread = keptList<Settlement>('unread-results');
const reading = new Set<string>();
/** Increases when pending results are tried again. */
const tries = signal(0);

export function markRead(which: readonly Settlement[]): void {
  unread.value = unread.peek().filter((each) => !which.includes(each));
}

export function settlementOf(resolution: Settlement['resolution'], entries: readonly Entry[]) {
  const lots = { UP: 0, DOWN: 0 };
  let profitMicros = 0;
  let feesMicros = 0;
  let isPaid = false;
  for (const { cause, available, held, shares } of entries) {
    profitMicros += toMicros(available) + toMicros(held);
    if (cause === 'fee') feesMicros -= toMicros(available);
    if (cause === 'claim' || cause === 'refund') isPaid ||= available > 0;
    if (cause !== 'claim' && shares !== null) lots[shares.outcome] += toLots(shares.change);
  }
  const payoutMicros =
    resolution === 'VOID'
      ? ((lots.UP + lots.DOWN) * LOT_MICROS) / 2 + feesMicros
      : lots[resolution] * LOT_MICROS;
  if (!isPaid) profitMicros += payoutMicros;
  return { lots, payoutMicros, profitMicros };
}

effect(() => {
  const userId = user.value?.userId;
  void tries.value;
  if (userId === undefined || trueAt.value === 0) return;
  const open = positions.value.filter(({ status }) => status === 'open');
  const before = watched.peek();
  const isWatched = (id: string) =>
    before.some((each) => each.userId === userId && each.marketId === id);
  const added = [...new Set(open.map(({ marketId }) => marketId))].filter((id) => !isWatched(id));
  if (added.length > 0)
    watched.value = [...before, ...added.map((marketId) => ({ userId, marketId }))];
  for (const place of before)
    if (place.userId === userId && open.every(({ marketId }) => marketId !== place.marketId))
      void settle(place, trueAt.value);
});

function forget(place: Place): void {
  watched.value = watched.peek().filter((each) => each !== place);
}

async function settle(place: Place, sequence: number): Promise<void> {
  const { userId, marketId } = place;
  // All shares were sold.
  if (isListed(marketId)) return forget(place);
  if (reading.has(marketId)) return;
  reading.add(marketId);
  try {
    const { resolution, voidReason } = await readMarket(publicApi, marketId);
    const read = (paging: Paging, options: CallOptions) =>
      ledger(api, userId, { ...paging, marketId }, options);
    if (resolution !== null) {
      const entries = await everyEntry(read, 'entries', sequence);
      const sums = entries === 'many' ? null : settlementOf(resolution, entries);
      forget(place);
      if (sums === null || sums.lots.UP + sums.lots.DOWN + sums.payoutMicros > 0)
        unread.value = [...unread.peek(), { userId, marketId, resolution, voidReason, sums }];
      return;
    }
  } catch {
    // The result is tried again below, and at the next visit.
  } finally {
    reading.delete(marketId);
  }
  setTimeout(() => tries.value++, AGAIN_MS);
}
