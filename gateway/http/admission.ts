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
import { errorAnswer, invalidRequest, scopeInsufficient, UNKNOWN_PARTNER_KEY } from './errors.js';
import { CLIENT_SEQUENCE, IDEMPOTENCY_KEY, keyOf, type Request } from './request.js';
import type { RequestContext } from './request-context.js';
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
export function admit(context: RequestContext, route: Route, body: ReceivedBody): void {
  if (body.unread) context.closeAfterAnswer();
  if (context.gateway.isStopping()) {
    context.refuseUnavailable();
    return;
  }
  if (typeof route.quota === 'function') context.countAs(route.quota(body.bytes));
  if (isOverloaded(context, route)) return;
  switch (route.access) {
    case 'open':
      if (affords(context, route, body)) admitAnybody(context, route, body);
      return;
    case 'partner':
      if (affords(context, route, body)) admitPartner(context, route, body);
      return;
    case 'operator':
      admitOperator(context, route, body);
      return;
    case 'public':
    case 'session':
      admitUser(context, route, body);
  }
}

/** Charges the request one read or change, before it is read; see {@link Route.costAtMost}. */
function affords(
  context: RequestContext,
  route: Route,
  body: ReceivedBody,
  payer: Session | null = null,
): boolean {
  const { costAtMost } = route;
  if (costAtMost === undefined) return context.affords(1, payer);
  return context.affords(1, payer, () => costAtMost(context.request.rawQuery, body.bytes));
}

/**
 * Refuses the request if the disk or the follower is behind. A request that is not counted for
 * fair use, such as a health check, is never refused here.
 */
function isOverloaded(context: RequestContext, route: Route): boolean {
  if (context.quota === null) return false;
  const { overload } = context.gateway;
  const isRefused =
    route.body === undefined
      ? overload.refusesRead()
      : context.quota === 'cancels'
        ? overload.refusesCancel()
        : overload.refusesChange();
  if (isRefused) context.refuseOverloaded();
  return isRefused;
}

/** Even where no session is required, a request with the cookie must not come from another site. */
function admitAnybody(context: RequestContext, route: Route, body: ReceivedBody): void {
  if (
    route.method !== 'GET' &&
    readSessionCookie(context.request.cookie) !== '' &&
    isCrossSite(context)
  ) {
    context.refuseNow(errorAnswer('cross_site_request'));
    return;
  }
  // An invalid key must not be ignored: the partner of a new user is permanent.
  const hasKey = route.takesPartnerKey === true && context.request.authorization !== '';
  if (hasKey && !identifyPartner(context, UNKNOWN_PARTNER_KEY)) return;
  readAndRun(context, route, body);
}

/** Returns false if the request has no valid partner key; the client has then been answered. */
function identifyPartner(context: RequestContext, message = ''): boolean {
  const partner = context.gateway.partners.holderOf(context.request.authorization);
  if (partner === null) context.refuseNow(errorAnswer('partner_key_required', {}, message));
  else context.partner = partner;
  return partner !== null;
}

function admitPartner(context: RequestContext, route: Route, body: ReceivedBody): void {
  if (!identifyPartner(context)) return;
  if (namesTwoUsers(context, route, body)) context.refuseNow(errorAnswer('user_mismatch'));
  else readAndRun(context, route, body);
}

function admitOperator(context: RequestContext, route: Route, body: ReceivedBody): void {
  context.operator = context.gateway.operators.holderOf(context.request.authorization);
  if (context.operator === null) context.refuseNow(errorAnswer('operator_key_required'));
  else readAndRun(context, route, body);
}

/** A partner acts on the user in the path or body; a different one in the query is ambiguous. */
function namesTwoUsers(context: RequestContext, route: Route, body: ReceivedBody): boolean {
  const { request } = context;
  const named = route.body === undefined ? request.parameter('id') : userIdIn(body.json);
  return typeof named === 'string' && userIdsInQuery(request).some((id) => id !== named);
}

