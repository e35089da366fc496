/** When, how much and by what a user was paid for a market that is resolved. */
import { startOfMarketMs, WINDOW_MS } from '../../../engine/interface/domain.js';
import { EventType } from '../../../engine/interface/events.js';
import { PAYOUT_DELAY_MS } from '../../../engine/interface/parameters.js';
import { USER_EVENT } from '../runs/format.js';
import type { ListReader } from '../runs/reader.js';
import { eventOf } from './user-event.js';

export interface Payment {
  atMs: number;
  /** The payout and the refund. */
  amountMicros: number;
  /** Nobody claimed it. */
  automatic: boolean;
}

/** Entries that are read at most from each of the two places. */
const ENTRIES_MAX = 10_000;

/**
 * Looks from the automatic payment on, then from the market's end on. null: the user was not paid,
 * or claimed only after very many other events.
 * @param count the number of the user's events
 */
export async function readPayment(
  entries: ListReader,
  { userId, marketId }: { userId: number; marketId: number },
  count: number,
): Promise<Payment | null> {
  const endsAtMs = startOfMarketMs(marketId) + WINDOW_MS;
  for (const value of [endsAtMs + PAYOUT_DELAY_MS, endsAtMs]) {
    const search = { id: userId, count, column: 'atMs', value } as const;
    const first = await entries.firstFrom(USER_EVENT, search);
    const last = Math.min(count, first + ENTRIES_MAX - 1);
    for await (const entry of entries.from(USER_EVENT, { id: userId, first, last })) {
      if (entry.type !== EventType.claimed) continue;
      const event = eventOf(entry);
      if (event.type !== 'claimed' || event.marketId !== marketId) continue;
      const amountMicros = event.payoutMicros + event.refundMicros;
      return { atMs: entry.atMs, amountMicros, automatic: event.automatic === 1 };
    }
  }
  return null;
}
