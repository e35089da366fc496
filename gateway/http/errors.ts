/**
 * Every error that the API gives: its code, its status and its message, in one table. The list is closed; nothing else
 * answers with an error. A message says what happened and, where there is something to do about it, what.
 *
 * Messages are functions of the request and of the engine's result only, never of the state of the moment: an answer that
 * is replayed for an idempotency key has to be the same to the byte.
 */
import type { CodeName } from '../../engine/interface/codes.js';
import { lotsText, microsText } from '../json/decimal.js';
import { cut, type FieldProblems } from '../json/problems.js';

interface ErrorEntry {
  status: number;
  message: string;
}

export const ERRORS = {
  invalid_json: { status: 400, message: 'The body is not valid JSON in UTF-8. Send one JSON object.' },
  invalid_request: { status: 400, message: 'The request is not valid.' },
  amount_too_small: {
    status: 400,
    message:
      'The amount does not buy the smallest tradable size (0.001 share) at the best price. Send a larger amount.',
  },
  missing_token: {
    status: 401,
    message:
      'This route needs a session: send the token in the header x-user-token, or the cookie service-session. Authorization: Bearer does not sign a user in.',
  },
  invalid_token: { status: 401, message: 'The token is not one that this exchange issued. Sign in again.' },
  token_revoked: {
    status: 401,
    message: 'The token ended when the password was changed. Sign in again.',
  },
  wrong_credentials: { status: 401, message: 'The username or the password is wrong.' },
  user_mismatch: {
    status: 403,
    message: 'The request names another user than the one who is signed in.',
  },
  cross_site_request: {
    status: 403,
    message:
      'A change that is authenticated by the cookie must come from the site itself. Other clients send x-user-token.',
  },
  partner_key_required: {
    status: 403,
    message: 'This route is for partners: send a valid partner key as Authorization: Bearer <key>.',
  },
  route_not_found: { status: 404, message: 'There is no such route. The API is under /api.' },
  market_not_found: { status: 404, message: 'There is no market with this id.' },
  user_not_found: { status: 404, message: 'There is no user with this id.' },
  order_not_found: {
    status: 404,
    message: 'You have no resting order with this id in this market. It may be filled or cancelled.',
  },
  deposit_not_found: { status: 404, message: 'You have no vault deposit with this id.' },
  method_not_allowed: { status: 405, message: 'The route does not take this method. See the header Allow.' },
  market_not_active: { status: 409, message: 'The market has ended: it takes no more orders.' },
  market_not_resolved: {
    status: 409,
    message: 'The market is not resolved yet. Claim when its status is "resolved".',
  },
  nothing_to_claim: { status: 409, message: 'There is nothing to claim here.' },
  insufficient_liquidity: {
    status: 409,
    message: 'Nothing is offered at a price that the order accepts. Nothing was traded or charged.',
  },
  price_not_met: {
    status: 409,
    message:
      'The order cannot be done at its price: FOK needs all of it at once, postOnly must not trade at once.',
  },
  deadline_passed: {
    status: 409,
    message: 'The order reached the exchange after its validUntilMs. Nothing was traded.',
  },
  username_taken: { status: 409, message: 'The username is taken. Choose another.' },
  referral_code_taken: { status: 409, message: 'The referral code is taken. Choose another.' },
  deposit_closed: { status: 409, message: 'The vault deposit is closed: it has been unstaked.' },
  body_too_large: { status: 413, message: 'The body is larger than 64 KiB.' },
  unsupported_media_type: {
    status: 415,
    message: 'Send the body as JSON in UTF-8, with Content-Type: application/json.',
  },
  insufficient_balance: { status: 422, message: 'Not enough money is available.' },
  insufficient_shares: { status: 422, message: 'Not enough shares are available to sell.' },
  idempotency_key_reused: {
    status: 422,
    message: 'The key or reference was used for another request. Use a new one for each new request.',
  },
  limit_reached: {
    status: 422,
    message: 'A limit of the exchange is reached: accounts, resting orders, positions, or money in all.',
  },
  rate_limited: { status: 429, message: 'Too many requests. Wait as long as the header Retry-After says.' },
  unavailable: { status: 503, message: 'The exchange cannot do this now. Nothing was executed; try again.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** An answer that is an error: status and body. */
export interface ErrorAnswer {
  status: number;
  text: string;
}

export function errorAnswer(code: ErrorCode, details: object = {}, message = ''): ErrorAnswer {
  const entry = ERRORS[code];
  return {
    status: entry.status,
    text: JSON.stringify({ error: { code, message: message === '' ? entry.message : message, details } }),
  };
}

/** 429, to be tried again after `waitMs`; `retryAfter` is the header Retry-After, in whole seconds, at least one. */
export function rateLimited(waitMs: number): { error: ErrorAnswer; retryAfter: string } {
  const retryAfterMs = Math.ceil(waitMs);
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return { error: errorAnswer('rate_limited', { retryAfterMs }), retryAfter: `${seconds}` };
}

/** Problems that are named in one answer. */
const PROBLEMS_MAX = 20;
/** Characters of a name that is repeated to whoever sent it. Ours are shorter, also in the last operation of a batch. */
const NAME_CHARACTERS_MAX = 60;

/** 400 with each field and what is wrong with it; of very many, the first. */
export function invalidRequest(problems: FieldProblems): ErrorAnswer {
  const all = Object.entries(problems);
  const named = all
    .slice(0, PROBLEMS_MAX)
    .map(([field, problem]) => [cut(field, NAME_CHARACTERS_MAX), problem]);
  const sentences = named.map(([field, problem]) => `${field} ${problem}`);
  if (all.length > named.length) sentences.push(`and ${all.length - named.length} more`);
  const message = `The request is not valid: ${sentences.join('; ')}.`;
  return errorAnswer('invalid_request', Object.fromEntries(named), message);
}

/** What is said of a key that is sent where none is needed. */
export const UNKNOWN_PARTNER_KEY =
  'The header Authorization does not carry a valid partner key as Bearer <key>. Leave it out to register without a partner.';

/** The engine's codes that clients know under another name. */
const TRANSLATED: Partial<Record<CodeName, ErrorAnswer>> = {
  // The schemas check all that the engine checks, so this one tells of a fault of theirs; the caller logs it.
  invalid_command: invalidRequest({ request: 'has a field out of its range' }),
  referral_code_unknown: invalidRequest({ referralCode: 'is not a code of any user' }),
  exchange_account: errorAnswer(
    'user_mismatch',
    {},
    'The account belongs to the exchange: partners neither pay into it nor withdraw from it.',
  ),
  user_not_of_partner: errorAnswer(
    'user_mismatch',
    {},
    'The user was not registered with your partner key: you can pay them, but not withdraw their money.',
  ),
  reference_reused: errorAnswer(
    'idempotency_key_reused',
    {},
    'The reference was used for another transfer. Use a new one.',
  ),
};

/** Answers that say nothing but their code, made once: a client's batch may be full of them. */
const PLAIN = Object.fromEntries(ERROR_CODES.map((code) => [code, errorAnswer(code)])) as Record<
  ErrorCode,
  ErrorAnswer
>;

/** What clients know one of the engine's codes as: a code of theirs, or an answer that is the same for all of its kind. */
function knownAs(code: CodeName): ErrorCode | ErrorAnswer {
  const translated = TRANSLATED[code];
  if (translated !== undefined) return translated;
  if (!isErrorCode(code)) throw new Error(`the engine's code ${code} has no answer for clients`);
  return code;
}

/** `required` and `available` are those of the engine's result: micros or lots, as the code has it. */
export function rejection(code: CodeName, required: number, available: number): ErrorAnswer {
  const known = knownAs(code);
  if (typeof known !== 'string') return known;
  const shortage = shortageOf(known, required, available);
  return shortage === null ? PLAIN[known] : withAmounts(known, shortage.message, shortage.details);
}

/**
 * Why an atomic batch was not carried out: the refusal of one operation, with its place in the batch (0 is the first) as
 * the detail `operation`. Status and code are those of the operation.
 */
export function batchRejection(
  operation: number,
  code: CodeName,
  required: number,
  available: number,
): ErrorAnswer {
  const known = knownAs(code);
  if (typeof known !== 'string') return known;
  const shortage = shortageOf(known, required, available);
  const reason = shortage?.message ?? ERRORS[known].message;
  const amounts = shortage === null ? '' : `,${shortage.details}`;
  const message = `Nothing of the batch was carried out, because of its operation ${operation}. ${reason}`;
  return withAmounts(known, message, `"operation":${operation}${amounts}`);
}

interface Shortage {
  message: string;
  /** As JSON, without the braces. */
  details: string;
}

function shortageOf(code: ErrorCode, required: number, available: number): Shortage | null {
  if (code === 'insufficient_balance') {
    const [needs, has] = [microsText(required), microsText(available)];
    const message = `This needs $${needs}, fee included, but $${has} is available.`;
    return { message, details: `"required":${needs},"available":${has}` };
  }
  if (code === 'insufficient_shares') {
    const [needs, has] = [lotsText(required), lotsText(available)];
    const message = `This needs ${needs} shares, but ${has} are free to sell.`;
    return { message, details: `"required":${needs},"available":${has}` };
  }
  return null;
}

/** The amounts in the details are exact decimals already, so they are put in as they are. */
function withAmounts(code: ErrorCode, message: string, details: string): ErrorAnswer {
  const text = `{"error":{"code":"${code}","message":${JSON.stringify(message)},"details":{${details}}}}`;
  return { status: ERRORS[code].status, text };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
