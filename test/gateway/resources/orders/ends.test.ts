/**
 * How resting orders end, over real HTTP: they expire, are cancelled together, or meet another
 * order of their user; and the answer to a later cancel.
 */
import { afterAll, expect, test } from 'vitest';
import { codeOf, MARKET, WINDOW_START_MS } from '../../../support/server.js';
import { StreamClient } from '../../stream/support.js';
import { Desk, PLACES, RESTING } from './desk.js';

const desk = await Desk.open({ startingBalanceMicros: 60_000_000_000 });
const ada = await desk.register('ada');
const bob = await desk.register('bob');
afterAll(() => desk.server.stop());

/** One of Ada's orders, from the history. */
const ended = async (orderId: string) =>
  (await desk.server.api.read(`/users/${ada.userId}/orders/${orderId}`, ada.token)).json;

test('the timer of the exchange expires an order without any request', async () => {
  const { clock, exchange } = desk.server;
  const expiresAtMs = clock.nowMs() + 700;
  await desk.buy(ada, { ...RESTING, expiresAtMs });
  expect(exchange.sequencer.engine.nextDueMs()).toBe(expiresAtMs);
  clock.set(expiresAtMs);
  await desk.server.advance();
  expect(await desk.orders(ada)).toEqual([]);
});

test.each([
  [400, 'invalid_request', { expiresAtMs: WINDOW_START_MS + 600_000, timeInForce: 'IOC' }],
  [400, 'invalid_request', { expiresAtMs: 1.5 }],
  [400, 'invalid_request', { expiresAtMs: -1 }],
  [409, 'deadline_passed', { expiresAtMs: WINDOW_START_MS }],
  [400, 'invalid_request', { selfTrade: 'cancel_all' }],
])('%i %s for %j', async (status, code, fields) => {
  const before = await desk.server.state();
  expect(codeOf(await desk.buy(ada, { ...RESTING, ...fields }))).toBe(`${status} ${code}`);
  if (status === 400) expect(await desk.server.state()).toEqual(before);
});

test.each([
  ['validUntilMs', { validUntilMs: WINDOW_START_MS }],
  ['expiresAtMs', { expiresAtMs: WINDOW_START_MS }],
])('an order that is too late says that it was for its %s', async (deadline, fields) => {
  const { json } = await desk.buy(ada, { ...RESTING, ...fields });
  const atMs = desk.server.clock.nowMs();
  expect(json.error.details).toEqual({ deadline, atMs });
  expect(json.error.message).toContain(`${deadline} had passed at ${atMs}`);
});

test('the rest of an IOC order is dropped: its receipt, the lists and a late cancel say the same', async () => {
  await desk.buy(bob, { ...RESTING, shares: 2, price: 0.41 });
  const { json } = await desk.buy(ada, { outcome: 'DOWN', shares: 3, price: 0.59 });
  const says = { status: 'partially_filled', reason: 'unfilled' };
  expect(json).toMatchObject({ ...says, isOpen: false, shares: 2, restingShares: 0 });
  expect(await ended(json.orderId)).toMatchObject({ ...says, isOpen: false, filledShares: 2 });
  const late = await desk.cancel(ada, json.orderId);
  expect(codeOf(late)).toBe('409 order_closed');
  expect(late.json.error.details).toEqual({ orderId: json.orderId, ...says, isOpen: false });
});

test('all orders of a market, and of all markets, are cancelled at once', async () => {
  const ids = async (count: number) => {
    const placed = [];
    for (let i = 0; i < count; i++) placed.push((await desk.buy(ada, RESTING)).json.orderId);
    return placed;
  };
  const { api } = desk.server;
  const own = `/users/${ada.userId}/orders`;
  const inMarket = await ids(2);
  const first = await api.delete(`${PLACES}/orders`, ada.token);
  expect(first.status).toBe(200);
  expect(first.json).toMatchObject({ marketId: MARKET, cancelled: inMarket, cancelledOrders: 2 });
  const named = await ids(1);
  const second = await api.delete(`${own}?marketId=${MARKET}`, ada.token);
  expect(second.json).toMatchObject({ marketId: MARKET, cancelled: named, cancelledOrders: 1 });
  const everywhere = await ids(3);
  const third = await api.delete(own, ada.token);
  expect(third.json).toMatchObject({ marketId: null, cancelled: everywhere, cancelledOrders: 3 });
  expect(third.json.balance.held).toBe(0);
  const none = await api.delete(own, ada.token);
  expect(none.json).toMatchObject({ cancelled: [], cancelledOrders: 0 });
  const batched = await ids(1);
  const all = await desk.batch(ada, [
    { op: 'cancelAll', marketId: MARKET },
    { op: 'buy', marketId: MARKET, ...RESTING },
    { op: 'cancelAll' },
  ]);
  expect(all.json.results).toMatchObject([
    { marketId: MARKET, cancelled: batched },
    { status: 'resting' },
    { marketId: null, cancelledOrders: 1 },
  ]);
  expect(codeOf(await api.delete(`${own}?marketId=nothing`, ada.token))).toBe(
    '404 market_not_found',
  );
  expect(codeOf(await api.delete(`/users/${bob.userId}/orders`, ada.token))).toBe(
    '403 user_mismatch',
  );
  expect(codeOf(await api.delete(own))).toBe('401 missing_token');
});

