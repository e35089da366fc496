/**
 * What holds for every route, whichever it is: the headers that protect browsers, the request id, that a page of another site
 * changes nothing with a visitor's cookie, and that an idempotency key brings the first answer back to the byte.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../gateway/http/route.js';
import { ROUTES } from '../gateway/http/routes.js';
import {
  type Answer,
  type ApiClient,
  MARKET,
  PASSWORD,
  type RequestOptions,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from './server.js';

const PARTNER_KEY = 'partner-key-of-the-tests';
const KEYS = [{ partner: 'acme', sha256: createHash('sha256').update(PARTNER_KEY).digest() }];
const NEXT_MARKET = 'btc-15m-1763701200';

let server: TestServer;
let api: ApiClient;
let ada: Trader;

async function start(overrides: Parameters<typeof TestServer.withMarket>[0] = {}): Promise<void> {
  server = await TestServer.withMarket({ partnerKeys: KEYS, ...overrides });
  api = server.api;
  ada = await server.register('ada');
}

/** A path of the route, with things that exist or could. */
function pathOf(route: Route): string {
  const filled: Record<string, string> = { marketId: MARKET, orderId: 'o1', depositId: 'd1' };
  return route.path.replace(/:(\w+)/g, (_, name: string) => {
    if (name === 'id' && route.path.startsWith('/markets')) return MARKET;
    return filled[name] ?? ada.userId;
  });
}

describe('headers', () => {
  beforeAll(() => start());
  afterAll(() => server.stop());

  function expectProtected({ headers }: Answer): void {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-request-id': expect.stringMatching(/^[A-Za-z0-9_.:-]{1,64}$/),
    });
    expect(headers['strict-transport-security']).toBe(undefined);
  }

  test('are on the answer of every route, with and without a session', async () => {
    for (const route of ROUTES) {
      for (const token of [undefined, ada.token]) {
        const body = route.body === undefined ? undefined : {};
        expectProtected(await api.send(route.method, pathOf(route), body, { token }));
      }
    }
  });

  test.each([
    ['no route', 404, () => api.get('/no/such/route')],
    ['another method', 405, () => api.send('DELETE', '/health')],
    ['no body', 204, () => api.post('/auth/logout', {})],
    ['too large', 413, () => api.send('POST', '/auth/login', undefined, { raw: 'x'.repeat(70_000) })],
    ['a HEAD', 200, () => api.send('HEAD', '/health')],
    ['the stream, without an upgrade', 400, () => api.get('/stream')],
  ] as const)('are on the answer to %s', async (name, status, ask) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    // The stream's door is not a route, and has no id.
    if (name.startsWith('the stream')) answer.headers['x-request-id'] = 'none';
    expectProtected(answer);
  });

  test('over HTTPS they tell browsers to stay there', async () => {
    const proxied = await TestServer.start({ trustProxy: true });
    const forwarded = (proto: string) =>
      proxied.api.send('GET', '/health', undefined, { headers: { 'x-forwarded-proto': proto } });
    expect((await forwarded('https')).headers['strict-transport-security']).toBe('max-age=31536000');
    expect((await forwarded('http')).headers['strict-transport-security']).toBe(undefined);
    await proxied.stop();
    // What anybody may say is not believed.
    const direct = await api.send('GET', '/health', undefined, { headers: { 'x-forwarded-proto': 'https' } });
    expect(direct.headers['strict-transport-security']).toBe(undefined);
    const secure = await TestServer.start({ cookieSecure: true });
    expect((await secure.api.get('/health')).headers['strict-transport-security']).toBe('max-age=31536000');
    await secure.stop();
  });

  test('a request id is the client’s own if it is one, else a new one', async () => {
    const idOf = async (id: string) =>
      (await api.send('GET', '/health', undefined, { headers: { 'x-request-id': id } })).headers[
        'x-request-id'
      ];
    for (const own of ['a', 'req:2025-11-21.001_x', 'x'.repeat(64)]) expect(await idOf(own)).toBe(own);
    const made = new Set<unknown>();
    for (const bad of ['', 'a b', 'x'.repeat(65), '<b>', 'é', 'a;b']) made.add(await idOf(bad));
    expect(made.size).toBe(6);
    for (const id of made) expect(id).toMatch(/^[\w-]{8}-\d+$/);
  });
});

