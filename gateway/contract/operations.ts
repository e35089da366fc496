import type { z } from 'zod';
import type { Quota } from '../access/fair-use/fair-use.js';
import { quotaOf } from '../http/answers/reply.js';
import { JSON_TYPE } from '../http/answers/response-head.js';
import type { Access, Route } from '../http/route.js';
import { routeName } from '../observe/metrics.js';
import { errorCodesOf, errorResponses, isRateLimited, ownAnswersOf } from './error-responses.js';
import { EXAMPLES, type RouteExample } from './examples.js';
import type { Header, MediaType, Operation, RequestBody, Response, Security } from './openapi.js';
import { parametersOf } from './parameters.js';
import { tagOf } from './prose.js';
import type { Schemas } from './schemas.js';

export const SECURITY_SCHEMES = {
  userToken: { type: 'apiKey', in: 'header', name: 'x-user-token', description: 'A session token' },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'service-session',
    description:
      'The same token, set as a cookie on sign-in. Changes must come from the same site. The header takes precedence over the cookie',
  },
  partnerKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A partner key. A user registered with the key belongs to that partner permanently, even if other partners make deposits',
  },
};

export const NO_CREDENTIAL: Security = [];
const SESSION: Security = [{ userToken: [] }, { cookie: [] }];
export const SESSION_OR_NONE: Security = [{}, ...SESSION];

const SECURITY: Record<Access, Security> = {
  open: NO_CREDENTIAL,
  openOrPartner: [{}, { partnerKey: [] }],
  public: SESSION_OR_NONE,
  session: SESSION,
  partner: [{ partnerKey: [] }],
  operator: [{ operatorKey: [] }],
};

export function operationOf(route: Route, schemas: Schemas): Operation {
  const example = EXAMPLES[routeName(route)] ?? {};
  const errorBody = schemas.errorBody;
  const parameters = parametersOf(route);
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: descriptionOf(route),
    tags: [tagOf(route)],
    security: SECURITY[route.access],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body, schemas, example) }),
    responses: withHeaders(route, {
      ...successes(route, schemas, example),
      ...errorResponses(errorCodesOf(route), errorBody, ownAnswersOf(route)),
    }),
  };
}

function descriptionOf(route: Route): string {
  const quota = quotaOf(route);
  const sentences = [
    ACCESS_TEXTS[route.access],
    quota === null ? 'Not rate limited.' : QUOTA_TEXTS[quota],
    route.handlesCredentials === true ? 'Named tokens are refused.' : '',
    route.idempotent === true ? 'Accepts `Idempotency-Key` or `Client-Sequence`.' : '',
    route.setsCookie === true ? 'A success sets or clears the session cookie.' : '',
    route.caching === undefined ? '' : 'Has an `ETag`, and is compressed if the client accepts it.',
  ];
  return `${route.summary}. ${sentences.filter((sentence) => sentence !== '').join(' ')}`;
}

const ACCESS_TEXTS: Record<Access, string> = {
  open: 'Needs no session.',
  openOrPartner: 'Needs no session.',
  public: 'Needs no session; a sent token is checked.',
  session: 'Needs a session.',
  partner: 'Needs a partner key.',
  operator: 'Needs an operator key.',
};
const QUOTA_TEXTS: Record<Quota, string> = {
  orders: 'Counts as an order for the rate limits.',
  cancels: 'Counts as a cancel for the rate limits, apart from orders.',
  reads: 'Counts as a read for the rate limits.',
  signIns: 'Counts as a sign-in for the rate limits.',
};

/** An id such as "getMarkets15mOrderbook", or "getUsersById" for a path ending in a parameter. */
function operationId({ method, path }: Route): string {
  const parts = path.split('/').slice(1);
  const last = parts.at(-1)!;
  const words = parts
    .filter((part) => !part.startsWith(':'))
    .flatMap((part) => part.split(/[^A-Za-z0-9]/));
  if (last.startsWith(':')) words.push('by', last.slice(1));
  return (
    method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  );
}

/** A body is required only if `{}` is invalid. */
function requestBody(body: z.ZodType, schemas: Schemas, example: RouteExample): RequestBody {
  const content: MediaType = { schema: schemas.of(body, 'input') };
  if (example.request !== undefined) content.examples = { request: { value: example.request } };
  return { required: !body.safeParse({}).success, content: { 'application/json': content } };
}

