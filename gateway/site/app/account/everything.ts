/** What is done with all of something: cancel every order, claim every market. */
import { toMicros } from '../../../client/amounts.js';
import { cancelEverywhere, claim, batch as sendBatch } from '../../../client/index.js';
import { claimable, orders } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { dollars } from '../parts/format.js';
import { slotName } from '../parts/market-name.js';

/** Operations of one batch. */
const CLAIMS_AT_ONCE = 100;

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** One request, and so at one sequence, whichever markets the orders are in. */
export async function cancelEvery(): Promise<string> {
  const signedIn = user.peek();
  if (signedIn === null) return 'Sign in first.';
  const { cancelledOrders } = await cancelEverywhere(api, signedIn.userId);
  return cancelledOrders === 0
    ? 'There was no open order.'
    : `${counted(cancelledOrders, 'order')} cancelled.`;
}

/** Both outcomes of a market. */
export async function claimOne(marketId: string): Promise<string> {
  const { payout, refundedFees = 0 } = await claim(api, marketId);
  const paid = dollars(toMicros(payout) + toMicros(refundedFees));
  return `${paid} claimed of ${slotName(marketId)}.`;
}

/** One claim pays both outcomes of a market. */
export async function claimEvery(): Promise<string> {
  const markets = [...new Set(claimable.peek().map(({ marketId }) => marketId))];
  if (markets.length === 0) return 'There is nothing to claim.';
  for (let from = 0; from < markets.length; from += CLAIMS_AT_ONCE) {
    const some = markets.slice(from, from + CLAIMS_AT_ONCE);
    await sendBatch(
      api,
      some.map((marketId) => ({ op: 'claim', marketId })),
    );
  }
  return `${counted(markets.length, 'market')} claimed.`;
}

/** The order that was placed last; null: none rests. */
export function newestOrder() {
  return orders.peek().at(-1) ?? null;
}
