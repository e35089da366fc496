/**
 * Client-Sequence: a number in place of an idempotency key, over HTTP and the stream. A number not
 * greater than the last executed one executes nothing, even after a restart.
 */
import { afterEach, expect, test } from 'vitest';
import { MARKET, TestServer } from '../../support/server.js';
import { clientsOf } from '../stream/support.js';

let server: TestServer;
afterEach(() => server.stop());

const BID = { outcome: 'UP', shares: 1, price: 0.4, timeInForce: 'GTC' };

test('each number is executed at most once, for each token', async () => {
  server = await TestServer.withMarket();
  const ada = await server.register('ada');
  const bob = await server.register('bob');
  const buy = (number: string, token: string, body: object = BID) =>
    server.api.send('POST', `/markets/15m/${MARKET}/buy`, body, {
      token,
      headers: { 'client-sequence': number },
    });
  const orders = async () =>
    (await server.api.get(`/users/${ada.userId}/orders`, ada.token)).json.orders.length;
  const stale = (last: number) => ({
    status: 409,
    json: { error: { code: 'client_sequence_stale', details: { last } } },
  });

  expect((await buy('5', ada.token)).status).toBe(200);
  expect(await buy('5', ada.token)).toMatchObject(stale(5));
  expect(await buy('4', ada.token, { ...BID, price: 0.3 })).toMatchObject(stale(5));
  expect(await orders()).toBe(1);
  // Gaps are allowed. Each user and each named token counts separately.
  expect((await buy('9007199254740990', ada.token)).status).toBe(200);
  expect((await buy('1', bob.token)).status).toBe(200);
  const named = await server.api.post('/auth/tokens', { name: 'bot', scope: 'trade' }, ada.token);
  expect(named.status, named.text).toBe(201);
  const { token } = named.json;
  expect((await buy('7', token)).status).toBe(200);
  expect(await buy('7', token)).toMatchObject(stale(7));
  expect(await buy('8', ada.token)).toMatchObject(stale(9007199254740990));
  // An invalid request does not use up its number, but a refused one does.
  expect((await buy('8', token, { ...BID, price: 2 })).status).toBe(400);
  expect((await buy('8', token, { ...BID, shares: 1_000_000 })).status).toBe(422);
  expect(await buy('8', token)).toMatchObject(stale(8));
  expect(await orders()).toBe(3);

  await server.close();
  server = await TestServer.start({}, server.folder);
  expect(await buy('8', token)).toMatchObject(stale(8));
  expect(await buy('9007199254740990', ada.token)).toMatchObject(stale(9007199254740990));
  expect((await buy('9', token)).status).toBe(200);
  expect(await orders()).toBe(4);
});

test('other numbers are refused, and a number together with a key', async () => {
  server = await TestServer.withMarket();
  const { token } = await server.register('ada');
  const path = `/markets/15m/${MARKET}/buy`;
  const detailsOf = async (headers: Record<string, string>) => {
    const { status, json } = await server.api.send('POST', path, BID, { token, headers });
    expect([status, json.error.code]).toEqual([400, 'invalid_request']);
    return json.error.details;
  };
  for (const number of ['0', '01', '-1', '1.5', '9007199254740992', ''])
    expect(await detailsOf({ 'client-sequence': number }), number).toEqual({
      'Client-Sequence': 'must be a whole number from 1 to 9007199254740991',
    });
  expect(await detailsOf({ 'client-sequence': '1', 'idempotency-key': 'a' })).toEqual({
    'Client-Sequence': 'cannot be sent together with Idempotency-Key',
  });
});

test('over the stream, and shared with HTTP', async () => {
  server = await TestServer.withMarket();
  const { connectAs } = clientsOf(() => server);
  const ada = await server.register('ada');
  const client = await connectAs(ada);
  const operation = { op: 'buy', marketId: MARKET, ...BID };
  const ask = async (id: string, fields: object) => {
    client.send({ id, ...fields });
    return client.next((message) => message.id === id);
  };
  const order = { op: 'order', operation };
  expect(await ask('1', { ...order, clientSequence: 3 })).toMatchObject({ type: 'receipt' });
  const stale = { code: 'client_sequence_stale', details: { last: 3 } };
  expect(await ask('2', { ...order, clientSequence: 3 })).toMatchObject(stale);
  const batch = { op: 'batch', operations: [operation, operation], atomic: true };
  expect(await ask('3', { ...batch, clientSequence: 2 })).toMatchObject(stale);
  expect(await ask('4', { ...batch, clientSequence: 4 })).toMatchObject({ type: 'receipt' });
  const both = { ...order, clientSequence: 5, idempotencyKey: 'a' };
  expect(await ask('5', both)).toMatchObject({ code: 'invalid_request' });
  expect(await ask('6', { ...order, clientSequence: 0 })).toMatchObject({
    code: 'invalid_request',
  });
  const path = `/markets/15m/${MARKET}/buy`;
  const headers = { 'client-sequence': '4' };
  const { json } = await server.api.send('POST', path, BID, { token: ada.token, headers });
  expect(json.error.details).toEqual({ last: 4 });
});
