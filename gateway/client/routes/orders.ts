/** Orders, complete sets, claims, batches. All need a token; changes have an idempotency key. */
import type * as accountHistory from '../../resources/account-history/views.js';
import type * as batches from '../../resources/batch/schemas.js';
import type * as cancelAfters from '../../resources/cancel-after/routes.js';
import type * as groupRoutes from '../../resources/order-groups/routes.js';
import type * as orderSchemas from '../../resources/orders/schemas.js';
import type { Amount } from '../amounts.js';
import type { Answer } from '../answer.js';
import { type Api, type CallOptions, path } from '../api.js';
import type { AccountFilter, OutcomeName, Paging } from '../terms.js';

export type TimeInForce = 'IOC' | 'FOK' | 'GTC';
export type SelfTradeName = 'cancel_resting' | 'cancel_taker' | 'cancel_both';
export type BuyReceipt = Answer<typeof orderSchemas.BuyReceipt>;
export type SellReceipt = Answer<typeof orderSchemas.SellReceipt>;
export type CancelReceipt = Answer<typeof orderSchemas.CancelReceipt>;
export type CancelAfter = Answer<typeof cancelAfters.CancelAfter>;
export type CancelAllReceipt = Answer<typeof orderSchemas.CancelAllReceipt>;
export type CancelOrdersReceipt = Answer<typeof orderSchemas.CancelOrdersReceipt>;
export type AmendReceipt = Answer<typeof orderSchemas.AmendReceipt>;
export type ClaimReceipt = Answer<typeof orderSchemas.ClaimReceipt>;
export type SplitReceipt = Answer<typeof orderSchemas.SplitReceipt>;
export type MergeReceipt = Answer<typeof orderSchemas.MergeReceipt>;
export type OrderGroupTerms = Answer<typeof groupRoutes.OrderGroupTerms>;
export type OrderGroups = Answer<typeof groupRoutes.OrderGroups>;
export type RemovedOrderGroup = Answer<typeof groupRoutes.RemovedOrderGroup>;
export type Order = Answer<typeof accountHistory.ListedOrder>;
export type OrderRecord = Answer<typeof accountHistory.OrderRecord>;
export type Orders = Answer<typeof accountHistory.Orders>;
export type BatchReceipt = Answer<typeof batches.BatchReceipt>;

/** The optional terms of an order. */
export interface OrderTerms {
  outcome: OutcomeName;
  /** Default: IOC. */
  timeInForce?: TimeInForce | undefined;
  /** With GTC: refuses the order if it would trade immediately. */
  postOnly?: boolean | undefined;
  /** Refuses the order if it would be executed later than this. */
  validUntilMs?: number | undefined;
  /** With GTC: cancels the resting part at this time. */
  expiresAtMs?: number | undefined;
  /** What to do if the order would trade with your own order. Default: cancel_resting. */
  selfTrade?: SelfTradeName | undefined;
  /** With GTC: the order's group. */
  groupId?: string | undefined;
  /** Your own name for the order: 1 to 64 of A-Z a-z 0-9 _ - : . */
  clientOrderId?: string | undefined;
}

/** Either dollars to spend, or shares with a price. `price` is the worst acceptable price. */
export type BuyOrder = OrderTerms &
  ({ amount: Amount; price?: Amount | undefined } | { shares: Amount; price: Amount });
export type SellOrder = OrderTerms & { shares: Amount; price?: Amount | undefined };

/** New terms of a resting order. `shares` is the total size, including filled shares. */
export interface Amendment {
  shares?: Amount | undefined;
  price?: Amount | undefined;
}

export type Operation =
  | ({ op: 'buy'; marketId: string } & BuyOrder)
  | ({ op: 'sell'; marketId: string } & SellOrder)
  | { op: 'cancel'; marketId: string; orderId: string }
  | { op: 'cancel'; marketId: string; clientOrderId: string }
  | ({ op: 'amend'; marketId: string; orderId: string } & Amendment)
  | { op: 'cancelAll'; marketId?: string | undefined }
  | { op: 'claim'; marketId: string }
  | { op: 'split' | 'merge'; marketId: string; shares: Amount };

export function buy(
  api: Api,
  marketId: string,
  order: BuyOrder,
  options?: CallOptions,
): Promise<BuyReceipt> {
  const ofMarket = path`/markets/15m/${marketId}/buy`;
  return api.call({ method: 'POST', path: ofMarket, body: order, repeat: 'key', options });
}

export function sell(
  api: Api,
  marketId: string,
  order: SellOrder,
  options?: CallOptions,
): Promise<SellReceipt> {
  const ofMarket = path`/markets/15m/${marketId}/sell`;
  return api.call({ method: 'POST', path: ofMarket, body: order, repeat: 'key', options });
}

/** Turns dollars into `shares` of UP and of DOWN. A pair costs a dollar plus the fee. */
export function split(
  api: Api,
  marketId: string,
  shares: Amount,
  options?: CallOptions,
): Promise<SplitReceipt> {
  const ofMarket = path`/markets/15m/${marketId}/split`;
  return api.call({ method: 'POST', path: ofMarket, body: { shares }, repeat: 'key', options });
}

/** Turns `shares` of UP and of DOWN into dollars, one dollar per pair. */
export function merge(
  api: Api,
  marketId: string,
  shares: Amount,
  options?: CallOptions,
): Promise<MergeReceipt> {
  const ofMarket = path`/markets/15m/${marketId}/merge`;
  return api.call({ method: 'POST', path: ofMarket, body: { shares }, repeat: 'key', options });
}

