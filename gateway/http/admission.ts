/**
 * Checks a request and runs its handler. The checks have a fixed order: route, token, user, body;
 * and then, in the handler and the engine, the state.
 */
import { numberedKey } from '../../engine/interface/client-sequence.js';
import { isAllowed } from '../auth/allowed-addresses.js';
import { readSessionCookie, tokenIn } from '../auth/cookie.js';
import { isSameSite } from '../auth/same-site.js';
import { SCOPE_NAMES, Scope, type Session } from '../auth/sessions.js';
import { checkFields, checkJson } from '../json/checks.js';
import { NO_CLIENT_ID } from '../json/fields.js';
import type { FieldProblems } from '../json/problems.js';
import type { ReceivedBody } from './body.js';
import type { Call } from './call.js';
import { errorAnswer, invalidRequest, scopeInsufficient, UNKNOWN_PARTNER_KEY } from './errors.js';
import { CLIENT_SEQUENCE, IDEMPOTENCY_KEY, keyOf, type Request } from './request.js';
import { JSON_TYPE } from './response-head.js';
import type { Route } from './route.js';

const UNKNOWN_ENCODING = errorAnswer(
  'unsupported_media_type',
  {},
  'Send the body without a Content-Encoding: compressed bodies are not read.',
);
const MIN_SEQUENCE_NAME = 'minSequence';
const MIN_SEQUENCE = /^\d{1,16}$/;
const JSON_IN_UTF8 = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** Answers the request: with an error, or by running its handler. */
export function admit(call: Call, route: Route, body: ReceivedBody): void {
  if (body.unread) call.closeAfterAnswer();
  if (call.gateway.isStopping()) {
    call.refuseUnavailable();
    return;
  }
  if (typeof route.quota === 'function') call.countAs(route.quota(body.bytes));
  if (isOverloaded(call, route)) return;
  switch (route.access) {
    case 'open':
      if (affords(call, route, body)) admitAnybody(call, route, body);
      return;
    case 'partner':
      if (affords(call, route, body)) admitPartner(call, route, body);
      return;
    case 'operator':
      admitOperator(call, route, body);
      return;
    case 'public':
    case 'session':
      admitUser(call, route, body);
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
 * Refuses the request if the disk or the follower is behind. A request that is not counted for
 * fair use, such as a health check, is never refused here.
 */
function isOverloaded(call: Call, route: Route): boolean {
  if (call.quota === null) return false;
  const { overload } = call.gateway;
  const isRefused =
    route.body === undefined
      ? overload.refusesRead()
      : call.quota === 'cancels'
        ? overload.refusesCancel()
        : overload.refusesChange();
  if (isRefused) call.refuseOverloaded();
  return isRefused;
}

/** Even where no session is required, a request with the cookie must not come from another site. */
function admitAnybody(call: Call, route: Route, body: ReceivedBody): void {
  if (
    route.method !== 'GET' &&
    readSessionCookie(call.request.cookie) !== '' &&
    isCrossSite(call)
  ) {
    call.refuseNow(errorAnswer('cross_site_request'));
    return;
  }
  // An invalid key must not be ignored: the partner of a new user is permanent.
  const hasKey = route.takesPartnerKey === true && call.request.authorization !== '';
  if (hasKey && !identifyPartner(call, UNKNOWN_PARTNER_KEY)) return;
  readAndRun(call, route, body);
}

/** Returns false if the request has no valid partner key; the client has then been answered. */
function identifyPartner(call: Call, message = ''): boolean {
  const partner = call.gateway.partners.holderOf(call.request.authorization);
  if (partner === null) call.refuseNow(errorAnswer('partner_key_required', {}, message));
  else call.partner = partner;
  return partner !== null;
}

function admitPartner(call: Call, route: Route, body: ReceivedBody): void {
  if (!identifyPartner(call)) return;
  if (namesTwoUsers(call, route, body)) call.refuseNow(errorAnswer('user_mismatch'));
  else readAndRun(call, route, body);
}

function admitOperator(call: Call, route: Route, body: ReceivedBody): void {
  call.operator = call.gateway.operators.holderOf(call.request.authorization);
  if (call.operator === null) call.refuseNow(errorAnswer('operator_key_required'));
  else readAndRun(call, route, body);
}

/** A partner acts on the user in the path or body; a different one in the query is ambiguous. */
function namesTwoUsers(call: Call, route: Route, body: ReceivedBody): boolean {
  const { request } = call;
  const named = route.body === undefined ? request.parameter('id') : userIdIn(body.json);
  return typeof named === 'string' && userIdsInQuery(request).some((id) => id !== named);
}

function admitUser(call: Call, route: Route, body: ReceivedBody): void {
  const { request, gateway } = call;
  const token = tokenIn(request);
  if (token === '') {
    if (!affords(call, route, body)) return;
    if (route.access === 'session') call.refuseNow(errorAnswer('missing_token'));
    else readAndRun(call, route, body);
    return;
  }
  // A signature check costs CPU time, so the address pays for it in advance.
  const known = gateway.sessions.known(token);
  if (known === null && !affords(call, route, body)) return;
  const session = gateway.sessions.check(token, call.engine, known);
  if (session === 'invalid_token') call.refuseNow(errorAnswer(session));
  else if (typeof session === 'string') {
    if (affords(call, route, body)) call.refuseWhenDurable(errorAnswer(session));
  } else admitSession(call, route, body, session);
}

function admitSession(call: Call, route: Route, body: ReceivedBody, session: Session): void {
  if (!affords(call, route, body, session)) return;
  if (call.request.userToken === '' && route.method !== 'GET' && isCrossSite(call)) {
    call.refuseNow(errorAnswer('cross_site_request'));
    return;
  }
  if (session.tokenId !== 0 && !admitNamed(call, route, session)) return;
  call.session = session;
  if (readCommand(call, route, body, session)) {
    runHandler(call, route);
    return;
  }
  if (namesAnotherUser(call, route, body, `u${session.userId}`))
    call.refuseNow(errorAnswer('user_mismatch'));
  else readAndRun(call, route, body);
}

/** Returns false if a named token does not allow the request; the client has then been answered. */
function admitNamed(call: Call, route: Route, session: Session): boolean {
  const { scope, allowedAddresses } = session;
  if (allowedAddresses !== null && !isAllowed(allowedAddresses, call.addressBytes)) {
    call.refuseNow(errorAnswer('address_not_allowed'));
    return false;
  }
  session.lastUsedAtMs = call.engine.nowMs;
  const isRefused =
    route.handlesCredentials === true || (scope < Scope.TRADE && route.method !== 'GET');
  if (isRefused) {
    const required = route.handlesCredentials === true ? 'password' : 'trade';
    call.refuseNow(scopeInsufficient(SCOPE_NAMES[scope], required));
  }
  return !isRefused;
}

/**
 * Whether the route has read the command from the bytes of the body, which then passes every check
 * that follows. If not, the checks decide.
 */
function readCommand(call: Call, route: Route, body: ReceivedBody, session: Session): boolean {
  if (route.readCommand === undefined) return false;
  const { rawQuery, contentType, contentEncoding } = call.request;
  const isJson = contentType === JSON_TYPE || body.bytes.length === 0;
  if (rawQuery !== '' || !isJson || contentEncoding !== '' || body.tooLarge) return false;
  if (readKey(call, route, session) !== null) return false;
  call.command = route.readCommand(call, body.bytes, session);
  return call.command !== null;
}

function isCrossSite(call: Call): boolean {
  return !isSameSite(call.request, call.gateway.config.siteOrigins);
}

/** Checks the path, the query and the body. The schemas refuse a `userId` that is not a string. */
function namesAnotherUser(call: Call, route: Route, body: ReceivedBody, subject: string): boolean {
  const { request } = call;
  if (route.userParameter !== undefined && request.parameter(route.userParameter) !== subject)
    return true;
  if (userIdsInQuery(request).some((id) => id !== subject)) return true;
  if (route.body === undefined) return false;
  const { json } = body;
  if (typeof json !== 'object' || json === null) return false;
  const userId = userIdIn(json);
  if (typeof userId === 'string' && userId !== subject) return true;
  return route.namesAnother?.(json, subject) === true;
}

/** The unvalidated `userId` of a body; undefined: none. */
function userIdIn(json: unknown): unknown {
  return typeof json === 'object' && json !== null
    ? (json as { userId?: unknown }).userId
    : undefined;
}

function userIdsInQuery({ rawQuery }: Request): string[] {
  return rawQuery === '' ? [] : new URLSearchParams(rawQuery).getAll('userId');
}

/** Parses the body and the query, and runs the handler. */
function readAndRun(call: Call, route: Route, body: ReceivedBody): void {
  if (!readBody(call, route, body) || !readQuery(call, route)) return;
  if (call.minSequence <= call.engine.sequence) runHandler(call, route);
  else runWhenReached(call, route);
}

/** The session may have ended in the commands that were waited for. */
function runWhenReached(call: Call, route: Route): void {
  const { gateway, session, minSequence } = call;
  const run = (isReached: boolean) => {
    if (call.isOver) return;
    const fault = session === null ? null : gateway.sessions.faultOf(session, call.engine);
    try {
      if (!isReached) call.refuseBehind();
      else if (fault !== null) call.refuseWhenDurable(errorAnswer(fault));
      else runHandler(call, route);
    } catch (error) {
      gateway.fail(error);
    }
  };
  if (call.namesSequence) gateway.waits.waitForNamed(minSequence, run);
  else gateway.waits.wait(minSequence, run);
}

function runHandler(call: Call, route: Route): void {
  const pending = route.handle(call);
  if (pending !== undefined) pending.catch(call.gateway.fail);
}

function readBody(call: Call, route: Route, body: ReceivedBody): boolean {
  if (route.body === undefined) return true;
  const { contentType, contentEncoding } = call.request;
  if (body.tooLarge) {
    call.refuseNow(errorAnswer('body_too_large'));
    return false;
  }
  const isJson = contentType === JSON_TYPE || JSON_IN_UTF8.test(contentType);
  // An empty body has no type.
  if (!isJson && body.bytes.length > 0) {
    call.refuseNow(errorAnswer('unsupported_media_type'));
    return false;
  }
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    call.addHeader('Accept-Encoding', 'identity');
    call.refuseNow(UNKNOWN_ENCODING);
    return false;
  }
  const { json } = body;
  if (json === undefined) {
    call.refuseNow(errorAnswer('invalid_json'));
    return false;
  }
  return acceptsKey(call, route) && parseBody(call, route, body, json);
}

/** An invalid key is refused: a client that relied on it could execute an order twice. */
function acceptsKey(call: Call, route: Route): boolean {
  const problems = readKey(call, route, call.session);
  if (problems !== null) call.refuseNow(invalidRequest(problems));
  return problems === null;
}

/** Reads the key, or the number that takes its place; null: there is no problem. */
function readKey(call: Call, route: Route, session: Session | null): FieldProblems | null {
  const { idempotencyKeys, idempotencyKey, clientSequences, clientSequence } = call.request;
  if (route.idempotent !== true || idempotencyKeys + clientSequences === 0) return null;
  if (clientSequences === 0) {
    const problem = keyProblem(idempotencyKeys, idempotencyKey);
    if (problem !== null) return { 'Idempotency-Key': problem };
    call.idempotencyKey = keyOf(idempotencyKey);
    return null;
  }
  const problem =
    idempotencyKeys > 0
      ? 'cannot be sent together with Idempotency-Key'
      : sequenceProblem(clientSequences, clientSequence);
  if (problem !== null) return { 'Client-Sequence': problem };
  call.idempotencyKey = numberedKey(session?.tokenId ?? 0, Number(clientSequence));
  return null;
}

function sequenceProblem(count: number, text: string): string | null {
  if (count > 1) return 'is duplicated';
  return CLIENT_SEQUENCE.test(text) && Number.isSafeInteger(Number(text))
    ? null
    : `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;
}

function keyProblem(count: number, key: string): string | null {
  if (count > 1) return 'is duplicated';
  return IDEMPOTENCY_KEY.test(key) ? null : `${NO_CLIENT_ID} (optionally in double quotes)`;
}

function parseBody(
  call: Call,
  route: Route,
  { text = '', colons }: ReceivedBody,
  json: unknown,
): boolean {
  const checked = checkJson(route.body!, { json, text, colons }, 'body', route.missing);
  if (checked.problems === null) call.body = checked.value;
  else call.refuseNow(invalidRequest(checked.problems));
  return checked.problems === null;
}

/** The parsed empty query of each route, cached because it is always the same. */
const emptyQueries = new WeakMap<Route, unknown>();

function readQuery(call: Call, route: Route): boolean {
  const { rawQuery, minSequence } = call.request;
  if (minSequence !== '' && !readMinSequence(call, route, minSequence)) return false;
  if (rawQuery === '') call.query = emptyQueries.get(route);
  if (call.query !== undefined) return true;
  const { fields, repeated } = queryFields(rawQuery);
  if (repeated !== null) {
    call.refuseNow(invalidRequest({ [repeated]: 'is duplicated' }));
    return false;
  }
  const asked = fields[MIN_SEQUENCE_NAME];
  if (asked !== undefined && route.body === undefined) {
    if (!readMinSequence(call, route, asked)) return false;
    delete fields[MIN_SEQUENCE_NAME];
  }
  const missing = route.body === undefined ? route.missing : undefined;
  const checked = checkFields(route.query, fields, 'query', missing);
  if (checked.problems !== null) {
    call.refuseNow(invalidRequest(checked.problems));
    return false;
  }
  call.query = checked.value;
  if (rawQuery === '') emptyQueries.set(route, Object.freeze(checked.value));
  return true;
}

/** Every read takes it, from the query or the header; it means nothing to a change. */
function readMinSequence(call: Call, route: Route, text: string): boolean {
  if (route.body !== undefined) return true;
  const sequence = MIN_SEQUENCE.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(sequence)) {
    call.refuseNow(invalidRequest({ minSequence: 'must be a sequence, such as 901' }));
    return false;
  }
  if (sequence > call.minSequence) {
    call.minSequence = sequence;
    call.namesSequence = true;
  }
  return true;
}

interface QueryFields {
  fields: Record<string, string>;
  /** A duplicate name; null: none. */
  repeated: string | null;
}

function queryFields(rawQuery: string): QueryFields {
  const fields: Record<string, string> = Object.create(null);
  if (rawQuery === '') return { fields, repeated: null };
  for (const [name, value] of new URLSearchParams(rawQuery)) {
    if (name in fields) return { fields, repeated: name };
    fields[name] = value;
  }
  return { fields, repeated: null };
}
