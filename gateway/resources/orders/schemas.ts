/** Response bodies of orders, complete sets and claims. */
import { z } from 'zod';
import { DROPPED } from '../../json/cancel-reasons.js';
import { responseObject } from '../../json/components.js';
import * as response from '../../json/response-fields.js';
import { SELF_TRADE_NAMES } from './fields.js';

const place = { orderId: response.orderId, marketId: response.marketId, userId: response.userId };
const namedPlace = {
  orderId: response.orderId,
  clientOrderId: response.clientOrderId,
  marketId: response.marketId,
  userId: response.userId,
};
export const STATUS_TEXT =
  'resting: rests in the book, possibly after some fills; filled: all shares traded, or the remaining amount cannot buy 0.001 share at the next price (if nothing is offered, at the order’s price, or 0.999 without one); partially_filled: ended after some fills, and the rest was dropped; cancelled, expired: cancelled or expired, possibly after some fills. `reason` says why';
export const isOpen = z.boolean().describe('Whether the order rests in the book');
export const terms = {
  timeInForce: z.enum(['IOC', 'FOK', 'GTC']).describe('As it was placed'),
  postOnly: z.boolean().describe('As it was placed'),
  expiresAtMs: response.timeMs
    .nullable()
    .describe('When the order expires; null if only at the market’s end'),
  selfTrade: z
    .enum(SELF_TRADE_NAMES)
    .describe('What is cancelled when the order meets the user’s own order'),
  groupId: response.groupId.nullable().describe('The order’s group; null if it has none'),
};
export const limit = response.price.describe(
  'The price limit; 0.999 to buy, or 0.001 to sell, at any price',
);
export const originalShares = response.shares.describe(
  'The shares ordered; for an amount of dollars, the shares bought plus those that rested',
);
export const amount = response.money
  .nullable()
  .describe(
    'US dollars that the buy was to spend, without the fee, at most the cost of the largest order’s shares; null if the order was for shares, or has been amended',
  );
const traded = {
  outcome: response.outcome,
  status: z.enum(['filled', 'partially_filled', 'resting', 'cancelled']).describe(STATUS_TEXT),
  isOpen,
  reason: z
    .enum([...DROPPED, 'self_trade', 'order_group'])
    .nullable()
    .describe(
      'Why the remainder was cancelled. unfilled: nothing more could be traded; trade_limit: it, or its batch, has traded with as many orders as it may (tradesPerOrder of GET /limits), or passed over many that had just expired, so send the rest again; too_small_to_rest: it would rest, and is worth less than restingOrderValue of GET /limits; self_trade: it met an order of yours, and selfTrade is cancel_taker or cancel_both; order_group: its trades tripped its order group; null: it was not',
    ),
  shares: response.shares.describe('Shares traded immediately'),
  averagePrice: response.price
    .nullable()
    .describe('US dollars per share; null if nothing was traded'),
};
const paid = {
  fee: response.money.describe(
    'US dollars: the feeRate (0.5% by default) on the amount of a filled buy, otherwise on what was spent, and the curve fee (none by default); the sum of the trades’ fees',
  ),
  total: response.money.describe('US dollars: spent plus fee, or received'),
  unspent: response.money.describe('US dollars of the amount that are neither spent nor held'),
  restingShares: response.shares.describe('Shares left in the book'),
  sharesAhead: response.shares
    .nullable()
    .describe(
      'Shares of other orders at the same price that trade before the resting shares; null if nothing rests, or if an amendment kept the order’s place: then read the order',
    ),
};
const settled = {
  fills: z
    .array(
      responseObject('Fill', 'A trade of an order', {
        tradeId: response.tradeId,
        price: response.price,
        shares: response.shares,
      }),
    )
    .describe('The order’s trades, in order'),
  balance: response.balance,
  position: response.position,
  ...response.state,
};
export const BuyReceipt = responseObject('BuyReceipt', 'What a buy did', {
  ...namedPlace,
  side: response.sideOf('BUY'),
  ...traded,
  spent: response.money,
  ...paid,
  originalShares,
  price: limit,
  amount,
  ...terms,
  ...settled,
});
export const SellReceipt = responseObject('SellReceipt', 'What a sale did', {
  ...namedPlace,
  side: response.sideOf('SELL'),
  ...traded,
  received: response.money,
  ...paid,
  originalShares,
  price: limit,
  ...terms,
  ...settled,
});
const amended = {
  orderId: response.orderId,
  clientOrderId: response.clientOrderId,
  keptPriority: z
    .boolean()
    .describe(
      'Whether the order kept its place in the queue. If not, the other fields say what it did when it was placed again',
    ),
  marketId: response.marketId,
  userId: response.userId,
};
export const AmendReceipt = responseObject('AmendReceipt', 'What an amendment did', {
  ...amended,
  side: response.side,
  ...traded,
  spent: response.money.optional().describe('US dollars spent by a buy, without the fee'),
  received: response.money.optional().describe('US dollars received by a sale'),
  ...paid,
  originalShares: response.shares
    .nullable()
    .describe(
      'The total size requested by the amendment, including filled shares; null if unchanged',
    ),
  price: response.price
    .nullable()
    .describe('The price limit requested by the amendment; null if unchanged'),
  ...settled,
});
export const CancelReceipt = responseObject('CancelReceipt', 'A cancelled order', {
  ...place,
  status: z.literal('cancelled').describe('The state'),
  isOpen,
  reason: z.literal('requested').describe('Why the order was cancelled'),
  cancelledShares: response.shares,
  balance: response.balance,
  ...response.state,
});
const cancelledAll = {
  userId: response.userId,
  cancelled: z
    .array(response.orderId)
    .describe('The ids of the cancelled orders, in the order in which they began to rest'),
  cancelledOrders: response.count.describe('The number of cancelled orders'),
  balance: response.balance,
  ...response.state,
};
export const CancelAllReceipt = responseObject(
  'CancelAllReceipt',
  'What cancelling all orders did',
  { marketId: response.marketId, ...cancelledAll },
);
export const CancelOrdersReceipt = responseObject(
  'CancelOrdersReceipt',
  'What cancelling all orders did',
  {
    marketId: response.marketId.nullable().describe('The market; null for all markets'),
    ...cancelledAll,
  },
);
const completeSets = {
  marketId: response.marketId,
  userId: response.userId,
  shares: response.shares.describe('Shares of each outcome'),
};
const after = { balance: response.balance, position: response.position, ...response.state };
export const SplitReceipt = responseObject(
  'SplitReceipt',
  'Dollars that were turned into complete sets',
  {
    ...completeSets,
    spent: response.money,
    fee: response.money.describe(
      'US dollars: the feeRate (0.5% by default) on `spent`, and the curve fee of one share at 0.5 for each pair (none by default)',
    ),
    total: response.money.describe('US dollars: spent plus fee'),
    ...after,
  },
);
export const MergeReceipt = responseObject(
  'MergeReceipt',
  'Complete sets that were turned into dollars',
  {
    ...completeSets,
    received: response.money,
    profit: response.money.describe('US dollars: `received` less what the shares cost'),
    ...after,
  },
);
export const ClaimReceipt = responseObject('ClaimReceipt', 'Claimed winnings', {
  marketId: response.marketId,
  resolution: response.resolution,
  shares: response.shares,
  payout: response.money,
  refundedFees: response.money.optional().describe('Only in a VOID market'),
  balance: response.balance,
  ...response.state,
});