/** Collects what a resolved market owes you. */
export function claim(api: Api, marketId: string, options?: CallOptions): Promise<ClaimReceipt> {
  const ofMarket = path`/markets/15m/${marketId}/claim`;
  return api.call({ method: 'POST', path: ofMarket, body: {}, repeat: 'key', options });
}

export function cancel(
  api: Api,
  marketId: string,
  order: OrderName,
  options?: CallOptions,
): Promise<CancelReceipt> {
  return api.call({ method: 'DELETE', ...placeOf(marketId, order), repeat: 'key', options });
}

/** Cancels all your resting orders in a market. */
export function cancelAll(
  api: Api,
  marketId: string,
  options?: CallOptions,
): Promise<CancelAllReceipt> {
  const orders = path`/markets/15m/${marketId}/orders`;
  return api.call({ method: 'DELETE', path: orders, repeat: 'key', options });
}

/** Cancels all your resting orders, in all markets or in one market. */
export function cancelEverywhere(
  api: Api,
  userId: string,
  only: { marketId?: string } = {},
  options?: CallOptions,
): Promise<CancelOrdersReceipt> {
  const ofUser = path`/users/${userId}/orders`;
  return api.call({ method: 'DELETE', path: ofUser, query: { ...only }, repeat: 'key', options });
}

/** Changes a resting order's size or price. */
export function amend(
  api: Api,
  marketId: string,
  order: OrderName,
  terms: Amendment,
  options?: CallOptions,
): Promise<AmendReceipt> {
  const place = placeOf(marketId, order);
  return api.call({ method: 'PATCH', ...place, body: terms, repeat: 'key', options });
}

/** An orderId, or your own name for the order. */
export type OrderName = string | { clientOrderId: string };

function placeOf(marketId: string, order: OrderName) {
  if (typeof order === 'string') return { path: path`/markets/15m/${marketId}/orders/${order}` };
  const { clientOrderId } = order;
  return { path: path`/markets/15m/${marketId}/orders/by-client-id`, query: { clientOrderId } };
}

/** `clientOrderId`: one order or none; the order may be closed. */
type OrdersFilter = AccountFilter & {
  status?: 'open' | 'closed' | 'all' | undefined;
  clientOrderId?: string | undefined;
};

/** Your orders, newest first. Without a filter: your resting orders, oldest first. */
export function orders(
  api: Api,
  userId: string,
  query: Paging & OrdersFilter = {},
  options?: CallOptions,
): Promise<Orders> {
  const ofUser = path`/users/${userId}/orders`;
  return api.call({ method: 'GET', path: ofUser, query: { ...query }, options });
}

/** One of your orders, open or closed. */
export function order(
  api: Api,
  userId: string,
  orderId: string,
  options?: CallOptions,
): Promise<OrderRecord> {
  return api.call({ method: 'GET', path: path`/users/${userId}/orders/${orderId}`, options });
}

/** Cancels all your resting orders in `timeoutMs`, unless called again before. 0 turns it off. */
export function cancelAfter(
  api: Api,
  userId: string,
  timeoutMs: number,
  options?: CallOptions,
): Promise<CancelAfter> {
  const ofUser = path`/users/${userId}/cancel-after`;
  return api.call({ method: 'PUT', path: ofUser, body: { timeoutMs }, repeat: 'key', options });
}

/**
 * Creates an order group. Once its orders have filled `maxFilledShares` within `windowMs` of the
 * first of these fills, the exchange cancels the group's other orders and refuses new ones until
 * the group is reset.
 */
export function createOrderGroup(
  api: Api,
  userId: string,
  terms: { maxFilledShares: Amount; windowMs: number },
  options?: CallOptions,
): Promise<OrderGroupTerms> {
  const ofUser = path`/users/${userId}/order-groups`;
  return api.call({ method: 'POST', path: ofUser, body: terms, repeat: 'key', options });
}

/** Your order groups, oldest first. */
export function orderGroups(api: Api, userId: string, options?: CallOptions): Promise<OrderGroups> {
  return api.call({ method: 'GET', path: path`/users/${userId}/order-groups`, options });
}

export function resetOrderGroup(
  api: Api,
  userId: string,
  groupId: string,
  options?: CallOptions,
): Promise<OrderGroupTerms> {
  const reset = path`/users/${userId}/order-groups/${groupId}/reset`;
  return api.call({ method: 'POST', path: reset, body: {}, repeat: 'key', options });
}

/** Removes the group and cancels its orders. */
export function removeOrderGroup(
  api: Api,
  userId: string,
  groupId: string,
  options?: CallOptions,
): Promise<RemovedOrderGroup> {
  const group = path`/users/${userId}/order-groups/${groupId}`;
  return api.call({ method: 'DELETE', path: group, repeat: 'key', options });
}

/** Up to 100 operations, executed in order without interruption. `atomic`: all or none. */
export function batch(
  api: Api,
  operations: readonly Operation[],
  options?: CallOptions & { atomic?: boolean },
): Promise<BatchReceipt> {
  const body = { operations, ...(options?.atomic === true ? { atomic: true } : {}) };
  return api.call({ method: 'POST', path: '/batch', body, repeat: 'key', options });
}
