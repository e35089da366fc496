/**
 * The units and the limits of the engine, and the proof that no sum or product exceeds 2^53.
 *
 * One cap makes all money safe: the exchange never holds more than {@link MAX_TOTAL_MICROS}, which
 * is the maximum of net deposits plus the maximum of play money. No balance, hold, collateral, fee
 * pot, payout or sum of them can exceed the cap. A complete set costs 1,000 micros of that money,
 * so no position can exceed 9e12 lots.
 */

import { feeOn, GUARD_RATIO, MAX_FEE_BASIS_POINTS, UPCOMING_WINDOWS } from './parameters.js';

/** 1 US dollar in micros, the unit of all money. */
export const MICROS_PER_DOLLAR = 1_000_000;
/** The value of one lot of UP plus one lot of DOWN; also the number of ticks in a dollar. */
export const MICROS_PER_SET = 1_000;
export const MIN_PRICE_TICKS = 1;
export const MAX_PRICE_TICKS = 999;

/** Deposits of partners less withdrawals: 3 billion dollars. */
export const MAX_DEPOSITED_MICROS = 3_000_000_000_000_000;
/** All play money ever granted: 6 billion dollars, or 600,000 grants of 10,000. */
export const MAX_GRANTED_MICROS = 6_000_000_000_000_000;
/** Accounts start again only below this, so that play money is left for new accounts. */
export const MAX_GRANTED_AGAIN_MICROS = MAX_GRANTED_MICROS / 2;
export const MAX_TOTAL_MICROS = MAX_DEPOSITED_MICROS + MAX_GRANTED_MICROS;
/** The most that one order may spend: a million dollars. */
export const MAX_ORDER_MICROS = 1_000_000 * MICROS_PER_DOLLAR;
/** The largest deposit, withdrawal, grant or stake: a hundred million dollars. */
export const MAX_TRANSFER_MICROS = 100_000_000 * MICROS_PER_DOLLAR;
/** The largest order: ten million shares. */
export const MAX_ORDER_LOTS = 10_000_000_000;
/** Marks a buy that is limited by its budget; such a buy also gets at most MAX_ORDER_LOTS. */
export const UNSIZED_LOTS = MAX_ORDER_LOTS + 1;
/**
 * Makers that one order, or all orders of one batch together, may trade with. Then the order's
 * remainder is dropped and further orders of the batch are refused. Bounds a command's time and
 * memory.
 */
export const MAX_FILLS_PER_ORDER = 5_000;
/** How many other orders a read of orders examines in total to find their places in the queue. */
export const MAX_QUEUE_ROWS = 5_000;

export const MAX_ASSETS = 64;
export const MAX_USERS = 4_000_000;
/** The most sub-accounts of one user, and of all users. Each counts as a user. */
export const MAX_SUB_ACCOUNTS_PER_USER = 32;
export const MAX_SUB_ACCOUNTS = 1_000_000;
export const MAX_OPEN_ORDERS_PER_USER = 1_000;
export const MAX_OPEN_ORDERS = 4_000_000;
/** Client order ids remembered for one user and for all users, except those of resting orders. */
export const CLIENT_ORDER_IDS_PER_USER = 10_000;
export const CLIENT_ORDER_IDS_IN_ALL = 4_000_000;
/** The last orders of all users whose end is remembered. A power of two. */
export const ORDERS_REMEMBERED = 1_048_576;
export const MAX_POSITIONS = 8_000_000;
/**
 * Positions of one user: for each asset the unpaid markets of the last day (96), the market that
 * has just ended, the active one and the upcoming ones.
 */
export const MAX_POSITIONS_PER_USER = MAX_ASSETS * (96 + 2 + UPCOMING_WINDOWS);
/** The most referral codes that one user may ever have; all stay valid. */
export const MAX_REFERRAL_CODES_PER_USER = 20;
/** The most referral codes that users may ever choose; generated codes do not count. */
export const MAX_CHOSEN_REFERRAL_CODES = 2_000_000;
export const MAX_VAULT_DEPOSITS = 5_000_000;
export const MAX_VAULT_DEPOSITS_PER_USER = 10_000;
export const CLOSED_DEPOSITS_REMEMBERED = 100_000;
export const MIN_STAKE_MICROS = MICROS_PER_DOLLAR;
/**
 * The most named tokens of one user, and of all users, including expired ones that are still known.
 */
export const MAX_TOKENS_PER_USER = 50;
export const MAX_TOKENS = 1_000_000;
export const MAX_ORDER_GROUPS_PER_USER = 20;
export const MAX_ORDER_GROUPS = 1_000_000;
export const MAX_PARTNERS = 1_000;
/**
 * The most remembered references of partners' transfers. At this number deposits are refused,
 * withdrawals are not. A reference is forgotten TRANSFER_KEPT_MS after the end of its period.
 */
