/** The limits that clients must keep to, as `/limits` shows them. */
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
import { lots, micros, ticks } from '../../json/decimal.js';
import { PAGE_ENTRIES_MAX } from '../../json/fields.js';
import type { Writable } from '../../json/serializer.js';
import { BOOK_LEVELS_MAX } from '../markets/schemas.js';
import type { Limits } from './schemas.js';

/** A basis point, and a percent, of a dollar. */
const MICROS_PER_BASIS_POINT = 100;
const MICROS_PER_PERCENT = 10_000;

/** With the rules in force, which an operator may change. */
export function limitsOf(
  rates: FairUseRates,
  rules: Rules,
  {
    pricesFrom,
    startingBalanceMicros,
  }: Pick<GatewayConfig, 'pricesFrom' | 'startingBalanceMicros'>,
): Writable<typeof Limits> {
  const of = (quota: Quota) => ({
    user: bucketOf(rates[quota].user),
    address: bucketOf(rates[quota].address),
  });
  const { ruleSet, feeRate, vaultShare, orderAmount, openOrders, restingOrderValue } =
    rulesOf(rules);
  return {
    ruleSet,
    feeRate,
    vaultShare,
    tickSize: ticks(1),
    lotSize: lots(1),
    prices: pricesFrom,
    startingBalance: micros(startingBalanceMicros),
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
    rates: {
      orders: of('orders'),
      cancels: of('cancels'),
      reads: of('reads'),
      signIns: of('signIns'),
    },
  };
}

export function rulesOf(rules: Rules) {
  return {
    ruleSet: rules.ruleSet,
    feeRate: micros(rules.takerFeeBasisPoints * MICROS_PER_BASIS_POINT),
    vaultShare: micros(rules.vaultSharePercent * MICROS_PER_PERCENT),
    orderAmount: micros(rules.maxOrderMicros),
    openOrders: rules.maxOpenOrders,
    restingOrderValue: micros(rules.minRestingMicros),
  };
}

/** A rate has at most 3 decimal places. */
function bucketOf(rate: Rate | null) {
  return rate === null
    ? null
    : { perSecond: lots(Math.round(rate.perSecond * 1_000)), burst: rate.burst };
}
