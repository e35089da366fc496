/** The names of the reasons for which resting orders are cancelled. */
import { CancelReason } from '../../engine/interface/domain.js';

export const CANCEL_REASONS = {
  [CancelReason.REQUESTED]: 'requested',
  [CancelReason.SELF_TRADE]: 'self_trade',
  [CancelReason.MARKET_ENDED]: 'market_ended',
  [CancelReason.EXPIRED]: 'expired',
  [CancelReason.CANCEL_AFTER]: 'cancel_after',
  [CancelReason.OPERATOR]: 'operator',
  [CancelReason.DISCONNECTED]: 'disconnected',
} as const;
