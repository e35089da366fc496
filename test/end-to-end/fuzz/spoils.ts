/**
 * Ways to make a request invalid: values of another type or size, missing or unknown fields, bodies
 * that are not JSON, other content types and methods, ids and credentials of other or unknown
 * users. Each says whether the request can still succeed.
 */
import { createHmac } from 'node:crypto';
import type { PathItem } from '../../../gateway/contract/openapi.js';
import { Mutator } from '../../support/workload/mutator.js';
import type { Random } from '../../support/workload/random.js';
import type { Draft } from './drafts.js';
import type { Plan } from './plans.js';
import type { World } from './world.js';

export interface Spoiling {
  plan: Plan;
  /** All operations of the path. */
  item: PathItem;
  world: World;
  random: Random;
}

/**
 * Changes the draft. Returns true if the request must now fail, false if it may succeed, and null
 * if the change does not apply.
 */
type Spoil = (draft: Draft, spoiling: Spoiling) => boolean | null;

const ODD_VALUES: readonly unknown[] = [
  // '01' is not a decimal, but a text may have this value.
  ...[null, true, false, [], {}, [1], { value: 1 }, '', ' ', '0', '01', 'UP', 'NaN'],
  ...['🙂'.repeat(200), 'x'.repeat(5_000), -1, 0, 1, -0.001, 0.0000001, 1e-9, 5e-324, 1e9, 1e15],
  ...[2 ** 53, 1e21, 1e308, -1e308, 0.1234567, 1_000_000.0000001],
  ...['__proto__', 'constructor', '\u0000', '\ud800', '../..', "'; --", '<b>', '%00'],
];
const ODD_NAMES = [
  ...['amout', 'Amount', '__proto__', 'constructor', '', 'price ', 'toString', '🙂', '0'],
  'a'.repeat(300),
];
const ODD_SEGMENTS = [
  'a'.repeat(2_000),
  ...'% %00 %ff %2e%2e %F0%9F%99%82 .. . ; + null 15m u0 u-1 o1e3 u99999999999999999999'.split(' '),
  ...'btc-15m-1 BTC-15M-0 btc-15m-99999999999999999999 xrp-15m-1763700300'.split(' '),
];
const OTHER_TYPES = [
  ...['text/plain', 'application/x-www-form-urlencoded', 'json', '*/*'],
  'application/json; charset=latin1',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];

/** The document's description of the request in its present form. */
const takesBody = ({ plan }: Spoiling) => plan.operation.requestBody !== undefined;
const checksQuery = ({ plan }: Spoiling) => plan.operation.responses['400'] !== undefined;
const needsUser = ({ plan }: Spoiling) =>
  needs(plan, 'userToken') && !plan.operation.security.some(isEmpty);
const checksUser = ({ plan }: Spoiling) => needs(plan, 'userToken');
const needsPartner = ({ plan }: Spoiling) =>
  needs(plan, 'partnerKey') && !plan.operation.security.some(isEmpty);
const checksPartner = ({ plan }: Spoiling) => needs(plan, 'partnerKey');
const needs = (plan: Plan, scheme: string) => plan.operation.security.some((one) => scheme in one);
const isEmpty = (one: object) => Object.keys(one).length === 0;

/** All objects in a body: the whole body, and the operations of a batch. */
function objectsIn(body: unknown): Record<string, unknown>[] {
  if (typeof body !== 'object' || body === null) return [];
  const inner = Object.values(body).flatMap(objectsIn);
  return Array.isArray(body) ? inner : [body as Record<string, unknown>, ...inner];
}

/** Replaces a value. The schema decides afterwards whether the body is still valid. */
const oddValue: Spoil = (draft, { random }) => {
  const objects = objectsIn(draft.body).filter((object) => Object.keys(object).length > 0);
  if (objects.length === 0) return null;
  const object = random.pick(objects);
  object[random.pick(Object.keys(object))] = random.pick(ODD_VALUES);
  return false;
};

const fieldLess: Spoil = (draft, { random }) => {
  const objects = objectsIn(draft.body).filter((object) => Object.keys(object).length > 0);
  if (objects.length === 0) return null;
  const object = random.pick(objects);
  delete object[random.pick(Object.keys(object))];
  return false;
};

const fieldMore: Spoil = (draft, { random }) => {
  const objects = objectsIn(draft.body);
  if (objects.length === 0) return null;
  const value = random.pick(ODD_VALUES);
  Object.defineProperty(random.pick(objects), random.pick(ODD_NAMES), { value, enumerable: true });
  return true;
};

const otherShape: Spoil = (draft, spoiling) => {
  if (!takesBody(spoiling)) return null;
  const { random } = spoiling;
  draft.body = random.pick([
    [],
    [draft.body ?? 1],
    'text',
    7,
    null,
    true,
    { operations: {} },
    { userId: {} },
  ]);
  draft.headers['content-type'] = 'application/json';
  return true;
};

/** Mutates the body's bytes. The result may still be valid. */
const changedBytes: Spoil = (draft, spoiling) => {
  if (!takesBody(spoiling) || draft.body === undefined) return null;
  const bytes = Buffer.from(JSON.stringify(draft.body));
  const mutator = new Mutator(spoiling.random, [bytes], 60_000);
  draft.raw = mutator.from([bytes]).toString('latin1');
  return draft.raw.trim() === '' ? null : false;
};

