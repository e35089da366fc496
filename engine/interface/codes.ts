/**
 * The engine's result codes. Their order here is their precedence: if several apply to a command,
 * the first one is its result, and the rules check in this order. Their numbers are permanent,
 * because digests and remembered results contain them. A new code is inserted where its precedence
 * puts it and takes the next free number.
 */
export const Code = {
  ok: 0,
  /** The idempotency key was used for another command. */
  idempotency_key_reused: 1,
  /**
   * The client's number is not greater than that of an executed command of the same token. Details:
   * required (the greatest one).
   */
  client_sequence_stale: 38,
  /**
   * There is no room to remember the key, so the command was not executed. Details: required
   * (milliseconds until the oldest key that counts towards the limit expires).
   */
  idempotency_full: 27,
  /** A field has the wrong form or range. The gateway checks first, so no client sees this. */
  invalid_command: 2,
  user_not_found: 3,
  /**
   * The user has another resting or recent order with this clientOrderId. Details: required (its
   * order id; 0: an order of the same atomic batch, which was undone).
   */
  client_order_id_reused: 29,
  market_not_found: 4,
  order_not_found: 5,
  /**
   * The order rests no longer. Details: required (its id), available (its OrderEnd). An order that
   * ended long ago is not found.
   */
  order_closed: 30,
  deposit_not_found: 6,
  token_not_found: 34,
  order_group_not_found: 40,
  asset_not_found: 7,
  /** The account is the exchange's own. Partners do not move its money. */
  exchange_account: 8,
  /** A partner withdraws only from users whom it registered. */
  user_not_of_partner: 9,
  /** An operator has frozen the user: no orders, no stakes, no withdrawals. */
  user_frozen: 35,
  deadline_passed: 10,
  market_not_active: 11,
  /** An operator has paused the market, its asset or everything. */
  market_paused: 36,
  /** Enough of the order group has been filled. It takes no orders until it is reset. */
  order_group_tripped: 41,
  market_not_resolved: 12,
  username_taken: 13,
  referral_code_unknown: 14,
  referral_code_taken: 15,
  deposit_closed: 16,
  nothing_to_claim: 17,
  /** A maximum of limits.ts is reached. Details: required (which Limit). */
  limit_reached: 18,
  /** Details: required, available (micros). */
  insufficient_balance: 19,
  /** Details: required, available (lots). */
  insufficient_shares: 20,
  /** A post-only order would trade at once. */
  post_only_would_trade: 28,
  /** A FOK order cannot be filled at its price. Details: what could be, its micros and lots. */
  price_not_met: 21,
  /** There is not enough to trade with, at any price or at an acceptable one. Details: the same. */
  insufficient_liquidity: 22,
  /** The amount does not buy one lot at the best price. */
  amount_too_small: 23,
  /**
   * All of the order would rest, and it is below the least value of a resting order and is not all
   * that a position has. Details: required (the least), available (its value), both in micros.
   */
  too_small_to_rest: 39,
  /**
   * The price is older than PRICE_REMEMBERED_MS; that of a source is older than SOURCE_FRESH_MS, or
   * than the source's last one.
   */
  price_too_old: 24,
  /** The partner used the reference for another transfer. */
  reference_reused: 25,
  /** Another operation of the atomic batch was refused, so this one was undone or not run. */
  batch_aborted: 26,
} as const;

export type CodeName = keyof typeof Code;

/** The name of each number; undefined if no code has it. */
export const CODES: readonly (CodeName | undefined)[] = namesByNumber();

function namesByNumber(): (CodeName | undefined)[] {
  const names = new Array<CodeName | undefined>(Math.max(...Object.values(Code)) + 1);
  for (const [name, number] of Object.entries(Code)) names[number] = name as CodeName;
  return names;
}
