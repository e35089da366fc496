/** What holds for every route: the headers that protect browsers, and the request id. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../../gateway/http/route.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import {
  type Answer,
  type ApiClient,
  MARKET,
  TestServer,
  type Trader,
} from '../../support/server.js';

let server: TestServer;
let api: ApiClient;
let ada: Trader;

async function start(overrides: Parameters<typeof TestServer.withMarket>[0] = {}): Promise<void> {
  server = await TestServer.withMarket(overrides);
  api = server.api;
  ada = await server.register('ada');
}

/** A path of the route, filled with ids that exist or could exist. */
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

  function expectProtected({ headers }: Answer, cacheControl = 'no-store'): void {
    expect(headers).toMatchObject({
      'cache-control': cacheControl,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'keep-alive': 'timeout=8',
      'x-request-id': expect.stringMatching(/^[A-Za-z0-9_.:-]{1,64}$/),
    });
    expect(headers['strict-transport-security']).toBe(undefined);
  }

  test('are on the answer of every route, with and without a session', async () => {
    for (const route of ROUTES) {
      for (const token of [undefined, ada.token]) {
        const body = route.body === undefined ? undefined : {};
        const answer = await api.send(route.method, pathOf(route), body, { token });
        const isKept = route.caching === 'public' && answer.status < 400;
        expectProtected(answer, isKept ? 'no-cache' : 'no-store');
      }
    }
  });

  test.each([
    ['no route', 404, () => api.get('/no/such/route')],
    ['another method', 405, () => api.send('DELETE', '/health')],
    ['no body', 204, () => api.post('/auth/logout', {})],
    [
      'too large',
      413,
      () => api.send('POST', '/auth/login', undefined, { raw: 'x'.repeat(70_000) }),
    ],
    ['a HEAD', 200, () => api.send('HEAD', '/health')],
    ['the stream, without an upgrade', 400, () => api.get('/stream')],
  ] as const)('are on the answer to %s', async (name, status, ask) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    // The stream's handshake is not a route and has no id.
    if (name.startsWith('the stream')) answer.headers['x-request-id'] = 'none';
    expectProtected(answer);
  });

  test('over HTTPS they tell browsers to stay on HTTPS', async () => {
    const proxied = await TestServer.start({ trustProxy: true });
    const forwarded = (proto: string) =>
      proxied.api.send('GET', '/health', undefined, { headers: { 'x-forwarded-proto': proto } });
    expect((await forwarded('https')).headers['strict-transport-security']).toBe(
      'max-age=31536000',
    );
    expect((await forwarded('http')).headers['strict-transport-security']).toBe(undefined);
    await proxied.stop();
    // The header is ignored when it does not come from a trusted proxy.
    const direct = await api.send('GET', '/health', undefined, {
      headers: { 'x-forwarded-proto': 'https' },
    });
    expect(direct.headers['strict-transport-security']).toBe(undefined);
  });

  test("a request id is the client's if valid, otherwise a new one", async () => {
    const idOf = async (id: string) =>
      (await api.send('GET', '/health', undefined, { headers: { 'x-request-id': id } })).headers[
        'x-request-id'
      ];
    for (const own of ['a', 'req:2025-11-21.001_x', 'x'.repeat(64)])
      expect(await idOf(own)).toBe(own);
    const made = new Set<unknown>();
    for (const bad of ['', 'a b', 'x'.repeat(65), '<b>', 'é', 'a;b']) made.add(await idOf(bad));
    expect(made.size).toBe(6);
    for (const id of made) expect(id).toMatch(/^[\w-]{8}-\d+$/);
  });
});
