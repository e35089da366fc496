/**
 * The numbers of the rules, each with its unit and its reason. Changing one changes what recorded
 * commands do, so a changed rule needs a new rule set (rule-sets.ts).
 *
 * Maxima are in limits.ts. The length of a window is in domain.ts, because market ids depend on it.
 */

/**
 * Taker fee of rule set 1: 50 basis points (0.5%) of what a buy spends. Low enough that a round
 * trip costs under 1%.
 */
export const FEE_BASIS_POINTS = 50;
/** The highest rate of each fee that a rule set allows: 10%. */
export const MAX_FEE_BASIS_POINTS = 1_000;
const BASIS_POINTS = 10_000;
const NANOS_PER_MICRO = 1_000;

export interface FeeRates {
  takerFeeBasisPoints: number;
  curveFeeBasisPoints: number;
}

/**
 * The fee on an amount, in micros, rounded up so that no trade is free unless both rates are 0.
 * `curveNanos`: the part of the amount that the curve charges, Σ value × (1 − price), in
 * nano-dollars. The sum of the products is a safe integer and the quotients are below 2^40, so the
 * error of a division cannot change its rounding.
 */
export function feeOn(
  { takerFeeBasisPoints, curveFeeBasisPoints }: FeeRates,
  amountMicros: number,
  curveNanos: number,
): number {
  const flat = amountMicros * takerFeeBasisPoints;
  if (curveFeeBasisPoints === 0) return Math.ceil(flat / BASIS_POINTS);
  const curveMicros = Math.ceil(curveNanos / NANOS_PER_MICRO);
  return Math.ceil((flat + curveMicros * curveFeeBasisPoints) / BASIS_POINTS);
}

/**
 * The largest share of makers: two accounts of one person that trade with each other lose at least
 * half of the fee, less what a referrer gets (INCENTIVES.md).
 */
export const MAX_MAKER_SHARE_PERCENT = 50;

export const VAULT_SHARE_PERCENT = 40;
/**
 * The minimum value of a resting order in rule set 1, at its own price. An order meets at most
 * MAX_FILLS_PER_ORDER makers, so a wall ahead of all other orders costs as many dollars.
 */
export const MIN_RESTING_MICROS = 1_000_000;
export const MAX_MIN_RESTING_MICROS = 1_000_000_000;
/** By how much an operator may multiply a user's rate limits; 1 is every user's first tier. */
export const RATE_TIERS: readonly number[] = [1, 2, 5, 10];
/** A referrer gets 1/10 of the fees and 1/10 of the points of the users referred. */
export const REFERRAL_DIVISOR = 10;

/** Micro-points per micro-dollar of fees: 100 points per dollar. */
export const MICRO_POINTS_PER_FEE_MICRO = 100;
/**
 * A user with the points of a dollar of fees is established, no longer a newcomer. So each of many
 * accounts costs a dollar and the time until a market settles.
 */
export const ESTABLISHED_MICRO_POINTS = 1_000_000 * MICRO_POINTS_PER_FEE_MICRO;
/** Fees earn points from this price, in ticks of the taker's outcome, … */
export const POINTS_MIN_TICKS = 30;
/** … to this one: a trade on a near-certain outcome risks too little to be rewarded. */
export const POINTS_MAX_TICKS = 970;

/** The time that a reference price averages, in ms: one odd price must not decide a market. */
export const REFERENCE_WINDOW_MS = 60_000;
/** Maximum age of the price in force when that time begins, in ms: an older feed has stopped. */
export const REFERENCE_PRICE_AGE_MAX_MS = 120_000;
/**
 * How long a price is remembered, in ms, and the maximum age of a new one. A reference price is
 * computed up to VOID_DELAY_MS after its time and looks back over the two times above.
 */
export const PRICE_REMEMBERED_MS = 300_000;

/**
 * Maximum age of a source's last price in the median, in ms: longer than a feed takes to reconnect,
 * and much shorter than the minute that a reference price averages.
 */
export const SOURCE_FRESH_MS = 15_000;
/**
 * The guard holds back a price that is more than 5/4 or less than 4/5 of the last one: no asset
 * here moves that far between two prices, but a feed may lose or gain a digit.
 */
export const GUARD_RATIO = { above: 5, below: 4 } as const;
/**
 * A held-back price is believed once confirmed for this long, in ms, by this many prices including
 * itself. Half a minute: short enough to end a market before it is VOID. Several prices: a jump of
 * the clock alone must not confirm one.
 */
export const GUARD_CONFIRMED_MS = 30_000;
export const GUARD_PRICES = 3;

/** From a boundary to the final reference price, in ms: late prices still count. */
export const RESOLVE_DELAY_MS = 2_000;
/** From the end of a market to VOID, in ms, if no price arrives to resolve it. */
export const VOID_DELAY_MS = 60_000;
/** From resolution to the automatic payout, in ms: users have a day to claim. */
export const PAYOUT_DELAY_MS = 86_400_000;
/** Windows ahead for which markets are listed: makers quote at most an hour ahead. */
export const UPCOMING_WINDOWS = 4;
/** A market opens late only with at least this much of its window left, in ms. */
export const LATE_OPENING_LEFT_MIN_MS = 60_000;

/** The shortest and the longest time of a dead man's switch, in ms. */
export const MIN_CANCEL_AFTER_MS = 1_000;
export const MAX_CANCEL_AFTER_MS = 3_600_000;

/** The shortest and the longest window of an order group, in ms. */
export const MIN_GROUP_WINDOW_MS = 100;
export const MAX_GROUP_WINDOW_MS = 3_600_000;

/** How long an expired token is distinguished from a revoked one, in ms. */
export const EXPIRED_TOKEN_KEPT_MS = 604_800_000;

/** From a stake to the quarter hour it earns from, in ms: a stake cannot catch a known fee. */
export const VAULT_WARM_UP_MS = 900_000;
/**
 * A market's fees earn a stake at most 1/1,000 of it, and the rest goes to the treasury: otherwise
 * a single dollar in the vault would earn all of the vault's share.
 */
export const YIELD_DIVISOR = 1_000;
/** Yield per staked micro is counted in 1 / YIELD_SCALE micros, so that small shares count. */
export const YIELD_SCALE = 10n ** 18n;