function admitUser(context: RequestContext, route: Route, body: ReceivedBody): void {
  const { request, gateway } = context;
  const token = tokenIn(request);
  if (token === '') {
    if (!affords(context, route, body)) return;
    if (route.access === 'session') context.refuseNow(errorAnswer('missing_token'));
    else readAndRun(context, route, body);
    return;
  }
  // A signature check costs CPU time, so the address pays for it in advance.
  const known = gateway.sessions.known(token);
  if (known === null && !affords(context, route, body)) return;
  const session = gateway.sessions.check(token, context.engine, known);
  if (session === 'invalid_token') context.refuseNow(errorAnswer(session));
  else if (typeof session === 'string') {
    if (affords(context, route, body)) context.refuseWhenDurable(errorAnswer(session));
  } else admitSession(context, route, body, session);
}

function admitSession(
  context: RequestContext,
  route: Route,
  body: ReceivedBody,
  session: Session,
): void {
  if (!affords(context, route, body, session)) return;
  if (context.request.userToken === '' && route.method !== 'GET' && isCrossSite(context)) {
    context.refuseNow(errorAnswer('cross_site_request'));
    return;
  }
  if (session.tokenId !== 0 && !admitNamed(context, route, session)) return;
  context.session = session;
  if (readCommand(context, route, body, session)) {
    runHandler(context, route);
    return;
  }
  if (namesAnotherUser(context, route, body, `u${session.userId}`))
    context.refuseNow(errorAnswer('user_mismatch'));
  else readAndRun(context, route, body);
}

/** Returns false if a named token does not allow the request; the client has then been answered. */
function admitNamed(context: RequestContext, route: Route, session: Session): boolean {
  const { scope, allowedAddresses } = session;
  if (allowedAddresses !== null && !isAllowed(allowedAddresses, context.addressBytes)) {
    context.refuseNow(errorAnswer('address_not_allowed'));
    return false;
  }
  session.lastUsedAtMs = context.engine.nowMs;
  const isRefused =
    route.handlesCredentials === true || (scope < Scope.TRADE && route.method !== 'GET');
  if (isRefused) {
    const required = route.handlesCredentials === true ? 'password' : 'trade';
    context.refuseNow(scopeInsufficient(SCOPE_NAMES[scope], required));
  }
  return !isRefused;
}

/**
 * Whether the route has read the command from the bytes of the body, which then passes every check
 * that follows. If not, the checks decide.
 */
function readCommand(
  context: RequestContext,
  route: Route,
  body: ReceivedBody,
  session: Session,
): boolean {
  if (route.readCommand === undefined) return false;
  const { rawQuery, contentType, contentEncoding } = context.request;
  const isJson = contentType === JSON_TYPE || body.bytes.length === 0;
  if (rawQuery !== '' || !isJson || contentEncoding !== '' || body.tooLarge) return false;
  if (readKey(context, route, session) !== null) return false;
  context.command = route.readCommand(context, body.bytes, session);
  return context.command !== null;
}

function isCrossSite(context: RequestContext): boolean {
  return !isSameSite(context.request, context.gateway.config.siteOrigins);
}

