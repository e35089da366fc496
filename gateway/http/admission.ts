/**
 * From a request that has come in to its handler. What can be wrong is looked for in one order: route, token, the user it is
 * for, body, and then, in the handler and the engine, the state.
 */
import { readSessionCookie } from '../auth/cookie.js';
import { partnerOf } from '../auth/partners.js';
import { isSameSite } from '../auth/same-site.js';
import { isOfAccount, type Session } from '../auth/sessions.js';
import { inexactNumber } from '../json/decimal.js';
import { cut, fieldProblems, problemText } from '../json/problems.js';
import { repeatedKey } from '../json/repeated-key.js';
import type { ReceivedBody } from './body.js';
import { errorAnswer, invalidRequest, UNKNOWN_PARTNER_KEY } from './errors.js';
import { IDEMPOTENCY_KEY, keyOf } from './idempotency-key.js';
import type { Request } from './request.js';
import type { RequestContext } from './request-context.js';
import { quotaOf, type Route } from './route.js';

const JSON_IN_UTF8 = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** A request whose handler may not have run yet. */
class Admission {
  private parsed: { json: unknown } | null = null;

  constructor(
    readonly call: RequestContext,
    readonly route: Route,
    readonly body: ReceivedBody,
  ) {}

  /** The body's JSON, undefined if it is not JSON. Not looked at before the request has been counted for fair use. */
  get json(): unknown {
    this.parsed ??= { json: parseJson(this.body) };
    return this.parsed.json;
  }
}

/** Answers the call: with an error, or by running its handler. */
export function admit(call: RequestContext, route: Route, body: ReceivedBody): void {
  if (body.unread) call.hangUp();
  if (call.gateway.isStopping()) {
    call.refuseUnavailable();
    return;
  }
  if (isShed(call, route)) return;
  const admission = new Admission(call, route, body);
  switch (route.access) {
    case 'open':
      if (call.takeOfAddress(1)) admitAnybody(admission);
      return;
    case 'partner':
      if (call.takeOfAddress(1)) admitPartner(admission);
      return;
    case 'public':
    case 'session':
      admitUser(admission);
  }
}

/** Refused because the disk is behind, and told so. What is not counted for fair use, such as a probe, is let through. */
function isShed(call: RequestContext, route: Route): boolean {
  if (quotaOf(route) === null) return false;
  const { overload } = call.gateway;
  const isRefused = route.body === undefined ? overload.refusesRead() : overload.refusesChange();
  if (isRefused) {
    call.addHeader('Retry-After', '1');
    call.refuseUnavailable();
  }
  return isRefused;
}

function parseJson(body: ReceivedBody): unknown {
  if (body.fault !== null) return undefined;
  if (body.text === '') return {};
  try {
    return JSON.parse(body.text);
  } catch {
    return undefined;
  }
}

/** Even where no session is needed, a cookie that is sent along must not be acted on for another site. */
function admitAnybody(admission: Admission): void {
  const { call, route } = admission;
  if (route.method !== 'GET' && readSessionCookie(call.incoming.cookie) !== '' && isCrossSite(call)) {
    call.refuse(errorAnswer('cross_site_request'));
    return;
  }
  // A key that is none must not count as no key: who registers a user is settled for ever.
  const hasKey = route.takesPartnerKey === true && call.incoming.authorization !== '';
  if (hasKey && !takePartner(call, UNKNOWN_PARTNER_KEY)) return;
  runHandler(admission);
}

/** Whether the request has a partner's key; if not, the client has been told. */
function takePartner(call: RequestContext, message = ''): boolean {
  const partner = partnerOf(call.gateway.config.partnerKeys, call.incoming.authorization);
  if (partner === null) call.refuse(errorAnswer('partner_key_required', {}, message));
  else call.partner = partner;
  return partner !== null;
}

function admitPartner(admission: Admission): void {
  const { call } = admission;
  if (!takePartner(call)) return;
  if (namesTwoUsers(admission)) call.refuse(errorAnswer('user_mismatch'));
  else runHandler(admission);
}

/** A partner acts on the user that the path or the body names; another one in the query could mean either. */
function namesTwoUsers({ call, route, json }: Admission): boolean {
  const { incoming } = call;
  const named = route.body === undefined ? incoming.parameter('id') : userIdIn(json);
  return typeof named === 'string' && userIdsInQuery(incoming).some((id) => id !== named);
}

function admitUser(admission: Admission): void {
  const { call, route } = admission;
  const { incoming, gateway } = call;
  const token = incoming.userToken === '' ? readSessionCookie(incoming.cookie) : incoming.userToken;
  if (token === '') {
    if (!call.takeOfAddress(1)) return;
    if (route.access === 'session') call.refuse(errorAnswer('missing_token'));
    else runHandler(admission);
    return;
  }
  const session = gateway.sessions.recall(token);
  if (session !== undefined) {
    admitSession(admission, session);
    return;
  }
  if (!call.takeOfAddress(1)) return;
  const verified = gateway.sessions.verify(token, (claimed) => isOfAccount(call.engine, claimed));
  if (verified === null) call.refuse(errorAnswer('invalid_token'));
  else admitSession(admission, verified);
}

