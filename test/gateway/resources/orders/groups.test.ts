/** Order groups over real HTTP and the stream: they trip, are reset, are removed, and refuse. */
import { afterAll, beforeEach, expect, test } from 'vitest';
import { codeOf, MARKET, type Trader } from '../../../support/server.js';
import { clientsOf } from '../../stream/support.js';
import { Desk, RESTING } from './desk.js';

let ada: Trader;
let bob: Trader;
let users = 0;
const { connectAs } = clientsOf(() => desk.server);

const desk = await Desk.open();
beforeEach(async () => {
  users++;
  ada = await desk.register(`ada-${users}`);
  bob = await desk.register(`bob-${users}`);
});
afterAll(() => desk.server.stop());

const ofGroups = (trader: Trader, rest = '') => `/users/${trader.userId}/order-groups${rest}`;
const create = (trader: Trader, body: object) =>
  desk.server.api.post(ofGroups(trader), body, trader.token);
const reset = (trader: Trader, groupId: string) =>
  desk.server.api.post(ofGroups(trader, `/${groupId}/reset`), {}, trader.token);
const remove = (trader: Trader, groupId: string) =>
  desk.server.api.delete(ofGroups(trader, `/${groupId}`), trader.token);
const groups = async (trader: Trader) =>
  (await desk.server.api.get(ofGroups(trader), trader.token)).json.orderGroups;
const bid = (price: number, groupId?: string) => ({ ...RESTING, shares: 8, price, groupId });
/** Orders from the history, oldest first. */
const history = async (trader: Trader) => {
  const path = `/users/${trader.userId}/orders?status=all`;
  return (await desk.server.api.read(path, trader.token)).json.orders.reverse();
};

test('a sweep takes no more than the group allows and one order; the stream and the lists say so', async () => {
  const made = await create(ada, { maxFilledShares: 10, windowMs: 5_000 });
  expect([made.status, made.json]).toMatchObject([201, { maxFilledShares: 10, windowMs: 5_000 }]);
  const { groupId } = made.json;
  const { json: batch } = await desk.batch(
    ada,
    [0.4, 0.39, 0.38].map((price) => ({ op: 'buy', marketId: MARKET, ...bid(price, groupId) })),
  );
  const [first, second, third] = batch.results.map((result: { orderId: string }) => result.orderId);
  const apart = (await desk.buy(ada, bid(0.37))).json.orderId;
  const filled = (trips: boolean, filledShares: number, openOrders: number) => [
    { groupId, maxFilledShares: 10, windowMs: 5_000, filledShares, tripped: trips, openOrders },
  ];
  expect(await groups(ada)).toMatchObject(filled(false, 0, 3));
  const client = await connectAs(ada);
  await client.subscribe('user');

  const swept = await desk.buy(bob, { outcome: 'DOWN', shares: 30, price: 0.7 });
  const fills = swept.json.fills.map(({ price, shares }: Record<string, number>) => [
    price,
    shares,
  ]);
  expect(fills).toEqual([
    [0.6, 8],
    [0.61, 8],
    [0.63, 8],
  ]);
  const { data } = await client.next((message) => message.type === 'delta');
  expect(data.events).toMatchObject([
    { type: 'fill', orderId: first },
    { type: 'fill', orderId: second },
    { type: 'order_cancelled', orderId: third, reason: 'order_group' },
    { type: 'order_group_tripped', groupId, filledShares: 16 },
    { type: 'fill', orderId: apart },
  ]);
  expect(await groups(ada)).toMatchObject(filled(true, 16, 0));
  expect(await history(ada)).toMatchObject([
    { orderId: first, groupId, status: 'filled' },
    { orderId: second, groupId, status: 'filled' },
    { orderId: third, groupId, status: 'cancelled', reason: 'order_group' },
    { orderId: apart, groupId: null, status: 'filled' },
  ]);
  expect((await desk.cancel(ada, third)).json.error.details.reason).toBe('order_group');

  expect(codeOf(await desk.buy(ada, bid(0.3, groupId)))).toBe('409 order_group_tripped');
  expect((await reset(ada, groupId)).json).toMatchObject({ groupId, maxFilledShares: 10 });
  expect((await desk.buy(ada, bid(0.3, groupId))).json.status).toBe('resting');
  expect(await groups(ada)).toMatchObject(filled(false, 0, 1));
});

