/**
 * Admission of requests. Every transport makes the same checks in the same order: whether the
 * exchange is open and not overloaded, who the sender is, whether the sender can pay, and whether
 * the sender has the right.
 *
 * Invariant: a request refused for overload or by a rate limit pays nothing. Every other request
 * pays in full, admitted or not.
 *
 * What differs between transports, and why:
 * - For a stream handshake, only the address pays: it opens the connection, which is most of the
 *   cost.
 * - Other stream messages than orders pay, but are not admitted here (protocol.ts): they change
 *   nothing, and a stream is closed when its token ends.
 * - A replica charges for the requests that it refuses, and the leader for those that it receives:
 *   each trading thread charges for its own work.
 */
import type { Engine } from '../../engine/engine.js';
import { isAllowed } from '../access/allowed-addresses.js';
import type { AddressKey } from '../access/fair-use/addresses.js';
import type { Cost } from '../access/fair-use/charges.js';
import type { Bill, FairUse, Quota, RateLimitState } from '../access/fair-use/fair-use.js';
import type { Overload } from '../access/fair-use/overload.js';
import {
  SCOPE_NAMES,
  Scope,
  type Session,
  type Sessions,
  type TokenFault,
} from '../access/sessions.js';
import {
  type ErrorAnswer,
  errorAnswer,
  rateLimited,
  scopeInsufficient,
  UNAVAILABLE,
} from './errors.js';

export interface Intake {
  readonly sequencer: { readonly engine: Engine };
  readonly sessions: Sessions;
  readonly fairUse: FairUse;
  readonly overload: Overload;
  isStopping(): boolean;
}

export interface Sender {
  readonly address: AddressKey;
  /** 16 bytes of IPv6; empty if unknown. */
  readonly addressBytes: Uint8Array;
}

/** `read`: any token. `trade`: one that may make changes. `password`: one from a sign-in. */
export type Right = 'read' | 'trade' | 'password';

export interface AdmissionRequest {
  /** `null` if fair use does not count the request. */
  quota: Quota | null;
  units: number;
  /** Whether only the address pays, even for a signed-in user. */
  isPaidByAddress: boolean;
  right: Right;
  /** Refusal without a session; `null` if a session is optional. */
  unauthenticatedError: ErrorAnswer | null;
  /** The token; empty if none was sent, or if {@link AdmissionRequest.known} is its session. */
  token: string;
  /** A session found earlier, to be checked again. */
  known: Session | null;
  isCrossSite: boolean;
}

export interface Admission {
  refusal: ErrorAnswer | null;
  session: Session | null;
  retryAfter: string | null;
  rateLimit: RateLimitState | null;
  /** Whether the refusal reveals the exchange's state. */
  isOfState: boolean;
}

const STOPPING = refused(UNAVAILABLE);
const OVERLOADED = refused(UNAVAILABLE, '1');
const CROSS_SITE = errorAnswer('cross_site_request');
const ELSEWHERE = errorAnswer('address_not_allowed');

function refused(
  refusal: ErrorAnswer,
  retryAfter: string | null = null,
  rateLimit: RateLimitState | null = null,
  isOfState = false,
): Admission {
  return { refusal, session: null, retryAfter, rateLimit, isOfState };
}

export function admit(
  intake: Intake,
  sender: Sender,
  request: AdmissionRequest,
  bill: Bill,
): Admission {
  const { fairUse, sequencer, sessions } = intake;
  const { quota, units, isPaidByAddress, unauthenticatedError } = request;
  if (intake.isStopping()) return STOPPING;
  if (refuseForOverload(intake.overload, quota)) {
    // Large stream messages pay before they are parsed.
    fairUse.giveBack(bill);
    return OVERLOADED;
  }
  const isCharged = quota !== null && units > 0;
  const known = request.known ?? (request.token === '' ? null : sessions.known(request.token));
  const hasToken = known !== null || request.token !== '';
  // Checking a signature costs CPU time, so the address pays for it in advance.
  const isPaid = isCharged && (isPaidByAddress || (hasToken && known === null));
  let paid = isPaid ? fairUse.charge(quota, bill, units) : null;
  if (paid?.granted === false) return limited(paid);
  const session = hasToken ? sessions.check(request.token, sequencer.engine, known) : null;
  const payer = typeof session === 'string' ? null : session;
  if (isCharged && (!isPaid || (payer !== null && !isPaidByAddress))) {
    bill.payer = payer;
    paid = fairUse.charge(quota, bill, units);
    if (paid?.granted === false) return limited(paid);
  }
  if (typeof session === 'string')
    return refused(errorAnswer(session), null, paid, session !== 'invalid_token');
  if (session === null && unauthenticatedError !== null)
    return refused(unauthenticatedError, null, paid);
  const refusal = request.isCrossSite ? CROSS_SITE : refusalOf(session, sender, request.right);
  if (refusal !== null) return refused(refusal, null, paid);
  if (session !== null) session.lastUsedAtMs = sequencer.engine.nowMs;
  return { refusal, session, retryAfter: null, rateLimit: paid, isOfState: false };
}

const NOT_SIGNED_IN = errorAnswer(
  'missing_token',
  {},
  'Orders require a session. Connect with the x-user-token header or the service-session cookie, or first send {"op":"auth","token":"..."}.',
);

export function admitOrder(
  intake: Intake,
  session: Session | null,
  sender: Sender,
  bill: Bill,
  { quota, units }: Cost,
): Admission {
  // The fields are in the same order for all transports, so that V8 compiles `admit` for one shape.
  const request: AdmissionRequest = {
    quota,
    units,
    isPaidByAddress: false,
    right: 'trade',
    unauthenticatedError: NOT_SIGNED_IN,
    token: '',
    known: session,
    isCrossSite: false,
  };
  return admit(intake, sender, request, bill);
}

function limited(paid: RateLimitState & { waitMs: number }): Admission {
  const { error, retryAfter } = rateLimited(paid.waitMs);
  return refused(error, retryAfter, paid);
}

function refuseForOverload(overload: Overload, quota: Quota | null): boolean {
  if (quota === null) return false;
  if (quota === 'reads') return overload.refuse('read');
  return quota === 'cancels' ? overload.refuse('cancel') : overload.refuse('change');
}

/** Returns the token's session if it has the right, or the refusal. Free of charge. */
export function identify(
  { sessions, sequencer }: Intake,
  sender: Sender,
  token: string,
  right: Right,
): Session | TokenFault | ErrorAnswer {
  const session = sessions.check(token, sequencer.engine);
  return typeof session === 'string' ? session : (refusalOf(session, sender, right) ?? session);
}

function refusalOf(session: Session | null, sender: Sender, right: Right): ErrorAnswer | null {
  if (session === null || session.tokenId === 0) return null;
  const { scope, allowedAddresses } = session;
  // Building an address's bytes costs as much as the rest of an admission.
  if (allowedAddresses !== null && !isAllowed(allowedAddresses, sender.addressBytes))
    return ELSEWHERE;
  if (right === 'password' || (right === 'trade' && scope < Scope.TRADE))
    return scopeInsufficient(SCOPE_NAMES[scope], right);
  return null;
}