describe('a page of another site', () => {
  beforeAll(() => start());
  afterAll(() => server.stop());

  const CHANGES = ROUTES.filter((route) => route.body !== undefined && route.access !== 'partner');

  test('there are changes to try', () => {
    expect(CHANGES.length).toBeGreaterThan(12);
  });

  test.each(CHANGES.map((route) => [route.method, route.path, route] as const))(
    'cannot %s %s with the cookie of a visitor',
    async (method, _path, route) => {
      const before = await server.state();
      const cookie = `service-session=${ada.token}`;
      for (const headers of [
        { cookie, origin: 'https://evil.example' },
        { cookie, origin: 'null' },
        { cookie, 'sec-fetch-site': 'cross-site' },
      ] as Record<string, string>[]) {
        const { status, json } = await api.send(method, pathOf(route), {}, { headers });
        expect([status, json.error.code]).toEqual([403, 'cross_site_request']);
      }
      expect(await server.state()).toEqual(before);
    },
  );

  test('the site itself can', async () => {
    const headers = {
      cookie: `service-session=${ada.token}`,
      origin: api.url,
      'sec-fetch-site': 'same-origin',
    };
    const { status } = await api.send('POST', '/vaults/flex/stake', { amount: 1 }, { headers });
    expect(status).toBe(201);
  });
});

