/**
 * Admission of requests. Every transport asks the same questions in the same order: is the exchange
 * open, is it overloaded, who is the sender, can the sender pay, and may the sender do this? A
 * transport turns bytes into a {@link Wanted}, and an {@link Admission} into bytes.
 *
 * Invariant: a request that is refused for overload or for a rate pays nothing. Every other
 * request pays in full, whether it is admitted or refused.
 *
 * What differs by transport:
 * - of a stream, handshakes and orders are admitted here. Other messages only pay (protocol.ts):
 *   they change nothing, and a stream whose token ends is closed;
 * - only the address pays for a handshake;
 * - a replica charges for the requests that it refuses, and the leader for those that it receives:
 *   each trading thread is charged for its own work.
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

/** The parts of the exchange that admission uses. */
export interface Intake {
  readonly sequencer: { readonly engine: Engine };
  readonly sessions: Sessions;
  readonly fairUse: FairUse;
  readonly overload: Overload;
  isStopping(): boolean;
}

export interface Sender {
  readonly address: AddressKey;
  /** That address in its IPv6 form of 16 bytes. */
  readonly addressBytes: Uint8Array;
}

/** `read`: any token. `trade`: also changes. `password`: only the password's own token. */
export type Right = 'read' | 'trade' | 'password';

/** What a request asks for, and by whom. */
export interface Wanted {
  /** null: it is not counted for fair use. */
  quota: Quota | null;
  /** 0: not charged. */
  units: number;
  /** Whether only the address pays. */
  isPaidByAddress: boolean;
  right: Right;
  /** Why a request without a session is refused; null: it needs none. */
  unsigned: ErrorAnswer | null;
  /** Empty: none was sent, or {@link Wanted.known} is its session. */
  token: string;
  /** A session that was valid before; it is checked again. */
  known: Session | null;
  /** The token came with a request of another site's page. */
  isCrossSite: boolean;
}

export interface Admission {
  /** null: the request is admitted. */
  refusal: ErrorAnswer | null;
  /** null: none was sent. */
  session: Session | null;
  retryAfter: string | null;
  rateLimit: RateLimitState | null;
  /** Whether the refusal shows the exchange's state. */
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

export function admit(intake: Intake, sender: Sender, wanted: Wanted, bill: Bill): Admission {
  const { fairUse, sequencer, sessions } = intake;
  const { quota, units, isPaidByAddress, unsigned } = wanted;
  if (intake.isStopping()) return STOPPING;
  if (isOverloaded(intake.overload, quota)) {
    // A large message of a stream has paid before it was read.
    fairUse.giveBack(bill);
    return OVERLOADED;
  }
  const isCharged = quota !== null && units > 0;
  const known = wanted.known ?? (wanted.token === '' ? null : sessions.known(wanted.token));
  const hasToken = known !== null || wanted.token !== '';
  // A signature check costs CPU time, so the address pays for it in advance.
  const isPaid = isCharged && (isPaidByAddress || (hasToken && known === null));
  let paid = isPaid ? fairUse.charge(quota, bill, units) : null;
  if (paid?.granted === false) return limited(paid);
  const session = hasToken ? sessions.check(wanted.token, sequencer.engine, known) : null;
  const payer = typeof session === 'string' ? null : session;
  if (isCharged && (!isPaid || (payer !== null && !isPaidByAddress))) {
    bill.payer = payer;
    paid = fairUse.charge(quota, bill, units);
    if (paid?.granted === false) return limited(paid);
  }
  if (typeof session === 'string')
    return refused(errorAnswer(session), null, paid, session !== 'invalid_token');
  if (session === null && unsigned !== null) return refused(unsigned, null, paid);
  const refusal = wanted.isCrossSite ? CROSS_SITE : refusalOf(session, sender, wanted.right);
  if (refusal !== null) return refused(refusal, null, paid);
  if (session !== null) session.lastUsedAtMs = sequencer.engine.nowMs;
  return { refusal, session, retryAfter: null, rateLimit: paid, isOfState: false };
}

const NOT_SIGNED_IN = errorAnswer(
  'missing_token',
  {},
  'Orders require a session. Connect with the x-user-token header or the service-session cookie, or first send {"op":"auth","token":"..."}.',
);

/** Admits a command of a stream (`session` null: not signed in), or of an edge's request. */
export function admitOrder(
  intake: Intake,
  session: Session | null,
  sender: Sender,
  bill: Bill,
  { quota, units }: Cost,
): Admission {
  // The fields have the same order as in the other transports, so V8 compiles `admit` for one
  // shape.
  const wanted: Wanted = {
    quota,
    units,
    isPaidByAddress: false,
    right: 'trade',
    unsigned: NOT_SIGNED_IN,
    token: '',
    known: session,
    isCrossSite: false,
  };
  return admit(intake, sender, wanted, bill);
}

function limited(paid: RateLimitState & { waitMs: number }): Admission {
  const { error, retryAfter } = rateLimited(paid.waitMs);
  return refused(error, retryAfter, paid);
}

/**
 * Whether too much waits for the disk. A request that is not counted is never refused for
 * overload.
 */
function isOverloaded(overload: Overload, quota: Quota | null): boolean {
  if (quota === null) return false;
  if (quota === 'reads') return overload.refusesRead();
  return quota === 'cancels' ? overload.refusesCancel() : overload.refusesChange();
}

/** The session of a token if it has this right, or why not; charges nothing. */
export function identify(
  { sessions, sequencer }: Intake,
  sender: Sender,
  token: string,
  right: Right,
): Session | TokenFault | ErrorAnswer {
  const session = sessions.check(token, sequencer.engine);
  return typeof session === 'string' ? session : (refusalOf(session, sender, right) ?? session);
}

/** Why the sender does not have this right; null: the sender has it. */
function refusalOf(session: Session | null, sender: Sender, right: Right): ErrorAnswer | null {
  if (session === null || session.tokenId === 0) return null;
  const { scope, allowedAddresses } = session;
  // Making the bytes of an address takes as long as the rest of an admission.
  if (allowedAddresses !== null && !isAllowed(allowedAddresses, sender.addressBytes))
    return ELSEWHERE;
  if (right === 'password' || (right === 'trade' && scope < Scope.TRADE))
    return scopeInsufficient(SCOPE_NAMES[scope], right);
  return null;
}
