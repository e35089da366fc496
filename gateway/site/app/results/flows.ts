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

/** While the history is behind. */
const AGAIN_MS = 500;

export async function readFlows(userId: string, filter: AccountFilter): Promise<Flows> {
  for (;;) {
    const entries = await everyEntry(
      (paging) => ledger(api, userId, { ...filter, ...paging }),
      'entries',
      trueAt.peek(),
    );
    if (entries === 'many') return null;
    if (entries === 'behind') {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      continue;
    }
    const flows = new Map<string, number>();
    for (const { marketId, available, held } of entries) {
      const change = toMicros(available) + toMicros(held);
      // An order that only waits moves money, but neither in nor out.
      if (marketId === null || change === 0) continue;
      flows.set(marketId, (flows.get(marketId) ?? 0) + change);
    }
    return flows;
  }
}

/** With what is still there, as it is worth now. null: one had nothing to do with the market. */
export function profitOf(flows: NonNullable<Flows>, marketId: string): number | null {
  const flow = flows.get(marketId);
  if (flow === undefined) return null;
  return positions.value
    .filter((each) => each.marketId === marketId)
    .reduce((sum, each) => sum + worthMicros(each), flow);
}
