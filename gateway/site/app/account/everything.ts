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
import { t } from '../words/words.js';

const CLAIMS_AT_ONCE = 100;

/** Cancels all orders in all markets with one request, so at one sequence. */
export async function cancelEvery(): Promise<string> {
  const signedIn = user.peek();
  if (signedIn === null) return t('Sign in first.');
  const { cancelledOrders } = await cancelEverywhere(api, signedIn.userId);
  if (cancelledOrders === 0) return t('There were no open orders.');
  return cancelledOrders === 1
    ? t('1 order cancelled.')
    : t('{0} orders cancelled.', cancelledOrders);
}

/** Turns pairs of UP and DOWN into one dollar each, without a fee. */
export async function mergePairs(marketId: string, lots: number): Promise<string> {
  const { received } = await merge(api, marketId, fromLots(lots));
  return t('{0} pairs turned into {1}.', shares(lots), dollars(toMicros(received)));
}

export async function claimOne(marketId: string): Promise<string> {
  return t(
    '{0} claimed from {1}.',
    dollars(paidBy(await claim(api, marketId))),
    slotName(marketId),
  );
}

function paidBy({ payout, refundedFees = 0 }: ClaimReceipt): number {
  return toMicros(payout) + toMicros(refundedFees);
}

/** Claims every market; one claim pays both outcomes. */
export async function claimEvery(): Promise<string> {
  const markets = [...new Set(claimable.peek().map(({ marketId }) => marketId))];
  if (markets.length === 0) return t('There is nothing to claim.');
  let paidMicros = 0;
  for (let from = 0; from < markets.length; from += CLAIMS_AT_ONCE) {
    const some = markets.slice(from, from + CLAIMS_AT_ONCE);
    const { results } = await sendBatch(
      api,
      some.map((marketId) => ({ op: 'claim', marketId })),
    );
    for (const each of results) if (each.type === 'claim') paidMicros += paidBy(each);
  }
  const count = markets.length;
  const from = count === 1 ? t('1 market') : t('{0} markets', count);
  return t('{0} claimed from {1}.', dollars(paidMicros), from);
}

export function newestOrder() {
  return orders.peek().at(-1) ?? null;
}