function successes(
  route: Route,
  schemas: Schemas,
  example: RouteExample,
): Record<string, Response> {
  const responses: Record<string, Response> = {};
  if (route.caching !== undefined)
    responses[304] = { description: 'The client already has the current answer' };
  for (const [status, schema] of Object.entries(route.responses)) {
    responses[status] = { description: status === '201' ? 'Created' : 'OK' };
    if (schema === null) continue;
    const content: MediaType = { schema: schemas.of(schema, 'output') };
    if (example.response !== undefined)
      content.examples = { response: { value: example.response } };
    const [usual, ...others] = route.produces ?? [JSON_TYPE];
    responses[status].content = { [usual!]: content };
    for (const type of others) responses[status].content[type] = { schema: { type: 'string' } };
  }
  return responses;
}

const REPLAYED: Header = {
  description:
    'The answer is the stored answer to the first request with the same key or reference',
  schema: { type: 'string', const: 'true' },
};
const SET_COOKIE: Header = {
  description: 'The session cookie, HttpOnly and SameSite=Lax',
  required: true,
  schema: { type: 'string', pattern: '^service-session=' },
};

const BEHIND_MS: Header = {
  description:
    'The greatest possible age of the replica’s state, in milliseconds, while no leader writes; absent if it is at most a second',
  schema: { type: 'integer', format: 'int64', minimum: 0 },
};

/** Whether a replica answers the route from its own, possibly older state. */
function mayBeBehind({ body, answeredBy, access }: Route): boolean {
  return body === undefined && answeredBy === undefined && access !== 'partner';
}

const NEXT_PAGE: Header = {
  description:
    'The address of the next page, with rel="next"; only for CSV, because JSON has nextCursor',
  schema: { type: 'string' },
};

const ETAG: Header = {
  description:
    'Identifies the content, except what changes all the time: `sequence`, `atMs`, and the `assetPrice` and `indicative` of markets',
  schema: { type: 'string', pattern: '^W/"' },
};
const CONTENT_ENCODING: Header = {
  description: 'The compression of the answer, chosen from `Accept-Encoding`',
  schema: { enum: ['br', 'gzip'] },
};

export const RETRY_AFTER: Header = {
  description: 'Seconds to wait before retrying',
  required: true,
  schema: { type: 'integer', format: 'int64', minimum: 0 },
};
const RATE_LIMIT: Record<string, Header> = {
  'RateLimit-Limit': count('Largest possible burst of requests'),
  'RateLimit-Remaining': count('Requests that can be sent now'),
  'RateLimit-Reset': count('Seconds until the full burst is available again'),
};

function count(description: string): Header {
  return { description, schema: { type: 'integer', format: 'int64', minimum: 0 } };
}

/** The engine's answers can be replayed; 503 is a refusal that the history cannot explain. */
const REPLAYABLE = ['200', '201', '400', '404', '409', '422', '503'];

function withHeaders(route: Route, responses: Record<string, Response>): Record<string, Response> {
  // A partner's reference replays the answer like an idempotency key.
  const replays =
    route.idempotent === true || (route.access === 'partner' && route.body !== undefined);
  for (const [status, response] of Object.entries(responses)) {
    const headers: Record<string, Header> = isRateLimited(route) ? { ...RATE_LIMIT } : {};
    if (status === '429') headers['Retry-After'] = RETRY_AFTER;
    if (status === '503') headers['Retry-After'] = { ...RETRY_AFTER, required: false };
    if (replays && REPLAYABLE.includes(status)) headers['Idempotency-Replayed'] = REPLAYED;
    if ((route.produces ?? []).length > 1 && status === '200') headers['Link'] = NEXT_PAGE;
    if (route.caching !== undefined && status < '400') headers['ETag'] = ETAG;
    if (route.caching !== undefined && status === '200')
      headers['Content-Encoding'] = CONTENT_ENCODING;
    if (route.setsCookie === true && status < '300') headers['Set-Cookie'] = SET_COOKIE;
    if (mayBeBehind(route) && status === '200') headers['Behind-Ms'] = BEHIND_MS;
    if (Object.keys(headers).length > 0) response.headers = headers;
  }
  return responses;
}
