/** Actions on everything: cancel all orders, claim all markets. */
import {
  type ClaimReceipt,
  cancelEverywhere,
  claim,
  fromLots,
  merge,
  batch as sendBatch,
  toMicros,
} from '../../../client/index.js';
import { claimable, orders } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { dollars, shares, slotName } from '../parts/format.js';

const CLAIMS_AT_ONCE = 100;

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** Cancels all orders in all markets with one request, so at one sequence. */
export async function cancelEvery(): Promise<string> {
  const signedIn = user.peek();
  if (signedIn === null) return 'Sign in first.';
  const { cancelledOrders } = await cancelEverywhere(api, signedIn.userId);
  return cancelledOrders === 0
    ? 'There were no open orders.'
    : `${counted(cancelledOrders, 'order')} cancelled.`;
}

/** Turns pairs of UP and DOWN into one dollar each, without a fee. */
export async function mergePairs(marketId: string, lots: number): Promise<string> {
  const { received } = await merge(api, marketId, fromLots(lots));
  return `${shares(lots)} pairs turned into ${dollars(toMicros(received))}.`;
}

export async function claimOne(marketId: string): Promise<string> {
  return `${dollars(paidBy(await claim(api, marketId)))} claimed from ${slotName(marketId)}.`;
}

function paidBy({ payout, refundedFees = 0 }: ClaimReceipt): number {
  return toMicros(payout) + toMicros(refundedFees);
}

/** Claims every market; one claim pays both outcomes. */
export async function claimEvery(): Promise<string> {
  const markets = [...new Set(claimable.peek().map(({ marketId }) => marketId))];
  if (markets.length === 0) return 'There is nothing to claim.';
  let paidMicros = 0;
  for (let from = 0; from < markets.length; from += CLAIMS_AT_ONCE) {
    const some = markets.slice(from, from + CLAIMS_AT_ONCE);
    const { results } = await sendBatch(
      api,
      some.map((marketId) => ({ op: 'claim', marketId })),
    );
    for (const each of results) if (each.type === 'claim') paidMicros += paidBy(each);
  }
  return `${dollars(paidMicros)} claimed from ${counted(markets.length, 'market')}.`;
}

export function newestOrder() {
  return orders.peek().at(-1) ?? null;
}
