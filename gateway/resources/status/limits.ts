/** The limits that `/limits` returns. */

import { z } from 'zod';
import {
  IDEMPOTENCY_KEPT_MS,
  IDEMPOTENCY_KEPT_PER_USER,
  MAX_BATCH_OPERATIONS,
  MAX_FILLS_PER_ORDER,
  MAX_ORDER_GROUPS_PER_USER,
  MAX_ORDER_LOTS,
  MAX_REFERRAL_CODES_PER_USER,
  MAX_TRANSFER_MICROS,
  MAX_VAULT_DEPOSITS_PER_USER,
} from '../../../engine/interface/limits.js';
import type { Rules } from '../../../engine/interface/rule-sets.js';
import type { FairUseRates, Quota } from '../../access/fair-use/fair-use.js';
import type { Rate } from '../../access/fair-use/token-buckets.js';
import type { GatewayConfig } from '../../http/gateway.js';
import { BODY_BYTES_MAX } from '../../http/request.js';
import { responseObject } from '../../json/components.js';
import { lots, micros, ticks } from '../../json/decimal.js';
import { PAGE_ENTRIES_MAX } from '../../json/fields.js';
import {
  count,
  curveFeeRate,
  decimal,
  makerFeeRate,
  money,
  shares,
} from '../../json/response-fields.js';
import type { Writable } from '../../json/serializer.js';
import { BOOK_LEVELS_MAX } from '../markets/schemas.js';

const bucket = z
  .strictObject({
    perSecond: decimal.min(0).describe('Sustained requests per second'),
    burst: count.describe('Requests in a burst'),
  })
  .nullable();
const rates = (description: string) =>
  z
    .strictObject({
      user: bucket.describe('Limit per user; null if none'),
      address: bucket.describe('Limit per address; null if none'),
    })
    .describe(description);

export const Limits = responseObject('Limits', 'What clients must keep to', {
  ruleSet: count.describe('The rule set in force'),
  feeRate: decimal.describe('The fee as a fraction of what a buy spends, charged on top'),
  curveFeeRate,
  makerShare: decimal.describe(
    'The maker’s fraction of a trade’s fee, paid when the market is settled; 0: none',
  ),
  vaultShare: decimal.describe('The vault’s fraction of the fees'),
  makerFeeRate,
  tickSize: money.describe('US dollars; prices are multiples of it'),
  lotSize: shares.describe('Shares; sizes are multiples of it'),
  prices: z
    .enum(['simulated', 'file', 'live'])
    .describe(
      'Where prices come from: a simulation, a file of recorded prices, or other exchanges',
    ),
  startingBalance: money.describe('Play money of a new account, in US dollars; 0 if none'),
  startAgain: z
    .boolean()
    .describe('Whether an account with little left may start again with `startingBalance`'),
  restingOrderValue: money.describe(
    'The least value, in US dollars at its own price, of an order that begins to rest',
  ),
  maxima: z
    .strictObject({
      orderAmount: money.describe('The most US dollars that one order may spend'),
      orderShares: shares.describe('The most shares of one order'),
      tradesPerOrder: count.describe(
        'The most makers with which one order, or one batch, may trade; orders that an order group cancels in the process count as makers',
      ),
      openOrders: count.describe('The most resting orders of one user, in all markets'),
      batchOperations: count.describe('The most operations of one batch'),
      bodyBytes: count.describe('The most bytes of a request body'),
      pageEntries: count.describe('The most entries of a page'),
      bookLevels: count.describe('The most price levels on each side of an order book'),
      stake: money.describe('The largest stake, in US dollars'),
      orderGroups: count.describe('The most order groups of one user'),
      vaultDeposits: count.describe('The most open vault deposits of one user'),
      referralCodes: count.describe('The most referral codes that one user may ever choose'),
      idempotencyKeys: count.describe(
        'The most idempotency keys kept for one user; fewer as they fill up, and for accounts that have not paid a dollar of fees',
      ),
      idempotencyKeptMs: count.describe('How long an idempotency key is kept, in milliseconds'),
    })
    .describe('The limits of single requests and users'),
  rateTier: count.describe(
    'The factor that an operator granted for the rates of your user and its sub-accounts: 1, 2, 5 or 10; 1 without a token',
  ),
  rates: z
    .strictObject({
      orders: rates('Changes; a batch counts as its operations'),
      cancels: rates('Cancels, separate from orders; includes a batch that only cancels'),
      reads: rates('Reads'),
      signIns: rates('Requests that hash a password, and new tokens'),
    })
    .describe('The limits on requests, multiplied by `rateTier` except for `signIns`'),
});

/** A basis point and a percent of a dollar. */
const MICROS_PER_BASIS_POINT = 100;
const MICROS_PER_PERCENT = 10_000;

export function limitsOf(
  rates: FairUseRates,
  rules: Rules,
  rateTier: number,
  {
    pricesFrom,
    startingBalanceMicros,
    startAgain,
  }: Pick<GatewayConfig, 'pricesFrom' | 'startingBalanceMicros' | 'startAgain'>,
): Writable<typeof Limits> {
  const of = (quota: Quota, times = rateTier) => ({
    user: bucketOf(rates[quota].user, times),
    address: bucketOf(rates[quota].address, times),
  });
  const { orderAmount, openOrders, restingOrderValue, ...shares } = rulesOf(rules);
  return {
    ...shares,
    makerFeeRate: micros(0),
    tickSize: ticks(1),
    lotSize: lots(1),
    prices: pricesFrom,
    startingBalance: micros(startingBalanceMicros),
    startAgain,
    restingOrderValue,
    maxima: {
      orderAmount,
      orderShares: lots(MAX_ORDER_LOTS),
      tradesPerOrder: MAX_FILLS_PER_ORDER,
      openOrders,
      batchOperations: MAX_BATCH_OPERATIONS,
      bodyBytes: BODY_BYTES_MAX,
      pageEntries: PAGE_ENTRIES_MAX,
      bookLevels: BOOK_LEVELS_MAX,
      stake: micros(MAX_TRANSFER_MICROS),
      orderGroups: MAX_ORDER_GROUPS_PER_USER,
      vaultDeposits: MAX_VAULT_DEPOSITS_PER_USER,
      referralCodes: MAX_REFERRAL_CODES_PER_USER,
      idempotencyKeys: IDEMPOTENCY_KEPT_PER_USER,
      idempotencyKeptMs: IDEMPOTENCY_KEPT_MS,
    },
    rateTier,
    rates: {
      orders: of('orders'),
      cancels: of('cancels'),
      reads: of('reads'),
      signIns: of('signIns', 1),
    },
  };
}

export function rulesOf(rules: Rules) {
  return {
    ruleSet: rules.ruleSet,
    feeRate: micros(rules.takerFeeBasisPoints * MICROS_PER_BASIS_POINT),
    curveFeeRate: micros(rules.curveFeeBasisPoints * MICROS_PER_BASIS_POINT),
    makerShare: micros(rules.makerSharePercent * MICROS_PER_PERCENT),
    vaultShare: micros(rules.vaultSharePercent * MICROS_PER_PERCENT),
    orderAmount: micros(rules.maxOrderMicros),
    openOrders: rules.maxOpenOrders,
    restingOrderValue: micros(rules.minRestingMicros),
  };
}

/** A rate has at most 3 decimal places. */
function bucketOf(rate: Rate | null, times: number) {
  if (rate === null) return null;
  const { perSecond, burst } = rate;
  return { perSecond: lots(Math.round(perSecond * times * 1_000)), burst: burst * times };
}
