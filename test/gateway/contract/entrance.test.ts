/** Newcomers find the documentation from / and /api, and no house on the leaderboard. */
import { request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { TestServer } from '../../support/server.js';

const server = await TestServer.withMarket();
afterAll(() => server.stop());

async function fetched(path: string, method: 'GET' | 'HEAD' | 'POST' = 'GET') {
  const { statusCode, headers, body } = await request(`${server.api.url}${path}`, { method });
  return { status: statusCode, type: headers['content-type'], text: await body.text() };
}

test('/ and /api lead to the documentation', async () => {
  const home = await fetched('/');
  expect([home.status, home.type]).toEqual([200, 'text/html; charset=utf-8']);
  const links = [...home.text.matchAll(/href="([^"]+)"/g)].map(([, link]) => link!);
  expect(links).toEqual(['/api', '/api/docs', '/api/docs/recipes.md', '/client/']);
  const index = await fetched('/api');
  expect([index.status, index.type, JSON.parse(index.text)]).toEqual([
    200,
    'application/json',
    {
      documentation: '/api/docs',
      guides: '/llms.txt',
      clients: '/client/',
      openapi: '/api/openapi.json',
      'openapi-3.0': '/api/openapi-3.0.json',
      asyncapi: '/api/asyncapi.json',
      stream: '/api/stream',
      status: '/api/status',
    },
  ]);
  // The clients exist only after a build; see package.test.ts.
  for (const path of [
    '/llms.txt',
    '/api/docs',
    '/api/openapi.json',
    '/api/asyncapi.json',
    '/api/status',
  ])
    expect((await fetched(path)).status, path).toBe(200);
});

test('other methods and other paths are refused as before', async () => {
  for (const path of ['/', '/api']) {
    expect((await fetched(path, 'HEAD')).status, path).toBe(200);
    expect((await fetched(path, 'POST')).status, path).toBe(405);
  }
  for (const path of ['/index.html', '/ap', '/api/', '/api/x', '//'])
    expect((await fetched(path)).status, path).toBe(404);
});

test('the leaderboard ranks users and not the house', async () => {
  const register = { kind: 'register', username: 'house-of-the-test', credential: '' } as const;
  server.submit({ ...register, referralCode: '', grantMicros: 1_000_000_000, partner: null });
  const { engine } = server.exchange.sequencer;
  const house = engine.findUser('house-of-the-test');
  const ada = await server.register('ada');
  const bid = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
  expect((await server.buy(ada, bid)).status).toBe(200);
  server.submit({
    kind: 'buy',
    userId: house,
    marketId: server.exchange.sequencer.engine.activeMarket(0),
    outcome: 1,
    budgetMicros: 6_000_000,
    sizeLots: 10_000,
    priceTicks: 600,
    timeInForce: 0,
    postOnly: false,
    validUntilMs: 8_640_000_000_000,
    idempotencyKey: null,
  });
  await server.durable();
  expect(engine.account(house)!.tradeCount).toBe(1);
  const { json } = await server.api.read('/leaderboard');
  expect(json.entries.map(({ userId }: { userId: string }) => userId)).toEqual([ada.userId]);
  expect((await server.api.read(`/users/u${house}`)).json).toMatchObject({ rank: null, trades: 1 });
});
