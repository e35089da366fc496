/**
 * Whether a request may be read: the exchange can take it, its sender is known and within the
 * limits, and may use the route. The checks have a fixed order, and look at nothing that was asked
 * for. Each returns false if the request has been refused.
 */
import { isAllowed } from '../access/allowed-addresses.js';
import { isSameSite, readSessionCookie, tokenIn } from '../access/cookie.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import { Bill, type RateLimitState } from '../access/fair-use/fair-use.js';
import { SCOPE_NAMES, Scope, type Session } from '../access/sessions.js';
import type { RecordSummary } from '../commands/cancels.js';
import type { ReceivedBody } from './body.js';
import type { Call } from './call.js';
import {
  type ErrorAnswer,
  errorAnswer,
  rateLimited,
  scopeInsufficient,
  UNAVAILABLE,
  UNKNOWN_PARTNER_KEY,
} from './errors.js';
import type { Gateway } from './gateway.js';
import type { Route } from './route.js';

export function admit(call: Call, route: Route, body: ReceivedBody): boolean {
  if (call.gateway.isStopping()) return call.refuseUnavailable();
  if (typeof route.quota === 'function') call.countAs(route.quota(body.bytes));
  if (isOverloaded(call, route)) return call.refuseOverloaded();
  switch (route.access) {
    case 'open':
    case 'openOrPartner':
      return affords(call, route, body) && admitAnybody(call, route);
    case 'partner':
      return affords(call, route, body) && admitPartner(call);
    case 'operator':
      call.operator = call.gateway.operators.holderOf(call.request.authorization);
      return call.operator !== null || call.refuseNow(errorAnswer('operator_key_required'));
    case 'public':
    case 'session':
      return admitUser(call, route, body);
  }
}

/** Charges the request one read or change, before it is read; see {@link Route.costAtMost}. */
function affords(
  call: Call,
  route: Route,
  body: ReceivedBody,
  payer: Session | null = null,
): boolean {
  const { costAtMost } = route;
  if (costAtMost === undefined) return call.affords(1, payer);
  return call.affords(1, payer, () => costAtMost(call.request.rawQuery, body.bytes));
}

/**
 * Whether the disk or the follower is behind. A request that is not counted for fair use, such as a
 * health check, is never refused for that.
 */
function isOverloaded(call: Call, route: Route): boolean {
  if (call.quota === null) return false;
  const { overload } = call.gateway;
  if (route.body === undefined) return overload.refusesRead();
  return call.quota === 'cancels' ? overload.refusesCancel() : overload.refusesChange();
}

/** Even where no session is required, a request with the cookie must not come from another site. */
function admitAnybody(call: Call, route: Route): boolean {
  const { cookie, authorization } = call.request;
  const hasCookie = route.method !== 'GET' && readSessionCookie(cookie) !== '';
  if (hasCookie && isCrossSite(call)) return call.refuseNow(errorAnswer('cross_site_request'));
  // An invalid key must not be ignored: the partner of a new user is permanent.
  const hasKey = route.access === 'openOrPartner' && authorization !== '';
  return !hasKey || admitPartner(call, UNKNOWN_PARTNER_KEY);
}

function admitPartner(call: Call, message = ''): boolean {
  call.partner = call.gateway.partners.holderOf(call.request.authorization);
  return call.partner !== null || call.refuseNow(errorAnswer('partner_key_required', {}, message));
}

function admitUser(call: Call, route: Route, body: ReceivedBody): boolean {
  const { sessions } = call.gateway;
  const token = tokenIn(call.request);
  if (token === '') {
    if (!affords(call, route, body)) return false;
    return route.access === 'public' || call.refuseNow(errorAnswer('missing_token'));
  }
  // A signature check costs CPU time, so the address pays for it in advance.
  const known = sessions.known(token);
  if (known === null && !affords(call, route, body)) return false;
  const session = sessions.check(token, call.engine, known);
  if (session === 'invalid_token') return call.refuseNow(errorAnswer(session));
  if (typeof session === 'string')
    return affords(call, route, body) && call.refuseWhenDurable(errorAnswer(session));
  return affords(call, route, body, session) && admitSession(call, route, session);
}

/** The client of a command that an edge has read. */
export interface RecordSender {
  readonly address: AddressKey;
  readonly addressBytes: Uint8Array;
}

/** Whether that command is executed. */
export interface RecordAdmission {
  /** null: it is. */
  refusal: ErrorAnswer | null;
  retryAfter: string | null;
  rateLimit: RateLimitState | null;
  /** Whether the refusal shows the exchange's state. */
  isOfState: boolean;
}

const ADMITTED = admission(null);
const OVERLOADED = admission(UNAVAILABLE, null, '1');

function admission(
  refusal: ErrorAnswer | null,
  rateLimit: RateLimitState | null = null,
  retryAfter: string | null = null,
  isOfState = false,
): RecordAdmission {
  return { refusal, retryAfter, rateLimit, isOfState };
}

/** Admits a command of a session that was admitted before. */
export function admitRecord(
  { overload, sessions, sequencer, fairUse }: Gateway,
  session: Session,
  sender: RecordSender,
  { operations, onlyCancels }: RecordSummary,
): RecordAdmission {
  const { engine } = sequencer;
  if (onlyCancels ? overload.refusesCancel() : overload.refusesChange()) return OVERLOADED;
  const fault = sessions.faultOf(session, engine);
  const bill = new Bill(sender);
  if (fault === null) bill.payer = session;
  const paid = fairUse.charge(onlyCancels ? 'cancels' : 'orders', bill, operations);
  if (paid !== null && !paid.granted) {
    const { error, retryAfter } = rateLimited(paid.waitMs);
    return admission(error, paid, retryAfter);
  }
  if (fault !== null) return admission(errorAnswer(fault), paid, null, true);
  const refusal =
    session.tokenId === 0 ? null : refusalOfNamed(session, sender, engine.nowMs, ORDER);
  return refusal === null && paid === null ? ADMITTED : admission(refusal, paid);
}

const ORDER = { method: 'POST' } as const;

function admitSession(call: Call, route: Route, session: Session): boolean {
  if (call.request.userToken === '' && route.method !== 'GET' && isCrossSite(call))
    return call.refuseNow(errorAnswer('cross_site_request'));
  if (session.tokenId !== 0) {
    const refusal = refusalOfNamed(session, call, call.engine.nowMs, route);
    if (refusal !== null) return call.refuseNow(refusal);
  }
  call.session = session;
  return true;
}

/** Why a named token does not allow the request; null: it does. */
function refusalOfNamed(
  session: Session,
  sender: Pick<RecordSender, 'addressBytes'>,
  nowMs: number,
  { method, handlesCredentials }: Pick<Route, 'method' | 'handlesCredentials'>,
): ErrorAnswer | null {
  const { scope, allowedAddresses } = session;
  if (allowedAddresses !== null && !isAllowed(allowedAddresses, sender.addressBytes))
    return errorAnswer('address_not_allowed');
  session.lastUsedAtMs = nowMs;
  if (handlesCredentials === true) return scopeInsufficient(SCOPE_NAMES[scope], 'password');
  if (scope < Scope.TRADE && method !== 'GET')
    return scopeInsufficient(SCOPE_NAMES[scope], 'trade');
  return null;
}

function isCrossSite(call: Call): boolean {
  return !isSameSite(call.request, call.gateway.config.siteOrigins);
}
