/**
 * Authentication of stream connections over real sockets: tokens, cookies, sites and password
 * changes.
 */
import { connect as connectTcp } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { CLOSE } from '../../../gateway/stream/limits.js';
import { MARKET, PASSWORD, TestServer, type Trader } from '../../support/server.js';
import { clientsOf } from './support.js';

const NEW_PASSWORD = 'another horse battery';

const { connect, connectAs, refusal } = clientsOf(() => server);
let server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const cookie = (trader: Trader) => `other=1; service-session=${trader.token}`;

test("every channel but the user's is open without a token", async () => {
  const client = await connect();
  await client.subscribe('markets', `book:${MARKET}`, `trades:${MARKET}`, 'prices:BTC');
  expect(await client.refusal({ op: 'subscribe', channels: ['user'] })).toMatchObject({
    code: 'missing_token',
    details: { channel: 'user' },
  });
  expect(await client.refusal({ op: 'resume', channel: 'user', after: 0 })).toMatchObject({
    code: 'missing_token',
  });
});

test("accepts a token in the header, in the site's cookie and in the first message", async () => {
  const { host } = new URL(server.exchange.address);
  const byMessage = await connect();
  byMessage.send({ op: 'auth', token: ada.token });
  expect(await byMessage.next('authenticated')).toEqual({
    type: 'authenticated',
    userId: ada.userId,
    cancelOnDisconnect: false,
    expiresAtMs: null,
  });
  const ways = [
    byMessage,
    await connectAs(ada),
    await connect({ cookie: cookie(ada) }),
    await connect({
      cookie: cookie(ada),
      origin: `http://${host}`,
      'sec-fetch-site': 'same-origin',
    }),
    // The header wins, whatever the page's site and the cookie's user.
    await connect({
      'x-user-token': ada.token,
      cookie: cookie(bob),
      origin: 'https://elsewhere.example',
    }),
  ];
  for (const client of ways) {
    const [snapshot] = await client.subscribe('user');
    expect(snapshot.data.userId).toBe(ada.userId);
  }
});

test("ignores the cookie on another site's page", async () => {
  const origin = 'https://elsewhere.example';
  expect(await refusal({ cookie: cookie(ada), origin })).toBe('403 cross_site_request');
  expect(await refusal({ cookie: cookie(ada), 'sec-fetch-site': 'cross-site' })).toBe(
    '403 cross_site_request',
  );
  // Without the cookie, the connection is anonymous.
  const client = await connect({ origin });
  expect(await client.refusal({ op: 'subscribe', channels: ['user'] })).toMatchObject({
    code: 'missing_token',
  });
});

test('refuses a token that is invalid, of an unknown user, or revoked', async () => {
  expect(await refusal({ 'x-user-token': 'x.y.z' })).toBe('401 invalid_token');
  expect(await refusal({ cookie: 'service-session=nonsense' })).toBe('401 invalid_token');
  const eve = await server.register('eve');
  await server.api.put(
    '/auth/password',
    { currentPassword: PASSWORD, newPassword: NEW_PASSWORD },
    eve.token,
  );
  expect(await refusal({ 'x-user-token': eve.token })).toBe('401 token_revoked');
  const client = await connect();
  expect(await client.refusal({ op: 'auth', token: eve.token })).toMatchObject({
    code: 'token_revoked',
  });
  expect(await client.refusal({ op: 'auth', token: 'x.y.z' })).toMatchObject({
    code: 'invalid_token',
  });
  expect(await client.refusal({ op: 'auth', token: '' })).toMatchObject({ code: 'invalid_token' });
  // The connection is still open and not signed in.
  expect(await client.refusal({ op: 'subscribe', channels: ['user'] })).toMatchObject({
    code: 'missing_token',
  });
});

test('ignores a token in the URL or as a bearer', async () => {
  const byUrl = await connect({}, `/api/stream?token=${ada.token}&x-user-token=${ada.token}`);
  for (const client of [byUrl, await connect({ authorization: `Bearer ${ada.token}` })]) {
    expect(await client.refusal({ op: 'subscribe', channels: ['user'] })).toMatchObject({
      code: 'missing_token',
    });
  }
});

test('a connection cannot change its user', async () => {
  const client = await connectAs(ada);
  expect(await client.refusal({ op: 'auth', token: bob.token })).toMatchObject({
    code: 'user_mismatch',
  });
  client.send({ op: 'auth', token: ada.token, cancelOnDisconnect: true });
  expect(await client.next('authenticated')).toMatchObject({
    userId: ada.userId,
    cancelOnDisconnect: true,
  });
  const [snapshot] = await client.subscribe('user');
  expect(snapshot.data.userId).toBe(ada.userId);
});

test("a password change closes that user's connections, and no others", async () => {
  const dan = await server.register('dan');
  const byHeader = await connectAs(dan);
  await byHeader.subscribe('user');
  const byMessage = await connect();
  byMessage.send({ op: 'auth', token: dan.token });
  await byMessage.next('authenticated');
  const other = await connectAs(ada);
  const order = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
  await server.buy(dan, order);
  const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
  const { json } = await server.api.put('/auth/password', body, dan.token);
  const ended = { code: CLOSE.tokenRevoked.code, reason: 'token_revoked' };
  expect(await byHeader.closed).toEqual(ended);
  expect(await byMessage.closed).toEqual(ended);
  // Earlier events are sent first.
  expect(byHeader.of('user').at(-1).data.events).toMatchObject([{ type: 'order_rested' }]);
  await other.caughtUp();
  const again = await connect({ 'x-user-token': json.token });
  await again.subscribe('user');
});

test('messages sent together with auth wait until the token is verified', async () => {
  await server.close();
  server = await TestServer.start({}, server.folder);
  const client = await connect();
  client.send({ op: 'auth', token: ada.token });
  client.send({ op: 'subscribe', channels: ['user'] });
  client.send({ op: 'auth', token: bob.token });
  client.send({ op: 'auth', token: 'x.y.z' });
  client.send('{');
  client.send({ op: 'ping' });
  await client.next('pong');
  expect(client.answers.map(({ type, code }) => code ?? type)).toEqual([
    'authenticated',
    'snapshot',
    'user_mismatch',
    'invalid_token',
    'invalid_request',
    'pong',
  ]);
  await server.close();
  server = await TestServer.start({}, server.folder);
  const [snapshot] = await (await connectAs(ada)).subscribe('user');
  expect(snapshot.data.userId).toBe(ada.userId);
  expect(await refusal({ 'x-user-token': `${bob.token.slice(0, -2)}xx` })).toBe(
    '401 invalid_token',
  );
});

test('a client that hangs up during the handshake does no harm', async () => {
  await server.close();
  server = await TestServer.start({}, server.folder);
  for (let i = 0; i < 20; i++) {
    const socket = connectTcp(server.exchange.port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const lines = [
      'GET /api/stream HTTP/1.1',
      'Host: x',
      'Connection: Upgrade',
      'Upgrade: websocket',
    ];
    lines.push(
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      `x-user-token: ${ada.token}x`,
    );
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    if (i % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
  }
  await (await connectAs(ada)).subscribe('user');
});
