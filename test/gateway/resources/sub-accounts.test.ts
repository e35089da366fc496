/** Sub-accounts over HTTP: what a family shares, and that other users have no access. */
import { afterAll, describe, expect, test } from 'vitest';
import { HOUSE_USERNAME } from '../../../gateway/inputs/house/house.js';
import { CLOSE } from '../../../gateway/stream/limits.js';
import {
  type Answer,
  codeOf,
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  TestServer,
  type Trader,
} from '../../support/server.js';
import { clientsOf, type Message } from '../stream/support.js';

const { connect } = clientsOf(() => server);
const subsOf = ({ userId }: Trader) => `/users/${userId}/sub-accounts`;

const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
const { api } = server;
const ada = await server.registerByPartner('ada');
const bob = await server.register('bob');
/** Sub-accounts of Ada, and one of Bob. */
const grid = await create(ada, 'ada-grid');
const arb = await create(ada, 'ada-arb');
const bobs = await create(bob, 'bob-sub');
afterAll(() => server.stop());

/** All money, and the number of each user's sub-accounts. */
function held(): unknown[] {
  const { engine } = server.exchange.sequencer;
  return Array.from({ length: engine.userCount }, (_, i) => [
    engine.availableMicros(i + 1),
    engine.subAccounts(i + 1).length,
  ]);
}
const tokensOf = (parent: Trader, sub: string) => `${subsOf(parent)}/${sub}/tokens`;

async function create(parent: Trader, username: string): Promise<string> {
  const { status, json, text } = await api.post(subsOf(parent), { username }, parent.token);
  expect(status, text).toBe(201);
  return json.userId;
}

async function tokenFor(parent: Trader, sub: string, scope = 'trade'): Promise<string> {
  const body = { name: 'bot', scope };
  const { status, json, text } = await api.post(tokensOf(parent, sub), body, parent.token);
  expect(status, text).toBe(201);
  return json.token;
}

const transfer = (by: Trader, body: object, token = by.token) =>
  api.post(`/users/${by.userId}/transfers`, body, token);
const order = (token: string, outcome: string, price: number, terms: object = {}) => {
  const body = { outcome, price, shares: 5, timeInForce: 'GTC', ...terms };
  return api.post(`/markets/15m/${MARKET}/buy`, body, token);
};

test('each has its own money, which adds up', async () => {
  const before = (await api.get(subsOf(ada), ada.token)).json;
  expect(before.subAccounts.map((each: { userId: string }) => each.userId)).toEqual([grid, arb]);
  expect(before.allAccounts.total).toBe(10_000);
  const moved = await transfer(ada, { from: ada.userId, to: grid, amount: '300.25' });
  expect(moved.json).toMatchObject({
    amount: 300.25,
    fromAvailable: 9_699.75,
    toAvailable: 300.25,
  });
  expect((await transfer(ada, { from: grid, to: arb, amount: 100 })).status).toBe(201);
  const { subAccounts, allAccounts } = (await api.get(subsOf(ada), ada.token)).json;
  const totals = subAccounts.map((each: { balance: { total: number } }) => each.balance.total);
  expect([totals, allAccounts.total]).toEqual([[200.25, 100], 10_000]);

  const token = await tokenFor(ada, grid);
  const statement = await api.read(`/users/${grid}/ledger`, token);
  const lines = statement.json.entries.map(
    (line: { cause: string; available: number }) => `${line.cause} ${line.available}`,
  );
  expect(lines).toEqual(['transfer_out -100', 'transfer_in 300.25']);
  expect((await api.read(`/users/${ada.userId}/ledger`, ada.token)).json.entries[0]).toMatchObject({
    cause: 'transfer_out',
    available: -300.25,
  });
  expect(codeOf(await transfer(ada, { from: arb, to: grid, amount: 100.000001 }))).toBe(
    '422 insufficient_balance',
  );
});