describe('an idempotency key', () => {
  let bob: Trader;
  beforeAll(async () => {
    await start();
    bob = await server.register('bob');
  });
  afterAll(() => server.stop());

  const tried = new Set<string>();
  let count = 0;

  /** Uses the route once; then again, after something else, when it must answer the same and do nothing. */
  async function twice(
    route: string,
    path: string,
    body: object | undefined,
    trader: Trader,
  ): Promise<Answer> {
    const [method] = route.split(' ') as ['POST' | 'PUT' | 'DELETE'];
    const options: RequestOptions = {
      token: trader.token,
      headers: { 'idempotency-key': `key-${++count}` },
    };
    const first = await api.send(method, path, body, options);
    expect(first.headers['idempotency-replayed'], first.text).toBe(undefined);
    expect((await api.post('/vaults/flex/stake', { amount: 1 }, trader.token)).status).toBe(201);
    const before = await accounts();
    const again = await api.send(method, path, body, options);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(await accounts()).toEqual(before);
    tried.add(route);
    return first;
  }

  async function accounts(): Promise<unknown[]> {
    const answers = await Promise.all(
      [ada, bob].flatMap(({ userId, token }) =>
        ['balance', 'orders', 'positions', 'referral', 'vaults'].map((part) =>
          api.get(`/users/${userId}/${part}`, token),
        ),
      ),
    );
    return answers.map(({ json }) => ({ ...json, sequence: 0 }));
  }

  test('brings back the first answer, byte for byte, on every route that changes a user’s own', async () => {
    const BUY = 'POST /markets/15m/:marketId/buy';
    const SELL = 'POST /markets/15m/:marketId/sell';
    const market = `/markets/15m/${MARKET}`;
    const rest = { timeInForce: 'GTC' };
    const bid = await twice(BUY, `${market}/buy`, { outcome: 'UP', shares: 10, price: 0.4, ...rest }, ada);
    expect(bid.json.status).toBe('resting');
    const taken = await twice(BUY, `${market}/buy`, { outcome: 'DOWN', amount: 3 }, bob);
    expect(taken.json.shares).toBe(5);
    const ask = await twice(SELL, `${market}/sell`, { outcome: 'DOWN', shares: 2, price: 0.9, ...rest }, bob);
    expect(ask.json.status).toBe('resting');
    const refused = await twice(SELL, `${market}/sell`, { outcome: 'DOWN', shares: 1_000 }, bob);
    expect(refused.status).toBe(422);
    const order = `${market}/orders/${bid.json.orderId}`;
    await twice('DELETE /markets/15m/:marketId/orders/:orderId', order, undefined, ada);
    await twice('DELETE /markets/15m/:marketId/orders', `${market}/orders`, undefined, bob);
    const operations = [
      { op: 'buy', marketId: MARKET, outcome: 'UP', shares: 5, price: 0.3, ...rest },
      { op: 'sell', marketId: MARKET, outcome: 'UP', shares: 1_000 },
      { op: 'cancel', marketId: MARKET, orderId: 'o77' },
    ];
    await twice('POST /batch', '/batch', { operations }, ada);
    await twice('POST /batch', '/batch', { operations, atomic: true }, ada);

    const stake = await twice('POST /vaults/flex/stake', '/vaults/flex/stake', { amount: 100 }, ada);
    const code = `/users/${ada.userId}/referral/code`;
    await twice('PUT /users/:id/referral/code', code, { code: 'ADA-1' }, ada);

    // ada's stake earns from the next quarter hour on, so that one must have fees.
    await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 101_000);
    await twice('POST /markets/15m/:marketId/claim', `${market}/claim`, {}, ada);
    const next = `/markets/15m/${NEXT_MARKET}/buy`;
    await api.post(next, { outcome: 'UP', shares: 1_000, price: 0.5, ...rest }, ada.token);
    await api.post(next, { outcome: 'DOWN', amount: 500 }, bob.token);
    await server.passTime(WINDOW_START_MS + 2 * WINDOW_MS + 2_000, 102_000);
    const deposit = `/vaults/deposits/${stake.json.depositId}`;
    const claimed = await twice('POST /vaults/deposits/:depositId/claim', `${deposit}/claim`, {}, ada);
    expect(claimed.json.claimed).toBeGreaterThan(0);
    await twice('POST /vaults/deposits/:depositId/unstake', `${deposit}/unstake`, {}, ada);

    const keyed = ROUTES.filter((route) => route.idempotent === true);
    expect([...tried].sort()).toEqual(keyed.map(({ method, path }) => `${method} ${path}`).sort());
  });

  test('is taken by every route that changes something, but for signing in and for partners, who have references', () => {
    const others = ROUTES.filter((route) => route.body !== undefined && route.idempotent !== true);
    expect(others.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /auth/register',
      'POST /auth/login',
      'POST /auth/logout',
      'PUT /auth/password',
      'POST /partner/deposits',
      'POST /partner/withdrawals',
    ]);
  });

  test('a partner’s reference brings back the first answer just so', async () => {
    for (const path of ['/partner/deposits', '/partner/withdrawals']) {
      const body = { userId: ada.userId, amount: 2.5, reference: `wire:${path.length}` };
      const options = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };
      const first = await api.send('POST', path, body, options);
      expect(first.status).toBe(200);
      expect((await api.post('/vaults/flex/stake', { amount: 1 }, ada.token)).status).toBe(201);
      const before = await accounts();
      const again = await api.send('POST', path, body, options);
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect(await accounts()).toEqual(before);
    }
  });

  test('the password and the account are not changed twice either: the old token has ended, the name is taken', async () => {
    const change = { currentPassword: PASSWORD, newPassword: 'a better password' };
    const first = await api.put('/auth/password', change, bob.token);
    expect(first.status).toBe(200);
    expect((await api.put('/auth/password', change, bob.token)).json.error.code).toBe('token_revoked');
    const registration = { username: 'cyd', password: PASSWORD };
    expect((await api.post('/auth/register', registration)).status).toBe(201);
    expect((await api.post('/auth/register', registration)).json.error.code).toBe('username_taken');
  });
});
