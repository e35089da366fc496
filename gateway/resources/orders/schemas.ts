/** The response bodies of orders, complete sets and claims. */
import { z } from 'zod';
import { DROPPED } from '../../json/cancel-reasons.js';
import { responseSchema } from '../../json/components.js';
import {
  balance,
  clientOrderId,
  count,
  marketId,
  money,
  orderId,
  outcome,
  price,
  resolution,
  shares,
  side,
  sideOf,
  state,
  timeMs,
  tradeId,
  userId,
} from '../../json/response-fields.js';

const place = { orderId, marketId, userId };
/** Those of an order that the client may have named. */
const namedPlace = { orderId, clientOrderId, marketId, userId };
const traded = {
  outcome,
  status: z.enum(['filled', 'partially_filled', 'resting', 'cancelled']).meta({
    description:
      'filled: all shares traded, or the rest of the amount cannot buy 0.001 share at the next price (if nothing is offered: at the price of the order, or at 0.999 without one)',
  }),
  reason: z
    .enum([...DROPPED, 'self_trade', 'order_group'])
    .nullable()
    .meta({
      description:
        'Why the rest was cancelled. unfilled: nothing more could be traded; trade_limit: it, or its batch, has traded with as many orders as it may (tradesPerOrder of GET /limits), or passed over many that had just expired, so send the rest again; too_small_to_rest: it would rest, and is worth less than restingOrderValue of GET /limits; self_trade: it met an order of yours, and selfTrade is cancel_taker or cancel_both; order_group: its trades tripped its order group; null: it was not',
    }),
  shares: shares.meta({ description: 'Shares traded at once' }),
  averagePrice: price
    .nullable()
    .meta({ description: 'US dollars per share; null when nothing was traded' }),
};
const position = z
  .strictObject({ UP: shares, DOWN: shares })
  .describe('Your shares of each outcome in this market afterwards');
const settled = {
  fee: money.meta({
    description:
      'US dollars: the feeRate (0.5% at first) of the amount of a filled buy, otherwise of what was spent; the sum of the fees of the trades',
  }),
  total: money.meta({ description: 'US dollars: spent plus fee, or received' }),
  unspent: money.meta({ description: 'US dollars of the amount that were neither spent nor held' }),
  restingShares: shares.meta({ description: 'Shares left in the book' }),
  fills: z
    .array(
      responseSchema('Fill', 'A trade of an order', z.strictObject({ tradeId, price, shares })),
    )
    .describe('The trades of the order, in order'),
  balance,
  position,
  ...state,
};
export const BuyReceipt = responseSchema(
  'BuyReceipt',
  'What a buy did',
  z.strictObject({ ...namedPlace, side: sideOf('BUY'), ...traded, spent: money, ...settled }),
);
export const SellReceipt = responseSchema(
  'SellReceipt',
  'What a sale did',
  z.strictObject({
    ...namedPlace,
    side: sideOf('SELL'),
    ...traded,
    received: money,
    ...settled,
  }),
);
const amended = {
  orderId,
  clientOrderId,
  keptPriority: z.boolean().meta({
    description:
      'Whether the order kept its place in the queue. If not, the other fields say what it did when it was placed anew',
  }),
  marketId,
  userId,
};
export const AmendReceipt = responseSchema(
  'AmendReceipt',
  'What an amendment did',
  z.strictObject({
    ...amended,
    side,
    ...traded,
    spent: money.optional().meta({ description: 'Of a buy only: US dollars, without the fee' }),
    received: money.optional().meta({ description: 'Of a sale only: US dollars' }),
    ...settled,
  }),
);
export const CancelReceipt = responseSchema(
  'CancelReceipt',
  'A cancelled order',
  z.strictObject({
    ...place,
    status: z.literal('cancelled').describe('The state'),
    cancelledShares: shares,
    balance,
    ...state,
  }),
);
const cancelledAll = {
  userId,
  cancelled: z
    .array(orderId)
    .meta({ description: 'The ids of the orders, in the order of resting' }),
  cancelledOrders: count.describe('The number of orders that were cancelled'),
  balance,
  ...state,
};
export const CancelAllReceipt = responseSchema(
  'CancelAllReceipt',
  'What cancelling all orders did',
  z.strictObject({ marketId, ...cancelledAll }),
);
export const CancelOrdersReceipt = responseSchema(
  'CancelOrdersReceipt',
  'What cancelling all orders did',
  z.strictObject({
    marketId: marketId.nullable().meta({ description: 'The market; null: all markets' }),
    ...cancelledAll,
  }),
);
const pairs = {
  marketId,
  userId,
  shares: shares.meta({ description: 'Shares of each outcome' }),
};
const after = { balance, position, ...state };
export const SplitReceipt = responseSchema(
  'SplitReceipt',
  'Dollars that were turned into pairs',
  z.strictObject({
    ...pairs,
    spent: money,
    fee: money.meta({ description: 'US dollars: the feeRate (0.5% at first) of spent' }),
    total: money.meta({ description: 'US dollars: spent plus fee' }),
    ...after,
  }),
);
export const MergeReceipt = responseSchema(
  'MergeReceipt',
  'Pairs that were turned into dollars',
  z.strictObject({
    ...pairs,
    received: money,
    profit: money.meta({ description: 'US dollars: received, less what the shares cost' }),
    ...after,
  }),
);
export const ClaimReceipt = responseSchema(
  'ClaimReceipt',
  'Claimed winnings',
  z.strictObject({
    marketId,
    resolution,
    shares,
    payout: money,
    refundedFees: money.optional().meta({ description: 'Only in a VOID market' }),
    balance,
    ...state,
  }),
);

export const Order = z.strictObject({
  ...namedPlace,
  side,
  outcome,
  price,
  shares,
  placedAtMs: timeMs,
});
