/**
 * The terms of the domain as numbers, which fit into integer columns, and the ids of markets. A
 * number never changes its meaning, because journals contain it.
 */
import { MICROS_PER_SET } from './limits.js';

export const Outcome = { UP: 0, DOWN: 1 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

/** Converts a price of UP to ticks of an outcome, and back: UP + DOWN is a dollar. */
export function ticksIn(outcome: number, upTicks: number): number {
  return outcome === Outcome.UP ? upTicks : MICROS_PER_SET - upTicks;
}

export const Side = { BUY: 0, SELL: 1 } as const;
export type Side = (typeof Side)[keyof typeof Side];

/** IOC: fill now, drop the rest. FOK: all or nothing. GTC: rest until the market ends. */
export const TimeInForce = { IOC: 0, FOK: 1, GTC: 2 } as const;
export type TimeInForce = (typeof TimeInForce)[keyof typeof TimeInForce];

/** UPCOMING: listed and traded before its window, without a start price. */
export const MarketStatus = { ACTIVE: 0, ENDED: 1, RESOLVED: 2, UPCOMING: 3 } as const;
export type MarketStatus = (typeof MarketStatus)[keyof typeof MarketStatus];

/** An ended market takes no orders. */
export function hasEnded(status: number): boolean {
  return status === MarketStatus.ENDED || status === MarketStatus.RESOLVED;
}

/**
 * What others may read of an account. PRIVATE: its name and the time of its registration. LISTED:
 * the same, and on leaderboards its figures at the start of the day.
 */
export const Privacy = { OPEN: 0, PRIVATE: 1, LISTED: 2 } as const;
export type Privacy = (typeof Privacy)[keyof typeof Privacy];

export const Resolution = { NONE: 0, UP: 1, DOWN: 2, VOID: 3 } as const;
export type Resolution = (typeof Resolution)[keyof typeof Resolution];

/**
 * The state of an order at the end of the command that placed it.
 * FILLED: nothing is left to fill (an amount is used up when it no longer buys the next lot).
 * PARTIALLY_FILLED: some was filled; the remainder was dropped, or rests (then restingLots > 0).
 * RESTING: nothing was filled; all of it rests.
 * STOPPED_UNFILLED, STOPPED: it met an order of the same user and was cancelled there, without or
 * with fills.
 * TRADE_LIMIT: some was filled; the remainder was dropped at the maximum of makers.
 * TOO_SMALL_TO_REST: some was filled; the remainder is below the minimum value of a resting order.
 * ORDER_GROUP: some was filled, which tripped the order's group; the remainder was dropped.
 */
export const OrderStatus = {
  FILLED: 0,
  PARTIALLY_FILLED: 1,
  RESTING: 2,
  STOPPED_UNFILLED: 3,
  STOPPED: 4,
  TRADE_LIMIT: 5,
  TOO_SMALL_TO_REST: 6,
  ORDER_GROUP: 7,
} as const;
export type OrderStatus = (typeof OrderStatus)[keyof typeof OrderStatus];

/**
 * TRANSFER: a share changes hands. MINT: two buyers pay for a new complete set. MERGE: two sellers
 * redeem one.
 */
export const MatchType = { TRANSFER: 0, MINT: 1, MERGE: 2 } as const;
export type MatchType = (typeof MatchType)[keyof typeof MatchType];

export const SelfTrade = { CANCEL_RESTING: 0, CANCEL_TAKER: 1, CANCEL_BOTH: 2 } as const;
export type SelfTrade = (typeof SelfTrade)[keyof typeof SelfTrade];

export const CancelReason = {
  REQUESTED: 0,
  SELF_TRADE: 1,
  MARKET_ENDED: 2,
  EXPIRED: 3,
  CANCEL_AFTER: 4,
  OPERATOR: 5,
  DISCONNECTED: 6,
  ORDER_GROUP: 7,
} as const;
export type CancelReason = (typeof CancelReason)[keyof typeof CancelReason];

/**
 * How an order ended; RESTING: not yet. UNFILLED: the part that could not be filled immediately
 * was dropped. TRADE_LIMIT, TOO_SMALL_TO_REST: as in OrderStatus. From CANCELLED on, the number
 * less CANCELLED is the CancelReason.
 */
export const OrderEnd = {
  RESTING: 0,
  FILLED: 1,
  UNFILLED: 2,
  TRADE_LIMIT: 3,
  TOO_SMALL_TO_REST: 4,
  CANCELLED: 5,
} as const;

/** The time of an order that had passed, in the details of `deadline_passed`. */
export const Deadline = { VALID_UNTIL: 0, EXPIRES_AT: 1 } as const;

/** FEES: paid by the user. REFERRAL: paid by a referred user. */
export const PointsReason = { FEES: 0, REFERRAL: 1 } as const;
export type PointsReason = (typeof PointsReason)[keyof typeof PointsReason];

/** The source of a deposit. GRANT is play money. */
export const DepositSource = { GRANT: 0, PARTNER: 1 } as const;
export type DepositSource = (typeof DepositSource)[keyof typeof DepositSource];

/** TRADE includes READ. Neither may change credentials. */
export const TokenScope = { READ: 0, TRADE: 1 } as const;
export type TokenScope = (typeof TokenScope)[keyof typeof TokenScope];

/** REVOKED includes tokens that never existed or are forgotten. */
export const TokenState = { VALID: 0, EXPIRED: 1, REVOKED: 2 } as const;
export type TokenState = (typeof TokenState)[keyof typeof TokenState];

export const WINDOW_MS = 900_000;

/** Room for assets in market ids: at least MAX_ASSETS, and never changed. */
const ASSETS_PER_WINDOW = 64;

/**
 * A market's id is one integer, `window × 64 + asset`, where `window` counts the UTC quarter hours
 * since the epoch and `asset` is the index of the asset.
 */
export function marketIdOf(asset: number, startsAtMs: number): number {
  return Math.floor(startsAtMs / WINDOW_MS) * ASSETS_PER_WINDOW + asset;
}
export function assetOfMarket(marketId: number): number {
  return marketId % ASSETS_PER_WINDOW;
}
export function startOfMarketMs(marketId: number): number {
  return Math.floor(marketId / ASSETS_PER_WINDOW) * WINDOW_MS;
}