test('a cancel is told what became of the own order, and nothing of others', async () => {
  const { json: order } = await desk.buy(ada, { ...RESTING, shares: 1 });
  expect(codeOf(await desk.cancel(bob, order.orderId))).toBe('404 order_not_found');
  const taker = await desk.buy(bob, { outcome: 'DOWN', shares: 1, price: 0.6 });
  expect(taker.json.status).toBe('filled');
  const filled = await desk.cancel(ada, order.orderId);
  expect(codeOf(filled)).toBe('409 order_closed');
  expect(filled.json.error.details).toEqual({
    orderId: order.orderId,
    status: 'filled',
    isOpen: false,
    reason: null,
  });
  expect(codeOf(await desk.cancel(bob, order.orderId))).toBe('404 order_not_found');
  expect(codeOf(await desk.cancel(ada, 'o999999'))).toBe('404 order_not_found');
  const { json: second } = await desk.buy(ada, RESTING);
  expect((await desk.cancel(ada, second.orderId)).status).toBe(200);
  expect((await desk.cancel(ada, second.orderId)).json.error.details).toMatchObject({
    status: 'cancelled',
    reason: 'requested',
  });
});

test('an order is one thing in receipts, lists and the stream: status, isOpen, price, size, terms', async () => {
  const { server } = desk;
  const group = { maxFilledShares: 100, windowMs: 1_000 };
  const { json: made } = await server.api.post('/users/me/order-groups', group, ada.token);
  const { groupId } = made;
  await desk.buy(bob, { ...RESTING, shares: 2, price: 0.41 });
  const terms = {
    timeInForce: 'GTC',
    postOnly: false,
    expiresAtMs: WINDOW_START_MS + 60_000,
    selfTrade: 'cancel_taker',
    groupId,
  };
  const sent = { ...terms, outcome: 'DOWN', shares: 5, price: 0.59, clientOrderId: 'told' };
  const { json: receipt } = await desk.buy(ada, sent);
  const open = { status: 'resting', isOpen: true, reason: null };
  const asked = { price: 0.59, originalShares: 5, clientOrderId: 'told', ...terms };
  expect(receipt).toMatchObject({ ...open, ...asked, amount: null, shares: 2, restingShares: 3 });
  const { orderId } = receipt;
  const [listed] = (await desk.orders(ada)).filter((order) => order.orderId === orderId);
  expect(listed).toMatchObject({ ...open, ...asked, filledShares: 2, spent: 1.18, fee: 0.0059 });

  const client = await StreamClient.connect(server.exchange.port);
  client.send({ op: 'auth', token: ada.token });
  await client.subscribe('user');
  const { data } = client.of('user')[0]!;
  expect(data.orders.filter((order: { orderId: string }) => order.orderId === orderId)).toEqual([
    // A snapshot of the stream does not contain `sharesAhead`.
    { ...listed, sharesAhead: undefined },
  ]);
  await client.close();

  // The order meets one of its own user: cancelled after a fill, and cancelled in each place.
  await desk.buy(bob, { ...RESTING, shares: 1, price: 0.405 });
  await desk.buy(ada, { ...RESTING, shares: 4, price: 0.403 });
  const crossing = { outcome: 'DOWN', shares: 9, price: 0.6, selfTrade: 'cancel_taker' };
  const { json: stopped } = await desk.buy(ada, crossing);
  const cancelled = { status: 'cancelled', reason: 'self_trade' };
  expect(stopped).toMatchObject({ ...cancelled, isOpen: false, shares: 1 });
  expect(await ended(stopped.orderId)).toMatchObject({ ...cancelled, isOpen: false });
  const late = await desk.cancel(ada, stopped.orderId);
  expect(late.json.error.details).toEqual({
    orderId: stopped.orderId,
    ...cancelled,
    isOpen: false,
  });

  const amended = await desk.amend(ada, orderId, { shares: 4 });
  expect(amended.json).toMatchObject({ ...open, originalShares: 4, price: null });
  await desk.cancel(ada, orderId);
  expect(await ended(orderId)).toMatchObject({
    status: 'cancelled',
    isOpen: false,
    filledShares: 2,
  });
});

