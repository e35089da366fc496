/** Names of the reasons why orders ended without being filled. */
import { CancelReason, OrderEnd, OrderStatus } from '../../engine/interface/domain.js';

export const CANCEL_REASONS = {
  [CancelReason.REQUESTED]: 'requested',
  [CancelReason.SELF_TRADE]: 'self_trade',
  [CancelReason.MARKET_ENDED]: 'market_ended',
  [CancelReason.EXPIRED]: 'expired',
  [CancelReason.CANCEL_AFTER]: 'cancel_after',
  [CancelReason.OPERATOR]: 'operator',
  [CancelReason.DISCONNECTED]: 'disconnected',
  [CancelReason.ORDER_GROUP]: 'order_group',
} as const;

/** Why the rest of a traded order was dropped, by its OrderEnd. */
export const DROP_REASONS: Partial<Record<number, DropReason>> = {
  [OrderEnd.UNFILLED]: 'unfilled',
  [OrderEnd.TRADE_LIMIT]: 'trade_limit',
  [OrderEnd.TOO_SMALL_TO_REST]: 'too_small_to_rest',
};
export const DROPPED = ['unfilled', 'trade_limit', 'too_small_to_rest'] as const;
type DropReason = (typeof DROPPED)[number];

export const ENDED = ['self_trade', 'order_group', ...DROPPED] as const;
type EndReason = (typeof ENDED)[number];

/** Why an order ended in its own command, by its status if nothing of it rests. */
export const END_REASONS: Partial<Record<number, EndReason>> = {
  [OrderStatus.PARTIALLY_FILLED]: 'unfilled',
  [OrderStatus.STOPPED_UNFILLED]: 'self_trade',
  [OrderStatus.STOPPED]: 'self_trade',
  [OrderStatus.TRADE_LIMIT]: 'trade_limit',
  [OrderStatus.TOO_SMALL_TO_REST]: 'too_small_to_rest',
  [OrderStatus.ORDER_GROUP]: 'order_group',
};