/** The signature is right; whether the token still stands is the engine's to say, every time. */
function admitSession(admission: Admission, session: Session): void {
  const { call, route } = admission;
  if (call.engine.credentialVersion(session.userId) !== session.version) {
    if (call.takeOfAddress(1)) call.answerError(errorAnswer('token_revoked'));
    return;
  }
  if (!call.takeOfSession(session, 1)) return;
  if (call.incoming.userToken === '' && route.method !== 'GET' && isCrossSite(call)) {
    call.refuse(errorAnswer('cross_site_request'));
    return;
  }
  call.session = session;
  if (namesAnotherUser(admission, `u${session.userId}`)) call.refuse(errorAnswer('user_mismatch'));
  else runHandler(admission);
}

function isCrossSite(call: RequestContext): boolean {
  return !isSameSite(call.incoming, call.gateway.config.siteOrigins);
}

/** In the path, the query or the body. A `userId` that is no text is no user's, and the schemas refuse it. */
function namesAnotherUser({ call, route, json }: Admission, subject: string): boolean {
  const { incoming } = call;
  if (route.userParameter !== undefined && incoming.parameter(route.userParameter) !== subject) return true;
  if (userIdsInQuery(incoming).some((id) => id !== subject)) return true;
  if (route.body === undefined || typeof json !== 'object' || json === null) return false;
  const userId = userIdIn(json);
  if (typeof userId === 'string' && userId !== subject) return true;
  return route.namesAnother?.(json, subject) === true;
}

/** Whatever stands there; undefined: nothing. */
function userIdIn(json: unknown): unknown {
  return typeof json === 'object' && json !== null ? (json as { userId?: unknown }).userId : undefined;
}

function userIdsInQuery({ rawQuery }: Request): string[] {
  return rawQuery === '' ? [] : new URLSearchParams(rawQuery).getAll('userId');
}

/** The body and the query are looked at, and turned into what the handler takes. */
function runHandler(admission: Admission): void {
  const { call, route } = admission;
  if (!readBody(admission) || !readQuery(call, route)) return;
  const pending = route.handle(call);
  if (pending !== undefined) pending.catch(call.gateway.fail);
}

function readBody({ call, route, body, json }: Admission): boolean {
  if (route.body === undefined) return true;
  const { contentType } = call.incoming;
  if (body.fault === 'body_too_large') {
    call.refuse(errorAnswer('body_too_large'));
    return false;
  }
  const isEmpty = body.fault === null && body.text === '';
  if (contentType === '' ? !isEmpty : contentType !== 'application/json' && !JSON_IN_UTF8.test(contentType)) {
    call.refuse(errorAnswer('unsupported_media_type'));
    return false;
  }
  if (json === undefined) {
    call.refuse(errorAnswer('invalid_json'));
    return false;
  }
  return takeKey(call, route) && takeBody(call, route, body, json);
}

/** A key that is sent and is none is refused: a client that believes in it would repeat an order that was done. */
function takeKey(call: RequestContext, route: Route): boolean {
  const { idempotencyKeys } = call.incoming;
  if (route.idempotent !== true || idempotencyKeys.length === 0) return true;
  const [key] = idempotencyKeys as [string];
  const problem = keyProblem(idempotencyKeys);
  if (problem === null) call.idempotencyKey = keyOf(key);
  else call.refuse(invalidRequest({ 'Idempotency-Key': problem }));
  return problem === null;
}

function keyProblem(keys: readonly string[]): string | null {
  if (keys.length > 1) return 'stands in the request more than once';
  return IDEMPOTENCY_KEY.test(keys[0]!)
    ? null
    : 'must be 1 to 64 characters of A-Z a-z 0-9 _ - : . (in quotes, if you like)';
}

function takeBody(
  call: RequestContext,
  route: Route,
  { text, colons }: ReceivedBody,
  json: unknown,
): boolean {
  const repeated = repeatedKey(json, text, colons);
  if (repeated !== null) {
    call.refuse(invalidRequest({ [repeated]: 'stands in the body more than once' }));
    return false;
  }
  const inexact = inexactNumber(text);
  if (inexact !== null) {
    call.refuse(invalidRequest({ body: `has a number with too many digits: ${cut(inexact)}` }));
    return false;
  }
  if (route.quickCheck?.(json) === true) {
    call.body = json;
    return true;
  }
  const parsed = route.body!.safeParse(json, { error: problemText });
  if (!parsed.success) {
    call.refuse(invalidRequest(fieldProblems(parsed.error, 'body')));
    return false;
  }
  call.body = parsed.data;
  return true;
}

/** What a route takes from a request without a query: the same every time, so it is made once. */
const emptyQueries = new WeakMap<Route, unknown>();

function readQuery(call: RequestContext, route: Route): boolean {
  const { rawQuery } = call.incoming;
  if (rawQuery === '') call.query = emptyQueries.get(route);
  if (call.query !== undefined) return true;
  const { fields, repeated } = queryFields(rawQuery);
  if (repeated !== null) {
    call.refuse(invalidRequest({ [repeated]: 'stands in the query more than once' }));
    return false;
  }
  const parsed = route.query.safeParse(fields, { error: problemText });
  if (!parsed.success) {
    call.refuse(invalidRequest(fieldProblems(parsed.error, 'query')));
    return false;
  }
  call.query = parsed.data;
  if (rawQuery === '') emptyQueries.set(route, Object.freeze(parsed.data));
  return true;
}

interface QueryFields {
  fields: Record<string, string>;
  /** A name that stands there twice, which could mean either. */
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
