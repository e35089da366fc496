/**
 * Admission, in one order for every transport: can the exchange take the request, can the sender
 * pay for it, who is the sender, and what may the sender do. An HTTP request is admitted before it
 * is read; a stream message or an edge's record as a command ({@link admitCommand}).
 *
 * Always holds: a request is charged in full, even if a later check refuses it. A request that is
 * refused for overload or for a rate pays nothing.
 */
import { isAllowed } from '../access/allowed-addresses.js';
import { isSameSite, readSessionCookie, tokenIn } from '../access/cookie.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import type { Wanted } from '../access/fair-use/charges.js';
import type { Bill, RateLimitState } from '../access/fair-use/fair-use.js';
import { SCOPE_NAMES, Scope, type Session } from '../access/sessions.js';
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

const SECOND_MS = 1_000;

/** Each check returns false if the request has been refused. */
export function admit(call: Call, route: Route, body: ReceivedBody): boolean {
  if (call.gateway.isStopping()) return call.refuseUnavailable();
  if (typeof route.quota === 'function') call.quota = route.quota(body);
  if (isOverloaded(call)) return call.refuseOverloaded();
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

/** Charges the request, before it is read. */
function affords(
  call: Call,
  route: Route,
  body: ReceivedBody,
  payer: Session | null = null,
): boolean {
  call.leastUnits = body.units;
  const units = route.units?.(call.request.rawQuery, body) ?? 1;
  if (call.quota !== null) return call.affords(units, payer);
  // A request that is not counted, but asks for more than an answer.
  if (units === 1 || !call.gateway.fairUse.floods(call.address, units)) return true;
  call.closeAfterAnswer();
  const { error, retryAfter } = rateLimited(SECOND_MS);
  call.addHeader('Retry-After', retryAfter);
  return call.refuseNow(error);
}

/**
 * Whether too much waits for the disk. A request that is not counted for fair use, such as a
 * health check, is never refused for overload.
 */
function isOverloaded(call: Call): boolean {
  const { overload } = call.gateway;
  switch (call.quota) {
    case null:
      return false;
    case 'reads':
      return overload.refusesRead();
    case 'cancels':
      return overload.refusesCancel();
    default:
      return overload.refusesChange();
  }
}

/** A request with the session cookie must not come from another site, even without a session. */
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

function admitSession(call: Call, route: Route, session: Session): boolean {
  if (call.request.userToken === '' && route.method !== 'GET' && isCrossSite(call))
    return call.refuseNow(errorAnswer('cross_site_request'));
  if (session.tokenId !== 0) {
    const refusal = refusalOfNamed(session, call, call.engine.nowMs, route);
    if (refusal !== null) return call.refuseNow(refusal);
  }
  if (call.request.userToken === '') call.gateway.passwords.queue.known.renew(call.address);
  call.session = session;
  return true;
}

function isCrossSite(call: Call): boolean {
  return !isSameSite(call.request, call.gateway.config.siteOrigins);
}

export interface Sender {
  readonly address: AddressKey;
  /** That address in its IPv6 form of 16 bytes. */
  readonly addressBytes: Uint8Array;
}

export interface Admission {
  /** null: the command is executed. */
  refusal: ErrorAnswer | null;
  retryAfter: string | null;
  rateLimit: RateLimitState | null;
  /** Whether the refusal shows the exchange's state. */
  isOfState: boolean;
}

/** Only the stream answers this: HTTP refuses a request without a session earlier. */
const NOT_SIGNED_IN = errorAnswer(
  'missing_token',
  {},
  'Orders require a session. Connect with the x-user-token header or the service-session cookie, or first send {"op":"auth","token":"..."}.',
);
const ADMITTED = admission(null);
const OVERLOADED = admission(UNAVAILABLE, null, '1');

function admission(
  refusal: ErrorAnswer | null,
  rateLimit: RateLimitState | null = null,
  retryAfter: string | null = null,
  isOfState = false,
): Admission {
  return { refusal, retryAfter, rateLimit, isOfState };
}

/** `session`: checked again here; null: not signed in. `bill`: the sender's. */
export function admitCommand(
  { overload, sessions, sequencer, fairUse }: Gateway,
  session: Session | null,
  sender: Sender,
  bill: Bill,
  { quota, units }: Wanted,
): Admission {
  const { engine } = sequencer;
  if (quota === 'cancels' ? overload.refusesCancel() : overload.refusesChange()) return OVERLOADED;
  const fault = session === null ? null : sessions.faultOf(session, engine);
  bill.payer = fault === null ? session : null;
  const paid = fairUse.charge(quota, bill, units);
  if (paid !== null && !paid.granted) {
    const { error, retryAfter } = rateLimited(paid.waitMs);
    return admission(error, paid, retryAfter);
  }
  if (fault !== null) return admission(errorAnswer(fault), paid, null, true);
  if (session === null) return admission(NOT_SIGNED_IN, paid);
  const refusal = session.tokenId === 0 ? null : refusalOfNamed(session, sender, engine.nowMs);
  return refusal === null && paid === null ? ADMITTED : admission(refusal, paid);
}

/** Why a named token does not allow a request, by default an order; null: allowed. */
export function refusalOfNamed(
  session: Session,
  { addressBytes }: Pick<Sender, 'addressBytes'>,
  nowMs: number,
  { method = 'POST', handlesCredentials = false } = {},
): ErrorAnswer | null {
  const { scope, allowedAddresses } = session;
  if (allowedAddresses !== null && !isAllowed(allowedAddresses, addressBytes))
    return errorAnswer('address_not_allowed');
  session.lastUsedAtMs = nowMs;
  if (handlesCredentials) return scopeInsufficient(SCOPE_NAMES[scope], 'password');
  if (scope < Scope.TRADE && method !== 'GET')
    return scopeInsufficient(SCOPE_NAMES[scope], 'trade');
  return null;
}
