/** Operators over real HTTP: pauses, frozen users, cancels, VOID markets, and a restart. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import {
  codeOf,
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';
import { clientsOf } from '../stream/support.js';
import { KEY, CONFIG as OPERATOR, operatorOf, type Reply } from './operator.js';

const CONFIG = { ...OPERATOR, partnerKeys: PARTNER_KEYS };
const BECAUSE = { reason: 'the feed is wrong' };

const { connectAs } = clientsOf(() => server);

let server = await TestServer.withMarket(CONFIG);
let api = server.api;
const ada = await server.registerByPartner('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const operate = operatorOf(() => server);
const act = (path: string, body: object = BECAUSE) => operate('POST', `/operator/${path}`, body);
async function done(path: string, body: object = BECAUSE, expected = 200): Promise<Reply['json']> {
  const { status, json, text } = await act(path, body);
  expect(status, text).toBe(expected);
  expect([json.sequence > 0, json.atMs]).toEqual([true, server.clock.nowMs()]);
  return json;
}
const actionsLogged = () =>
  server.logged
    .filter((line) => line.includes('an operator acted'))
    .map((line) => JSON.parse(line));
type Id = { id: string };
const BID = { outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' };
const bid = (trader: Trader, marketId = MARKET) => server.buy(trader, BID, marketId);
const ordersOf = async ({ userId, token }: Trader) =>
  (await api.get(`/users/${userId}/orders`, token)).json.orders;
const isPaused = async () => (await api.get(`/markets/${MARKET}`)).json.paused;

test('needs an operator key, on the address of the operators only', async () => {
  const before = await server.state();
  for (const authorization of ['', 'Bearer nonsense', `Basic ${KEY}`, `Bearer ${PARTNER_KEY}`])
    expect(codeOf(await operate('POST', '/operator/pause', BECAUSE, authorization))).toBe(
      '403 operator_key_required',
    );
  const options = { headers: { authorization: `Bearer ${KEY}` } };
  const there = await api.send('POST', '/operator/pause', BECAUSE, options);
  expect(codeOf(there)).toBe('404 route_not_found');
  expect(codeOf(await operate('GET', '/markets'))).toBe('404 route_not_found');
  const metrics = await operate('GET', '/metrics', undefined, '');
  expect([metrics.status, metrics.text]).toEqual([200, expect.stringContaining('exchange_users')]);
  expect((await request(`${server.exchange.address}/api/metrics`)).statusCode).toBe(404);
  for (const [path, body] of [
    ['pause', {}],
    ['pause', { reason: '' }],
    ['pause', { reason: 'x'.repeat(201) }],
    ['pause', { ...BECAUSE, marketId: MARKET, asset: 'BTC' }],
    ['pause', { ...BECAUSE, asset: 'DOGE' }],
    ['users/u1/freeze', {}],
    [`markets/${MARKET}/void`, { ...BECAUSE, userId: 'u1' }],
  ] as const)
    expect(codeOf(await act(path, body)), path).toBe('400 invalid_request');
  expect(codeOf(await act('pause', { ...BECAUSE, marketId: 'nonsense' }))).toBe(
    '404 market_not_found',
  );
  for (const verb of ['freeze', 'unfreeze', 'cancel-orders'])
    expect(codeOf(await act(`users/u99/${verb}`))).toBe('404 user_not_found');
  expect(await server.state()).toEqual(before);
  // The engine refuses this action, so it is in the journal.
  expect(codeOf(await act('markets/btc-15m-1763600400/void'))).toBe('404 market_not_found');
});

test.each([
  ['a market', { marketId: MARKET }, MARKET],
  ['an asset', { asset: 'BTC' }, 'BTC'],
  ['everything', {}, 'everything'],
])('pauses %s: no new orders, but cancels; and resumes it', async (_name, subject, named) => {
  const client = await connectAs(bob);
  const [snapshot] = await client.subscribe('markets');
  expect(snapshot.data.markets[0].paused).toBe(false);
  const { orderId } = (await bid(ada)).json;
  expect((await done('pause', { ...BECAUSE, ...subject })).paused).toEqual([named]);
  expect(await isPaused()).toBe(true);
  expect((await api.get('/status')).json.paused).toEqual([named]);
  expect((await operate('GET', '/metrics', undefined, '')).text).toMatch(/^exchange_pauses 1$/m);
  const paused = await client.next('delta');
  expect(paused.data.changes[0]).toMatchObject({ change: 'paused', market: { paused: true } });
  expect(codeOf(await bid(ada))).toBe('409 market_paused');
  expect((await api.delete(`/markets/15m/${MARKET}/orders/${orderId}`, ada.token)).status).toBe(
    200,
  );
  expect((await done('resume', { ...BECAUSE, ...subject })).paused).toEqual([]);
  expect(await isPaused()).toBe(false);
  const resumed = await client.next('delta');
  expect(resumed.data.changes[0]).toMatchObject({ change: 'resumed', market: { paused: false } });
  expect((await bid(ada)).status).toBe(200);
});

test('freezes a user, whose orders are cancelled; cancels the orders of another', async () => {
  const client = await connectAs(ada);
  await client.subscribe('user');
  const resting = (await ordersOf(ada)).length;
  expect(resting).toBeGreaterThan(0);
  expect((await done(`users/${ada.userId}/freeze`)).cancelledOrders).toBe(resting);
  const { data } = await client.next('delta');
  expect(data.events.at(0)).toMatchObject({ type: 'order_cancelled', reason: 'operator' });
  expect(data.events.at(-1)).toEqual({ type: 'user_frozen', frozen: true });
  expect(await ordersOf(ada)).toEqual([]);
  expect(codeOf(await bid(ada))).toBe('409 user_frozen');
  const stake = await api.post('/vaults/flex/stake', { amount: 5 }, ada.token);
  expect(codeOf(stake)).toBe('409 user_frozen');
  const partner = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };
  const transfer = { userId: ada.userId, amount: 5, reference: 'r1' };
  const withdrawal = await api.send('POST', '/partner/withdrawals', transfer, partner);
  expect(codeOf(withdrawal)).toBe('409 user_frozen');
  expect((await api.delete(`/markets/15m/${MARKET}/orders`, ada.token)).status).toBe(200);
  expect((await operate('GET', `/operator/users/${ada.userId}`)).json).toMatchObject({
    userId: ada.userId,
    frozen: true,
    partner: 'acme',
    parentId: null,
    cancelAtMs: null,
    balance: { available: 10_000, held: 0 },
    orders: [],
    positions: [],
  });
  await bid(bob);
  expect((await done(`users/${bob.userId}/cancel-orders`)).cancelledOrders).toBe(1);
  expect((await bid(bob)).status).toBe(200);
});

test('survives a restart; a later market of a paused asset opens paused, and ends in time', async () => {
  await done('pause', { ...BECAUSE, asset: 'BTC' });
  const before = [
    await server.state(),
    (await operate('GET', '/operator/actions')).json,
    (await operate('GET', `/operator/users/${bob.userId}`)).json,
  ];
  const { folder, clock } = server;
  await server.close();
  server = await TestServer.start(CONFIG, folder, clock.nowMs());
  api = server.api;
  expect([
    await server.state(),
    (await operate('GET', '/operator/actions')).json,
    (await operate('GET', `/operator/users/${bob.userId}`)).json,
  ]).toEqual(before);
  expect(codeOf(await bid(ada))).toBe('409 user_frozen');
  expect(codeOf(await bid(bob))).toBe('409 market_paused');
  await done(`users/${ada.userId}/unfreeze`);
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 101_000);
  const ended = await api.read(`/markets/${MARKET}`);
  expect(ended.json).toMatchObject({ status: 'resolved', resolution: 'UP', paused: false });
  const [next] = (await api.get('/markets/15m')).json.markets;
  expect(next.paused).toBe(true);
  expect(codeOf(await bid(ada, next.id))).toBe('409 market_paused');
  await done('resume', { ...BECAUSE, asset: 'BTC' });
  expect((await bid(ada, next.id)).status).toBe(200);
});

test('declares an active market VOID: half a dollar a share, fees refunded, nothing traded after', async () => {
  const [{ id }] = (await api.get('/markets/15m')).json.markets;
  const buy = { outcome: 'DOWN', shares: 100, price: 0.9, timeInForce: 'GTC' };
  await server.buy(bob, buy, id);
  const taken = await server.buy(ada, { outcome: 'UP', amount: 10 }, id);
  expect(taken.status, taken.text).toBe(200);
  const { position, fee } = taken.json;
  await done(`markets/${id}/void`);
  expect(codeOf(await bid(ada, id))).toBe('409 market_not_active');
  const claim = await api.post(`/markets/15m/${id}/claim`, {}, ada.token);
  expect(claim.json).toMatchObject({
    resolution: 'VOID',
    shares: position.UP,
    payout: position.UP / 2,
    refundedFees: fee,
  });
  // Voiding a VOID market changes nothing and is not logged as an action.
  await done(`markets/${id}/void`);
  expect(actionsLogged().filter(({ marketId }) => marketId === id)).toMatchObject([
    { action: 'void', userId: null },
  ]);
  expect(codeOf(await act('pause', { ...BECAUSE, marketId: id }))).toBe('409 market_not_active');
  expect((await api.read(`/markets/${id}`)).json).toMatchObject({
    status: 'resolved',
    resolution: 'VOID',
    prices: { UP: 0.5, DOWN: 0.5 },
    voidReason: BECAUSE.reason,
  });
  // The market of the next window exists again.
  await server.passTime(WINDOW_START_MS + 2 * WINDOW_MS + 2_000, 102_000);
  const [next] = (await api.get('/markets/15m')).json.markets;
  expect(next.startsAtMs).toBe(WINDOW_START_MS + 2 * WINDOW_MS);
  server.exchange.sequencer.engine.checkInvariants();
});

test('the actions are listed with their operator and reason, newest first, in pages', async () => {
  const all = (await operate('GET', '/operator/actions?limit=200')).json;
  expect(all.nextCursor).toBe(null);
  expect(all.actions.at(-2)).toMatchObject({
    actionId: '2',
    action: 'pause',
    operator: 'olga',
    reason: BECAUSE.reason,
    marketId: MARKET,
    asset: null,
    userId: null,
  });
  const names = all.actions.map(({ action }: { action: string }) => action);
  expect(names).toEqual([
    'void',
    'resume',
    'unfreeze',
    'pause',
    'cancel_orders',
    'freeze',
    ...['resume', 'pause', 'resume', 'pause', 'resume', 'pause', 'set_rules'],
  ]);
  const first = (await operate('GET', '/operator/actions?limit=5')).json;
  const rest = (await operate('GET', `/operator/actions?limit=50&cursor=${first.nextCursor}`)).json;
  expect([...first.actions, ...rest.actions]).toEqual(all.actions);
});

test('a rate tier is told to its user and sub-accounts, listed, and survives a restart', async () => {
  const cyd = await server.register('cyd');
  const name = { username: 'cyd-sub' };
  const { json: sub } = await api.post(`/users/${cyd.userId}/sub-accounts`, name, cyd.token);
  await done(`users/${cyd.userId}/rate-tier`, { ...BECAUSE, rateTier: 5 });
  expect((await act(`users/${cyd.userId}/rate-tier`, { ...BECAUSE, rateTier: 3 })).status).toBe(
    400,
  );
  const ofSub = await act(`users/${sub.userId}/rate-tier`, { ...BECAUSE, rateTier: 2 });
  expect(codeOf(ofSub)).toBe('404 user_not_found');
  const { folder, clock } = server;
  await server.close();
  server = await TestServer.start(CONFIG, folder, clock.nowMs());
  api = server.api;
  const { actions } = (await operate('GET', '/operator/actions')).json;
  expect(actions[0]).toMatchObject({ action: 'set_rate_tier', userId: cyd.userId, rateTier: 5 });
  for (const userId of [cyd.userId, sub.userId])
    expect((await operate('GET', `/operator/users/${userId}`)).json.rateTier).toBe(5);
  expect((await api.get('/limits', cyd.token)).json.rateTier).toBe(5);
  expect((await api.get('/limits')).json.rateTier).toBe(1);
});

test('a market that is VOID before one with a smaller id ends has its place among past markets', async () => {
  server.feed.deliver('ETH', 3_000);
  await eventually(async () =>
    expect((await api.get('/markets/15m?asset=ETH')).json.markets.length).toBe(1),
  );
  const active = (await api.get('/markets/15m')).json.markets;
  const [btc, eth] = ['BTC', 'ETH'].map(
    (asset) => active.find((market: { asset: string }) => market.asset === asset).id,
  );
  await done(`markets/${eth}/void`);
  const [newest] = (await api.read('/markets/15m/history?asset=ETH')).json.markets;
  expect(newest.id).toBe(eth);
  await server.passTime(WINDOW_START_MS + 3 * WINDOW_MS + 2_000, 103_000);

  const all = (await api.read('/markets/15m/history')).json.markets.map(({ id }: Id) => id);
  expect(all.slice(0, 2)).toEqual([eth, btc]);
  const walked = await api.all('/markets/15m/history?', 'markets', undefined, 1);
  expect(walked.map(({ id }: Id) => id)).toEqual(all);
  const found = (await api.read('/markets?limit=50')).json.markets.map(({ id }: Id) => id);
  expect(found).toEqual(expect.arrayContaining(all));
  expect((await api.get(`/leaderboard`)).status).toBe(200);
});

test('says how the exchange stands, and who a user is by name', async () => {
  await done('pause', { ...BECAUSE, asset: 'ETH' });
  await done(`users/${bob.userId}/freeze`);
  const { status, json } = await operate('GET', '/operator/status');
  expect(status).toBe(200);
  expect(json).toMatchObject({
    role: 'leader',
    epoch: null,
    standbys: null,
    problem: null,
    segments: { here: 1, archived: 0 },
    backup: null,
    paused: ['ETH'],
    frozenUsers: ['bob'],
  });
  expect(json.disk.freeBytes).toBeGreaterThan(0);
  await done('resume', { ...BECAUSE, asset: 'ETH' });
  await done(`users/${bob.userId}/unfreeze`);
  const found = await operate('GET', '/operator/users?username=ADA');
  expect(found.json).toEqual({ userId: ada.userId, username: 'ada' });
  const nobody = await operate('GET', '/operator/users?username=nobody');
  expect(codeOf(nobody)).toBe('404 user_not_found');
  const { text } = await operate('GET', '/metrics', undefined, '');
  expect(text).toMatch(/^exchange_leader 1$/m);
  expect(text).toMatch(/^exchange_segments\{place="here"\} 1$/m);
});

test('the log has each action in the words of the API', async () => {
  await done('pause', { ...BECAUSE, asset: 'ETH' });
  await done('resume', { ...BECAUSE, asset: 'ETH' });
  await done(`users/${ada.userId}/unfreeze`);
  const none = { operator: 'olga', ...BECAUSE, userId: null, marketId: null, asset: null };
  expect(actionsLogged().slice(-3)).toMatchObject([
    { ...none, action: 'pause', asset: 'ETH' },
    { ...none, action: 'resume', asset: 'ETH' },
    { ...none, action: 'unfreeze', userId: ada.userId },
  ]);
});

test('a user who has forgotten the password gets a code, sets a new one with it once, and all sessions end', async () => {
  const eve = await server.register('eve');
  const { json: named } = await api.post('/auth/tokens', { name: 'bot', scope: 'read' }, eve.token);
  const codeOfEve = () => done(`users/${eve.userId}/recovery`, BECAUSE, 201);
  const recover = (code: string, newPassword = 'a new password of eve') =>
    api.post('/auth/recovery', { username: 'eve', code, newPassword });
  const login = (password: string) => api.post('/auth/login', { username: 'eve', password });
  expect(codeOf(await recover('7K2MD-0Q9XA-3VT8H-JW5RC'))).toBe('401 wrong_credentials');

  const first = await codeOfEve();
  for (const token of [eve.token, named.token])
    expect(codeOf(await api.get('/auth/session', token))).toBe('401 token_revoked');
  expect(codeOf(await login(PASSWORD))).toBe('401 wrong_credentials');
  expect(codeOf(await login(first.code))).toBe('401 wrong_credentials');

  const { code, endsAtMs } = await codeOfEve();
  expect(code).toMatch(/^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}$/);
  expect(endsAtMs).toBe(server.clock.nowMs() + 3_600_000);
  expect(codeOf(await recover(first.code))).toBe('401 wrong_credentials');
  expect(codeOf(await recover(code, 'short'))).toBe('400 invalid_request');
  const recovered = await recover(code.toLowerCase().replaceAll('-', ' '));
  expect(recovered.status).toBe(200);
  expect((await api.get('/auth/session', recovered.json.token)).json.username).toBe('eve');
  expect((await login('a new password of eve')).status).toBe(200);
  expect(codeOf(await recover(code))).toBe('401 wrong_credentials');

  const { actions } = (await operate('GET', '/operator/actions')).json;
  expect(actions[0]).toMatchObject({
    action: 'sign_in_code',
    userId: eve.userId,
    operator: 'olga',
  });
  // The code is in neither the journal nor the log.
  for (const file of ['journal.db', 'journal.db-wal'])
    for (const secret of [code, code.replaceAll('-', '')])
      expect(readFileSync(join(server.folder, file)).includes(secret)).toBe(false);
  expect(server.logged.join('')).not.toContain(code);
  expect(actionsLogged().at(-1)).toMatchObject({ action: 'sign_in_code', userId: eve.userId });

  const late = await codeOfEve();
  await server.passTime(server.clock.nowMs() + 3_600_000, 95_000);
  expect(codeOf(await recover(late.code))).toBe('401 wrong_credentials');
  const house = server.exchange.sequencer.engine.findUser('house');
  expect(codeOf(await act(`users/u${house}/recovery`))).toBe('404 user_not_found');
});
