/**
 * Every stated maximum of the engine, and the proof that no sum or product passes 2^53.
 *
 * One cap makes all money safe: the exchange as a whole never holds more than {@link MAX_TOTAL_MICROS}
 * (deposits less withdrawals). No balance, hold, collateral, fee pot, payout or sum of them can then exceed
 * it, and since a complete set costs 1,000 micros of that money, no position can exceed 9e12 lots.
 */

import { feeOn } from './parameters.js';

/** 1 US dollar in micros, the unit of all money. */
export const MICROS_PER_DOLLAR = 1_000_000;
/** What one lot of UP and one lot of DOWN are worth together; also the number of ticks in a dollar. */
export const MICROS_PER_SET = 1_000;
export const MIN_PRICE_TICKS = 1;
export const MAX_PRICE_TICKS = 999;

/** All money in the exchange: 9 billion dollars. */
export const MAX_TOTAL_MICROS = 9_000_000_000_000_000;
/** What one order may spend: a million dollars. */
export const MAX_ORDER_MICROS = 1_000_000 * MICROS_PER_DOLLAR;
/** One deposit, withdrawal, grant or stake: a hundred million dollars. */
export const MAX_TRANSFER_MICROS = 100_000_000 * MICROS_PER_DOLLAR;
/** One order: ten million shares. */
export const MAX_ORDER_LOTS = 10_000_000_000;
/**
 * Makers that one order, and all orders of one batch together, may trade with. What is left of an order after that is
 * dropped; further orders of the batch are refused. Bounds the time and the memory of one command.
 */
export const MAX_FILLS_PER_ORDER = 5_000;

export const MAX_ASSETS = 64;
export const MAX_USERS = 4_000_000;
/** Resting orders of one user, over all markets. */
export const MAX_OPEN_ORDERS_PER_USER = 1_000;
/** Resting orders of everyone. */
export const MAX_OPEN_ORDERS = 4_000_000;
/** Positions of everyone, in markets that are not yet paid out. */
export const MAX_POSITIONS = 8_000_000;
/** Referral codes that one user may ever have; all of them keep leading to the user. */
export const MAX_REFERRAL_CODES_PER_USER = 20;
/** Codes that users chose, of everyone and for ever; those that the engine made come on top. */
export const MAX_CHOSEN_REFERRAL_CODES = 2_000_000;
/** Vault deposits of everyone that are not closed, and closed ones that are still recognised as closed. */
export const MAX_VAULT_DEPOSITS = 5_000_000;
/** Of one user. */
export const MAX_VAULT_DEPOSITS_PER_USER = 10_000;
export const CLOSED_DEPOSITS_REMEMBERED = 100_000;
export const MIN_STAKE_MICROS = MICROS_PER_DOLLAR;
/** Partners who registered users. */
export const MAX_PARTNERS = 1_000;
/** Transfers of partners, whose references are remembered for ever. */
export const MAX_TRANSFERS = 10_000_000;
/** Operations in one batch. */
export const MAX_BATCH_OPERATIONS = 100;

/** An asset's price: ten million dollars. */
export const MAX_ASSET_PRICE_MICROS = 10_000_000 * MICROS_PER_DOLLAR;
/** Prices remembered per asset; they cover the minutes that a reference price may still need. */
export const MAX_REMEMBERED_PRICES = 65_536;

export const MAX_TIME_MS = 8_640_000_000_000;

/** Answers remembered by idempotency key: how long, how many per user, how many in all. */
export const IDEMPOTENCY_KEPT_MS = 3_600_000;
export const IDEMPOTENCY_KEPT_PER_USER = 10_000;
export const IDEMPOTENCY_KEPT_IN_ALL = 2_000_000;
/** And in how many blocks of 64 bytes: 16 MiB per user, 1 GiB in all. */
export const IDEMPOTENCY_BLOCKS_PER_USER = 262_144;
export const IDEMPOTENCY_BLOCKS_IN_ALL = 16_777_216;

/** Credentials; names, codes and references are shorter. */
export const MAX_CREDENTIAL_LENGTH = 512;
export const MAX_REFERENCE_LENGTH = 128;
export const MAX_IDEMPOTENCY_KEY_LENGTH = 64;

/** Work units (orders to cancel, positions to settle or pay) done per command while a market ends. */
export const WORK_UNITS_PER_COMMAND = 1_000;

function assertMaxima(): void {
  const products = [
    MAX_TOTAL_MICROS,
    MAX_ORDER_LOTS * MICROS_PER_SET,
    MAX_ORDER_MICROS + feeOn(MAX_ORDER_MICROS),
    MAX_TRANSFER_MICROS,
    MAX_ASSET_PRICE_MICROS,
    MAX_TIME_MS,
  ];
  for (const product of products) {
    if (!Number.isSafeInteger(product)) throw new Error(`a stated maximum is not a safe integer: ${product}`);
  }
}
assertMaxima();
