/**
 * The stream's handshake: authenticates the client or refuses with an API error.
 *
 * The optional credential is the x-user-token header or else the session cookie, never part of the
 * URL. An invalid credential is refused, not ignored. The cookie is accepted only from the site's
 * own pages, because browsers let any page open a WebSocket to any host.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { isSameSite, tokenIn } from '../access/cookie.js';
import { HANDSHAKE_UNITS } from '../access/fair-use/charges.js';
import { Bill } from '../access/fair-use/fair-use.js';
import type { Session } from '../access/sessions.js';
import type { ErrorAnswer } from '../commands/errors.js';
import { type AdmissionRequest, admit, type Sender } from '../commands/intake.js';
import type { Gateway } from '../http/gateway.js';
import type { Request } from '../http/request.js';

export interface StreamRequest extends Sender {
  token: string;
  /** Whether the token is a cookie sent by another site's page. */
  isCrossSite: boolean;
}

export interface StreamRefusal {
  error: ErrorAnswer;
  header: readonly [string, string] | null;
}

export function refusal(error: ErrorAnswer, header: StreamRefusal['header'] = null): StreamRefusal {
  return { error, header };
}

/** Call within the request's callback, after which uWebSockets.js invalidates the request. */
export function streamRequest(
  request: Request,
  response: HttpResponse,
  siteOrigins: readonly string[],
): StreamRequest {
  const token = tokenIn(request);
  const isCookie = request.userToken === '' && token !== '';
  return {
    address: request.addressFrom(response),
    addressBytes: request.addressBytesFrom(response),
    token,
    isCrossSite: isCookie && !isSameSite(request, siteOrigins),
  };
}

export function admitStream(
  gateway: Gateway,
  asked: StreamRequest,
): { session: Session | null } | StreamRefusal {
  const { token, isCrossSite } = asked;
  const admissionRequest: AdmissionRequest = {
    quota: 'reads',
    units: HANDSHAKE_UNITS,
    isPaidByAddress: true,
    right: 'read',
    unauthenticatedError: null,
    token,
    known: null,
    isCrossSite,
  };
  const admission = admit(gateway, asked, admissionRequest, new Bill(asked));
  const { refusal: error, retryAfter, session } = admission;
  if (error === null) return { session };
  return refusal(error, retryAfter === null ? null : ['Retry-After', retryAfter]);
}
