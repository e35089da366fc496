/** Finds when, how and how much a user was paid for a resolved market. */
import { decodeEvent, type EventRecord, EventType } from '../../../engine/interface/events.js';
import { PAYOUT_DELAY_MS } from '../../../engine/interface/parameters.js';
import { type EntryOf, PAYMENT_FIELDS, USER_PAYMENT } from '../runs/format.js';
import type { ListReader } from '../runs/reader.js';

/** Converts an entry of userPayment back to its event. */
export function eventOf(entry: EntryOf<typeof USER_PAYMENT>): EventRecord {
  return decodeEvent([entry.type, ...PAYMENT_FIELDS.map((field) => entry[field])], 0);
}

export interface Payment {
  atMs: number;
  /** The sum of the payout and the refund. */
  amountMicros: number;
  /** Whether the user was paid without a claim: by the settlement, or a day after the result. */
  automatic: boolean;
}

/** The most entries that are read from each of the two starting points. */
const ENTRIES_MAX = 10_000;

/**
 * Searches from the payment of unclaimed positions on, then from the market's result on, which is
 * before its end if an operator has made it VOID. null: the user was not paid, or claimed only
 * after very many other payments.
 * @param count the number of the user's payments
 * @param resolvedAtMs of the market; null or 0: it has no result
 */
export async function readPayment(
  entries: ListReader,
  { userId, marketId }: { userId: number; marketId: number },
  count: number,
  resolvedAtMs: number | null,
): Promise<Payment | null> {
  if (!resolvedAtMs) return null;
  for (const value of [resolvedAtMs + PAYOUT_DELAY_MS, resolvedAtMs]) {
    const search = { id: userId, count, column: 'atMs', value } as const;
    const first = await entries.firstFrom(USER_PAYMENT, search);
    const last = Math.min(count, first + ENTRIES_MAX - 1);
    for await (const entry of entries.from(USER_PAYMENT, { id: userId, first, last })) {
      if (entry.type !== EventType.claimed) continue;
      const event = eventOf(entry);
      if (event.type !== 'claimed' || event.marketId !== marketId) continue;
      const amountMicros = event.payoutMicros + event.refundMicros;
      return { atMs: entry.atMs, amountMicros, automatic: event.automatic === 1 };
    }
  }
  return null;
}
