/** Queries, response bodies and entries of statements and order lists. */

import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { CancelReason, Side, TimeInForce } from '../../../engine/interface/domain.js';
import type { Assets } from '../../../engine/interface/notation.js';
import type { OrderView } from '../../../engine/interface/views.js';
import { CAUSES, CHANGES_MAX } from '../../../persistence/history/account/changes.js';
import type { LedgerLine as Line } from '../../../persistence/history/account/ledger.js';
import {
  OrderState,
  type OrderRecord as Record,
} from '../../../persistence/history/account/orders.js';
import type { AsOf } from '../../../persistence/history/as-of.js';
import { CANCEL_REASONS, DROPPED } from '../../json/cancel-reasons.js';
import { responseObject, responseSchema } from '../../json/components.js';
import { averagePriceMicros } from '../../json/decimal.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { type From, Writer } from '../../json/writer.js';
import * as operation from '../orders/fields.js';
import * as receipts from '../orders/schemas.js';

export const LedgerQuery = request.ownQuery({
  cause: z.enum(CAUSES).optional().describe('Only entries with this cause'),
  ...request.accountFilters,
  ...request.paging,
});

export const OrdersQuery = request.ownQuery({
  status: z
    .enum(['open', 'closed', 'all'])
    .optional()
    .describe(
      'open: resting orders (default); closed: ended orders; all: both (default with `clientOrderId`)',
    ),
  clientOrderId: operation.clientOrderId.schema
    .optional()
    .describe(
      'Only the order with this clientOrderId, if it rests or is one of your last 10,000 orders with an id',
    ),
  ...request.accountFilters,
  ...request.paging,
});

const LedgerEntry = responseObject('LedgerEntry', 'A change of money or shares', {
  entryId: z.string().describe('Permanent id of the entry, unique in the account'),
  eventId: z
    .string()
    .describe('Id of the event; the entries of one event share it, such as a trade and its fee'),
  sequence: z.int().min(1).describe('The journal sequence of the command'),
  atMs: response.timeMs,
  cause: z
    .enum(CAUSES)
    .describe(
      'Why money or shares changed. hold, release: money of a resting buy; split, merge: an entry for each outcome, at half a dollar a share; claim: a payout, or the end of lost shares; refund: fees of a VOID market',
    ),
  marketId: response.marketId.nullable(),
  orderId: response.orderId.nullable(),
  tradeId: response.tradeId.nullable(),
  depositId: response.depositId.nullable(),
  counterparty: z
    .string()
    .nullable()
    .describe(
      'Where money came from or went to: the partner’s name for a deposit or withdrawal, the other account’s id for a transfer, the referred user’s id for referral earnings; null for the exchange',
    ),
  reference: z
    .string()
    .nullable()
    .describe('The partner’s reference of a deposit or withdrawal; null if there is none'),
  available: response.money.describe('The change of available money, in US dollars'),
  held: response.money.describe('The change of held money, in US dollars'),
  shares: z
    .strictObject({
      outcome: response.outcome,
      change: response.change,
    })
    .nullable()
    .describe('The change of shares; null if there is none'),
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
  price: receipts.limit,
  amount: receipts.amount,
  shares: response.shares.describe('The same as restingShares'),
  originalShares: receipts.originalShares,
  filledShares: response.shares.describe('The shares traded'),
  restingShares: response.shares.describe('Shares resting in the book'),
  sharesAhead: response.shares
    .nullable()
    .optional()
    .describe(
      'Shares of other orders at the same price that trade before this order; null if the order is closed, or if counting would take too long: then read the order alone. Absent in stream snapshots and in answers to operators',
    ),
  averagePrice: response.averagePrice
    .nullable()
    .describe('US dollars per share; null if there are no shares'),
  spent: response.money.nullable().describe('US dollars, without the fee; null for a sale'),
  received: response.money.nullable().describe('US dollars; null for a buy'),
  fee: response.money,
  ...receipts.terms,
  status: z
    .enum(['filled', 'partially_filled', 'resting', 'cancelled', 'expired'])
    .describe(receipts.STATUS_TEXT),
  isOpen: receipts.isOpen,
  reason: z
    .enum([...DROPPED, ...Object.values(CANCEL_REASONS)])
    .nullable()
    .describe(
      'Why the order was not filled, as in its receipt or cancellation; null if it was filled or rests',
    ),
  placedAtMs: response.timeMs,
  closedAtMs: response.timeMs.nullable().describe('When the order ended; null while it rests'),
  sequence: response.state.sequence.optional(),
  atMs: response.state.atMs.optional(),
});
/** Sequence and time are fields of the list. */
export const ListedOrder = responseSchema(
  'ListedOrder',
  'An order, open or closed',
  OrderRecord.omit({ sequence: true, atMs: true }),
);
export const Orders = responseObject('Orders', 'The orders of a user', {
  orders: z.array(ListedOrder).describe('The orders'),
  ...response.pageEnd,
});

