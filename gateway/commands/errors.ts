/** Every error of the API. Messages depend only on request and result, so replays are identical. */

import { z } from 'zod';
import type { CodeName } from '../../engine/interface/codes.js';
import { type CancelReason, Deadline, OrderEnd } from '../../engine/interface/domain.js';
import { Limit, type LimitName } from '../../engine/interface/limits.js';
import { CANCEL_REASONS, DROP_REASONS } from '../json/cancel-reasons.js';
import { responseObject } from '../json/components.js';
import { lotsText, microsText } from '../json/decimal.js';
import { cut, type FieldProblems, PROBLEMS_MAX } from '../json/problems.js';
import type { Refusal } from './execution.js';

type Entries<Code extends string> = Record<Code, { status: number; message: string }>;

function entries<Code extends string>(status: number, texts: Record<Code, string>): Entries<Code> {
  const list = Object.entries<string>(texts).map(([code, message]) => [code, { status, message }]);
  return Object.fromEntries(list) as Entries<Code>;
}

export const ERRORS = {
  ...entries(400, {
    invalid_json: 'The body is not valid UTF-8 JSON. Send one JSON object.',
    invalid_request: 'The request is not valid.',
    amount_too_small:
      'The amount buys less than 0.001 shares, the smallest size, at the best price. Send a larger amount.',
  }),
  ...entries(401, {
    missing_token:
      'This route requires a session. Send the token in the x-user-token header or the service-session cookie. Authorization: Bearer does not authenticate users.',
    invalid_token:
      'This exchange did not issue the token, or has replaced its session secret. Sign in again.',
    token_revoked:
      'The token was revoked, or the password was changed after it was issued. Sign in again.',
    token_expired: 'The token has expired. Sign in and create another one.',
    wrong_credentials: 'The username or password is wrong.',
  }),
  ...entries(403, {
    user_mismatch: 'The request names a user other than the owner of the token.',
    cross_site_request:
      'A change authenticated by the session cookie must come from the same site. Other clients must send x-user-token.',
    operator_key_required:
      'This route is for operators. Send a valid operator key as Authorization: Bearer <key>.',
    scope_insufficient:
      'The scope of this token does not allow the request. A read token changes nothing; only the token of a sign-in can change the password, named tokens and sub-accounts.',
    address_not_allowed:
      'The token may not be used from this address. Use an address of its allowedAddresses, or another token.',
    partner_key_required:
      'This route is for partners. Send a valid partner key as Authorization: Bearer <key>.',
  }),
  ...entries(404, {
    route_not_found: 'There is no such route. The API is under /api.',
    market_not_found: 'There is no market with this id.',
    user_not_found: 'There is no user with this id.',
    order_not_found: 'The account has no such order, or it ended long ago.',
    deposit_not_found: 'You have no vault deposit with this id.',
    order_group_not_found: 'You have no order group with this id.',
    token_not_found: 'You have no token with this id. It may have been revoked.',
  }),
  ...entries(405, {
    method_not_allowed: 'The route does not support this method. See the Allow header.',
  }),
  ...entries(409, {
    market_not_active: 'The market has ended and accepts no more orders.',
    market_paused:
      'An operator has paused the market. Orders can be cancelled, but no new ones are accepted.',
    user_frozen:
      'An operator has frozen the account. Trades, stakes, transfers and withdrawals are refused.',
    order_group_tripped:
      'The orders of the group have filled its maxFilledShares, and the others were cancelled. Nothing was traded. Reset the group to use it again.',
    market_not_resolved: 'The market is not resolved yet. Try again when its status is "resolved".',
    nothing_to_claim: 'There is nothing to claim.',
    too_much_to_start_again: 'The account has too much to start again.',
    already_paid: 'The winnings have already been paid.',
    insufficient_liquidity:
      'Not enough orders match at an acceptable price. Nothing was traded or charged.',
    post_only_would_trade:
      'The order is postOnly and would trade immediately at its price. Nothing was traded.',
    price_not_met: 'The FOK order cannot be filled completely at its price. Nothing was traded.',
    deadline_passed:
      'The order arrived after its validUntilMs, or not before its expiresAtMs. Nothing was traded.',
    order_closed: 'The order is no longer resting.',
    client_order_id_reused:
      'Another resting or recent order of yours (details.orderId) has this clientOrderId. Nothing was traded. Use a new id.',
    client_sequence_stale:
      'The number is not greater than details.last, the last number that this token has used. The request was not executed.',
    username_taken: 'The username is taken. Choose another.',
    referral_code_taken: 'The referral code is taken. Choose another.',
    deposit_closed: 'The vault deposit has already been unstaked.',
  }),
  ...entries(410, {
    history_pruned:
      'The exchange has removed orders and books of this age. It keeps trades, statements and claims.',
  }),
  ...entries(413, { body_too_large: 'The body is larger than 64 KiB.' }),
  ...entries(415, {
    unsupported_media_type: 'Send the body as JSON in UTF-8, with Content-Type: application/json.',
  }),
  ...entries(422, {
    insufficient_balance: 'The available balance is too low.',
    insufficient_shares: 'Not enough shares are available.',
    too_small_to_rest:
      'The order would rest in the book, but is worth less than restingOrderValue of GET /limits. Nothing was traded.',
    idempotency_key_reused:
      'The key or reference was already used for a different request. Use a new key for each request.',
    limit_reached: 'A limit has been reached; details.limit names the limit.',
  }),
  ...entries(429, {
    rate_limited: 'Too many requests. Wait for the number of seconds in the Retry-After header.',
    idempotency_full:
      'The exchange has no room for another idempotency key. The request was not executed. Wait for the number of seconds in the Retry-After header, or send the request without a key or with Client-Sequence.',
  }),
  ...entries(503, {
    unavailable: 'The exchange cannot process the request now. Nothing was executed; try again.',
    history_unavailable:
      'The history is behind or being repaired, and cannot be read now. Trading is not affected. Try again later.',
  }),
  ...entries(504, {
    outcome_unknown:
      'The connection to the leader was lost before its answer came, so the request may have been executed. If the request has an Idempotency-Key, send the request again unchanged. Otherwise read your orders and balance first.',
  }),
};

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** Reasons to refuse any order, apart from a lack of money or shares. */
export const ORDER_ERRORS = [
  'client_order_id_reused',
  'market_not_found',
  'order_group_not_found',
  'user_frozen',
  'market_not_active',
  'market_paused',
  'order_group_tripped',
  'deadline_passed',
  'limit_reached',
  'insufficient_liquidity',
  'post_only_would_trade',
  'price_not_met',
  'too_small_to_rest',
  'history_unavailable',
] as const satisfies readonly ErrorCode[];

