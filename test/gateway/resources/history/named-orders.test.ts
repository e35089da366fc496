/** Orders by the client's own id over HTTP, and the terms that a closed order still reports. */
import { afterAll, expect, test } from 'vitest';
import { MARKET, TestServer, WINDOW_MS, WINDOW_START_MS } from '../../../support/server.js';

const EXPIRES_AT_MS = WINDOW_START_MS + 60_000;

const orders = (query: string, { userId, token } = ada) =>
  server.api.read(`/users/${userId}/orders${query}`, token);
const named = async (name: string, more = '') =>
  (await orders(`?clientOrderId=${name}${more}`)).json.orders;

const resting = { outcome: 'UP', shares: 10, price: 0.25, timeInForce: 'GTC' };

const server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
const { api } = server;
const post = async (path: string, body: object, { token } = ada) => {
  const answer = await api.post(path, body, token);
  expect(answer.status, answer.text).toBe(200);
};
const buy = `/markets/15m/${MARKET}/buy`;
await post(buy, { ...resting, clientOrderId: 'kept' });
const terms = { expiresAtMs: EXPIRES_AT_MS, selfTrade: 'cancel_both' };
await post(buy, { ...resting, ...terms, clientOrderId: 'expiring' });
// A refused operation comes before the two orders that are placed.
const op = { op: 'buy', marketId: MARKET, ...resting };
await post('/batch', {
  operations: [
    { ...op, clientOrderId: 'kept' },
    { ...op, clientOrderId: 'in-batch', selfTrade: 'cancel_taker' },
    op,
    { op: 'cancel', marketId: MARKET, clientOrderId: 'in-batch' },
  ],
});
await post(buy, { ...resting, clientOrderId: 'of-bob' }, bob);
server.clock.set(EXPIRES_AT_MS);
await server.advance();
afterAll(() => server.stop());

test('an order is found by its id while it rests, and when it is closed', async () => {
  expect(await named('kept')).toMatchObject([
    { clientOrderId: 'kept', status: 'resting', selfTrade: 'cancel_resting', expiresAtMs: null },
  ]);
  expect(await named('expiring')).toMatchObject([
    {
      clientOrderId: 'expiring',
      status: 'expired',
      reason: 'expired',
      selfTrade: 'cancel_both',
      expiresAtMs: EXPIRES_AT_MS,
    },
  ]);
  expect(await named('in-batch')).toMatchObject([
    { clientOrderId: 'in-batch', reason: 'requested', selfTrade: 'cancel_taker' },
  ]);
});

test('lists of closed orders say the same, single orders too', async () => {
  const closed = (await orders('?status=closed')).json.orders;
  const [inBatch, expiring] = [(await named('in-batch'))[0], (await named('expiring'))[0]];
  expect(closed).toEqual([inBatch, expiring]);
  const { sequence, atMs: _, ...single } = (await orders(`/${expiring.orderId}`)).json;
  expect(single).toEqual(expiring);
  expect(sequence).toBeGreaterThan(0);
});

test('other filters must fit, too', async () => {
  expect(await named('kept', '&status=closed')).toEqual([]);
  expect(await named('kept', '&status=open')).toHaveLength(1);
  expect(await named('expiring', '&status=open')).toEqual([]);
  expect(await named('kept', `&marketId=${MARKET}`)).toHaveLength(1);
  expect(await named('kept', '&marketId=eth-15m-1763700300')).toEqual([]);
  expect(await named('kept', `&fromMs=${WINDOW_START_MS + WINDOW_MS}`)).toEqual([]);
  expect(await named('kept', `&toMs=${WINDOW_START_MS - 1}`)).toEqual([]);
});

test('an id that no order of the user has is an empty list, also if another user has it', async () => {
  for (const name of ['of-bob', 'KEPT', 'x'.repeat(64)]) {
    const { status, json } = await orders(`?clientOrderId=${name}`);
    expect([status, json.orders, json.nextCursor], name).toEqual([200, [], null]);
  }
});

test('refusals', async () => {
  for (const name of ['', 'x'.repeat(65), 'a%20b', 'ä', 'a%0Ab']) {
    const { status, json } = await orders(`?clientOrderId=${name}`);
    expect([status, Object.keys(json.error.details)], name).toEqual([400, ['clientOrderId']]);
  }
  const twice = await orders('?clientOrderId=a&clientOrderId=b');
  expect(twice.json.error.details).toEqual({ clientOrderId: 'is duplicated' });
  const { json } = await orders('?status=all&limit=1');
  for (const cursor of ['nonsense', json.nextCursor]) {
    const refused = await orders(`?clientOrderId=kept&cursor=${cursor}`);
    expect(refused.json.error.details).toEqual({ cursor: 'is not a cursor of this list' });
  }
  const path = `/users/${ada.userId}/orders?clientOrderId=kept`;
  expect((await server.api.get(path)).status).toBe(401);
  expect((await server.api.get(path, bob.token)).json.error.code).toBe('user_mismatch');
});
