/** Named tokens over real HTTP and the stream: scopes, addresses, expiry, revocation, restart. */
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { MAX_TOKENS_PER_USER } from '../../../engine/interface/limits.js';
import { EXPIRED_TOKEN_KEPT_MS } from '../../../engine/interface/parameters.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { CLOSE } from '../../../gateway/stream/limits.js';
import { SECRET_FILE } from '../../../persistence/storage/session-secret.js';
import { eventually } from '../../support/eventually.js';
import {
  codeOf,
  MARKET,
  PASSWORD,
  pathOf,
  TestServer,
  WINDOW_START_MS,
} from '../../support/server.js';
import { clientsOf } from '../stream/support.js';

const { connect, refusal } = clientsOf(() => server);

let server = await TestServer.withMarket({ trustProxy: true });
let api = server.api;
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const from = (address: string) => ({ 'x-forwarded-for': address });

async function create(body: object, owner = ada): Promise<{ tokenId: string; token: string }> {
  const { status, json, text } = await api.post('/auth/tokens', body, owner.token);
  expect(status, text).toBe(201);
  return json;
}

const balanceWith = (token: string, address = '127.0.0.1') =>
  api.send('GET', `/users/${ada.userId}/balance`, undefined, { token, headers: from(address) });
const restingBuy = (token: string) =>
  api.post(
    `/markets/15m/${MARKET}/buy`,
    { outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' },
    token,
  );

test('a read token reads everything of its user and changes nothing', async () => {
  const { token } = await create({ name: 'dashboard', scope: 'read' });
  for (const path of ['balance', 'orders', 'positions', 'points'])
    expect((await api.read(`/users/${ada.userId}/${path}`, token)).status, path).toBe(200);
  expect((await api.get('/auth/tokens', token)).status).toBe(200);
  expect(codeOf(await api.get(`/users/${bob.userId}/balance`, token))).toBe('403 user_mismatch');
  const before = await server.state();
  const changes = ROUTES.filter(({ access, method }) => access === 'session' && method !== 'GET');
  expect(changes.length).toBeGreaterThan(10);
  for (const { method, path } of changes) {
    const url = pathOf({ path }, ada);
    const answer = await api.send(method, url, {}, { token });
    expect(codeOf(answer), url).toBe('403 scope_insufficient');
    expect(answer.json.error.details.scope).toBe('read');
  }
  expect(await server.state()).toEqual(before);
});

test('a read token does not cancel on disconnect, and sends no orders on the stream', async () => {
  const { token } = await create({ name: 'viewer', scope: 'read' });
  const order = await restingBuy(ada.token);
  const client = await connect();
  expect(await client.refusal({ op: 'auth', token, cancelOnDisconnect: true })).toMatchObject({
    code: 'scope_insufficient',
    details: { scope: 'read', required: 'trade' },
  });
  client.send({ op: 'auth', token });
  expect(await client.next('authenticated')).toMatchObject({ cancelOnDisconnect: false });
  await client.subscribe('user');
  const operation = { op: 'cancel', marketId: MARKET, orderId: order.json.orderId };
  expect(await client.refusal({ op: 'order', id: '1', operation })).toMatchObject({
    code: 'scope_insufficient',
  });
  await client.hangUp();
  const { orderId } = order.json;
  const path = `/markets/15m/${MARKET}/orders/${orderId}`;
  expect((await api.delete(path, ada.token)).status).toBe(200);
});

test('a trade token trades and handles no credentials', async () => {
  const { token } = await create({ name: 'market maker', scope: 'trade' });
  const order = await restingBuy(token);
  expect(order.status).toBe(200);
  const stake = await api.post('/vaults/flex/stake', { amount: 5 }, token);
  expect(stake.status).toBe(201);
  const client = await connect({ 'x-user-token': token });
  client.send({ op: 'auth', token, cancelOnDisconnect: true });
  await client.next('authenticated');
  await client.hangUp();
  await eventually(
    async () => (await api.get(`/users/${ada.userId}/orders`, token)).json.orders.length === 0,
  );
  const before = await server.state();
  const body = { currentPassword: PASSWORD, newPassword: 'another horse battery' };
  for (const answer of [
    await api.put('/auth/password', body, token),
    await api.post('/auth/tokens', { name: 'more', scope: 'read' }, token),
    await api.delete('/auth/tokens/k1', token),
  ]) {
    expect(codeOf(answer)).toBe('403 scope_insufficient');
    expect(answer.json.error.details).toEqual({ scope: 'trade', required: 'password' });
  }
  expect(await server.state()).toEqual(before);
});

test('the list shows names, ends and last uses, and never the token', async () => {
  const cyd = await server.register('cyd');
  const expiresAtMs = WINDOW_START_MS + 3_600_000;
  const allowedAddresses = ['10.0.0.0/8'];
  const made = await create({ name: 'bot', scope: 'trade', expiresAtMs, allowedAddresses }, cyd);
  const unlimited = await create({ name: 'größer', scope: 'read' }, cyd);
  const list = async () => (await api.get('/auth/tokens', cyd.token)).json.tokens;
  expect(await list()).toEqual([
    {
      tokenId: made.tokenId,
      name: 'bot',
      scope: 'trade',
      createdAtMs: WINDOW_START_MS,
      expiresAtMs,
      lastUsedAtMs: null,
      allowedAddresses,
    },
    {
      tokenId: unlimited.tokenId,
      name: 'größer',
      scope: 'read',
      createdAtMs: WINDOW_START_MS,
      expiresAtMs: null,
      lastUsedAtMs: null,
      allowedAddresses: null,
    },
  ]);
  await api.get(`/users/${cyd.userId}/balance`, unlimited.token);
  const { nowMs } = server.exchange.sequencer.engine;
  expect((await list()).map((one: { lastUsedAtMs: number }) => one.lastUsedAtMs)).toEqual([
    null,
    nowMs,
  ]);
  expect(JSON.stringify(await list())).not.toContain(unlimited.token.split('.')[2]);
});

test('a token is accepted only from its addresses, over HTTP and by the stream', async () => {
  const rules = ['192.0.2.7', '10.20.0.0/15', '2001:db8:1::/48', '::ffff:198.51.100.0/120'];
  const { token } = await create({ name: 'bound', scope: 'trade', allowedAddresses: rules });
  const allowed = ['192.0.2.7', '10.21.255.255', '2001:db8:1:ffff::9', '198.51.100.200'];
  const refused = ['192.0.2.8', '10.22.0.0', '2001:db8:2::1', '198.51.101.1', '127.0.0.1', 'x'];
  for (const address of allowed) {
    expect((await balanceWith(token, address)).status, address).toBe(200);
    await connect({ 'x-user-token': token, ...from(address) });
  }
  for (const address of refused) {
    expect(codeOf(await balanceWith(token, address)), address).toBe('403 address_not_allowed');
    const headers = { 'x-user-token': token, ...from(address) };
    expect(await refusal(headers), address).toBe('403 address_not_allowed');
  }
  const client = await connect(from('192.0.2.8'));
  expect(await client.refusal({ op: 'auth', token })).toMatchObject({
    code: 'address_not_allowed',
  });
  // Public routes check credentials that are sent.
  const options = { token, headers: from('192.0.2.8') };
  expect(codeOf(await api.send('GET', '/vaults', undefined, options))).toBe(
    '403 address_not_allowed',
  );
});

test('invalid tokens are not created', async () => {
  const bot = { name: 'bot', scope: 'read' };
  const bad: [object, string][] = [
    [{ scope: 'read' }, 'name'],
    [{ ...bot, name: '' }, 'name'],
    [{ ...bot, name: 'x'.repeat(65) }, 'name'],
    [{ ...bot, name: '😀' }, 'name'],
    [{ ...bot, name: 'a\nb' }, 'name'],
    [{ ...bot, scope: 'password' }, 'scope'],
    [{ ...bot, expiresAtMs: WINDOW_START_MS - 1 }, 'expiresAtMs'],
    [{ ...bot, expiresAtMs: 1.5 }, 'expiresAtMs'],
    [{ ...bot, expiresAtMs: 1e15 }, 'expiresAtMs'],
    [{ ...bot, allowedAddresses: [] }, 'allowedAddresses'],
    [{ ...bot, allowedAddresses: Array(17).fill('10.0.0.1') }, 'allowedAddresses'],
    ...[
      '10.0.0',
      '10.0.0.0/33',
      '10.0.0.0/08',
      '10.0.0.0/8/8',
      '::1%lo',
      '::/129',
      'localhost',
    ].map((one): [object, string] => [{ ...bot, allowedAddresses: [one] }, 'allowedAddresses.0']),
  ];
  const before = await server.state();
  for (const [body, field] of bad) {
    const answer = await api.post('/auth/tokens', body, ada.token);
    expect(codeOf(answer), JSON.stringify(body)).toBe('400 invalid_request');
    expect(Object.keys(answer.json.error.details), JSON.stringify(body)).toEqual([field]);
  }
  expect(await server.state()).toEqual(before);
});

test('a token of an earlier exchange, or signed with other claims, is invalid', async () => {
  const secret = Buffer.from(await readFile(join(server.folder, SECRET_FILE), 'utf8'), 'base64url');
  const { token, tokenId } = await create({ name: 'bot', scope: 'trade' });
  const [header, payload] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString());
  expect(claims).toEqual({
    sub: ada.userId,
    ver: 1,
    tid: tokenId,
    iat: Math.floor(WINDOW_START_MS / 1_000),
  });
  const sign = (changed: object) => {
    const text = `${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  expect((await balanceWith(sign(claims))).status).toBe(200);
  for (const changed of [
    { ...claims, sub: bob.userId },
    { ...claims, iat: claims.iat + 1 },
    { ...claims, tid: 'k0' },
    { ...claims, tid: 1 },
    { ...claims, tid: '1' },
    { ...claims, tid: '' },
    { ...claims, exp: 9e9 },
  ]) {
    expect(codeOf(await balanceWith(sign(changed))), JSON.stringify(changed)).toBe(
      '401 invalid_token',
    );
  }
  expect(codeOf(await balanceWith(sign({ ...claims, tid: 'k999' })))).toBe('401 token_revoked');
});

test('revocation ends a token and its streams at once, and no others', async () => {
  const ended = await create({ name: 'ended', scope: 'trade' });
  const other = await create({ name: 'other', scope: 'trade' });
  const streams = [ended, other].map(({ token }) => connect({ 'x-user-token': token }));
  const [first, second] = await Promise.all(streams);
  expect(codeOf(await api.delete(`/auth/tokens/${ended.tokenId}`, bob.token))).toBe(
    '404 token_not_found',
  );
  for (const unknown of ['k9999', 'k0', '1', 'x'])
    expect(codeOf(await api.delete(`/auth/tokens/${unknown}`, ada.token))).toBe(
      '404 token_not_found',
    );
  expect((await api.delete(`/auth/tokens/${ended.tokenId}`, ada.token)).status).toBe(204);
  expect(CLOSE.tokenRevoked).toMatchObject(await first!.closed);
  expect(codeOf(await balanceWith(ended.token))).toBe('401 token_revoked');
  expect(await refusal({ 'x-user-token': ended.token })).toBe('401 token_revoked');
  expect((await balanceWith(other.token)).status).toBe(200);
  await second!.caughtUp();
  expect(codeOf(await api.delete(`/auth/tokens/${ended.tokenId}`, ada.token))).toBe(
    '404 token_not_found',
  );
});

test('tokens and their ends survive a restart; a new password ends all', async () => {
  const dan = await server.register('dan');
  const owned = `/users/${dan.userId}/balance`;
  const nowMs = server.clock.nowMs();
  const lasting = await create({ name: 'lasting', scope: 'trade' }, dan);
  const short = await create({ name: 'short', scope: 'trade', expiresAtMs: nowMs + 5_000 }, dan);
  const long = await create({ name: 'long', scope: 'read', expiresAtMs: nowMs + 90_000 }, dan);
  const revoked = await create({ name: 'revoked', scope: 'trade' }, dan);
  await api.delete(`/auth/tokens/${revoked.tokenId}`, dan.token);
  const stream = await connect({ 'x-user-token': short.token });
  const state = async () => [
    (await api.get(owned, lasting.token)).status,
    (await api.get(owned, long.token)).status,
    codeOf(await api.get(owned, short.token)),
    codeOf(await api.get(owned, revoked.token)),
  ];
  const withoutUses = async () =>
    (await api.get('/auth/tokens', dan.token)).json.tokens.map(
      ({ lastUsedAtMs: _, ...one }: { lastUsedAtMs: number }) => one,
    );
  expect((await api.get(owned, short.token)).status).toBe(200);
  server.clock.set(nowMs + 5_000);
  await server.advance();
  expect(CLOSE.tokenExpired).toMatchObject(await stream.closed);
  const expected = [200, 200, '401 token_expired', '401 token_revoked'];
  expect(await state()).toEqual(expected);
  const before = [await server.state(), await withoutUses()];
  await restart();
  expect([await server.state(), await withoutUses()]).toEqual(before);
  expect(await state()).toEqual(expected);
  expect(await refusal({ 'x-user-token': short.token })).toBe('401 token_expired');
  const trade = await restingBuy(lasting.token);
  expect(trade.status, trade.text).toBe(200);
  expect(codeOf(await restingBuy(long.token))).toBe('403 scope_insufficient');

  const last = await connect({ 'x-user-token': lasting.token });
  const body = { currentPassword: PASSWORD, newPassword: 'another horse battery' };
  const { status, json } = await api.put('/auth/password', body, dan.token);
  expect(status).toBe(200);
  expect(CLOSE.tokenRevoked).toMatchObject(await last.closed);
  for (const { token } of [lasting, short, long, revoked])
    expect(codeOf(await api.get(owned, token))).toBe('401 token_revoked');
  expect((await api.get('/auth/tokens', json.token)).json.tokens).toEqual([]);
});

test('a user has a limited number of tokens, and expired ones are forgotten after a week', async () => {
  const eve = await server.register('eve');
  const nowMs = server.clock.nowMs();
  const soon = { name: 'soon', scope: 'read', expiresAtMs: nowMs + 1_000 };
  const first = await create(soon, eve);
  for (let i = 1; i < MAX_TOKENS_PER_USER; i++) await create({ name: 'bot', scope: 'read' }, eve);
  const more = () => api.post('/auth/tokens', { name: 'more', scope: 'read' }, eve.token);
  expect(codeOf(await more())).toBe('422 limit_reached');
  server.clock.set(nowMs + EXPIRED_TOKEN_KEPT_MS);
  await server.advance();
  const owned = `/users/${eve.userId}/balance`;
  expect(codeOf(await api.get(owned, first.token))).toBe('401 token_expired');
  expect(codeOf(await more())).toBe('422 limit_reached');
  server.clock.set(nowMs + EXPIRED_TOKEN_KEPT_MS + 1_000);
  await server.advance();
  expect(codeOf(await api.get(owned, first.token))).toBe('401 token_revoked');
  expect((await more()).status).toBe(201);
});

async function restart(): Promise<void> {
  const { folder } = server;
  const atMs = server.clock.nowMs();
  await server.close();
  server = await TestServer.start({ trustProxy: true }, folder, atMs);
  api = server.api;
}