const noText: Spoil = (draft, spoiling) => {
  if (!takesBody(spoiling)) return null;
  draft.raw = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
  draft.headers['content-type'] = 'application/json';
  return true;
};

const tooLarge: Spoil = (draft, spoiling) => {
  if (!takesBody(spoiling) || spoiling.random.chance(0.8)) return null;
  draft.raw = `{"userId":"${'x'.repeat(66_000)}"}`;
  draft.headers['content-type'] = 'application/json';
  return true;
};

const otherType: Spoil = (draft, spoiling) => {
  if (!takesBody(spoiling) || draft.body === undefined) return null;
  if (spoiling.random.chance(0.2)) {
    draft.headers['content-type'] = 'application/json; charset=UTF-8';
    return false;
  }
  draft.headers['content-type'] = spoiling.random.pick(OTHER_TYPES);
  return true;
};

const bodyOfRead: Spoil = (draft, spoiling) => {
  if (takesBody(spoiling)) return null;
  draft.raw = '{"amount":1}';
  draft.headers['content-type'] = 'application/json';
  return false;
};

const badKey: Spoil = (draft, { plan, random }) => {
  if (!plan.operation.parameters?.some(({ name }) => name === 'Idempotency-Key')) return null;
  draft.headers['idempotency-key'] = random.pick(['a b', '%', 'aäb', 'k'.repeat(65), '{}', 'a/b']);
  return true;
};

const badNumber: Spoil = (draft, { plan, random }) => {
  if (!plan.operation.parameters?.some(({ name }) => name === 'Client-Sequence')) return null;
  const odd = ['0', '01', '-1', '1.5', '1e3', '', 'x', '0x1', '9007199254740992', '1, 2'];
  draft.headers['client-sequence'] = random.pick(odd);
  return true;
};

const keyAndNumber: Spoil = (draft, { plan }) => {
  if (!plan.operation.parameters?.some(({ name }) => name === 'Client-Sequence')) return null;
  Object.assign(draft.headers, { 'client-sequence': '1', 'idempotency-key': 'k1' });
  return true;
};

const otherMethod: Spoil = (draft, { item, random }) => {
  draft.method = random.pick(METHODS);
  const known = draft.method === 'HEAD' ? 'get' : draft.method.toLowerCase();
  if (draft.method === 'HEAD' || draft.method === 'GET') draft.body = undefined;
  return !(known in item);
};

const otherPath: Spoil = (draft, { random }) => {
  const segments = draft.path.split('/');
  segments[random.whole(1, segments.length - 1)] = random.pick(ODD_SEGMENTS);
  draft.path = segments.join('/');
  return false;
};

const longerPath: Spoil = (draft, { random }) => {
  draft.path += random.pick(['/', '//', '/more', '/%2e%2e', '.json', '/orders/o1']);
  return false;
};

const queryMore: Spoil = (draft, spoiling) => {
  draft.query.push([spoiling.random.pick(['amout', 'token', '__proto__', 'a[b]', '%']), 'x']);
  return checksQuery(spoiling);
};

const queryTwice: Spoil = (draft, spoiling) => {
  if (draft.query.length === 0) return null;
  draft.query.push(spoiling.random.pick(draft.query));
  return checksQuery(spoiling);
};

const oddQuery: Spoil = (draft, { random }) => {
  if (draft.query.length === 0) return null;
  random.pick(draft.query)[1] = `${random.pick(ODD_VALUES)}`.slice(0, 500);
  return false;
};

const othersQuery: Spoil = (draft, spoiling) => {
  const other = spoiling.random.pick(spoiling.world.people);
  if (!checksUser(spoiling) || other === draft.person) return null;
  draft.query = [...draft.query.filter(([name]) => name !== 'userId'), ['userId', other.userId]];
  return hasToken(draft);
};

const othersBody: Spoil = (draft, spoiling) => {
  const other = spoiling.random.pick(spoiling.world.people);
  if (!needsUser(spoiling) || !takesBody(spoiling) || other === draft.person) return null;
  draft.body = { ...(draft.body as object | undefined), userId: other.userId };
  draft.headers['content-type'] = 'application/json';
  return true;
};

const othersThing: Spoil = (draft, { world, random }) => {
  const found = /\/(orders|deposits)\/\w+/.exec(draft.path);
  if (found === null) return null;
  const isOthers = ({ userId }: { userId: string }) => userId !== draft.person.userId;
  const kind = found[1]!;
  const ids =
    kind === 'orders'
      ? world.orders.filter(isOthers).map(({ orderId }) => orderId)
      : world.deposits.filter(isOthers).map(({ depositId }) => depositId);
  if (ids.length === 0) return null;
  draft.path = draft.path.replace(found[0], `/${kind}/${random.pick(ids)}`);
  return true;
};

