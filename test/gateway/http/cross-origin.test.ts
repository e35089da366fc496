/**
 * Pages of SITE_ORIGINS may call the API with a token. Pages of other origins may not, and no page
 * may use cookies. Also tests the allowed types and encodings of bodies.
 */
import { request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { MARKET, TestServer } from '../../support/server.js';

const SITE = 'https://app.example';
const OTHER = 'https://evil.example';
const BUY = `/api/markets/15m/${MARKET}/buy`;

const server = await TestServer.withMarket({ siteOrigins: [SITE] });
const ada = await server.register('ada');
afterAll(() => server.stop());

type Method = 'GET' | 'POST' | 'OPTIONS';

async function ask(method: Method, path: string, headers: Record<string, string>, body?: string) {
  const answer = await request(`${server.api.url}${path}`, { method, headers, body: body ?? null });
  const text = await answer.body.text();
  const named = Object.entries(answer.headers).filter(([name]) =>
    name.startsWith('access-control-'),
  );
  const all: { vary?: unknown; allow?: unknown } = answer.headers;
  return { status: answer.statusCode, text, cors: Object.fromEntries(named), all };
}

const preflight = (path: string, origin: string, method = 'POST') =>
  ask('OPTIONS', path, {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type,x-user-token',
  });

test('a preflight from the site allows the methods of the path, and tokens, but no credentials', async () => {
  const { status, text, cors, all } = await preflight(BUY, SITE);
  expect([status, text, all.vary]).toEqual([204, '', 'Origin']);
  expect(cors).toMatchObject({
    'access-control-allow-origin': SITE,
    'access-control-allow-methods': 'POST',
    'access-control-max-age': '86400',
  });
  expect(`${cors['access-control-allow-headers']}`.toLowerCase()).toContain('x-user-token');
  expect(cors).not.toHaveProperty('access-control-allow-credentials');
  const read = await preflight('/api/markets', SITE, 'GET');
  expect(read.cors['access-control-allow-methods']).toBe('GET, HEAD');
});

test('a preflight from another origin, of an unknown path, or without a method is refused', async () => {
  const other = await preflight(BUY, OTHER);
  expect([other.status, other.cors]).toEqual([405, {}]);
  const unknown = await preflight('/api/nowhere', SITE);
  expect(unknown.status).toBe(404);
  const options = await ask('OPTIONS', BUY, { origin: SITE });
  expect([options.status, options.all.allow]).toEqual([405, 'POST']);
});

test('the site reads answers, refusals too; another origin reads none', async () => {
  const headers = { 'content-type': 'application/json', 'x-user-token': ada.token };
  const order = JSON.stringify({ outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' });
  const bought = await ask('POST', BUY, { ...headers, origin: SITE }, order);
  expect([bought.status, bought.cors['access-control-allow-origin']]).toEqual([200, SITE]);
  expect(bought.cors['access-control-expose-headers']).toContain('Retry-After');
  const refused = await ask('POST', BUY, { ...headers, origin: SITE }, '{}');
  expect([refused.status, refused.cors['access-control-allow-origin']]).toEqual([400, SITE]);
  const document = await ask('GET', '/api/openapi.json', { origin: SITE });
  expect([document.status, document.cors['access-control-allow-origin']]).toEqual([200, SITE]);
  // On a busy machine, the history may not have answered yet.
  await server.followed();
  for (const path of ['/api/markets', '/api/openapi.json']) {
    const other = await ask('GET', path, { origin: OTHER });
    expect([other.status, other.cors], path).toEqual([200, {}]);
    expect([other.all.vary].flat()).toContain('Origin');
  }
  expect((await ask('GET', '/api/markets', {})).cors).toEqual({});
});

test('a cookie of another origin still changes nothing', async () => {
  const headers = { 'content-type': 'application/json', cookie: `service-session=${ada.token}` };
  const before = await server.state();
  const { status, text, cors } = await ask('POST', BUY, { ...headers, origin: OTHER }, '{}');
  expect([status, JSON.parse(text).error.code, cors]).toEqual([403, 'cross_site_request', {}]);
  expect(await server.state()).toEqual(before);
});

test('an empty body may have any type, and an encoded body is refused by name', async () => {
  const { api } = server;
  const path = `/markets/15m/${MARKET}/claim`;
  const send = (headers: Record<string, string>, raw: string) =>
    api.send('POST', path, undefined, { token: ada.token, raw, headers });
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense', '']) {
    const { status, json } = await send({ 'content-type': type }, '');
    expect([status, json.error.code], type).toEqual([409, 'market_not_resolved']);
  }
  expect((await send({ 'content-type': 'text/plain' }, '{}')).status).toBe(415);
  for (const encoding of ['gzip', 'br', 'gzip, identity', 'x']) {
    const { status, json, headers } = await send({ 'content-encoding': encoding }, '{}');
    expect([status, json.error.code], encoding).toEqual([415, 'unsupported_media_type']);
    expect(json.error.message).toContain('Content-Encoding');
    expect(headers['accept-encoding']).toBe('identity');
  }
  expect((await send({ 'content-encoding': 'identity' }, '{}')).status).toBe(409);
  const order = JSON.stringify({ outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' });
  const encoded = { token: ada.token, raw: order, headers: { 'content-encoding': 'gzip' } };
  const before = await server.state();
  expect((await api.send('POST', BUY.slice(4), undefined, encoded)).status).toBe(415);
  expect(await server.state()).toEqual(before);
});
