/** Lines of a statement, and orders, as responses show them. */

import { CancelReason, Side, TimeInForce } from '../../../engine/interface/domain.js';
import {
  type Assets,
  marketIdText,
  outcomeName,
  sideName,
} from '../../../engine/interface/notation.js';
import type { OrderView } from '../../../engine/interface/views.js';
import type { LedgerLine } from '../../../persistence/history/account/ledger.js';
import {
  OrderState,
  type OrderRecord as Record,
} from '../../../persistence/history/account/orders.js';
import { CANCEL_REASONS } from '../../json/cancel-reasons.js';
import { averagePriceMicros, lots, micros, ticks } from '../../json/decimal.js';
import type { Writable } from '../../json/serializer.js';
import { SELF_TRADE_NAMES } from '../orders/fields.js';
import type { LedgerEntry, OrderRecord } from './schemas.js';

export type WritableOrder = Omit<Writable<typeof OrderRecord>, 'sequence'>;

const TIMES_IN_FORCE = {
  [TimeInForce.IOC]: 'IOC',
  [TimeInForce.FOK]: 'FOK',
  [TimeInForce.GTC]: 'GTC',
} as const;

export function ledgerEntryOf(assets: Assets, line: LedgerLine): Writable<typeof LedgerEntry> {
  const { sequence, atMs, cause, marketId, orderId, tradeId, depositId, shares, balance } = line;
  return {
    sequence,
    atMs,
    cause,
    marketId: marketId === 0 ? null : marketIdText(assets, marketId),
    orderId: orderId === 0 ? null : `o${orderId}`,
    tradeId: tradeId === 0 ? null : `t${tradeId}`,
    depositId: depositId === 0 ? null : `d${depositId}`,
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
    selfTrade: SELF_TRADE_NAMES[selfTrade],
    groupId: order.groupId === 0 ? null : `g${order.groupId}`,
    status: statusOf(order),
    reason: reasonOf(order),
    placedAtMs: order.placedAtMs,
    closedAtMs: order.closedAtMs,
  };
}

/** An order that rests, from the engine, which knows when it last came to rest. */
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

function statusOf({ end, reason, filledLots }: Record): WritableOrder['status'] {
  switch (end) {
    case OrderState.OPEN:
      return filledLots === 0 ? 'resting' : 'partially_filled';
    case OrderState.FILLED:
      return 'filled';
    case OrderState.UNFILLED:
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
