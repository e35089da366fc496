/** Queries, bodies and entries of statements and order lists. */

import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { CancelReason, Side, TimeInForce } from '../../../engine/interface/domain.js';
import {
  type Assets,
  marketIdText,
  outcomeName,
  sideName,
} from '../../../engine/interface/notation.js';
import type { OrderView } from '../../../engine/interface/views.js';
import { CAUSES, CHANGES_MAX } from '../../../persistence/history/account/changes.js';
import type { LedgerLine } from '../../../persistence/history/account/ledger.js';
import {
  OrderState,
  type OrderRecord as Record,
} from '../../../persistence/history/account/orders.js';
import { CANCEL_REASONS, DROPPED } from '../../json/cancel-reasons.js';
import { responseObject, responseSchema } from '../../json/components.js';
import { averagePriceMicros, lots, micros, microsOrNull, ticks } from '../../json/decimal.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import type { Writable } from '../../json/serializer.js';
import * as operation from '../orders/fields.js';
import * as orders from '../orders/schemas.js';

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

const LedgerEntry = responseObject('LedgerEntry', 'A change of money or shares', {
  entryId: z.string().describe('The entry: permanent, and no other of the account has it'),
  eventId: z
    .string()
    .describe(
      'What happened: the entries of one event share it, such as a trade or a split and its fee',
    ),
  sequence: z.int().min(1).describe('The journal sequence of the command'),
  atMs: response.timeMs,
  cause: z
    .enum(CAUSES)
    .describe(
      'Why money or shares changed. hold and release: a resting buy; split and merge: of each outcome, at half a dollar; claim: a payout, or the end of shares that lost; refund: fees of a VOID market',
    ),
  marketId: response.marketId.nullable(),
  orderId: response.orderId.nullable(),
  tradeId: response.tradeId.nullable(),
  depositId: response.depositId.nullable(),
  counterparty: z
    .string()
    .nullable()
    .describe(
      'Where money came from or went to: the name of the partner of a deposit or withdrawal, the id of the other account of a transfer, of the referred user; null: the exchange',
    ),
  reference: z
    .string()
    .nullable()
    .describe('The reference of the partner of a deposit or withdrawal; null: there is none'),
  available: response.money.describe('The change of the available money, in US dollars'),
  held: response.money.describe('The change of the held money, in US dollars'),
  shares: z
    .strictObject({
      outcome: response.outcome,
      change: response.money.describe('Shares gained, or lost if negative'),
    })
    .nullable()
    .describe('The change of shares; null: none'),
  balance: z
    .strictObject({ available: response.money, held: response.money })
    .describe('The balance after the entry'),
});
export const Ledger = responseObject('Ledger', 'The statement of a user', {
  entries: z.array(LedgerEntry).describe('The entries, newest first'),
  ...response.pageEnd,
});

export const OrderRecord = responseObject('OrderRecord', 'An order, open or closed', {
  orderId: response.orderId,
  clientOrderId: response.clientOrderId,
  marketId: response.marketId,
  userId: response.userId,
  side: response.side,
  outcome: response.outcome,
  price: orders.limit,
  amount: orders.amount,
  shares: response.shares.describe('The shares that rest, like restingShares'),
  originalShares: orders.originalShares,
  filledShares: response.shares.describe('The shares traded'),
  restingShares: response.shares.describe('The shares that rest in the book'),
  averagePrice: response.price
    .nullable()
    .describe('US dollars per share; null if there are no shares'),
  spent: response.money.nullable().describe('Without the fee; null of a sale'),
  received: response.money.nullable().describe('null of a buy'),
  fee: response.money,
  ...orders.terms,
  status: z
    .enum(['filled', 'partially_filled', 'resting', 'cancelled', 'expired'])
    .describe(orders.STATUS_TEXT),
  isOpen: orders.isOpen,
  reason: z
    .enum([...DROPPED, ...Object.values(CANCEL_REASONS)])
    .nullable()
    .describe(
      'Why it was not filled, as in the receipt or the cancellation; null: it was, or it rests',
    ),
  placedAtMs: response.timeMs,
  closedAtMs: response.timeMs.nullable().describe('null: it rests'),
  sequence: response.state.sequence.optional(),
  atMs: response.state.atMs.optional(),
});
/** In a list, the list itself has the sequence and the time. */
export const ListedOrder = responseSchema(
  'ListedOrder',
  'An order, open or closed',
  OrderRecord.omit({ sequence: true, atMs: true }),
);
export const Orders = responseObject('Orders', 'The orders of a user', {
  orders: z.array(ListedOrder).describe('The orders'),
  ...response.pageEnd,
});