test('a token of a sub-account is that user’s, and the parent’s is not', async () => {
  const token = await tokenFor(ada, grid);
  expect((await api.get('/auth/session', token)).json).toMatchObject({
    userId: grid,
    username: 'ada-grid',
  });
  expect((await api.get('/users/me/balance', token)).json.userId).toBe(grid);
  expect(codeOf(await api.get(`/users/${grid}/balance`, ada.token))).toBe('403 user_mismatch');
  expect(codeOf(await api.get(`/users/${ada.userId}/balance`, token))).toBe('403 user_mismatch');
  expect((await api.post('/auth/login', { username: 'ada-grid', password: '' })).status).toBe(401);
  expect((await api.post('/auth/login', { username: 'ada-grid', password: PASSWORD })).status).toBe(
    401,
  );
});

describe('nobody else gets at it', () => {
  const scope = { name: 'x', scope: 'trade' };
  const ofAda = (to: string) => ({ from: ada.userId, to, amount: 1 });
  const cases: [string, () => Promise<Answer>, number, string][] = [
    [
      'a token for another parent’s',
      () => api.post(tokensOf(bob, grid), scope, bob.token),
      404,
      'user_not_found',
    ],
    ['its list of tokens', () => api.get(tokensOf(bob, grid), bob.token), 404, 'user_not_found'],
    [
      'revoking one',
      async () => {
        await tokenFor(ada, grid);
        const { tokens } = (await api.get(tokensOf(ada, grid), ada.token)).json;
        return api.delete(`/auth/tokens/${tokens.at(-1).tokenId}`, bob.token);
      },
      404,
      'token_not_found',
    ],
    [
      'another parent’s path',
      () => api.post(tokensOf(ada, grid), scope, bob.token),
      403,
      'user_mismatch',
    ],
    ['the list of another parent', () => api.get(subsOf(ada), bob.token), 403, 'user_mismatch'],
    ['no session', () => api.get(subsOf(ada)), 401, 'missing_token'],
    [
      'a token for oneself',
      () => api.post(tokensOf(bob, bob.userId), scope, bob.token),
      404,
      'user_not_found',
    ],
    [
      'taking money',
      () => transfer(bob, { from: grid, to: bob.userId, amount: 1 }),
      404,
      'user_not_found',
    ],
    ['taking the parent’s', () => transfer(bob, { ...ofAda(bob.userId) }), 404, 'user_not_found'],
    ['giving money away', () => transfer(ada, ofAda(bobs)), 404, 'user_not_found'],
    ['another user’s path', () => transfer(ada, ofAda(grid), bob.token), 403, 'user_mismatch'],
    ['to itself', () => transfer(ada, ofAda(ada.userId)), 400, 'invalid_request'],
    [
      'less than nothing',
      () => transfer(ada, { ...ofAda(grid), amount: -1 }),
      400,
      'invalid_request',
    ],
    [
      'the name of the house',
      () => api.post(subsOf(bob), { username: HOUSE_USERNAME }, bob.token),
      409,
      'username_taken',
    ],
  ];
  test.each(cases)('%s', async (_name, ask, status, code) => {
    const before = held();
    expect(codeOf(await ask())).toBe(`${status} ${code}`);
    expect(held()).toEqual(before);
  });

  test('a program’s token creates nothing, and a sub-account’s moves no money of its family', async () => {
    const { token } = (await api.post('/auth/tokens', scope, ada.token)).json;
    const sub = await tokenFor(ada, grid);
    const users = server.exchange.sequencer.engine.userCount;
    for (const each of [token, sub]) {
      const { userId } = (await api.get('/auth/session', each)).json;
      for (const path of [`/users/${userId}/sub-accounts`, `/users/me/sub-accounts/${grid}/tokens`])
        expect(codeOf(await api.post(path, { ...scope, username: 'x-1' }, each))).toBe(
          '403 scope_insufficient',
        );
    }
    expect((await api.post('/users/me/transfers', ofAda(grid), token)).status).toBe(201);
    for (const body of [ofAda(grid), { from: grid, to: ada.userId, amount: 1 }])
      expect(codeOf(await api.post('/users/me/transfers', body, sub))).toBe('404 user_not_found');
    expect(server.exchange.sequencer.engine.userCount).toBe(users);
  });
});

