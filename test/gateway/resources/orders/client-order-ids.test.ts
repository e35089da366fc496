/** Client order ids over real HTTP: where they are accepted, refused, shown and found again. */
import { afterAll, expect, test } from 'vitest';
import { type Answer, MARKET, TestServer, type Trader } from '../../../support/server.js';

const server = await TestServer.withMarket();
const { api } = server;
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const RESTING = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
const buy = (trader: Trader, body: object): Promise<Answer> => server.buy(trader, body);
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
  // Another user's client order id does not name one of Ada's orders.
  const other = await batch(ada, [{ op: 'cancel', marketId: MARKET, clientOrderId: 'b-1' }]);
  expect(other.json.results[0].error.code).toBe('order_not_found');
});

test('PATCH, DELETE and the amendment of a batch take the id in place of the orderId', async () => {
  const name = 'by-name';
  const path = `/markets/15m/${MARKET}/orders/by-client-id?clientOrderId=${name}`;
  const { orderId } = (await buy(ada, { ...RESTING, clientOrderId: name })).json;
  const amended = await api.send('PATCH', path, { shares: 9 }, { token: ada.token });
  expect(amended.json).toMatchObject({ orderId, clientOrderId: name, restingShares: 9 });
  const op = { op: 'amend', marketId: MARKET, clientOrderId: name };
  const both = await batch(ada, [
    { ...op, shares: '8.5' },
    { ...op, price: 0.39 },
    // The order is placed and amended in one batch.
    { op: 'buy', marketId: MARKET, ...RESTING, clientOrderId: 'in-batch' },
    { ...op, clientOrderId: 'in-batch', shares: 7 },
  ]);
  expect(both.json.results).toMatchObject([
    { orderId, restingShares: 8.5, keptPriority: true },
    { orderId, restingShares: 8.5, keptPriority: false },
    { clientOrderId: 'in-batch', restingShares: 10 },
    { clientOrderId: 'in-batch', restingShares: 7 },
  ]);
  // Bob has his own order with this id.
  expect((await api.delete(path, bob.token)).json.error.code).toBe('order_not_found');
  const cancelled = await api.delete(path, ada.token);
  expect(cancelled.json).toMatchObject({ orderId, cancelledShares: 8.5 });
  expect((await api.delete(path, ada.token)).json.error.code).toBe('order_closed');

  const refused: [path: string, body: object, field: string][] = [
    [path.split('?')[0]!, { shares: 1 }, 'clientOrderId'],
    [path.replace(name, 'a%20b'), { shares: 1 }, 'clientOrderId'],
    [path, { shares: 1, clientOrderId: name }, 'clientOrderId'],
    [path, { shares: 1, orderId: 'o1' }, 'orderId'],
    [path, {}, 'shares'],
    [path.replace(/by-client.*/, orderId), { shares: 1, clientOrderId: name }, 'clientOrderId'],
  ];
  for (const [target, body, field] of refused) {
    const answer = await api.send('PATCH', target, body, { token: ada.token });
    expect(answer.status, JSON.stringify([target, body])).toBe(400);
    expect(Object.keys(answer.json.error.details)).toContain(field);
  }
  const two = await batch(ada, [{ ...op, orderId: 'o1', shares: 1 }]);
  expect(two.json.error.details).toEqual({
    'operations.0.clientOrderId': 'cannot be combined with orderId',
  });
  const none = await batch(ada, [{ op: 'amend', marketId: MARKET, shares: 1 }]);
  expect(none.json.error.details).toEqual({
    'operations.0.orderId': 'is required (or clientOrderId)',
  });
});
