/**
 * The engine's result codes, in order of precedence: when several apply, the first one here is the answer.
 * `ok` is 0. The numbers are in digests and in remembered answers: whoever changes one raises the versions of journal and snapshot.
 */
export const CODES = [
  'ok',
  /** The idempotency key was used for another command. */
  'idempotency_key_reused',
  /** A field is not of its stated form or range. The gateway checks first, so a client does not see this one. */
  'invalid_command',
  'user_not_found',
  'market_not_found',
  'order_not_found',
  'deposit_not_found',
  'asset_not_found',
  /** The account is the exchange's own: no partner moves its money. */
  'exchange_account',
  /** A partner withdraws only from users whom it registered. */
  'user_not_of_partner',
  'deadline_passed',
  'market_not_active',
  'market_not_resolved',
  'username_taken',
  'referral_code_unknown',
  'referral_code_taken',
  'deposit_closed',
  'nothing_to_claim',
  /** A stated maximum of the exchange is met. */
  'limit_reached',
  /** Details: required, available (micros). */
  'insufficient_balance',
  /** Details: required, available (lots). */
  'insufficient_shares',
  /** A FOK or post-only order cannot be done at its price. */
  'price_not_met',
  /** Nothing to trade with at an acceptable price. */
  'insufficient_liquidity',
  /** There is something to buy, but the amount does not buy one lot of it. */
  'amount_too_small',
  /** The price is older than the prices that can still matter. */
  'price_too_old',
  /** The partner's reference was used for another transfer. */
  'reference_reused',
  /** An operation of an atomic batch failed, so this one was undone or not tried. */
  'batch_aborted',
] as const;

export type CodeName = (typeof CODES)[number];

/** Code.ok, Code.market_not_found, …: the number of each code. */
export const Code = Object.freeze(
  Object.fromEntries(CODES.map((name, index) => [name, index])) as { readonly [K in CodeName]: number },
);
