/** Properties of every route: the headers that protect browsers, and the request id. */
import { afterAll, expect, test } from 'vitest';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { type Answer, pathOf, TestServer } from '../../support/server.js';

const server = await TestServer.withMarket();
const { api } = server;
const ada = await server.register('ada');
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

test('the headers are on the answer of every route, with and without a session', async () => {
  for (const route of ROUTES) {
    for (const token of [undefined, ada.token]) {
      const body = route.body === undefined ? undefined : {};
      const answer = await api.send(route.method, pathOf(route, ada), body, { token });
      const isKept = route.caching === 'public' && answer.status < 400;
      expectProtected(answer, isKept ? 'no-cache' : 'no-store');
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
] as const)('the headers are on the answer to %s', async (name, status, ask) => {
  const answer = await ask();
  expect(answer.status).toBe(status);
  // The stream's handshake is not a route and has no id.
  if (name.startsWith('the stream')) answer.headers['x-request-id'] = 'none';
  expectProtected(answer);
});

test('over HTTPS, answers tell browsers to stay on HTTPS', async () => {
  const proxied = await TestServer.start({ trustProxy: true });
  const forwarded = (proto: string) =>
    proxied.api.send('GET', '/health', undefined, { headers: { 'x-forwarded-proto': proto } });
  expect((await forwarded('https')).headers['strict-transport-security']).toBe('max-age=31536000');
  expect((await forwarded('http')).headers['strict-transport-security']).toBe(undefined);
  await proxied.stop();
  // The header is ignored unless a trusted proxy sends it.
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