export type WritableOrder = Omit<Writable<typeof OrderRecord>, 'sequence'>;

const TIMES_IN_FORCE = {
  [TimeInForce.IOC]: 'IOC',
  [TimeInForce.FOK]: 'FOK',
  [TimeInForce.GTC]: 'GTC',
} as const;

type Named = Assets & Pick<Engine, 'transferMadeAt'>;

export function ledgerEntryOf(engine: Named, line: LedgerLine): Writable<typeof LedgerEntry> {
  const { position, sequence, atMs, cause, marketId, orderId, tradeId, depositId } = line;
  const { otherId, shares, balance } = line;
  const isTransfer = cause === 'deposit' || cause === 'withdrawal';
  const transfer = isTransfer ? engine.transferMadeAt(sequence) : null;
  return {
    entryId: `l${position}`,
    eventId: `e${Math.floor(position / CHANGES_MAX)}`,
    sequence,
    atMs,
    cause,
    marketId: marketId === 0 ? null : marketIdText(engine, marketId),
    orderId: orderId === 0 ? null : `o${orderId}`,
    tradeId: tradeId === 0 ? null : `t${tradeId}`,
    depositId: depositId === 0 ? null : `d${depositId}`,
    counterparty: transfer?.partner ?? (otherId === 0 ? null : `u${otherId}`),
    reference: transfer?.reference ?? null,
    available: micros(line.availableMicros),
    held: micros(line.heldMicros),
    shares:
      shares === null ? null : { outcome: outcomeName(shares.outcome), change: lots(shares.lots) },
    balance: {
      available: micros(balance.availableMicros),
      held: micros(balance.heldMicros),
    },
  };
}

export function orderRecordOf(assets: Assets, order: Record): WritableOrder {
  const { side, filledLots, valueMicros, selfTrade } = order;
  const isBuy = side === Side.BUY;
  const average = averagePriceMicros(valueMicros, filledLots);
  return {
    orderId: `o${order.orderId}`,
    clientOrderId: order.clientOrderId,
    marketId: marketIdText(assets, order.marketId),
    userId: `u${order.userId}`,
    side: sideName(side),
    outcome: outcomeName(order.outcome),
    price: ticks(order.priceTicks),
    amount: microsOrNull(order.amountMicros),
    shares: lots(order.restingLots),
    originalShares: lots(order.originalLots),
    filledShares: lots(filledLots),
    restingShares: lots(order.restingLots),
    averagePrice: average === null ? null : micros(average),
    spent: isBuy ? micros(valueMicros) : null,
    received: isBuy ? null : micros(valueMicros),
    fee: micros(order.feeMicros),
    timeInForce: TIMES_IN_FORCE[order.timeInForce as TimeInForce],
    postOnly: order.postOnly,
    expiresAtMs: order.expiresAtMs,
    selfTrade: operation.SELF_TRADE_NAMES[selfTrade],
    groupId: order.groupId === 0 ? null : `g${order.groupId}`,
    status: statusOf(order),
    isOpen: order.end === OrderState.OPEN,
    reason: reasonOf(order),
    placedAtMs: order.placedAtMs,
    closedAtMs: order.closedAtMs,
  };
}

/** A resting order from the engine, which knows when it last came to rest. */
export function restingOrderOf(assets: Assets, order: OrderView): WritableOrder {
  return orderRecordOf(assets, {
    ...order,
    timeInForce: TimeInForce.GTC,
    restingLots: order.sizeLots,
    end: OrderState.OPEN,
    reason: 0,
    closedAtMs: null,
  });
}

function statusOf({ end, reason }: Record): WritableOrder['status'] {
  switch (end) {
    case OrderState.OPEN:
      return 'resting';
    case OrderState.FILLED:
      return 'filled';
    case OrderState.UNFILLED:
      return reason === 0 ? 'partially_filled' : 'cancelled';
    case OrderState.TRADE_LIMIT:
    case OrderState.TOO_SMALL_TO_REST:
      return 'partially_filled';
    case OrderState.CANCELLED:
      return reason === CancelReason.EXPIRED ? 'expired' : 'cancelled';
  }
}

function reasonOf({ end, reason }: Record): WritableOrder['reason'] {
  switch (end) {
    case OrderState.OPEN:
    case OrderState.FILLED:
      return null;
    case OrderState.TRADE_LIMIT:
      return 'trade_limit';
    case OrderState.TOO_SMALL_TO_REST:
      return 'too_small_to_rest';
    case OrderState.UNFILLED:
      return reason === 0 ? 'unfilled' : CANCEL_REASONS[reason as CancelReason];
    case OrderState.CANCELLED:
      return CANCEL_REASONS[reason as CancelReason];
  }
}