test('orders of one family never trade with each other', async () => {
  const mine = await tokenFor(ada, grid);
  const other = await tokenFor(ada, arb);
  const { json } = await order(mine, 'UP', 0.4);
  await order(bob.token, 'UP', 0.39);
  const taker = await order(other, 'DOWN', 0.62, { shares: 5 });
  expect(taker.json.fills.map((fill: { price: number }) => fill.price)).toEqual([0.61]);
  const path = `/users/${grid}/orders/${json.orderId}`;
  expect((await api.read(path, mine)).json).toMatchObject({
    status: 'cancelled',
    reason: 'self_trade',
  });
});

test('bids of the family are not counted in the value of a position', async () => {
  const mine = await tokenFor(ada, grid);
  const split = await api.post(`/markets/15m/${MARKET}/split`, { shares: 5 }, mine);
  expect(split.status).toBe(200);
  const worthOf = ({ value }: Message) => value;
  const worth = async () => {
    const client = await connect({ 'x-user-token': mine });
    const { positions } = (await api.get('/users/me/positions', mine)).json;
    await client.subscribe('user');
    const shown = client.of('user').at(-1)!.data.positions;
    expect(shown.flatMap(({ outcomes }: Message) => outcomes.map(worthOf))).toEqual(
      positions.map(worthOf),
    );
    await client.close();
    return positions.find(({ outcome }: { outcome: string }) => outcome === 'UP').value;
  };
  const before = await worth();
  for (const token of [ada.token, await tokenFor(ada, arb)])
    await order(token, 'UP', 0.7, { shares: 20 });
  expect(await worth()).toBe(before);
  await order(bob.token, 'UP', 0.71, { shares: 5 });
  expect(await worth()).toBeGreaterThan(before ?? 0);
  await api.delete(`/users/${ada.userId}/orders`, ada.token);
});

test('a partner of the parent is the partner of its sub-accounts', async () => {
  const headers = { authorization: `Bearer ${PARTNER_KEY}` };
  const pay = (path: string, userId: string) => {
    const body = { userId, amount: 2, reference: `${path}-${userId}` };
    return api.send('POST', `/partner/${path}`, body, { headers });
  };
  for (const path of ['deposits', 'withdrawals'])
    expect((await pay(path, arb)).status, path).toBe(200);
  expect((await pay('deposits', bobs)).status).toBe(200);
  expect(codeOf(await pay('withdrawals', bobs))).toBe('403 user_mismatch');
});

test('a user has at most 32', async () => {
  const cyd = await server.register('cyd');
  for (let i = 0; i < 32; i++) await create(cyd, `cyd-${i}`);
  const refused = await api.post(subsOf(cyd), { username: 'cyd-32' }, cyd.token);
  expect(refused.json.error.details).toEqual({ limit: 'subAccounts' });
  expect(codeOf(refused)).toBe('422 limit_reached');
});

test('the parent lists and revokes the tokens of a sub-account, which only lists them', async () => {
  const token = await tokenFor(ada, arb);
  const { tokens } = (await api.get(tokensOf(ada, arb), ada.token)).json;
  expect((await api.get('/auth/tokens', token)).json.tokens).toHaveLength(tokens.length);
  const path = `/auth/tokens/${tokens.at(-1).tokenId}`;
  expect(codeOf(await api.delete(path, token))).toBe('403 scope_insufficient');
  expect((await api.delete(path, ada.token)).status).toBe(204);
  expect(codeOf(await api.get('/users/me/balance', token))).toBe('401 token_revoked');
});

