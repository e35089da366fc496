/**
 * Orders in engine units, and the commands made from them. The defaults of omitted fields are here,
 * for single orders and for batches.
 */
import type { Buy, Sell, UserCommand } from '../../../engine/interface/commands.js';
import { type Outcome, SelfTrade, TimeInForce } from '../../../engine/interface/domain.js';
import {
  MAX_ORDER_LOTS,
  MAX_PRICE_TICKS,
  MAX_TIME_MS,
  MIN_PRICE_TICKS,
} from '../../../engine/interface/limits.js';

/** The optional fields of every order. */
export interface LimitFields {
  /** Ticks: the worst acceptable price. */
  price?: number | undefined;
  timeInForce?: TimeInForce | undefined;
  postOnly?: boolean | undefined;
  validUntilMs?: number | undefined;
  clientOrderId?: string | undefined;
  expiresAtMs?: number | undefined;
  selfTrade?: SelfTrade | undefined;
}

/** Either an amount or, with a price, shares. */
export interface BuyOrder extends LimitFields {
  outcome: Outcome;
  /** Micros. */
  amount?: number | undefined;
  /** Lots. */
  shares?: number | undefined;
}

export interface SellOrder extends LimitFields {
  outcome: Outcome;
  /** Lots. */
  shares: number;
}

/** The user and the market of an order. */
export interface OrderPlace extends UserCommand {
  marketId: number;
}

/** A buy "for 10 dollars" is bounded by its budget, one "of 7 shares at 0.4" by its size. */
export function buyCommand({ userId, idempotencyKey, marketId }: OrderPlace, order: BuyOrder): Buy {
  const priceTicks = order.price ?? MAX_PRICE_TICKS;
  const sizeLots = order.shares ?? MAX_ORDER_LOTS;
  return {
    kind: 'buy',
    userId,
    idempotencyKey,
    marketId,
    outcome: order.outcome,
    budgetMicros: order.amount ?? sizeLots * priceTicks,
    sizeLots,
    priceTicks,
    timeInForce: order.timeInForce ?? TimeInForce.IOC,
    postOnly: order.postOnly ?? false,
    validUntilMs: order.validUntilMs ?? MAX_TIME_MS,
    clientOrderId: order.clientOrderId ?? null,
    expiresAtMs: order.expiresAtMs ?? MAX_TIME_MS,
    selfTrade: order.selfTrade ?? SelfTrade.CANCEL_RESTING,
  };
}

export function sellCommand(
  { userId, idempotencyKey, marketId }: OrderPlace,
  order: SellOrder,
): Sell {
  return {
    kind: 'sell',
    userId,
    idempotencyKey,
    marketId,
    outcome: order.outcome,
    sizeLots: order.shares,
    priceTicks: order.price ?? MIN_PRICE_TICKS,
    timeInForce: order.timeInForce ?? TimeInForce.IOC,
    postOnly: order.postOnly ?? false,
    validUntilMs: order.validUntilMs ?? MAX_TIME_MS,
    clientOrderId: order.clientOrderId ?? null,
    expiresAtMs: order.expiresAtMs ?? MAX_TIME_MS,
    selfTrade: order.selfTrade ?? SelfTrade.CANCEL_RESTING,
  };
}