export const MAX_TRANSFERS = 10_000_000;
export const TRANSFER_KEPT_MS = 90 * 86_400_000;
export const TRANSFER_PERIOD_MS = 10 * 86_400_000;
export const MAX_BATCH_OPERATIONS = 100;

/** The highest price of an asset: ten million dollars. */
export const MAX_ASSET_PRICE_MICROS = 10_000_000 * MICROS_PER_DOLLAR;
/** Prices remembered per asset, within PRICE_REMEMBERED_MS. */
export const MAX_REMEMBERED_PRICES = 65_536;

/** Sources with a fresh price of one asset. */
export const MAX_PRICE_SOURCES = 16;

export const MAX_TIME_MS = 8_640_000_000_000;

/**
 * Remembered idempotency keys: how long, how many per user, how many in total. A key takes 20
 * bytes, and 11 to 21 in an index: 10,000 a second are 36 million in an hour, and 1.3 GB.
 */
export const IDEMPOTENCY_KEPT_MS = 3_600_000;
export const IDEMPOTENCY_KEPT_PER_USER = 8_000_000;
export const IDEMPOTENCY_KEPT_IN_ALL = 64_000_000;
/**
 * Results that are kept in memory, in words of 4 bytes: an order takes about 30, a batch of 100
 * about 2,200, the largest batch 36,610.
 */
export const RECENT_RESULT_WORDS = 32 * 1024 * 1024;
/** The most expired keys that one command forgets, so that none forgets a whole hour's keys. */
export const FORGOTTEN_PER_COMMAND = 1_000;

export const MAX_CREDENTIAL_LENGTH = 512;
export const MAX_REFERENCE_LENGTH = 128;
export const MAX_IDEMPOTENCY_KEY_LENGTH = 64;
export const MAX_REASON_LENGTH = 200;
/** The last actions of operators, kept for reading; the journal has all. */
export const OPERATOR_ACTIONS_KEPT = 10_000;
export const MAX_TOKEN_NAME_LENGTH = 64;
export const MAX_ALLOWED_ADDRESSES_LENGTH = 1_024;
export const MAX_CLIENT_ORDER_ID_LENGTH = 64;

/**
 * Units of pending work (an order to cancel, a position to settle or pay, a token to end, a timer)
 * done per command.
 */
export const WORK_UNITS_PER_COMMAND = 1_000;
/** Due but not yet cancelled orders that one command may pass over while matching. */
export const MAX_PASSES_PER_COMMAND = 1_000;

/** The first detail of `limit_reached`. The numbers are permanent. */
export const Limit = {
  orderAmount: 1,
  openOrders: 2,
  positions: 3,
  /** MAX_FILLS_PER_ORDER, of a batch. */
  trades: 4,
  /** MAX_PASSES_PER_COMMAND. */
  expiredOrders: 5,
  deposits: 6,
  playMoney: 7,
  accounts: 8,
  partners: 9,
  transfers: 10,
  subAccounts: 11,
  referralCodes: 12,
  tokens: 13,
  orderGroups: 14,
  vaultDeposits: 15,
  assets: 16,
  prices: 17,
  priceSources: 18,
  /** One grant of startAgain a day. */
  startAgain: 19,
} as const;
export type LimitName = keyof typeof Limit;
export type Limit = (typeof Limit)[LimitName];

const HIGHEST_FEES = {
  takerFeeBasisPoints: MAX_FEE_BASIS_POINTS,
  curveFeeBasisPoints: MAX_FEE_BASIS_POINTS,
};

function assertMaxima(): void {
  const products = [
    MAX_TOTAL_MICROS,
    MAX_ORDER_LOTS * MICROS_PER_SET,
    // The numerator of a fee, and the nano-dollars on which the curve charges it.
    2 * MAX_ORDER_MICROS * MAX_FEE_BASIS_POINTS,
    MAX_ORDER_MICROS * MICROS_PER_SET,
    MAX_ORDER_MICROS + feeOn(HIGHEST_FEES, MAX_ORDER_MICROS, MAX_ORDER_MICROS * MICROS_PER_SET),
    MAX_TRANSFER_MICROS,
    MAX_ASSET_PRICE_MICROS * Math.max(GUARD_RATIO.above, GUARD_RATIO.below),
    MAX_TIME_MS,
  ];
  for (const product of products) {
    if (!Number.isSafeInteger(product))
      throw new Error(`a limit is not a safe integer: ${product}`);
  }
}
assertMaxima();
