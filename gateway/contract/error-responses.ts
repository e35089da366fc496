/** A route's errors: its codes, from what the route accepts and does, and a response per status. */
import { Deadline, OrderEnd } from '../../engine/interface/domain.js';
import {
  ERROR_CODES,
  ERRORS,
  type ErrorAnswer,
  type ErrorCode,
  errorAnswer,
  invalidRequest,
  rateLimited,
  rejection,
  scopeInsufficient,
  UNKNOWN_PARTNER_KEY,
} from '../commands/errors.js';
import { quotaOf } from '../http/answers/reply.js';
import type { Access, Route } from '../http/route.js';
import type { Example, JsonSchema, Response } from './openapi.js';

const TOKEN_CODES = [
  'invalid_token',
  'token_revoked',
  'token_expired',
  'address_not_allowed',
  'user_mismatch',
] as const;

const CODES_OF_ACCESS: Record<Access, readonly ErrorCode[]> = {
  open: [],
  openOrPartner: ['partner_key_required'],
  public: TOKEN_CODES,
  session: ['missing_token', ...TOKEN_CODES],
  partner: ['partner_key_required', 'user_mismatch'],
  operator: ['operator_key_required'],
};

const BODY_CODES = ['invalid_json', 'body_too_large', 'unsupported_media_type'] as const;

export function errorCodesOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>([
    'invalid_request',
    'unavailable',
    ...CODES_OF_ACCESS[route.access],
  ]);
  if (route.userParameter !== undefined) codes.add('missing_token');
  for (const code of route.errors ?? []) codes.add(code);
  if (route.method !== 'GET' && route.access !== 'partner' && route.access !== 'operator')
    codes.add('cross_site_request');
  if (route.access === 'session' && (route.method !== 'GET' || route.handlesCredentials === true))
    codes.add('scope_insufficient');
  if (route.body !== undefined) for (const code of BODY_CODES) codes.add(code);
  // Expensive answers are also refused to an address that has had many free ones.
  if (isRateLimited(route) || route.units !== undefined) codes.add('rate_limited');
  if (route.body !== undefined && route.access !== 'operator') codes.add('outcome_unknown');
  if (route.idempotent === true) {
    codes.add('idempotency_key_reused').add('idempotency_full').add('client_sequence_stale');
    codes.add('history_unavailable');
  }
  return ERROR_CODES.filter((code) => codes.has(code));
}

/** True for all routes except sign-out and those of operators and load balancers. */
export function isRateLimited(route: Route): boolean {
  return quotaOf(route) !== null;
}

type Answers = Partial<Record<ErrorCode, ErrorAnswer>>;

export function ownAnswersOf(route: Route): Answers {
  if (route.access === 'partner') return { user_mismatch: rejection('user_not_of_partner', 0, 0) };
  if (route.access !== 'openOrPartner') return {};
  return { partner_key_required: errorAnswer('partner_key_required', {}, UNKNOWN_PARTNER_KEY) };
}

interface ErrorSchema extends JsonSchema {
  properties: { error: JsonSchema & { properties: { code: JsonSchema } } };
}

/** By status, each with its codes as an enum. `errorBody` is the common schema. */
export function errorResponses(
  codes: readonly ErrorCode[],
  errorBody: JsonSchema,
  own: Answers = {},
): Record<string, Response> {
  const responses: Record<string, Response> = {};
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    const ofStatus = codes.filter((code) => ERRORS[code].status === status);
    responses[status] = errorResponse(ofStatus, errorBody, own);
  }
  return responses;
}

function errorResponse(codes: readonly ErrorCode[], errorBody: JsonSchema, own: Answers): Response {
  const schema = structuredClone(errorBody) as ErrorSchema;
  schema.properties.error.properties.code.enum = [...codes];
  const examples: Record<string, Example> = {};
  for (const code of codes)
    examples[code] = { value: JSON.parse((own[code] ?? exampleOf(code)).text) };
  const messageOf = (code: ErrorCode): string =>
    own[code] === undefined ? ERRORS[code].message : JSON.parse(own[code].text).error.message;
  return {
    description: codes.map((code) => `\`${code}\`: ${messageOf(code)}`).join('\n\n'),
    content: { 'application/json': { schema, examples } },
  };
}

function exampleOf(code: ErrorCode): ErrorAnswer {
  switch (code) {
    case 'invalid_request':
      return invalidRequest({ amount: 'must have at most 6 decimal places' });
    case 'insufficient_balance':
      return rejection(code, 100_500_000, 42_250_000);
    case 'insufficient_shares':
      return rejection(code, 50_000, 12_500);
    case 'too_small_to_rest':
      return rejection(code, 1_000_000, 450_000);
    case 'price_not_met':
    case 'insufficient_liquidity':
      return rejection(code, 5_625_000, 12_500);
    case 'deadline_passed':
      return rejection(code, Deadline.EXPIRES_AT, 1_763_700_301_000);
    case 'order_closed':
      return rejection(code, 17, OrderEnd.FILLED);
    case 'client_sequence_stale':
      return rejection(code, 41, 0);
    case 'scope_insufficient':
      return scopeInsufficient('read', 'trade');
    case 'rate_limited':
      return rateLimited(250).error;
    case 'idempotency_full':
      return rateLimited(1_500, code).error;
    case 'unavailable':
    case 'history_unavailable':
      return errorAnswer(code, { executed: false });
    default:
      return errorAnswer(code);
  }
}