test('a new password of the parent ends the tokens of its sub-accounts, and their streams', async () => {
  const token = await tokenFor(bob, bobs);
  const client = await connect({ 'x-user-token': token });
  await client.subscribe('user');
  const passwords = { currentPassword: PASSWORD, newPassword: 'a better password' };
  const changed = await api.put('/auth/password', passwords, bob.token);
  expect(changed.status).toBe(200);
  expect(await client.closed).toMatchObject({ code: CLOSE.tokenRevoked.code });
  expect(codeOf(await api.get('/users/me/balance', token))).toBe('401 token_revoked');
  expect(codeOf(await api.post(tokensOf(bob, bobs), { name: 'x', scope: 'read' }, bob.token))).toBe(
    '401 token_revoked',
  );
  bob.token = changed.json.token;
  expect((await api.get(tokensOf(bob, bobs), bob.token)).json.tokens).toEqual([]);
  await tokenFor(bob, bobs);
});

describe('a drop copy', () => {
  test('is what the sub-account sees, on one connection of a read token of its parent', async () => {
    const token = await tokenFor(ada, grid);
    const { token: reads } = (
      await api.post('/auth/tokens', { name: 'risk', scope: 'read' }, ada.token)
    ).json;
    const risk = await connect({ 'x-user-token': reads });
    const own = await connect({ 'x-user-token': token });
    await own.subscribe('user');
    for (const id of [grid, arb]) await risk.subscribe(`account:${id}`);
    const { orderId } = (await order(token, 'UP', 0.1, { shares: 50 })).json;
    await api.delete(`/markets/15m/${MARKET}/orders/${orderId}`, token);
    await transfer(ada, { from: grid, to: arb, amount: 7 });
    await risk.caughtUp();
    await own.caughtUp();
    const deltas = (messages: Message[], channel: string) =>
      messages
        .filter((message) => message.type === 'delta' && message.channel === channel)
        .map(({ data }) => data);
    const copied = deltas(risk.messages, `account:${grid}`);
    expect(copied).toEqual(deltas(own.messages, 'user'));
    const events = copied.flatMap(({ userId, events }) =>
      events.map((event: Message) => `${userId} ${event.type} ${event.reason ?? event.to ?? ''}`),
    );
    expect(events).toEqual([
      `${grid} order_rested `,
      `${grid} order_cancelled requested`,
      `${grid} transferred_out ${arb}`,
    ]);
    expect(deltas(risk.messages, `account:${arb}`)).toMatchObject([
      { userId: arb, events: [{ type: 'transferred_in', from: grid, amount: 7 }] },
    ]);
  });

  const refused: [string, () => Promise<string | undefined>, string][] = [
    ['of another parent’s', async () => ada.token, 'user_not_found'],
    ['for a sub-account itself', () => tokenFor(bob, bobs), 'user_not_found'],
    ['without a session', async () => undefined, 'missing_token'],
  ];
  test.each(refused)('%s is refused', async (_name, token, code) => {
    const session = await token();
    const client = await connect(session === undefined ? {} : { 'x-user-token': session });
    for (const id of [bobs, bob.userId, 'u999', 'u0', 'x'])
      expect(await client.refusal({ op: 'subscribe', channels: [`account:${id}`] })).toMatchObject({
        code,
      });
  });
});

test('an order that ends with its command says why on the stream', async () => {
  const { token } = await server.register('dan');
  const { token: maker } = await server.register('eve');
  const client = await connect({ 'x-user-token': token });
  await client.subscribe('user');
  await order(maker, 'UP', 0.9, { shares: 3 });
  const ioc = await order(token, 'DOWN', 0.1, { shares: 8, timeInForce: 'IOC' });
  await client.caughtUp();
  const [{ data }] = client.messages.filter(({ type }) => type === 'delta');
  expect([ioc.json.status, ioc.json.reason]).toEqual(['partially_filled', 'unfilled']);
  expect(data.events.map((event: Message) => [event.type, event.orderId, event.reason])).toEqual([
    ['fill', ioc.json.orderId, undefined],
    ['order_ended', ioc.json.orderId, 'unfilled'],
  ]);
});
