/**
 * The engine's result codes, in order of precedence: if several apply to a command, the first is
 * its result, and the rules check in this order. Their numbers are permanent, because digests and
 * remembered results contain them. Insert a new code by its precedence and give it the next free
 * number.
 */
export const Code = {
  ok: 0,
  idempotency_key_reused: 1,
  /**
   * The key was used for the same command, which is not executed again. Details: required (the
   * sequence at which it was executed). While the first result is in memory, the engine returns
   * that result instead.
   */
  executed_before: 42,
  /**
   * The token has executed a command with this number or a greater one. Details: required (the
   * greatest executed number).
   */
  client_sequence_stale: 38,
  /**
   * There is no room for the key, so the command was not executed. Details: required (milliseconds
   * until the oldest key of all is forgotten).
   */
  idempotency_full: 27,
  /** A field has the wrong form or range. The gateway checks first, so no client sees this. */
  invalid_command: 2,
  user_not_found: 3,
  /**
   * The user has another resting or recent order with this clientOrderId. Details: required (its
   * order id; 0 for an undone order of the same atomic batch).
   */
  client_order_id_reused: 29,
  market_not_found: 4,
  order_not_found: 5,
  /**
   * The order has ended. Details: required (its id), available (its OrderEnd). An order that ended
   * long ago is not found.
   */
  order_closed: 30,
  deposit_not_found: 6,
  token_not_found: 34,
  order_group_not_found: 40,
  asset_not_found: 7,
  /** Partners cannot move money of the exchange's own accounts. */
  exchange_account: 8,
  /** A partner can withdraw only from users that it registered. */
  user_not_of_partner: 9,
  /**
   * An operator has frozen the user: no orders, complete sets, stakes, transfers or withdrawals.
   */
  user_frozen: 35,
  deadline_passed: 10,
  market_not_active: 11,
  market_paused: 36,
  /** The order group has tripped, and takes no orders until it is reset. */
  order_group_tripped: 41,
  market_not_resolved: 12,
  username_taken: 13,
  referral_code_unknown: 14,
  referral_code_taken: 15,
  deposit_closed: 16,
  nothing_to_claim: 17,
  /**
   * The family has too much money for another grant, or shares, orders or stakes. Details: required
   * (the money must be less), available (the money), in micros.
   */
  too_much_to_start_again: 43,
  /** A maximum of limits.ts is reached. Details: required (the Limit). */
  limit_reached: 18,
  /** Details: required, available (micros). */
  insufficient_balance: 19,
  /** Details: required, available (lots). */
  insufficient_shares: 20,
  post_only_would_trade: 28,
  /** A FOK order cannot be filled at its price. Details: the fillable micros and lots. */
  price_not_met: 21,
  /** Not enough orders to trade with, at any or at an acceptable price. Details: the same. */
  insufficient_liquidity: 22,
  /** The amount does not buy one lot at the best price. */
  amount_too_small: 23,
  /**
   * All of the order would rest, and its value is below the minimum of a resting order. Details:
   * required (the minimum), available (its value), in micros.
   */
  too_small_to_rest: 39,
  /**
   * The price is older than PRICE_REMEMBERED_MS; or a source's price is older than SOURCE_FRESH_MS
   * or than the source's last price.
   */
  price_too_old: 24,
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