test('the trades of one order, and the tape from a time on', async () => {
  const { api, clock } = desk.server;
  await desk.buy(bob, { ...RESTING, shares: 2, price: 0.43 });
  clock.set(clock.nowMs() + 1_000);
  const fromMs = clock.nowMs();
  const { json: order } = await desk.buy(ada, { outcome: 'DOWN', shares: 2, price: 0.57 });
  const ofUser = `/users/${ada.userId}/trades`;
  const ids = async (path: string) => {
    const { json } = await api.read(path, ada.token);
    return json.trades.map(({ tradeId }: { tradeId: string }) => tradeId);
  };
  const expected = order.fills.map(({ tradeId }: { tradeId: string }) => tradeId);
  expect(await ids(`${ofUser}?orderId=${order.orderId}`)).toEqual(expected);
  expect(await ids(`${ofUser}?orderId=${order.orderId}&toMs=${fromMs - 1}`)).toEqual([]);
  expect(await ids(`${PLACES}/trades?fromMs=${fromMs}`)).toEqual(expected);
  const all = await ids(`${PLACES}/trades`);
  expect(await ids(`${PLACES}/trades?toMs=${fromMs - 1}`)).toEqual(all.slice(1));
  const { json: ofAnother } = await desk.buy(bob, { ...RESTING, shares: 1, price: 0.2 });
  for (const id of ['o999999', 'x', ofAnother.orderId])
    expect((await api.read(`${ofUser}?orderId=${id}`, ada.token)).json.error).toMatchObject({
      code: 'order_not_found',
      message: 'The account has no such order, or it ended long ago.',
    });
});

test('the amount of a buy in dollars is told wherever the order is, until it is amended', async () => {
  await desk.buy(bob, { ...RESTING, outcome: 'DOWN', shares: 4, price: 0.5 });
  const rests = { outcome: 'UP', amount: 5.0007, price: 0.5, timeInForce: 'GTC' };
  const { json: resting } = await desk.buy(ada, rests);
  expect(resting).toMatchObject({ amount: 5.0007, shares: 4, status: 'resting', price: 0.5 });
  const listed = async () =>
    (await desk.orders(ada)).find(({ orderId }) => orderId === resting.orderId);
  expect(await listed()).toMatchObject({ amount: 5.0007, originalShares: 10.001 });
  expect(await ended(resting.orderId)).toMatchObject({ amount: 5.0007 });
  await desk.buy(bob, { outcome: 'DOWN', shares: 1, price: 0.5 });
  expect(await listed()).toMatchObject({ amount: 5.0007, filledShares: 5 });
  const { json: other } = await desk.buy(ada, { ...rests, amount: 3 });
  await desk.cancel(ada, resting.orderId);
  expect(await ended(resting.orderId)).toMatchObject({ amount: 5.0007, status: 'cancelled' });
  await desk.amend(ada, other.orderId, { shares: 4 });
  expect((await ended(other.orderId)).amount).toBe(null);
  const batch = await desk.batch(bob, [
    { op: 'buy', marketId: MARKET, outcome: 'DOWN', amount: 0.5 },
    { op: 'buy', marketId: MARKET, outcome: 'DOWN', shares: 1, price: 0.5 },
  ]);
  const path = `/users/${bob.userId}/orders?status=closed&limit=2`;
  const { json } = await desk.server.api.read(path, bob.token);
  expect(batch.json.results.map(({ amount }: { amount: number }) => amount)).toEqual([0.5, null]);
  expect(json.orders.map(({ amount }: { amount: number }) => amount)).toEqual([null, 0.5]);
});

let registered = 0;

test.each([
  [{ amount: 25_000, price: 0.001 }, 10_000],
  [{ amount: 20_000, price: 0.001 }, 10_000],
  [{ amount: 10_000, price: 0.001 }, 10_000],
  [{ amount: 25_000, price: 0.002 }, 19_999.995],
  [{ shares: 10_000_000, price: 0.001 }, null],
])('%j, the most shares of an order, is for %j wherever the order is', async (size, amount) => {
  const { api, exchange } = desk.server;
  const cyd = await desk.register(`cyd-${++registered}`);
  // The order fills at a better price than 0.002.
  await desk.buy(bob, { ...RESTING, shares: 5, price: 0.999 });
  const { json } = await desk.buy(cyd, { outcome: 'DOWN', timeInForce: 'GTC', ...size });
  const { orderId } = json;
  expect(json).toMatchObject({ amount, originalShares: 10_000_000, shares: 5 });
  const [listed] = await desk.orders(cyd);
  expect(listed.amount).toBe(amount);
  const own = `/users/me/orders/${orderId}`;
  expect((await api.read(own, cyd.token)).json.amount).toBe(amount);
  const client = await StreamClient.connect(exchange.port);
  client.send({ op: 'auth', token: cyd.token });
  await client.subscribe('user');
  expect(client.of('user')[0]!.data.orders).toEqual([{ ...listed, sharesAhead: undefined }]);
  await client.close();
  const says = { status: 'cancelled', isOpen: false, reason: 'requested' };
  expect((await desk.cancel(cyd, orderId)).json).toMatchObject(says);
  expect((await api.read(own, cyd.token)).json).toMatchObject({ ...says, amount });
  const late = await desk.cancel(cyd, orderId);
  expect(late.json.error.details).toEqual({ orderId, ...says });
});

test('an order of the most shares that is partially filled was for all of them, and no amount', async () => {
  await desk.buy(bob, { ...RESTING, shares: 5, price: 0.999 });
  const { json } = await desk.buy(ada, { outcome: 'DOWN', shares: 10_000_000, price: 0.001 });
  const says = { status: 'partially_filled', originalShares: 10_000_000, amount: null };
  expect(json).toMatchObject(says);
  expect(await ended(json.orderId)).toMatchObject(says);
});
