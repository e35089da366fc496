/** The queries and the response bodies of statements and orders. */
import { z } from 'zod';
import { CAUSES } from '../../../persistence/history/account/changes.js';
import { CANCEL_REASONS, DROPPED } from '../../json/cancel-reasons.js';
import { responseObject, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  clientOrderId,
  depositId,
  groupId,
  marketId,
  money,
  orderId,
  outcome,
  pageEnd,
  price,
  shares,
  side,
  state,
  timeMs,
  tradeId,
  userId,
} from '../../json/response-fields.js';
import * as operation from '../orders/fields.js';

export const LedgerQuery = request.ownQuery({
  cause: z.enum(CAUSES).optional().describe('Only entries of this cause'),
  ...request.accountFilters,
  ...request.paging,
});

export const OrdersQuery = request.ownQuery({
  status: z
    .enum(['open', 'closed', 'all'])
    .optional()
    .describe(
      'Orders that rest (the default), that are closed, or both (the default with `clientOrderId`)',
    ),
  clientOrderId: operation.clientOrderId.schema
    .optional()
    .describe(
      'Only the order with this id of yours, if it rests or is one of your last 10,000 with an id',
    ),
  ...request.accountFilters,
  ...request.paging,
});

export const LedgerEntry = responseObject('LedgerEntry', 'A change of money or shares', {
  sequence: z.int().min(1).describe('The journal sequence of the command'),
  atMs: timeMs,
  cause: z
    .enum(CAUSES)
    .describe(
      'Why money or shares changed. hold and release: a resting buy; split and merge: of each outcome, at half a dollar; claim: a payout, or the end of shares that lost; refund: fees of a VOID market',
    ),
  marketId: marketId.nullable(),
  orderId: orderId.nullable(),
  tradeId: tradeId.nullable(),
  depositId: depositId.nullable(),
  available: money.describe('The change of the available money, in US dollars'),
  held: money.describe('The change of the held money, in US dollars'),
  shares: z
    .strictObject({
      outcome,
      change: money.describe('Shares gained, or lost if negative'),
    })
    .nullable()
    .describe('The change of shares; null: none'),
  balance: z
    .strictObject({ available: money, held: money })
    .describe('The balance after the entry'),
});
export const Ledger = responseObject('Ledger', 'The statement of a user', {
  entries: z.array(LedgerEntry).describe('The entries, newest first'),
  ...pageEnd,
});

export const OrderRecord = responseObject('OrderRecord', 'An order, open or closed', {
  orderId,
  clientOrderId,
  marketId,
  userId,
  side,
  outcome,
  price: price.describe('The limit; 0.999 to buy or 0.001 to sell at any price'),
  shares: shares.describe('The shares that rest, like restingShares'),
  originalShares: shares.describe(
    'The shares that it was for; of an amount, those that it bought and that rested',
  ),
  filledShares: shares.describe('The shares traded'),
  restingShares: shares.describe('The shares that rest in the book'),
  averagePrice: price.nullable().describe('US dollars per share; null if there are no shares'),
  spent: money.nullable().describe('Without the fee; null of a sale'),
  received: money.nullable().describe('null of a buy'),
  fee: money,
  timeInForce: z.enum(['IOC', 'FOK', 'GTC']).describe('As it was placed'),
  postOnly: z.boolean().describe('As it was placed'),
  expiresAtMs: timeMs.nullable().describe('When it is cancelled; null: when the market ends'),
  selfTrade: z
    .enum(['cancel_resting', 'cancel_taker', 'cancel_both'])
    .describe('What happens when it meets an order of the same user'),
  groupId: groupId.nullable().describe('Its order group; null: none'),
  status: z
    .enum(['filled', 'partially_filled', 'resting', 'cancelled', 'expired'])
    .describe('The state'),
  reason: z
    .enum([...DROPPED, ...Object.values(CANCEL_REASONS)])
    .nullable()
    .describe(
      'Why it was not filled, as in the receipt or the cancellation; null: it was, or it rests',
    ),
  placedAtMs: timeMs,
  closedAtMs: timeMs.nullable().describe('null: it rests'),
  sequence: state.sequence.optional(),
  atMs: state.atMs.optional(),
});
/** In a list, the sequence and the time are those of the list. */
export const ListedOrder = responseSchema(
  'ListedOrder',
  'An order, open or closed',
  OrderRecord.omit({ sequence: true, atMs: true }),
);
export const Orders = responseObject('Orders', 'The orders of a user', {
  orders: z.array(ListedOrder).describe('The orders'),
  ...pageEnd,
});
