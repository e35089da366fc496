/** Amendments over real HTTP: what changes, what stays, and the state after a refusal. */
import { afterAll, beforeEach, expect, test } from 'vitest';
import { codeOf, MARKET, type Trader } from '../../../support/server.js';
import { Desk, RESTING } from './desk.js';

let desk: Desk | null = null;
let ada: Trader;
let bob: Trader;

/** Every test has its own market. */
beforeEach(async () => {
  await desk?.server.stop();
  desk = await Desk.open();
  ada = await desk.register('ada');
  bob = await desk.register('bob');
  await desk.buy(ada, RESTING);
  await desk.buy(bob, RESTING);
});
afterAll(() => desk?.server.stop());

/** Ada's order is o1, Bob's o2. Both bid 0.40 for 10, Ada first. */
const ADA = 'o1';
const own = () => desk!.orders(ada);

/** Sells into the bids by buying DOWN. */
const take = (shares: number, trader: Trader) =>
  desk!.buy(trader, { outcome: 'DOWN', shares, price: 0.6 });

test('sharesAhead is the same in receipts, lists and single orders', async () => {
  const one = async ({ userId, token }: Trader, orderId: string) =>
    (await desk!.server.api.read(`/users/${userId}/orders/${orderId}`, token)).json.sharesAhead;
  const listed = async (trader: Trader) => {
    const { userId, token } = trader;
    const path = `/users/${userId}/orders?status=all`;
    const { json } = await desk!.server.api.read(path, token);
    const resting = (await desk!.orders(trader)).map((order) => order.sharesAhead);
    return [resting, json.orders.map((order: { sharesAhead: number }) => order.sharesAhead)];
  };
  const ask = { outcome: 'DOWN', shares: 5, price: 0.6, timeInForce: 'IOC' };
  const sent = [
    [ada, { ...RESTING, shares: 3 }, 20],
    [bob, { ...RESTING, shares: 2 }, 23],
    [bob, { ...RESTING, price: 0.39 }, 0],
    [bob, ask, null],
  ] as const;
  for (const [trader, order, sharesAhead] of sent)
    expect((await desk!.buy(trader, order)).json).toMatchObject({ sharesAhead });
  expect(await listed(bob)).toEqual([
    [5, 18, 0],
    [null, 0, 18, 5],
  ]);
  expect(await listed(ada)).toEqual([
    [0, 15],
    [15, 0],
  ]);

  const kept = await desk!.amend(ada, ADA, { shares: 8 });
  expect(kept.json).toMatchObject({ keptPriority: true, restingShares: 3, sharesAhead: null });
  expect(await one(bob, 'o2')).toBe(3);
  const moved = await desk!.amend(ada, ADA, { shares: 9 });
  expect(moved.json).toMatchObject({ keptPriority: false, restingShares: 4, sharesAhead: 15 });
  expect([await one(ada, ADA), await one(bob, 'o2')]).toEqual([15, 0]);
});

test('postOnly and clientOrderId of the order stay', async () => {
  await desk!.buy(bob, { outcome: 'DOWN', shares: 4, price: 0.5, timeInForce: 'GTC' });
  const order = { ...RESTING, postOnly: true, clientOrderId: 'mine' };
  const { json } = await desk!.buy(ada, order);
  const refused = await desk!.amend(ada, json.orderId, { price: 0.5 });
  expect(codeOf(refused)).toBe('409 post_only_would_trade');
  const moved = await desk!.amend(ada, json.orderId, { price: 0.45 });
  expect(moved.json).toMatchObject({ keptPriority: false, status: 'resting' });
  expect((await own()).at(-1)).toMatchObject({ clientOrderId: 'mine', price: 0.45 });
});

test('the receipt has the clientOrderId of the order, of every length that one may have', async () => {
  const amend = async (clientOrderId: string | undefined, terms: object) => {
    const { json } = await desk!.buy(ada, { ...RESTING, clientOrderId });
    return (await desk!.amend(ada, json.orderId, terms)).json;
  };
  expect(await amend(undefined, { shares: 6 })).toMatchObject({ clientOrderId: null });
  for (const length of [1, 2, 3, 4, 5, 8, 61, 62, 63, 64]) {
    const name = `${'Az09_-:.'.repeat(8)}`.slice(-length);
    expect(await amend(name, { shares: 6 })).toMatchObject({ clientOrderId: name });
  }
  // The order moves, trades and ends.
  const moved = await amend('moved', { price: 0.45 });
  expect(moved).toMatchObject({ clientOrderId: 'moved', keptPriority: false });
  await desk!.buy(bob, { outcome: 'DOWN', shares: 14, price: 0.5, timeInForce: 'GTC' });
  const filled = await amend('filled', { price: 0.5, shares: 4 });
  expect(filled).toMatchObject({ clientOrderId: 'filled', status: 'filled' });
  expect(filled.fills).toHaveLength(1);
});

test('each receipt of a batch has the clientOrderId of its own order', async () => {
  const { json: named } = await desk!.buy(ada, { ...RESTING, clientOrderId: 'named' });
  await desk!.buy(bob, { outcome: 'DOWN', shares: 4, price: 0.5, timeInForce: 'GTC' });
  const amend = (orderId: string, terms: object) => ({
    op: 'amend',
    marketId: MARKET,
    orderId,
    ...terms,
  });
  const operations = [
    amend(named.orderId, { price: 0.5 }),
    amend(ADA, { shares: 6 }),
    amend('o999', { shares: 6 }),
    amend(named.orderId, { shares: 4 }),
  ];
  for (const atomic of [false, true]) {
    const sent = atomic ? [amend(ADA, { shares: 5 })] : operations;
    const body = { operations: sent, atomic };
    const { json } = await desk!.server.api.post('/batch', body, ada.token);
    const names = json.results.map((one: { clientOrderId?: string }) => one.clientOrderId);
    expect(names).toEqual(atomic ? [null] : ['named', null, undefined, 'named']);
  }
});

test('in a batch; an atomic one that is refused undoes it, place and all', async () => {
  const larger = { op: 'amend', marketId: MARKET, orderId: ADA, shares: 20 };
  const unknown = { op: 'cancel', marketId: MARKET, orderId: 'o99' };
  const refused = await desk!.batch(ada, [larger, unknown], true);
  expect(codeOf(refused)).toBe('404 order_not_found');
  await take(1, await desk!.register('cyd'));
  expect(await own()).toMatchObject([{ shares: 9 }]);
  const { json } = await desk!.batch(ada, [larger, unknown]);
  expect(json.results).toMatchObject([
    { orderId: ADA, keptPriority: false, restingShares: 19 },
    { error: { code: 'order_not_found' } },
  ]);
});

test('every read shows the amended order alike, with the time at which it was first placed', async () => {
  await take(3, await desk!.register('cyd'));
  desk!.server.clock.set(desk!.server.clock.nowMs() + 1_000);
  await desk!.server.advance();
  const { sequence } = (await desk!.amend(ada, ADA, { price: 0.41, shares: 20 })).json;
  const at = `/users/${ada.userId}/orders`;
  const read = async (path: string, query: string) =>
    (await desk!.server.api.read(`${at}${path}?minSequence=${sequence}${query}`, ada.token)).json;
  const order = await read(`/${ADA}`, '');
  const queries = ['', '&status=open', `&marketId=${MARKET}`, `&fromMs=${order.placedAtMs}`];
  for (const query of queries) {
    const [listed] = (await read('', query)).orders;
    for (const [name, value] of Object.entries(listed))
      expect([query, name, value]).toEqual([query, name, order[name]]);
  }
});
