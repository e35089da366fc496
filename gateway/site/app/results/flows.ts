/**
 * Profit per market, as everywhere on the site: all money received minus all money paid, including
 * fees, plus the value of the user's remaining holdings there.
 */
import {
  type AccountFilter,
  type CallOptions,
  ledger,
  type Paging,
  pages,
  toMicros,
} from '../../../client/index.js';
import { positions, trueAt, worthMicros } from '../model/account.js';
import { api } from '../model/exchange.js';

/** Money received minus money paid, by market; `null` if there are too many entries. */
export type Flows = ReadonlyMap<string, number> | null;

export async function readFlows(userId: string, filter: AccountFilter): Promise<Flows> {
  const entries = await everyEntry(
    (paging, options) => ledger(api, userId, { ...filter, ...paging }, options),
    'entries',
    trueAt.peek(),
  );
  if (entries === 'many') return null;
  const flows = new Map<string, number>();
  for (const { marketId, available, held } of entries) {
    const change = toMicros(available) + toMicros(held);
    // A resting order moves money between available and held, but neither in nor out.
    if (marketId === null || change === 0) continue;
    flows.set(marketId, (flows.get(marketId) ?? 0) + change);
  }
  return flows;
}

/** Includes current holdings. `null` without a flow, or without bids for the user's shares. */
export function profitOf(flows: NonNullable<Flows>, marketId: string): number | null {
  const flow = flows.get(marketId);
  if (flow === undefined) return null;
  return positions.value
    .filter((each) => each.marketId === marketId)
    .map(worthMicros)
    .reduce((sum, worth) => (sum === null || worth === null ? null : sum + worth), flow);
}

type Page<Field extends string, Entry> = Record<Field, Entry[]> & {
  nextCursor: string | null;
};

/** The largest number of entries to add up: ten of the exchange's pages. */
const ENTRIES_MAX = 2_000;

/** Returns `many` for too many entries. @throws if the history is not at the sequence in time */
export async function everyEntry<Field extends string, Entry>(
  read: (paging: Paging, options: CallOptions) => Promise<Page<Field, Entry>>,
  field: Field,
  minSequence: number,
): Promise<Entry[] | 'many'> {
  const entries: Entry[] = [];
  const readPage = (paging: Paging) => read(paging, { minSequence });
  for await (const entry of pages<Field, Entry>(readPage, field))
    if (entries.push(entry) > ENTRIES_MAX) return 'many';
  return entries;
}
