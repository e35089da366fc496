/** Response bodies of orders, complete sets and claims. */
import { z } from 'zod';
import { DROPPED } from '../../json/cancel-reasons.js';
import { responseObject } from '../../json/components.js';
import * as response from '../../json/response-fields.js';
import { SELF_TRADE_NAMES } from './fields.js';

const place = { orderId: response.orderId, marketId: response.marketId, userId: response.userId };
/** Fields of orders that may have a client's name. */
const namedPlace = {
  orderId: response.orderId,
  clientOrderId: response.clientOrderId,
  marketId: response.marketId,
  userId: response.userId,
};
export const STATUS_TEXT =
  'resting: it is open, whatever it has filled; filled: all shares traded, or the rest of the amount cannot buy 0.001 share at the next price (if nothing is offered: at the price of the order, or at 0.999 without one); partially_filled: it has ended, and its rest was dropped; cancelled, expired: it was cancelled, whatever it had filled. `reason` says why';
export const isOpen = z.boolean().describe('Whether it rests in the book');
export const terms = {
  timeInForce: z.enum(['IOC', 'FOK', 'GTC']).describe('As it was placed'),
  postOnly: z.boolean().describe('As it was placed'),
  expiresAtMs: response.timeMs
    .nullable()
    .describe('When it is cancelled; null: when the market ends'),
  selfTrade: z.enum(SELF_TRADE_NAMES).describe('What happens when it meets an order of the user'),
  groupId: response.groupId.nullable().describe('Its order group; null: none'),
};
export const limit = response.price.describe(
  'The limit; 0.999 to buy or 0.001 to sell at any price',
);
export const originalShares = response.shares.describe(
  'The shares ordered; for an amount of dollars, the shares bought plus those that rested',
);
export const amount = response.money
  .nullable()
  .describe(
    'US dollars that a buy was to spend, without the fee, and at most what the most shares that an order may have cost or hold; null: it was for shares, or was amended since',
  );
const traded = {
  outcome: response.outcome,
  status: z.enum(['filled', 'partially_filled', 'resting', 'cancelled']).describe(STATUS_TEXT),
  isOpen,
  reason: z
    .enum([...DROPPED, 'self_trade', 'order_group'])
    .nullable()
    .describe(
      'Why the rest was cancelled. unfilled: nothing more could be traded; trade_limit: it, or its batch, has traded with as many orders as it may (tradesPerOrder of GET /limits), or passed over many that had just expired, so send the rest again; too_small_to_rest: it would rest, and is worth less than restingOrderValue of GET /limits; self_trade: it met an order of yours, and selfTrade is cancel_taker or cancel_both; order_group: its trades tripped its order group; null: it was not',
    ),
  shares: response.shares.describe('Shares traded immediately'),
  averagePrice: response.price
    .nullable()
    .describe('US dollars per share; null when nothing was traded'),
};
const paid = {
  fee: response.money.describe(
    'US dollars: the feeRate (0.5% at first) of the amount of a filled buy, otherwise of what was spent; the sum of the fees of the trades',
  ),
  total: response.money.describe('US dollars: spent plus fee, or received'),
  unspent: response.money.describe('US dollars of the amount that were neither spent nor held'),
  restingShares: response.shares.describe('Shares left in the book'),
  sharesAhead: response.shares
    .nullable()
    .describe(
      'Shares of other orders at the price that trade before what rests; null: nothing rests, or an amendment kept the place of the order: read the order',
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
    .describe('The trades of the order, in order'),
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
      'Whether the order kept its place in the queue. If not, the other fields say what it did when it was placed anew',
    ),
  marketId: response.marketId,
  userId: response.userId,
};
export const AmendReceipt = responseObject('AmendReceipt', 'What an amendment did', {
  ...amended,
  side: response.side,
  ...traded,
  spent: response.money.optional().describe('Of a buy only: US dollars, without the fee'),
  received: response.money.optional().describe('Of a sale only: US dollars'),
  ...paid,
  originalShares: response.shares
    .nullable()
    .describe(
      'The total size that the amendment requested, including filled shares; null: unchanged',
    ),
  price: response.price
    .nullable()
    .describe('The limit that the amendment requested; null: unchanged'),
  ...settled,
});
export const CancelReceipt = responseObject('CancelReceipt', 'A cancelled order', {
  ...place,
  status: z.literal('cancelled').describe('The state'),
  isOpen,
  reason: z.literal('requested').describe('Why it was cancelled'),
  cancelledShares: response.shares,
  balance: response.balance,
  ...response.state,
});
const cancelledAll = {
  userId: response.userId,
  cancelled: z.array(response.orderId).describe('The ids of the orders, in the order of resting'),
  cancelledOrders: response.count.describe('The number of orders that were cancelled'),
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
    marketId: response.marketId.nullable().describe('The market; null: all markets'),
    ...cancelledAll,
  },
);
const pairs = {
  marketId: response.marketId,
  userId: response.userId,
  shares: response.shares.describe('Shares of each outcome'),
};
const after = { balance: response.balance, position: response.position, ...response.state };
export const SplitReceipt = responseObject('SplitReceipt', 'Dollars that were turned into pairs', {
  ...pairs,
  spent: response.money,
  fee: response.money.describe('US dollars: the feeRate (0.5% at first) of spent'),
  total: response.money.describe('US dollars: spent plus fee'),
  ...after,
});
export const MergeReceipt = responseObject('MergeReceipt', 'Pairs that were turned into dollars', {
  ...pairs,
  received: response.money,
  profit: response.money.describe('US dollars: received, less what the shares cost'),
  ...after,
});
export const ClaimReceipt = responseObject('ClaimReceipt', 'Claimed winnings', {
  marketId: response.marketId,
  resolution: response.resolution,
  shares: response.shares,
  payout: response.money,
  refundedFees: response.money.optional().describe('Only in a VOID market'),
  balance: response.balance,
  ...response.state,
});