const { shares, balance, available, held, ...event } = LedgerEntry.shape;
const LedgerLine = z.strictObject({
  ...event,
  currency: response.currency,
  available,
  held,
  outcome: response.outcome.nullable(),
  shares: response.change.nullable(),
  balanceAvailable: response.money,
  balanceHeld: response.money,
});
const TIMES_IN_FORCE = {
  [TimeInForce.IOC]: 'IOC',
  [TimeInForce.FOK]: 'FOK',
  [TimeInForce.GTC]: 'GTC',
} as const;

type Named = Assets & Pick<Engine, 'transferMadeAt'>;

function transferOf({ cause, sequence }: Line, names: Named) {
  const isTransfer = cause === 'deposit' || cause === 'withdrawal';
  return isTransfer ? names.transferMadeAt(sequence) : null;
}

const LEDGER: From<Line, Named> = {
  entryId: ({ position }) => `l${position}`,
  eventId: ({ position }) => `e${Math.floor(position / CHANGES_MAX)}`,
  counterparty: (line, names) =>
    transferOf(line, names)?.partner ?? (line.otherId === 0 ? null : `u${line.otherId}`),
  reference: (line, names) => transferOf(line, names)?.reference ?? null,
};
export const ledger = {
  name: 'entries',
  entry: new Writer<Line, Named>(LedgerEntry, {
    ...LEDGER,
    shares: ({ shares }) => shares && { outcome: shares.outcome, changeLots: shares.lots },
  }),
  line: new Writer<Line, Named>(LedgerLine, {
    ...LEDGER,
    outcome: ({ shares }) => shares?.outcome ?? null,
    shares: ({ shares }) => shares?.lots ?? null,
    balanceAvailable: ({ balance }) => balance.availableMicros,
    balanceHeld: ({ balance }) => balance.heldMicros,
  }),
};

const isBuy = ({ side }: Record) => side === Side.BUY;
const ORDER: From<Record, Assets> = {
  shares: 'restingLots',
  sharesAhead: 'aheadLots',
  averagePrice: ({ valueMicros, filledLots }) => averagePriceMicros(valueMicros, filledLots),
  spent: (order) => (isBuy(order) ? order.valueMicros : null),
  received: (order) => (isBuy(order) ? null : order.valueMicros),
  timeInForce: ({ timeInForce }) => TIMES_IN_FORCE[timeInForce as TimeInForce],
  selfTrade: ({ selfTrade }) => operation.SELF_TRADE_NAMES[selfTrade],
  status: statusOf,
  isOpen: ({ end }) => end === OrderState.OPEN,
  reason: reasonOf,
};
export const orderRecord = new Writer<Record & AsOf>(OrderRecord, ORDER);
export const orders = { name: 'orders', entry: new Writer<Record>(ListedOrder, ORDER) };

export function restingOrder(order: OrderView, aheadLots?: number | null): Record {
  return {
    ...order,
    timeInForce: TimeInForce.GTC,
    restingLots: order.sizeLots,
    aheadLots,
    end: OrderState.OPEN,
    reason: 0,
    closedAtMs: null,
  };
}

type Status = z.output<typeof OrderRecord>['status'];
type Reason = z.output<typeof OrderRecord>['reason'];

function statusOf({ end, reason }: Record): Status {
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

function reasonOf({ end, reason }: Record): Reason {
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
