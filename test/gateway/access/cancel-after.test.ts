/** The dead man's switch over real HTTP and the stream, and after a restart. */
import { afterAll, expect, test } from 'vitest';
import { codeOf, MARKET, TestServer, type Trader } from '../../support/server.js';
import { clientsOf } from '../stream/support.js';

const { connectAs } = clientsOf(() => server);

let server = await TestServer.withMarket();
let { api } = server;
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const BID = { outcome: 'UP', shares: 10, price: 0.1, timeInForce: 'GTC' };
const rest = ({ token }: Trader) => api.post(`/markets/15m/${MARKET}/buy`, BID, token);
const set = ({ userId, token }: Trader, timeoutMs: unknown, key?: string) =>
  api.send(
    'PUT',
    `/users/${userId}/cancel-after`,
    { timeoutMs },
    {
      token,
      ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
    },
  );
const ordersOf = async ({ userId, token }: Trader): Promise<string[]> =>
  (await api.get(`/users/${userId}/orders`, token)).json.orders.map(
    ({ orderId }: { orderId: string }) => orderId,
  );
async function wait(ms: number): Promise<void> {
  server.clock.set(server.clock.nowMs() + ms);
  await server.advance();
}

test('cancels all resting orders when the exchange’s time comes, once, and tells the stream', async () => {
  const client = await connectAs(ada);
  const order = (await rest(ada)).json.orderId;
  const others = (await rest(bob)).json.orderId;
  const answer = await set(ada, 5_000);
  expect([answer.status, answer.json.cancelAtMs]).toEqual([200, server.clock.nowMs() + 5_000]);
  await client.subscribe('user');
  await wait(4_999);
  expect(await ordersOf(ada)).toEqual([order]);
  await wait(1);
  expect(await ordersOf(ada)).toEqual([]);
  expect(await ordersOf(bob)).toEqual([others]);
  const { data } = await client.next((message) => message.type === 'delta');
  expect(data.events).toMatchObject([
    { type: 'order_cancelled', orderId: order, reason: 'cancel_after' },
    { type: 'cancel_after_fired', cancelAtMs: answer.json.cancelAtMs },
  ]);
  expect(data.balance.held).toBe(0);
  const later = (await rest(ada)).json.orderId;
  await wait(3_600_000 - 5_000);
  const left = await ordersOf(ada);
  // The market may have ended by now, but nothing else cancelled the order.
  expect(left.length === 0 || left[0] === later).toBe(true);
});

test('a repetition starts the time anew, 0 turns it off, a replay renews nothing', async () => {
  const cyd = await server.register('cyd');
  await server.passTime(server.clock.nowMs() + 1_000, 100_000);
  const [market] = (await api.get('/markets/15m')).json.markets;
  const bid = async () => (await server.buy(cyd, BID, market.id)).json.orderId;
  const order = await bid();
  const first = await set(cyd, 2_000, 'first');
  await wait(1_500);
  const second = await set(cyd, 2_000);
  expect(second.json.cancelAtMs).toBe(first.json.cancelAtMs + 1_500);
  await wait(1_500);
  expect(await ordersOf(cyd)).toEqual([order]);
  // Repeating the key returns the first answer, and the second time stays in force.
  const again = await set(cyd, 2_000, 'first');
  expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
  await wait(500);
  expect(await ordersOf(cyd)).toEqual([]);

  const next = await bid();
  await set(cyd, 2_000);
  expect((await set(cyd, 0)).json.cancelAtMs).toBe(null);
  await wait(5_000);
  expect(await ordersOf(cyd)).toEqual([next]);
});

test('refuses other times, other users and read tokens', async () => {
  const before = await server.state();
  for (const timeoutMs of [-1, 1, 999, 3_600_001, 1.5, '5000', null, undefined])
    expect(codeOf(await set(ada, timeoutMs)), `${timeoutMs}`).toBe('400 invalid_request');
  expect(codeOf(await set({ ...ada, userId: bob.userId }, 5_000))).toBe('403 user_mismatch');
  expect(await server.state()).toEqual(before);
  const body = { name: 'viewer', scope: 'read' };
  const { token } = (await api.post('/auth/tokens', body, ada.token)).json;
  expect(codeOf(await set({ ...ada, token }, 5_000))).toBe('403 scope_insufficient');
});

test('survives a restart: it fires at its time', async () => {
  const eve = await server.register('eve');
  const [market] = (await api.get('/markets/15m')).json.markets;
  expect((await server.buy(eve, BID, market.id)).status).toBe(200);
  const { cancelAtMs } = (await set(eve, 6_000)).json;
  await restart();
  await wait(5_999);
  expect(await ordersOf(eve)).toHaveLength(1);
  await wait(1);
  expect(await ordersOf(eve)).toEqual([]);
  expect(server.clock.nowMs()).toBe(cancelAtMs);
  const { json } = await api.get(`/users/${eve.userId}/balance`, eve.token);
  expect([json.held, json.available]).toEqual([0, 10_000]);
});

async function restart(): Promise<void> {
  const { folder, clock } = server;
  await server.close();
  server = await TestServer.start({}, folder, clock.nowMs());
  api = server.api;
}