export const SETS_ERRORS = [
  'market_not_found',
  'user_frozen',
  'market_not_active',
  'market_paused',
  'history_unavailable',
] as const satisfies readonly ErrorCode[];

export interface ErrorAnswer {
  status: number;
  text: string;
}

export function errorAnswer(code: ErrorCode, details: object = {}, message = ''): ErrorAnswer {
  const entry = ERRORS[code];
  const error = { code, message: message || entry.message, details };
  return { status: entry.status, text: JSON.stringify({ error }) };
}

export function rateLimited(
  waitMs: number,
  code: 'rate_limited' | 'idempotency_full' = 'rate_limited',
): { error: ErrorAnswer; retryAfter: string } {
  const retryAfterMs = Math.ceil(waitMs);
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return { error: errorAnswer(code, { retryAfterMs }), retryAfter: `${seconds}` };
}

export function scopeInsufficient(scope: string, required: 'trade' | 'password'): ErrorAnswer {
  return errorAnswer('scope_insufficient', { scope, required });
}

/** Client-chosen field names are cut to this length. All valid names are shorter. */
const NAME_CHARACTERS_MAX = 60;

export function invalidRequest(problems: FieldProblems): ErrorAnswer {
  const named = Object.entries(problems)
    .slice(0, PROBLEMS_MAX)
    .map(([field, problem]) => [cut(field, NAME_CHARACTERS_MAX), problem]);
  const sentences = named.map(([field, problem]) => `${field} ${problem}`);
  const message = `The request is not valid: ${sentences.join('; ')}.`;
  return errorAnswer('invalid_request', Object.fromEntries(named), message);
}

export const UNKNOWN_PARTNER_KEY =
  'The Authorization header does not contain a valid partner key as Bearer <key>. Omit it to register without a partner.';

const TRANSLATED: Partial<Record<CodeName, ErrorAnswer>> = {
  // The schemas check everything that the engine checks, so this is a bug, which is logged.
  invalid_command: invalidRequest({
    request: 'has a field that is out of range. This is a bug of the exchange; report it',
  }),
  referral_code_unknown: invalidRequest({ referralCode: 'is not the referral code of a user' }),
  exchange_account: errorAnswer(
    'user_mismatch',
    {},
    'The account belongs to the exchange. Partners can neither deposit to it nor withdraw from it.',
  ),
  user_not_of_partner: errorAnswer(
    'user_mismatch',
    {},
    'The user was not registered with your partner key. You can deposit to the account but not withdraw from it.',
  ),
  reference_reused: errorAnswer(
    'idempotency_key_reused',
    {},
    'The reference was already used for a different transfer. Use a new reference.',
  ),
};

