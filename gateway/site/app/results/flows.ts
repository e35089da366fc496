/**
 * What markets brought: all that came in of each less all that was paid in it, the fees included,
 * and what one still has there. A profit is this everywhere on the site.
 */
import { toMicros } from '../../../client/amounts.js';
import { ledger } from '../../../client/index.js';
import type { AccountFilter } from '../../../client/types.js';
import { positions, trueAt, worthMicros } from '../model/account.js';
import { api } from '../model/exchange.js';
import { everyEntry } from './history.js';

/** What came in less what was paid, by market. null: too many entries to add up on a page. */
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
    // An order that only waits moves money, but neither in nor out.
    if (marketId === null || change === 0) continue;
    flows.set(marketId, (flows.get(marketId) ?? 0) + change);
  }
  return flows;
}

/**
 * With what is still there, as it is worth now. null: one had nothing to do with the market, or
 * nobody bids for what one has there.
 */
export function profitOf(flows: NonNullable<Flows>, marketId: string): number | null {
  const flow = flows.get(marketId);
  if (flow === undefined) return null;
  return positions.value
    .filter((each) => each.marketId === marketId)
    .map(worthMicros)
    .reduce((sum, worth) => (sum === null || worth === null ? null : sum + worth), flow);
}