/** Checks the path, the query and the body. The schemas refuse a `userId` that is not a string. */
function namesAnotherUser(
  context: RequestContext,
  route: Route,
  body: ReceivedBody,
  subject: string,
): boolean {
  const { request } = context;
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
function readAndRun(context: RequestContext, route: Route, body: ReceivedBody): void {
  if (!readBody(context, route, body) || !readQuery(context, route)) return;
  if (context.minSequence <= context.engine.sequence) runHandler(context, route);
  else runWhenReached(context, route);
}

/** The session may have ended in the commands that were waited for. */
function runWhenReached(context: RequestContext, route: Route): void {
  const { gateway, session, minSequence } = context;
  const run = (isReached: boolean) => {
    if (context.isOver) return;
    const fault = session === null ? null : gateway.sessions.faultOf(session, context.engine);
    try {
      if (!isReached) context.refuseBehind();
      else if (fault !== null) context.refuseWhenDurable(errorAnswer(fault));
      else runHandler(context, route);
    } catch (error) {
      gateway.fail(error);
    }
  };
  if (context.namesSequence) gateway.waits.waitForNamed(minSequence, run);
  else gateway.waits.wait(minSequence, run);
}

function runHandler(context: RequestContext, route: Route): void {
  const pending = route.handle(context);
  if (pending !== undefined) pending.catch(context.gateway.fail);
}

function readBody(context: RequestContext, route: Route, body: ReceivedBody): boolean {
  if (route.body === undefined) return true;
  const { contentType, contentEncoding } = context.request;
  if (body.tooLarge) {
    context.refuseNow(errorAnswer('body_too_large'));
    return false;
  }
  const isJson = contentType === JSON_TYPE || JSON_IN_UTF8.test(contentType);
  // An empty body has no type.
  if (!isJson && body.bytes.length > 0) {
    context.refuseNow(errorAnswer('unsupported_media_type'));
    return false;
  }
  if (contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    context.addHeader('Accept-Encoding', 'identity');
    context.refuseNow(UNKNOWN_ENCODING);
    return false;
  }
  const { json } = body;
  if (json === undefined) {
    context.refuseNow(errorAnswer('invalid_json'));
    return false;
  }
  return acceptsKey(context, route) && parseBody(context, route, body, json);
}

/** An invalid key is refused: a client that relied on it could execute an order twice. */
function acceptsKey(context: RequestContext, route: Route): boolean {
  const problems = readKey(context, route, context.session);
  if (problems !== null) context.refuseNow(invalidRequest(problems));
  return problems === null;
}

/** Reads the key, or the number that takes its place; null: there is no problem. */
function readKey(
  context: RequestContext,
  route: Route,
  session: Session | null,
): FieldProblems | null {
  const { idempotencyKeys, idempotencyKey, clientSequences, clientSequence } = context.request;
  if (route.idempotent !== true || idempotencyKeys + clientSequences === 0) return null;
  if (clientSequences === 0) {
    const problem = keyProblem(idempotencyKeys, idempotencyKey);
    if (problem !== null) return { 'Idempotency-Key': problem };
    context.idempotencyKey = keyOf(idempotencyKey);
    return null;
  }
  const problem =
    idempotencyKeys > 0
      ? 'cannot be sent together with Idempotency-Key'
      : sequenceProblem(clientSequences, clientSequence);
  if (problem !== null) return { 'Client-Sequence': problem };
  context.idempotencyKey = numberedKey(session?.tokenId ?? 0, Number(clientSequence));
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
  context: RequestContext,
  route: Route,
  { text = '', colons }: ReceivedBody,
  json: unknown,
): boolean {
  const checked = checkJson(route.body!, { json, text, colons }, 'body', route.missing);
  if (checked.problems === null) context.body = checked.value;
  else context.refuseNow(invalidRequest(checked.problems));
  return checked.problems === null;
}

/** The parsed empty query of each route, cached because it is always the same. */
const emptyQueries = new WeakMap<Route, unknown>();

function readQuery(context: RequestContext, route: Route): boolean {
  const { rawQuery, minSequence } = context.request;
  if (minSequence !== '' && !readMinSequence(context, route, minSequence)) return false;
  if (rawQuery === '') context.query = emptyQueries.get(route);
  if (context.query !== undefined) return true;
  const { fields, repeated } = queryFields(rawQuery);
  if (repeated !== null) {
    context.refuseNow(invalidRequest({ [repeated]: 'is duplicated' }));
    return false;
  }
  const asked = fields[MIN_SEQUENCE_NAME];
  if (asked !== undefined && route.body === undefined) {
    if (!readMinSequence(context, route, asked)) return false;
    delete fields[MIN_SEQUENCE_NAME];
  }
  const missing = route.body === undefined ? route.missing : undefined;
  const checked = checkFields(route.query, fields, 'query', missing);
  if (checked.problems !== null) {
    context.refuseNow(invalidRequest(checked.problems));
    return false;
  }
  context.query = checked.value;
  if (rawQuery === '') emptyQueries.set(route, Object.freeze(checked.value));
  return true;
}

/** Every read takes it, from the query or the header; it means nothing to a change. */
function readMinSequence(context: RequestContext, route: Route, text: string): boolean {
  if (route.body !== undefined) return true;
  const sequence = MIN_SEQUENCE.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(sequence)) {
    context.refuseNow(invalidRequest({ minSequence: 'must be a sequence, such as 901' }));
    return false;
  }
  if (sequence > context.minSequence) {
    context.minSequence = sequence;
    context.namesSequence = true;
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