/** Refusal by a process that is not the leader. Retrying at the same process does not help. */
export function notLeading(role: 'standby' | 'replica', leader: string | null): ErrorAnswer {
  const where = leader === null ? 'No leader is known now.' : `The leader is ${leader}.`;
  const message = `This exchange is a ${role}, not the leader. Nothing was executed. ${where}`;
  return errorAnswer('unavailable', { executed: false, reason: role, leader }, message);
}

export const UNAVAILABLE = errorAnswer('unavailable', { executed: false });
export const HISTORY_PRUNED = errorAnswer('history_pruned');
export const HISTORY_UNAVAILABLE = errorAnswer('history_unavailable', { executed: false });
export const OUTCOME_UNKNOWN = errorAnswer('outcome_unknown');

/** Errors without details, built once because a batch may contain many of them. */
const PLAIN = Object.fromEntries(ERROR_CODES.map((code) => [code, errorAnswer(code)])) as Record<
  ErrorCode,
  ErrorAnswer
>;

function knownAs(code: CodeName): ErrorCode | ErrorAnswer {
  const translated = TRANSLATED[code];
  if (translated !== undefined) return translated;
  if (!isErrorCode(code)) throw new Error(`the engine's code ${code} has no error in the API`);
  return code;
}

/**
 * Returns the error for an engine code. The meaning of the engine's `required` and `available`
 * depends on the code:
 * - by default, amounts in micros or lots;
 * - refused FOK order: the value and the lots that could be filled;
 * - reused clientOrderId: the order that has it;
 * - limit reached: the Limit;
 * - closed order: its id and OrderEnd;
 * - late order: the missed Deadline and the exchange's time.
 */
export function rejection(code: CodeName, required: number, available: number): ErrorAnswer {
  const known = knownAs(code);
  if (typeof known !== 'string') return known;
  const refusal = wordingOf(known, required, available);
  return refusal === null ? PLAIN[known] : detailedAnswer(known, refusal);
}

function batchRejection(
  operation: number,
  code: CodeName,
  required: number,
  available: number,
): ErrorAnswer {
  const known = knownAs(code);
  if (typeof known !== 'string') return known;
  const refusal = wordingOf(known, required, available);
  const reason = refusal?.message ?? ERRORS[known].message;
  const message = `The batch was not executed because operation ${operation} failed. ${reason}`;
  const own = refusal === null ? '' : `,${refusal.details}`;
  return detailedAnswer(known, { message, details: `"operation":${operation}${own}` });
}

function executedBefore(sequence: number): ErrorAnswer {
  const message =
    'An earlier request with this key was executed, at details.sequence; this one was not. The answer cannot be read now: repeat the request with the same key.';
  return errorAnswer('history_unavailable', { executed: true, sequence }, message);
}

export function refusalAnswer({ code, required, available, operation }: Refusal): {
  error: ErrorAnswer;
  retryAfter: string | null;
} {
  if (code === 'unavailable') return { error: UNAVAILABLE, retryAfter: null };
  if (operation !== null)
    return { error: batchRejection(operation, code, required, available), retryAfter: null };
  if (code === 'idempotency_full') return rateLimited(required, code);
  if (code === 'executed_before') return { error: executedBefore(required), retryAfter: '1' };
  return { error: rejection(code, required, available), retryAfter: null };
}

const LIMIT_TEXTS: Record<LimitName, string> = {
  orderAmount: 'The order is larger than orderAmount of GET /limits.',
  openOrders: 'You have reached your limit of resting orders. Cancel some.',
  positions: 'You have reached your limit of positions. Claim those of resolved markets.',
  trades:
    'The batch has traded with as many orders as a batch can. Send this order in another request.',
  expiredOrders: 'Too many orders that have just expired are ahead of this one. Try again.',
  deposits: 'The exchange has reached its limit of deposited money.',
  playMoney: 'The exchange has reached its limit of play money, and gives no more.',
  accounts: 'The exchange has reached its limit of accounts.',
  partners: 'The exchange has reached its limit of partners with users.',
  transfers:
    'The exchange has reached its limit of remembered transfers. It refuses deposits until it has forgotten the oldest transfers; it accepts withdrawals.',
  subAccounts: 'You have reached your limit of sub-accounts, or this account is a sub-account.',
  referralCodes: 'You have reached your limit of chosen referral codes.',
  tokens: 'You have reached your limit of named tokens. Revoke one.',
  orderGroups: 'You have reached your limit of order groups. Delete one.',
  vaultDeposits: 'You have reached your limit of vault deposits. Unstake one.',
  assets: 'The exchange has reached its limit of assets.',
  prices: 'The exchange has reached its limit of prices for this asset.',
  startAgain: 'This account has already started again today (UTC). Try again after midnight UTC.',
  priceSources: 'The exchange has reached its limit of price sources for this asset.',
};
const LIMIT_NAMES = new Map(
  Object.entries(Limit).map(([name, limit]) => [limit, name as LimitName] as const),
);
/** Limits that rise as other users use less, or after a user has paid a dollar of fees. */
const SHARED: readonly LimitName[] = [
  'openOrders',
  'positions',
  'subAccounts',
  'referralCodes',
  'tokens',
  'orderGroups',
  'vaultDeposits',
];
const OF_ALL =
  ' The limit rises when other users have less, or once you have paid a dollar of fees.';

