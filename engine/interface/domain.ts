/**
 * The terms of the domain as numbers, so that they fit into integer columns, and the ids of
 * markets. A number never changes its meaning, because journals contain them.
 */
import { MICROS_PER_SET } from './limits.js';

export const Outcome = { UP: 0, DOWN: 1 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

/** Converts a price of UP to ticks of an outcome, and back: the two prices add up to a dollar. */
export function ticksIn(outcome: number, upTicks: number): number {
  return outcome === Outcome.UP ? upTicks : MICROS_PER_SET - upTicks;
}

export const Side = { BUY: 0, SELL: 1 } as const;
export type Side = (typeof Side)[keyof typeof Side];

/** IOC: fill now, drop the rest. FOK: all or nothing. GTC: rest until the market ends. */
export const TimeInForce = { IOC: 0, FOK: 1, GTC: 2 } as const;
export type TimeInForce = (typeof TimeInForce)[keyof typeof TimeInForce];

/** UPCOMING: listed, and traded, before its window. It has no start price yet. */
export const MarketStatus = { ACTIVE: 0, ENDED: 1, RESOLVED: 2, UPCOMING: 3 } as const;
export type MarketStatus = (typeof MarketStatus)[keyof typeof MarketStatus];

/** It takes no more orders. */
export function hasEnded(status: number): boolean {
  return status === MarketStatus.ENDED || status === MarketStatus.RESOLVED;
}

/**
 * What others may read of an account. PRIVATE: its name and the time of its registration. LISTED:
 * the same, and on leaderboards its figures as they were when the day began.
 */
export const Privacy = { OPEN: 0, PRIVATE: 1, LISTED: 2 } as const;
export type Privacy = (typeof Privacy)[keyof typeof Privacy];

/** NONE until the market is resolved. */
export const Resolution = { NONE: 0, UP: 1, DOWN: 2, VOID: 3 } as const;
export type Resolution = (typeof Resolution)[keyof typeof Resolution];

/**
 * The state of an order at the end of the command that placed it.
 * FILLED: nothing is left to fill (an amount is used up when it no longer buys the next lot).
 * PARTIALLY_FILLED: some was filled; the remainder was dropped, or rests (then restingLots > 0).
 * RESTING: nothing was filled; all of it rests.
 * STOPPED_UNFILLED, STOPPED: it met an order of the same user and was cancelled there, before or
 * after it was partially filled.
 * TRADE_LIMIT: some was filled; the remainder was dropped at the maximum of makers.
 * TOO_SMALL_TO_REST: some was filled; the remainder is below the least value of a resting order.
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

/** What an order does when it meets a resting order of the same user. */
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
 * How an order ended. RESTING: it has not. UNFILLED: what could not be filled at once was dropped;
 * TRADE_LIMIT and TOO_SMALL_TO_REST: for these reasons (OrderStatus). From CANCELLED on, the number
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

/** Which time of an order had passed, in the details of `deadline_passed`. */
export const Deadline = { VALID_UNTIL: 0, EXPIRES_AT: 1 } as const;

/** Points are credited for fees paid, or for the fees of a referred user. */
export const PointsReason = { FEES: 0, REFERRAL: 1 } as const;
export type PointsReason = (typeof PointsReason)[keyof typeof PointsReason];

/** The source of a deposit. GRANT is the play money of a new account. */
export const DepositSource = { GRANT: 0, PARTNER: 1 } as const;
export type DepositSource = (typeof DepositSource)[keyof typeof DepositSource];

/** What a named token may do: read; or also trade, but nothing with credentials. */
export const TokenScope = { READ: 0, TRADE: 1 } as const;
export type TokenScope = (typeof TokenScope)[keyof typeof TokenScope];

/** REVOKED: or never created, or expired so long ago that it is forgotten. */
export const TokenState = { VALID: 0, EXPIRED: 1, REVOKED: 2 } as const;
export type TokenState = (typeof TokenState)[keyof typeof TokenState];

export const WINDOW_MS = 900_000;

/** Market ids have room for this many assets: no fewer than MAX_ASSETS, and never changed. */
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
