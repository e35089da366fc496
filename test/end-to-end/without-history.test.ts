/**
 * An exchange whose history cannot be built, because the journal is damaged before the snapshots,
 * trades like any other, and reads of the history are refused with the reason.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ROUTES } from '../../gateway/resources/routes.js';
import { eventually } from '../support/eventually.js';
import { isVouchedFor } from '../support/folders/vouched.js';
import { flip } from '../support/journal-fixture.js';
import { codeOf, MARKET, pathOf, TestServer } from '../support/server.js';

const first = await TestServer.withMarket({ snapshotEveryCommands: 20 });
const { folder } = first;
for (let i = 0; i < 30; i++) {
  first.submit({ kind: 'advanceTime' });
  await first.durable();
}
await eventually(() => isVouchedFor(folder));
await first.close();
await flip(folder, 1, 'records');
rmSync(join(folder, 'history'), { recursive: true });
const server = await TestServer.start({}, folder, first.clock.nowMs());
const ada = await server.register('ada');
await eventually(async () =>
  expect((await server.api.get('/ready')).json).toMatchObject({ failing: ['history'] }),
);
afterAll(() => server.stop());

/** Routes that the history only adds to: prices, and whether a named market ever existed. */
const WITHOUT_IT = [
  '/markets/:id',
  '/markets/15m/:marketId/orderbook',
  '/markets/15m/:marketId/quote',
  '/users/:id/positions',
];

test('everything that needs no history works', async () => {
  const { api } = server;
  const rest = { outcome: 'UP', shares: 5, price: 0.5, timeInForce: 'GTC' };
  expect((await server.buy(ada, rest)).status).toBe(200);
  for (const path of ['/markets/15m', `/markets/15m/${MARKET}/orderbook`, '/vaults'])
    expect((await api.get(path)).status, path).toBe(200);
  for (const part of ['balance', 'orders', 'positions', 'referral', 'vaults'])
    expect((await api.get(`/users/${ada.userId}/${part}`, ada.token)).status, part).toBe(200);
  expect(server.exchange.sequencer.halted).toBeNull();
});

test('an active market is read from the engine, without its price history', async () => {
  const { json: list } = await server.api.get('/markets/15m');
  const { status, json } = await server.api.get(`/markets/${MARKET}`);
  expect([status, json]).toEqual([200, { ...list.markets[0], priceHistory: null }]);
  // Only the history knows whether this market ever existed.
  const never = 'btc-15m-900';
  const token = ada.token;
  for (const asked of [
    server.api.get(`/markets/${never}`),
    server.api.get(`/markets/15m/${never}/orderbook`),
    server.buy(ada, { outcome: 'UP', amount: 5 }, never),
    server.api.send('POST', `/markets/15m/${never}/claim`, {}, { token }),
    server.api.delete(`/users/${ada.userId}/orders?marketId=${never}`, token),
  ])
    expect(codeOf(await asked)).toBe('503 history_unavailable');
});

test('a repeated key whose answer is not in memory is 503, with its sequence, and nothing is done twice', async () => {
  const { api } = server;
  const headers = { 'idempotency-key': 'once' };
  const stake = () =>
    api.send('POST', '/vaults/flex/stake', { amount: 1 }, { token: ada.token, headers });
  const first = await stake();
  expect((await stake()).text).toBe(first.text);
  server.dropResults();
  const balance = async () => (await api.get(`/users/${ada.userId}/balance`, ada.token)).json;
  const before = await balance();
  const again = await stake();
  expect([codeOf(again), again.json.error.details]).toEqual([
    '503 history_unavailable',
    { executed: true, sequence: first.json.sequence },
  ]);
  expect([again.headers['retry-after'], again.headers['idempotency-replayed']]).toEqual([
    '1',
    undefined,
  ]);
  expect((await balance()).available).toBe(before.available);
  const other = await api.send(
    'POST',
    '/vaults/flex/stake',
    { amount: 2 },
    { token: ada.token, headers },
  );
  expect(codeOf(other)).toBe('422 idempotency_key_reused');
});

/** The query of each route that requires one, or reads the history only with one. */
const QUERIES: Record<string, string> = {
  '/digest': '?sequence=1',
  '/users/:id/orders': '?status=all',
};

test('every read of history is unavailable at once', async () => {
  const routes = ROUTES.filter(
    ({ method, path, errors }) =>
      method === 'GET' && !WITHOUT_IT.includes(path) && errors?.includes('history_unavailable'),
  );
  expect(routes.length).toBe(16);
  for (const { path } of routes) {
    const filled = pathOf({ path }, ada);
    const asked = `${filled}${QUERIES[path] ?? ''}`;
    const { status, json } = await server.api.get(asked, ada.token);
    expect([status, json.error?.code, json.error?.details], asked).toEqual([
      503,
      'history_unavailable',
      { executed: false },
    ]);
  }
});
