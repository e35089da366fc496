/** The queries and the response bodies of statements and orders. */
import { z } from 'zod';
import { CAUSES } from '../../../persistence/history/account/changes.js';
import { CANCEL_REASONS, DROPPED } from '../../json/cancel-reasons.js';
import { responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  clientOrderId,
  depositId,
  groupId,
  marketId,
  money,
  nextCursor,
  orderId,
  outcome,
  price,
  shares,
  side,
  state,
  timeMs,
  tradeId,
  userId,
} from '../../json/response-fields.js';
import * as operation from '../orders/fields.js';

export const LedgerQuery = z.strictObject({
  ...request.own,
  cause: z.enum(CAUSES).optional().meta({ description: 'Only entries of this cause' }),
  ...request.accountFilters,
  ...request.paging,
});

export const OrdersQuery = z.strictObject({
  ...request.own,
  status: z.enum(['open', 'closed', 'all']).optional().meta({
    description:
      'Orders that rest (the default), that are closed, or both (the default with `clientOrderId`)',
  }),
  clientOrderId: operation.clientOrderId.schema.optional().meta({
    description:
      'Only the order with this id of yours, if it rests or is one of your last 10,000 with an id',
  }),
  ...request.accountFilters,
  ...request.paging,
});

export const LedgerEntry = responseSchema(
  'LedgerEntry',
  'A change of money or shares',
  z.strictObject({
    sequence: z.int().min(1).meta({ description: 'The journal sequence of the command' }),
    atMs: timeMs,
    cause: z.enum(CAUSES).meta({
      description:
        'Why money or shares changed. hold and release: a resting buy; split and merge: of each outcome, at half a dollar; claim: a payout, or the end of shares that lost; refund: fees of a VOID market',
    }),
    marketId: marketId.nullable(),
    orderId: orderId.nullable(),
    tradeId: tradeId.nullable(),
    depositId: depositId.nullable(),
    available: money.meta({ description: 'The change of the available money, in US dollars' }),
    held: money.meta({ description: 'The change of the held money, in US dollars' }),
    shares: z
      .strictObject({
        outcome,
        change: money.meta({ description: 'Shares gained, or lost if negative' }),
      })
      .nullable()
      .meta({ description: 'The change of shares; null: none' }),
    balance: z
      .strictObject({ available: money, held: money })
      .meta({ description: 'The balance after the entry' }),
  }),
);
export const Ledger = responseSchema(
  'Ledger',
  'The statement of a user',
  z.strictObject({
    entries: z.array(LedgerEntry).describe('The entries, newest first'),
    nextCursor,
    ...state,
  }),
);

export const OrderRecord = responseSchema(
  'OrderRecord',
  'An order, open or closed',
  z.strictObject({
    orderId,
    clientOrderId,
    marketId,
    userId,
    side,
    outcome,
    price: price.meta({ description: 'The limit; 0.999 to buy or 0.001 to sell at any price' }),
    shares: shares.meta({ description: 'The shares that rest, like restingShares' }),
    originalShares: shares.meta({
      description: 'The shares that it was for; of an amount, those that it bought and that rested',
    }),
    filledShares: shares.meta({ description: 'The shares traded' }),
    restingShares: shares.meta({ description: 'The shares that rest in the book' }),
    averagePrice: price.nullable().describe('US dollars per share; null if there are no shares'),
    spent: money.nullable().meta({ description: 'Without the fee; null of a sale' }),
    received: money.nullable().meta({ description: 'null of a buy' }),
    fee: money,
    timeInForce: z.enum(['IOC', 'FOK', 'GTC']).meta({ description: 'As it was placed' }),
    postOnly: z.boolean().meta({ description: 'As it was placed' }),
    expiresAtMs: timeMs.nullable().meta({
      description: 'When it is cancelled; null: when the market ends',
    }),
    selfTrade: z.enum(['cancel_resting', 'cancel_taker', 'cancel_both']).meta({
      description: 'What happens when it meets an order of the same user',
    }),
    groupId: groupId.nullable().meta({ description: 'Its order group; null: none' }),
    status: z
      .enum(['filled', 'partially_filled', 'resting', 'cancelled', 'expired'])
      .describe('The state'),
    reason: z
      .enum([...DROPPED, ...Object.values(CANCEL_REASONS)])
      .nullable()
      .meta({
        description:
          'Why it was not filled, as in the receipt or the cancellation; null: it was, or it rests',
      }),
    placedAtMs: timeMs,
    closedAtMs: timeMs.nullable().meta({ description: 'null: it rests' }),
    sequence: state.sequence.optional(),
    atMs: state.atMs.optional(),
  }),
);
/** In a list, the sequence and the time are those of the list. */
export const ListedOrder = responseSchema(
  'ListedOrder',
  'An order, open or closed',
  OrderRecord.omit({ sequence: true, atMs: true }),
);
export const Orders = responseSchema(
  'Orders',
  'The orders of a user',
  z.strictObject({ orders: z.array(ListedOrder).describe('The orders'), nextCursor, ...state }),
);