const othersPath: Spoil = (draft, spoiling) => {
  const other = spoiling.random.pick(spoiling.world.people);
  if (!draft.path.startsWith('/users/') || other === draft.person) return null;
  draft.path = draft.path.replace(/^\/users\/u\d+/, `/users/${other.userId}`);
  return needsUser(spoiling) || hasToken(draft);
};

const hasToken = ({ headers }: Draft) =>
  headers['x-user-token'] !== undefined || headers.cookie !== undefined;

function withoutCredential(draft: Draft): void {
  const {
    'x-user-token': _token,
    cookie: _cookie,
    authorization: _authorization,
    ...headers
  } = draft.headers;
  draft.headers = headers;
}

const noCredential: Spoil = (draft, spoiling) => {
  withoutCredential(draft);
  return needsUser(spoiling) || needsPartner(spoiling);
};

const badToken: Spoil = (draft, spoiling) => {
  const { world, random } = spoiling;
  withoutCredential(draft);
  const tokens = [
    ...forgedTokens(draft.person.userId, draft.person.token),
    ...world.revoked.slice(-5),
  ];
  const token = random.pick(tokens);
  if (random.chance(0.5)) draft.headers['x-user-token'] = token;
  else draft.headers.cookie = `service-session=${token}`;
  return checksUser(spoiling) || needsPartner(spoiling);
};

/**
 * Tokens that are unsigned, signed by another key, cut, changed, of another algorithm, or not
 * tokens.
 */
function forgedTokens(userId: string, token: string): string[] {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = part({ ver: 1, sub: userId, iat: 1_763_700_300 });
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${payload}`;
  const signature = createHmac('sha256', 'a guess').update(signed).digest('base64url');
  const [head, , tail] = token.split('.');
  return [
    `${part({ alg: 'none', typ: 'JWT' })}.${payload}.`,
    `${part({ alg: 'RS256', typ: 'JWT' })}.${payload}.${signature}`,
    `${signed}.${signature}`,
    `${head}.${part({ ver: 1, sub: 'u1', iat: 1 })}.${tail}`,
    token.slice(0, -2),
    `${token}.`,
    token.repeat(4),
    userId,
    'null',
    '..',
  ];
}

const bearerToken: Spoil = (draft, spoiling) => {
  withoutCredential(draft);
  draft.headers.authorization = `Bearer ${draft.person.token}`;
  return needsUser(spoiling) || checksPartner(spoiling);
};

const badPartnerKey: Spoil = (draft, spoiling) => {
  if (!checksPartner(spoiling)) return null;
  const { world, random } = spoiling;
  const keys = [
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${world.partnerKey}x`,
    `Basic ${world.partnerKey}`,
    world.partnerKey,
  ];
  draft.headers.authorization = random.pick(keys);
  return draft.headers.authorization !== '' || needsPartner(spoiling);
};

const tokenInQuery: Spoil = (draft, spoiling) => {
  withoutCredential(draft);
  draft.query.push(['x-user-token', draft.person.token]);
  return checksQuery(spoiling);
};

const otherSite: Spoil = (draft, spoiling) => {
  if (!checksUser(spoiling)) return null;
  withoutCredential(draft);
  draft.headers.cookie = `service-session=${draft.person.token}`;
  if (spoiling.random.chance(0.5)) draft.headers.origin = 'https://elsewhere.example';
  else draft.headers['sec-fetch-site'] = 'cross-site';
  return draft.method !== 'GET';
};

export const SPOILS: Record<string, { weight: number; spoil: Spoil }> = {
  'an odd value': { weight: 14, spoil: oddValue },
  'a field less': { weight: 6, spoil: fieldLess },
  'a field more': { weight: 4, spoil: fieldMore },
  'another shape': { weight: 2, spoil: otherShape },
  'changed bytes': { weight: 7, spoil: changedBytes },
  'no text': { weight: 1, spoil: noText },
  'too large': { weight: 1, spoil: tooLarge },
  'another content type': { weight: 2, spoil: otherType },
  'a read with a body': { weight: 1, spoil: bodyOfRead },
  'a bad idempotency key': { weight: 2, spoil: badKey },
  'a bad client sequence': { weight: 2, spoil: badNumber },
  'a key and a number': { weight: 1, spoil: keyAndNumber },
  'another method': { weight: 3, spoil: otherMethod },
  'another path': { weight: 3, spoil: otherPath },
  'a longer path': { weight: 2, spoil: longerPath },
  'an unknown parameter': { weight: 2, spoil: queryMore },
  'a parameter twice': { weight: 1, spoil: queryTwice },
  'an odd parameter': { weight: 4, spoil: oddQuery },
  'another user in the query': { weight: 2, spoil: othersQuery },
  'another user in the body': { weight: 2, spoil: othersBody },
  'another user in the path': { weight: 3, spoil: othersPath },
  'what another user has': { weight: 4, spoil: othersThing },
  'no credential': { weight: 3, spoil: noCredential },
  'a bad token': { weight: 4, spoil: badToken },
  'a token as bearer': { weight: 1, spoil: bearerToken },
  'a bad partner key': { weight: 3, spoil: badPartnerKey },
  'a token in the query': { weight: 1, spoil: tokenInQuery },
  'another site': { weight: 2, spoil: otherSite },
};