test('a taker stops when it trips its group, and a removed group leaves no order', async () => {
  await desk.buy(bob, { ...RESTING, outcome: 'DOWN', shares: 8, price: 0.5 });
  await desk.buy(bob, { ...RESTING, outcome: 'DOWN', shares: 8, price: 0.49 });
  const { groupId } = (await create(ada, { maxFilledShares: '7.5', windowMs: 1_000 })).json;
  const quote = (await desk.buy(ada, bid(0.2, groupId))).json.orderId;
  const order = { ...RESTING, shares: 20, price: 0.6, groupId, clientOrderId: 'mine' };
  const { json } = await desk.buy(ada, order);
  const says = { status: 'cancelled', isOpen: false, reason: 'order_group' };
  expect(json).toMatchObject({ ...says, shares: 8, restingShares: 0 });
  expect(await history(ada)).toMatchObject([
    { orderId: quote, groupId, status: 'cancelled', reason: 'order_group', filledShares: 0 },
    { orderId: json.orderId, groupId, clientOrderId: 'mine', ...says, filledShares: 8 },
  ]);

  await reset(ada, groupId);
  const resting = (await desk.buy(ada, bid(0.2, groupId))).json.orderId;
  const removed = await remove(ada, groupId);
  expect(removed.json).toMatchObject({ groupId, cancelled: [resting], balance: { held: 0 } });
  expect(await groups(ada)).toEqual([]);
  expect(codeOf(await remove(ada, groupId))).toBe('404 order_group_not_found');
  await desk.server.api.delete(`/users/${bob.userId}/orders`, bob.token);
});

test('what is filled counts for a window only', async () => {
  const { clock } = desk.server;
  const { groupId } = (await create(ada, { maxFilledShares: 10, windowMs: 5_000 })).json;
  const take = () => desk.buy(bob, { outcome: 'DOWN', shares: 8, price: 0.6 });
  await desk.buy(ada, { ...bid(0.4, groupId), shares: 30 });
  await take();
  const [{ windowEndsAtMs }] = await groups(ada);
  expect(windowEndsAtMs).toBe(clock.nowMs() + 5_000);
  clock.set(windowEndsAtMs);
  await take();
  expect(await groups(ada)).toMatchObject([{ filledShares: 8, tripped: false, openOrders: 1 }]);
  clock.set(windowEndsAtMs + 4_999);
  await take();
  expect(await groups(ada)).toMatchObject([{ filledShares: 16, tripped: true, openOrders: 0 }]);
});

test.each([
  [400, 'invalid_request', { groupId: 'g1', timeInForce: 'IOC' }],
  [400, 'invalid_request', { groupId: 'o1' }],
  [400, 'invalid_request', { groupId: 1 }],
  [404, 'order_group_not_found', { groupId: 'g99' }],
])('%i %s for an order with %j', async (status, code, fields) => {
  expect(codeOf(await desk.buy(ada, { ...RESTING, ...fields }))).toBe(`${status} ${code}`);
});

test.each([
  { maxFilledShares: 0, windowMs: 5_000 },
  { maxFilledShares: 10_000_000.001, windowMs: 5_000 },
  { maxFilledShares: 1.0001, windowMs: 5_000 },
  { maxFilledShares: 10, windowMs: 99 },
  { maxFilledShares: 10, windowMs: 3_600_001 },
  { maxFilledShares: 10, windowMs: 100.5 },
])('no group is made of %j', async (body) => {
  const before = await desk.server.state();
  expect(codeOf(await create(ada, body))).toBe('400 invalid_request');
  expect(await desk.server.state()).toEqual(before);
});

test('a group is its user’s alone, and each has 20', async () => {
  const { groupId } = (await create(ada, { maxFilledShares: 10, windowMs: 5_000 })).json;
  expect(codeOf(await reset(bob, groupId))).toBe('404 order_group_not_found');
  expect(codeOf(await desk.buy(bob, bid(0.3, groupId)))).toBe('404 order_group_not_found');
  expect(codeOf(await desk.server.api.get(ofGroups(ada), bob.token))).toBe('403 user_mismatch');
  for (let i = 1; i < 20; i++)
    expect((await create(ada, { maxFilledShares: 1, windowMs: 100 })).status).toBe(201);
  expect(codeOf(await create(ada, { maxFilledShares: 1, windowMs: 100 }))).toBe(
    '422 limit_reached',
  );
  expect(await groups(ada)).toHaveLength(20);
});