interface Wording {
  message: string;
  /** JSON without the braces, with exact decimals. */
  details: string;
}

function wordingOf(code: ErrorCode, required: number, available: number): Wording | null {
  if (code === 'limit_reached') {
    const limit = LIMIT_NAMES.get(required as Limit)!;
    const message = LIMIT_TEXTS[limit] + (SHARED.includes(limit) ? OF_ALL : '');
    return { message, details: `"limit":"${limit}"` };
  }
  if (code === 'insufficient_balance') {
    const [needs, has] = [microsText(required), microsText(available)];
    const message = `This requires $${needs}, but $${has} is available.`;
    return { message, details: `"required":${needs},"available":${has}` };
  }
  if (code === 'insufficient_shares') {
    const [needs, has] = [lotsText(required), lotsText(available)];
    const message = `This requires ${needs} shares, but ${has} are available.`;
    return { message, details: `"required":${needs},"available":${has}` };
  }
  if (code === 'too_much_to_start_again') {
    const [below, has] = [microsText(required), microsText(available)];
    const message =
      required === 0
        ? 'This exchange gives no play money to start again.'
        : `To start again, an account must have less than $${below}, and no unsettled or unpaid market, resting order or stake. It has $${has}. Sub-accounts count.`;
    return { message, details: `"required":${below},"available":${has}` };
  }
  if (code === 'too_small_to_rest') {
    const [least, value] = [microsText(required), microsText(available)];
    const message = `The order would rest in the book, but is worth only $${value} at its price. The minimum is $${least}. Nothing was traded.`;
    return { message, details: `"required":${least},"value":${value}` };
  }
  if (code === 'client_order_id_reused') {
    const orderId = required === 0 ? 'null' : `"o${required}"`;
    return { message: ERRORS[code].message, details: `"orderId":${orderId}` };
  }
  if (code === 'deadline_passed') {
    const deadline = required === Deadline.VALID_UNTIL ? 'validUntilMs' : 'expiresAtMs';
    const message = `The order's ${deadline} had passed at ${available}, the exchange's time. Nothing was traded.`;
    return { message, details: `"deadline":"${deadline}","atMs":${available}` };
  }
  if (code === 'client_sequence_stale')
    return { message: ERRORS[code].message, details: `"last":${required}` };
  if (code === 'order_closed') {
    const { status, reason } = closedState(available);
    const why = reason === null ? 'it was filled' : `it was cancelled (${reason})`;
    const details = `"orderId":"o${required}","status":"${status}","isOpen":false,"reason":${JSON.stringify(reason)}`;
    return { message: `The order is no longer resting: ${why}.`, details };
  }
  if (code === 'price_not_met' || code === 'insufficient_liquidity') {
    const details = `"availableShares":${lotsText(available)},"availableValue":${microsText(required)}`;
    const found = available === 0 ? '' : ` ${lotsText(available)} shares could be filled.`;
    return { message: ERRORS[code].message + found, details };
  }
  return null;
}

function closedState(end: number): { status: string; reason: string | null } {
  if (end === OrderEnd.FILLED) return { status: 'filled', reason: null };
  // Dropped orders are always partly filled, because an order that fills nothing is refused.
  const dropped = DROP_REASONS[end];
  if (dropped !== undefined) return { status: 'partially_filled', reason: dropped };
  const reason = CANCEL_REASONS[(end - OrderEnd.CANCELLED) as CancelReason];
  return { status: reason === 'expired' ? 'expired' : 'cancelled', reason };
}

function detailedAnswer(code: ErrorCode, { message, details }: Wording): ErrorAnswer {
  const text = `{"error":{"code":"${code}","message":${JSON.stringify(message)},"details":{${details}}}}`;
  return { status: ERRORS[code].status, text };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

export const ErrorBody = responseObject('ErrorBody', 'An error', {
  error: z
    .strictObject({
      code: z.enum(ERROR_CODES).describe('What went wrong, for programs; the list is closed'),
      message: z.string().describe('For people'),
      details: z
        .record(z.string(), z.unknown())
        .describe(
          'For invalid_request: each field and its problem. For insufficient_balance, insufficient_shares and too_much_to_start_again: required and available. For limit_reached: limit, its name. For unavailable and history_unavailable: executed, false, or true if an earlier request with the same key was executed, at sequence',
        ),
    })
    .describe('What went wrong'),
});
