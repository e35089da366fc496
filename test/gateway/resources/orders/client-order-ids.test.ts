/** Client order ids over real HTTP: where they are accepted, refused, shown and found again. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Answer,
  type ApiClient,
  MARKET,
  TestServer,
  type Trader,
} from '../../../support/server.js';

let server: TestServer;
let api: ApiClient;
let ada: Trader;
let bob: Trader;

beforeAll(async () => {
  server = await TestServer.withMarket();
  api = server.api;
  ada = await server.register('ada');
  bob = await server.register('bob');
});
afterAll(() => server.stop());

const RESTING = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
const buy = (trader: Trader, body: object): Promise<Answer> =>
  api.post(`/markets/15m/${MARKET}/buy`, body, trader.token);
const batch = (trader: Trader, operations: object[], rest: object = {}): Promise<Answer> =>
  api.post('/batch', { operations, ...rest }, trader.token);

test('the id is in the receipt and in the list of resting orders; without one it is null', async () => {
  const named = await buy(ada, { ...RESTING, clientOrderId: 'grid:1_a-b.c' });
  expect(named.status).toBe(200);
  expect(named.json).toMatchObject({ status: 'resting', clientOrderId: 'grid:1_a-b.c' });
  const unnamed = await buy(ada, { ...RESTING, price: 0.41 });
  expect(unnamed.json.clientOrderId).toBeNull();
  const { json } = await api.get(`/users/${ada.userId}/orders`, ada.token);
  expect(json.orders.map((order: { clientOrderId: unknown }) => order.clientOrderId)).toEqual([
    'grid:1_a-b.c',
    null,
  ]);
});

test.each(['', 'x'.repeat(65), 'a b', 'é', 'a/b', 7, null])(
  '%j is not an id',
  async (clientOrderId) => {
    const answer = await buy(ada, { ...RESTING, clientOrderId });
    expect(answer.status).toBe(400);
    expect(answer.json.error).toMatchObject({
      code: 'invalid_request',
      details: { clientOrderId: expect.any(String) },
    });
  },
);

test('in a batch: orders have ids, and a cancel names one', async () => {
  const order = { op: 'buy', marketId: MARKET, ...RESTING };
  const { json } = await batch(bob, [
    { ...order, clientOrderId: 'b-1' },
    { ...order, clientOrderId: 'b-1' },
    { op: 'cancel', marketId: MARKET, clientOrderId: 'b-1' },
    { op: 'cancel', marketId: MARKET, clientOrderId: 'b-unknown' },
  ]);
  const [placed, reused, cancelled, unknown] = json.results;
  expect(placed).toMatchObject({ status: 'resting', clientOrderId: 'b-1' });
  expect(reused.error).toMatchObject({
    code: 'client_order_id_reused',
    details: { orderId: placed.orderId },
  });
  expect(cancelled).toMatchObject({ status: 'cancelled', orderId: placed.orderId });
  expect(unknown.error.code).toBe('order_not_found');
  // Another user's name for an order is none of mine.
  const other = await batch(ada, [{ op: 'cancel', marketId: MARKET, clientOrderId: 'b-1' }]);
  expect(other.json.results[0].error.code).toBe('order_not_found');
});

test.each([
  [{}, 'orderId'],
  [{ orderId: 'o1', clientOrderId: 'x' }, 'clientOrderId'],
])('a cancel of %j is refused', async (ids, field) => {
  const answer = await batch(ada, [{ op: 'cancel', marketId: MARKET, ...ids }]);
  expect(answer.status).toBe(400);
  expect(Object.keys(answer.json.error.details)).toEqual([`operations.0.${field}`]);
});
