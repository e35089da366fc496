/**
 * The stream's handshake: authenticates the client, or refuses with an API error.
 *
 * The credential is the header x-user-token or else the session cookie. It is optional and never
 * taken from the URL; an invalid credential is refused, not ignored. The cookie is accepted only
 * from the site's own pages, because browsers let any page open a WebSocket to any host. A
 * handshake costs its address several reads.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { isAllowed } from '../access/allowed-addresses.js';
import { isSameSite, readSessionCookie } from '../access/cookie.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import { HANDSHAKE_UNITS } from '../access/fair-use/charges.js';
import { Bill } from '../access/fair-use/fair-use.js';
import type { Session } from '../access/sessions.js';
import { type ErrorAnswer, errorAnswer, rateLimited, UNAVAILABLE } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import type { Request } from '../http/request.js';

export interface StreamRequest {
  address: AddressKey;
  /** `address` in its 16-byte IPv6 form. */
  addressBytes: Uint8Array;
  /** Empty: no token was sent. */
  token: string;
  /** The token is a cookie sent by another site's page. */
  isCrossSite: boolean;
}

export interface StreamRefusal {
  error: ErrorAnswer;
  header: readonly [string, string] | null;
}

export function refusal(error: ErrorAnswer, header: StreamRefusal['header'] = null): StreamRefusal {
  return { error, header };
}

/** Call within the request's callback: uWebSockets.js invalidates the request afterwards. */
export function streamRequest(
  request: Request,
  response: HttpResponse,
  siteOrigins: readonly string[],
): StreamRequest {
  const { userToken } = request;
  const cookieToken = userToken === '' ? readSessionCookie(request.cookie) : '';
  return {
    address: request.addressFrom(response),
    addressBytes: request.addressBytesFrom(response),
    token: userToken === '' ? cookieToken : userToken,
    isCrossSite: cookieToken !== '' && !isSameSite(request, [...siteOrigins]),
  };
}

/** The stream's session (null: not signed in), or the refusal. */
export function admitStream(
  gateway: Gateway,
  asked: StreamRequest,
): { session: Session | null } | StreamRefusal {
  const { fairUse, sessions, sequencer } = gateway;
  if (gateway.isStopping()) return refusal(UNAVAILABLE);
  const result = fairUse.charge('reads', new Bill(asked), HANDSHAKE_UNITS);
  if (result !== null && !result.granted) {
    const { error, retryAfter } = rateLimited(result.waitMs);
    return refusal(error, ['Retry-After', retryAfter]);
  }
  if (asked.token === '') return { session: null };
  const session = sessions.check(asked.token, sequencer.engine);
  if (typeof session === 'string') return refusal(errorAnswer(session));
  if (asked.isCrossSite) return refusal(errorAnswer('cross_site_request'));
  if (!isAllowed(session.allowedAddresses, asked.addressBytes))
    return refusal(errorAnswer('address_not_allowed'));
  session.lastUsedAtMs = sequencer.engine.nowMs;
  return { session };
}
