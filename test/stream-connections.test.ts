/** Who may connect, what may be said, and how a connection ends: over real sockets. */

import { connect as connectTcp } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { Random } from '../bench/random.js';
import { TimeInForce } from '../engine/domain.js';
import type { Config } from '../gateway/config.js';
import { ErrorBody } from '../gateway/json/answers.js';
import { CLOSE } from '../gateway/stream/limits.js';
import { batch, buy } from './engine-support.js';
import {
  eventually,
  MARKET,
  PASSWORD,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from './server.js';
import { type Message, Refused, StreamClient, streamLimits } from './stream-support.js';

const DAY_MS = 86_400_000;
const NEW_PASSWORD = 'another horse battery';

let server: TestServer;
const clients: StreamClient[] = [];

const order = (price = 0.4) => ({ outcome: 'UP', shares: 10, price, timeInForce: 'GTC' });
const rest = (trader: Trader, price = 0.4, market = MARKET) =>
  server.api.post(`/markets/15m/${market}/buy`, order(price), trader.token);
const restingOrders = async (trader: Trader) =>
  (await server.api.get(`/users/${trader.userId}/orders`, trader.token)).json.orders.length;

async function connect(headers: Record<string, string> = {}): Promise<StreamClient> {
  const client = await StreamClient.connect(server.exchange.port, headers);
  clients.push(client);
  return client;
}
const connectAs = (trader: Trader) => connect({ 'x-user-token': trader.token });

/** Status and code of a handshake that is refused. */
async function refusal(headers: Record<string, string>): Promise<[number, string]> {
  const refused: Refused = await connect(headers).then(
    () => {
      throw new Error('it was let in');
    },
    (error) => error,
  );
  return [refused.status, ErrorBody.parse(refused.body).error.code];
}

afterEach(() => {
  for (const client of clients.splice(0)) {
    client.socket.terminate();
    client.check();
  }
});

/** A server with other limits for the tests of one block. */
function withServer(overrides: Partial<Config> = {}): void {
  beforeAll(async () => {
    server = await TestServer.withMarket(overrides);
  });
  afterAll(() => server.stop());
}

describe('who it is', () => {
  withServer();
  let ada: Trader;
  let bob: Trader;
  beforeAll(async () => {
    ada = await server.register('ada');
    bob = await server.register('bob');
  });
  const cookie = (trader: Trader) => `other=1; service-session=${trader.token}`;

  test('without a credential all but the user channel is open', async () => {
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

  test('header, cookie of the site and first message let a user in', async () => {
    const { host } = new URL(server.exchange.address);
    const byMessage = await connect();
    byMessage.send({ op: 'auth', token: ada.token });
    expect(await byMessage.next('authenticated')).toEqual({
      type: 'authenticated',
      userId: ada.userId,
      cancelOnDisconnect: false,
    });
    const ways = [
      byMessage,
      await connectAs(ada),
      await connect({ cookie: cookie(ada) }),
      await connect({ cookie: cookie(ada), origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }),
      // The header counts, wherever the page is from and whoever the cookie is.
      await connect({ 'x-user-token': ada.token, cookie: cookie(bob), origin: 'https://elsewhere.example' }),
    ];
    for (const client of ways) {
      const [snapshot] = await client.subscribe('user');
      expect(snapshot.data.userId).toBe(ada.userId);
    }
  });

  test("another site's page gets nothing out of the cookie", async () => {
    const origin = 'https://elsewhere.example';
    expect(await refusal({ cookie: cookie(ada), origin })).toEqual([403, 'cross_site_request']);
    expect(await refusal({ cookie: cookie(ada), 'sec-fetch-site': 'cross-site' })).toEqual([
      403,
      'cross_site_request',
    ]);
    // Without the cookie it sees what everybody sees.
    const client = await connect({ origin });
    expect(await client.refusal({ op: 'subscribe', channels: ['user'] })).toMatchObject({
      code: 'missing_token',
    });
  });

  test('a token that is none, is of nobody here, or has ended, is refused', async () => {
    expect(await refusal({ 'x-user-token': 'x.y.z' })).toEqual([401, 'invalid_token']);
    expect(await refusal({ cookie: 'service-session=nonsense' })).toEqual([401, 'invalid_token']);
    const eve = await server.register('eve');
    await server.api.put(
      '/auth/password',
      { currentPassword: PASSWORD, newPassword: NEW_PASSWORD },
      eve.token,
    );
    expect(await refusal({ 'x-user-token': eve.token })).toEqual([401, 'token_revoked']);
    const client = await connect();
    expect(await client.refusal({ op: 'auth', token: eve.token })).toMatchObject({ code: 'token_revoked' });
    expect(await client.refusal({ op: 'auth', token: 'x.y.z' })).toMatchObject({ code: 'invalid_token' });
    expect(await client.refusal({ op: 'auth', token: '' })).toMatchObject({ code: 'invalid_token' });
    // It is still there, and still nobody.
    expect(await client.refusal({ op: 'subscribe', channels: ['user'] })).toMatchObject({
      code: 'missing_token',
    });
  });

  test('a token in the URL or as a bearer is not read', async () => {
    const port = server.exchange.port;
    const byUrl = await StreamClient.connect(
      port,
      {},
      `/api/stream?token=${ada.token}&x-user-token=${ada.token}`,
    );
    clients.push(byUrl);
    for (const client of [byUrl, await connect({ authorization: `Bearer ${ada.token}` })]) {
      expect(await client.refusal({ op: 'subscribe', channels: ['user'] })).toMatchObject({
        code: 'missing_token',
      });
    }
  });

  test('a connection stays the user that it is', async () => {
    const client = await connectAs(ada);
    expect(await client.refusal({ op: 'auth', token: bob.token })).toMatchObject({ code: 'user_mismatch' });
    client.send({ op: 'auth', token: ada.token, cancelOnDisconnect: true });
    expect(await client.next('authenticated')).toMatchObject({
      userId: ada.userId,
      cancelOnDisconnect: true,
    });
    const [snapshot] = await client.subscribe('user');
    expect(snapshot.data.userId).toBe(ada.userId);
  });

  test('a password change ends the connections of that user, and no other', async () => {
    const dan = await server.register('dan');
    const byHeader = await connectAs(dan);
    await byHeader.subscribe('user');
    const byMessage = await connect();
    byMessage.send({ op: 'auth', token: dan.token });
    await byMessage.next('authenticated');
    const other = await connectAs(ada);
    await rest(dan);
    const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
    const { json } = await server.api.put('/auth/password', body, dan.token);
    const ended = { code: CLOSE.tokenRevoked.code, reason: 'token_revoked' };
    expect(await byHeader.closed).toEqual(ended);
    expect(await byMessage.closed).toEqual(ended);
    // What happened before is told before.
    expect(byHeader.of('user').at(-1).data.events).toMatchObject([{ type: 'order_rested' }]);
    await other.caughtUp();
    const again = await connect({ 'x-user-token': json.token });
    await again.subscribe('user');
  });

  test('after a restart tokens are verified first; what is sent at once with auth waits for it', async () => {
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
    expect(await refusal({ 'x-user-token': `${bob.token.slice(0, -2)}xx` })).toEqual([401, 'invalid_token']);
  });

  test('whoever hangs up in the middle of the handshake is no harm', async () => {
    await server.close();
    server = await TestServer.start({}, server.folder);
    for (let i = 0; i < 20; i++) {
      const socket = connectTcp(server.exchange.port, '127.0.0.1');
      await new Promise((resolve) => socket.once('connect', resolve));
      const lines = ['GET /api/stream HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket'];
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
});

describe('what may be said', () => {
  withServer(streamLimits({ operationsBurst: 10_000 }));

  test.each([
    ['no JSON', '{"op":', 'invalid_json', /JSON/],
    ['a binary message', Buffer.from('{"op":"ping"}'), 'invalid_json', /text/],
    [
      'too long a message',
      JSON.stringify({ op: 'auth', token: 'x'.repeat(4_100) }),
      'body_too_large',
      /4096/,
    ],
    ['no object', '[1]', 'invalid_request', /must be an object/],
    ['a string', '"subscribe"', 'invalid_request', /must be an object/],
    ['null', 'null', 'invalid_request', /must be an object/],
    ['no operation', '{}', 'invalid_request', /op must be one of auth, subscribe/],
    ['an unknown operation', '{"op":"buy"}', 'invalid_request', /op must be one of/],
    ['an unknown field', '{"op":"ping","now":1}', 'invalid_request', /now is not a known field/],
    ['a misspelt field', '{"op":"subscribe","channel":"markets"}', 'invalid_request', /channels is required/],
    ['no channels', '{"op":"subscribe","channels":[]}', 'invalid_request', /must name a channel/],
    ['channels of another type', '{"op":"subscribe","channels":"markets"}', 'invalid_request', /must be a/],
    ['a channel that is no text', '{"op":"subscribe","channels":[7]}', 'invalid_request', /must be a string/],
    ['a channel twice', '{"op":"subscribe","channels":["markets","markets"]}', 'invalid_request', /twice/],
    [
      'too many',
      { op: 'subscribe', channels: Array.from({ length: 51 }, (_, i) => `book:${i}`) },
      'invalid_request',
      /at most 50/,
    ],
    [
      'an unknown channel',
      { op: 'subscribe', channels: ['markets', 'weather'] },
      'invalid_request',
      /weather is no channel/,
    ],
    [
      'an unknown asset',
      { op: 'subscribe', channels: ['prices:DOGE'] },
      'invalid_request',
      /assets are BTC, ETH/,
    ],
    ['another spelling', { op: 'subscribe', channels: ['prices:btc'] }, 'invalid_request', /names no asset/],
    [
      'an unknown market',
      { op: 'subscribe', channels: ['book:btc-15m-1763701200'] },
      'market_not_found',
      /no market/,
    ],
    ['no market', { op: 'subscribe', channels: ['trades:'] }, 'market_not_found', /no market/],
    ['resume from nothing', { op: 'resume', channel: 'markets' }, 'invalid_request', /after is required/],
    [
      'resume from a fraction',
      { op: 'resume', channel: 'markets', after: 1.5 },
      'invalid_request',
      /whole number/,
    ],
    ['resume from below 0', { op: 'resume', channel: 'markets', after: -1 }, 'invalid_request', /negative/],
    [
      'a number with too many digits',
      '{"op":"resume","channel":"markets","after":1.00000000000000000001}',
      'invalid_request',
      /digits/,
    ],
    [
      'leaving what one is not in',
      { op: 'unsubscribe', channels: ['prices:BTC', 'markets'] },
      'invalid_request',
      /markets is not subscribed/,
    ],
    ['a token that is no text', '{"op":"auth","token":1}', 'invalid_request', /token must be a string/],
    [
      'a wish that is no yes or no',
      '{"op":"auth","token":"","cancelOnDisconnect":"yes"}',
      'invalid_request',
      /boolean/,
    ],
    ['__proto__', '{"op":"ping","__proto__":{"op":"auth"}}', 'invalid_request', /not a known field/],
  ])('%s is refused and changes nothing', async (_name, message, code, words) => {
    const client = await connect();
    await client.subscribe('prices:BTC');
    const error = await client.refusal(message);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(words);
    server.feed.deliver('BTC', 100_000);
    const delta = await client.next('delta');
    expect(delta.channel).toBe('prices:BTC');
    await client.caughtUp();
    expect(client.answers.map(({ type }) => type)).toEqual(['snapshot', 'error', 'delta', 'pong']);
  });

  test('random bytes are answered or end the connection, and the server goes on', async () => {
    for (let i = 0; i < 20; i++) {
      const client = await connect();
      client.socket.send(Buffer.from(Array.from({ length: i * 7 }, (_, k) => (k * 37 + i * 11) & 127)), {
        binary: false,
      });
      expect(await client.next('error')).toMatchObject({ code: /invalid/ });
    }
    const notText = await connect();
    notText.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect((await notText.closed).code).toBe(1006);
    const tooMuch = await connect();
    tooMuch.socket.send('x'.repeat(70_000));
    expect((await tooMuch.closed).code).toBe(1006);
    await (await connect()).caughtUp();
  });

  test('a plain request to the path is told what it is; other methods are not taken', async () => {
    const url = `${server.exchange.address}/api/stream`;
    const plain = await fetch(url);
    expect([plain.status, ErrorBody.parse(await plain.json()).error.code]).toEqual([400, 'invalid_request']);
    const posted = await fetch(url, { method: 'POST', body: '{}' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
    expect(ErrorBody.parse(await posted.json()).error.code).toBe('method_not_allowed');
  });

  test('a fresh snapshot for who asks again, nothing any more for who has left', async () => {
    const client = await connect();
    await client.subscribe('prices:BTC', 'markets');
    server.feed.deliver('BTC', 100_001);
    const [snapshot] = await client.subscribe('prices:BTC');
    expect(snapshot).toMatchObject({
      channelSequence: client.numbers.get('prices:BTC'),
      data: { price: 100_001 },
    });
    client.send({ op: 'unsubscribe', channels: ['prices:BTC'] });
    expect(await client.next('unsubscribed')).toEqual({ type: 'unsubscribed', channels: ['prices:BTC'] });
    server.feed.deliver('BTC', 100_002);
    await server.durable();
    await client.caughtUp();
    expect(client.of('prices:BTC').map(({ type }) => type)).toEqual(['snapshot', 'delta', 'snapshot']);
  });

  test('coming and going at random under load leaves no gap', async () => {
    const client = await connect();
    const random = new Random('coming and going');
    let cents = 0;
    // There is always something that is not durable yet, so snapshots have to wait, and are given up while they do.
    const load = setInterval(() => {
      for (let i = 0; i < 5; i++) server.feed.deliver('BTC', 100_000 + ++cents / 100);
    }, 0);
    const channels = ['prices:BTC'];
    for (let i = 0; i < 400; i++) {
      if (random.chance(0.3)) client.send({ op: 'unsubscribe', channels });
      else if (random.chance(0.6)) client.send({ op: 'subscribe', channels });
      else client.send({ op: 'resume', channel: 'prices:BTC', after: client.numbers.get('prices:BTC') ?? 0 });
      if (random.chance(0.5)) await new Promise((resolve) => setTimeout(resolve, random.whole(0, 3)));
    }
    clearInterval(load);
    await client.subscribe('prices:BTC');
    server.feed.deliver('BTC', 1);
    await server.durable();
    await client.caughtUp();
    expect(client.of('prices:BTC').at(-1).data.price).toBe(1);
    const count = (type: string) => client.messages.filter((message) => message.type === type).length;
    expect(count('delta')).toBeGreaterThan(50);
    expect(count('snapshot')).toBeGreaterThan(5);
    expect(count('unsubscribed')).toBeGreaterThan(20);
  });

  test('the channels of a market end with it', async () => {
    const client = await connect();
    await client.subscribe(`book:${MARKET}`, `trades:${MARKET}`, 'markets');
    await server.passTime(WINDOW_START_MS + WINDOW_MS + 60_000, 100_000);
    server.clock.set(WINDOW_START_MS + WINDOW_MS + DAY_MS + 120_000);
    server.submit({ kind: 'advanceTime' });
    const closed = [await client.next('closed'), await client.next('closed')];
    expect(closed.map(({ channel }) => channel)).toEqual([`book:${MARKET}`, `trades:${MARKET}`]);
    expect(await client.refusal({ op: 'unsubscribe', channels: [`book:${MARKET}`] })).toMatchObject({
      code: 'invalid_request',
    });
    expect(await client.refusal({ op: 'resume', channel: `book:${MARKET}`, after: 1 })).toMatchObject({
      code: 'market_not_found',
    });
  });
});

describe('limits', () => {
  withServer(
    streamLimits({ subscriptions: 3, operationsBurst: 12, operationsPerSecond: 0.001, connections: 4 }),
  );

  test('subscriptions', async () => {
    const client = await connect();
    await client.subscribe('markets', 'prices:BTC', 'prices:ETH');
    expect(await client.refusal({ op: 'subscribe', channels: [`book:${MARKET}`] })).toMatchObject({
      code: 'limit_reached',
    });
    expect(await client.refusal({ op: 'resume', channel: `book:${MARKET}`, after: 0 })).toMatchObject({
      code: 'limit_reached',
    });
    await client.subscribe('markets');
  });

  test('messages, and channels in them', async () => {
    const client = await connect();
    for (let i = 0; i < 12; i++) await client.caughtUp();
    client.send({ op: 'ping' });
    expect(await client.next('error')).toMatchObject({ code: 'rate_limited' });
    expect(await client.closed).toEqual({ code: CLOSE.rateLimited.code, reason: 'rate_limited' });

    const other = await connect();
    for (let i = 0; i < 4; i++) await other.subscribe('markets', 'prices:BTC', 'prices:ETH');
    other.send({ op: 'ping' });
    expect((await other.closed).code).toBe(4029);

    const pinging = await connect();
    for (let i = 0; i < 13; i++) pinging.socket.ping();
    expect((await pinging.closed).code).toBe(4029);
  });

  test('connections', async () => {
    const open = [await connect(), await connect(), await connect(), await connect()];
    expect(await refusal({})).toEqual([503, 'unavailable']);
    await open[0]!.close();
    const next = await connect();
    await next.caughtUp();
  });
});

describe('connections of one address', () => {
  withServer({ connections: { total: 100, perAddress: 0, streamsPerAddress: 2 } });

  test('are limited, and make room when they end', async () => {
    const [first] = [await connect(), await connect()];
    expect(await refusal({})).toEqual([422, 'limit_reached']);
    await first!.hangUp();
    await eventually(async () => (await isLetIn()) !== null);
  });
});

/** null: it was refused. */
async function isLetIn(): Promise<StreamClient | null> {
  return connect().catch((error) => {
    expect(error).toBeInstanceOf(Refused);
    return null;
  });
}

describe('connections of one user', () => {
  withServer(streamLimits({ connectionsPerUser: 2 }));

  test('are limited, however they sign in', async () => {
    const [ada, bob] = [await server.register('ada'), await server.register('bob')];
    const first = await connectAs(ada);
    const second = await connect();
    second.send({ op: 'auth', token: ada.token });
    await second.next('authenticated');
    expect(await refusal({ 'x-user-token': ada.token })).toEqual([422, 'limit_reached']);
    const third = await connect();
    expect(await third.refusal({ op: 'auth', token: ada.token })).toMatchObject({ code: 'limit_reached' });
    // It is nobody's still; and one that is signed in may say so again.
    third.send({ op: 'auth', token: bob.token });
    expect((await third.next('authenticated')).userId).toBe(bob.userId);
    second.send({ op: 'auth', token: ada.token, cancelOnDisconnect: true });
    await second.next('authenticated');
    await first.hangUp();
    const again = await connect();
    await eventually(async () => {
      again.send({ op: 'auth', token: ada.token });
      const answer = await again.next(({ type }) => type === 'authenticated' || type === 'error');
      return answer.type === 'authenticated';
    });
  });
});

describe('fair use', () => {
  /** Within a test no bucket fills again. */
  const rates = (address: number | null, user: number | null) => {
    const rate = (burst: number | null) => (burst === null ? null : { perSecond: 0.001, burst });
    const none = { address: null, user: null };
    const reads = { address: rate(address), user: rate(user) };
    return { fairUse: { orders: none, signIns: none, reads } };
  };

  describe('of an address', () => {
    withServer(rates(12, null));

    test('counts handshakes, messages and each channel; what is too much is refused, and nothing else happens', async () => {
      const client = await connect();
      await client.subscribe('markets', 'prices:BTC', 'prices:ETH');
      for (let i = 0; i < 6; i++) await client.caughtUp();
      // Two are left.
      const tooMany = { op: 'subscribe', channels: [`book:${MARKET}`, `trades:${MARKET}`, 'markets'] };
      const { code, details } = await client.refusal(tooMany);
      expect(code).toBe('rate_limited');
      expect(details.retryAfterMs).toBeGreaterThan(1_000);
      await client.caughtUp();
      expect(await client.refusal({ op: 'ping' })).toMatchObject({ code: 'rate_limited' });
      // What it has goes on.
      server.feed.deliver('BTC', 100_001);
      await client.next(({ type, channel }) => type === 'delta' && channel === 'prices:BTC');
      expect(client.closing).toBe(null);
      expect(await refusal({})).toEqual([429, 'rate_limited']);
      expect(await refusal({ 'x-user-token': 'x.y.z' })).toEqual([429, 'rate_limited']);
    });
  });

  describe('of a user', () => {
    withServer(rates(null, 3));

    test('counts on all connections; others are not concerned', async () => {
      const [ada, bob] = [await server.register('ada'), await server.register('bob')];
      const clients = [await connectAs(ada), await connectAs(ada)];
      await clients[0]!.subscribe('user', 'markets');
      await clients[1]!.caughtUp();
      expect(await clients[0]!.refusal({ op: 'ping' })).toMatchObject({ code: 'rate_limited' });
      await (await connectAs(bob)).caughtUp();
    });

    test('a long resume counts for more', async () => {
      const visitor = await connect();
      const [snapshot] = await visitor.subscribe('prices:BTC');
      for (let i = 1; i <= 300; i++) server.feed.deliver('BTC', 100_000 + i);
      await server.durable();
      const cyn = await connectAs(await server.register('cyn'));
      const after = snapshot.channelSequence;
      // One for the message and three for what it brings.
      expect(await cyn.refusal({ op: 'resume', channel: 'prices:BTC', after })).toMatchObject({
        code: 'rate_limited',
      });
      cyn.send({ op: 'resume', channel: 'prices:BTC', after: after + 250 });
      await cyn.next(({ channelSequence }) => channelSequence === after + 300);
    });
  });
});

describe('heartbeats', () => {
  withServer(streamLimits({ heartbeatMs: 50 }));

  test('carry the number of the last message of each channel, and the time', async () => {
    const client = await connect();
    expect((await client.next('heartbeat')).channels).toEqual({});
    await client.subscribe('markets', 'prices:BTC');
    for (let i = 0; i < 5; i++) {
      server.feed.deliver('BTC', 100_000 + i);
      const heartbeat = await client.next(
        (message) =>
          message.type === 'heartbeat' && message.sequence >= server.exchange.sequencer.engine.sequence,
      );
      expect(heartbeat.atMs).toBe(server.clock.nowMs());
      expect(heartbeat.channels).toEqual(Object.fromEntries(client.numbers));
    }
    expect(client.numbers.get('prices:BTC')).toBe(client.of('prices:BTC')[0].channelSequence + 5);
  });

  test('a client that answers no ping is closed; one that only reads is not', async () => {
    const reader = await connect();
    const socket = new WebSocket(`ws://127.0.0.1:${server.exchange.port}/api/stream`, { autoPong: false });
    const closing = new Promise((resolve) => socket.once('close', (code) => resolve(code)));
    expect(await closing).toBe(CLOSE.notAnswering.code);
    for (let i = 0; i < 5; i++) await reader.next('heartbeat');
    expect(reader.closing).toBe(null);
  });
});

describe('slow readers', () => {
  withServer(streamLimits({ backlogBytes: 256 * 1024 }));

  async function slowReadersClosed(): Promise<boolean> {
    const { text } = await server.api.get('/metrics');
    return /^exchange_stream_closed_total\{reason="slow_reader"\} 1$/m.test(text);
  }

  test('are closed with a code that says so; the others get everything', async () => {
    server.submit({
      kind: 'register',
      username: 'maker',
      credential: '',
      referralCode: '',
      grantMicros: 1e12,
    });
    const channel = `book:${MARKET}`;
    const slow = await connect();
    await slow.subscribe(channel);
    const quick = await connect();
    const [snapshot] = await quick.subscribe(channel);
    slow.socket.pause();
    const { engine } = server.exchange.sequencer;
    const marketId = engine.activeMarket(0);
    const userId = engine.findUser('maker');
    const bid = (priceTicks: number) =>
      buy({ userId, marketId, priceTicks, sizeLots: 1, timeInForce: TimeInForce.GTC });
    let rounds = 0;
    // Twenty rounds, each of which touches 100 levels twice and says so in two messages of some 8 kB.
    const trade = async () => {
      for (let i = 0; i < 20; i++) {
        const first = 1 + (rounds++ % 4) * 100;
        const bids = Array.from({ length: 100 }, (_, level) => bid(first + level));
        server.submit(batch(userId, bids));
        server.submit({ kind: 'cancelAll', userId, idempotencyKey: null, marketId });
      }
      await server.durable();
    };
    // How much the operating system takes before anything waits in the exchange is its own affair.
    while (!(await slowReadersClosed())) await trade();
    await trade();
    const last = snapshot.channelSequence + 2 * rounds;
    await quick.next((message) => message.channelSequence === last);
    expect(quick.closing).toBe(null);
    expect(slow.closing).toBe(null);
    slow.socket.resume();
    expect(await slow.closed).toEqual({ code: CLOSE.slowReader.code, reason: 'slow_reader' });
    // What it got is without gaps (the client checks), and not all.
    slow.check();
    expect(slow.numbers.get(channel)).toBeLessThan(last);
    // It comes back, and goes on.
    const again = await connect();
    again.send({ op: 'resume', channel, after: slow.numbers.get(channel) });
    const answer = await again.next((message) => message.type === 'resumed' || message.type === 'gap');
    await again.next((message) => message.channelSequence === last);
    expect(answer.channelSequence).toBe(last);
  });
});

describe('cancel on disconnect', () => {
  withServer();
  const signIn = async (trader: Trader, cancelOnDisconnect?: boolean): Promise<StreamClient> => {
    const client = await connect();
    client.send({ op: 'auth', token: trader.token, cancelOnDisconnect });
    await client.next('authenticated');
    return client;
  };

  test('resting orders in all markets go when the connection ends, in whatever way', async () => {
    server.feed.deliver('ETH', 4_000);
    const ada = await server.register('ada');
    const bob = await server.register('bob');
    await rest(bob);
    const ends: ((client: StreamClient) => Promise<void>)[] = [
      (client) => client.close(),
      (client) => client.hangUp(),
      async (client) => {
        client.socket.send('x'.repeat(70_000));
        await client.closed;
      },
    ];
    for (const end of ends) {
      const client = await signIn(ada, true);
      await rest(ada, 0.3);
      await rest(ada, 0.31);
      await rest(ada, 0.4, 'eth-15m-1763700300');
      expect(await restingOrders(ada)).toBe(3);
      await end(client);
      await eventually(async () => (await restingOrders(ada)) === 0);
      expect((await server.api.get(`/users/${ada.userId}/balance`, ada.token)).json.held).toBe(0);
    }
    expect(await restingOrders(bob)).toBe(1);
  });

  test('not without the wish, nor after it was taken back', async () => {
    const cyn = await server.register('cyn');
    await rest(cyn);
    await (await signIn(cyn)).close();
    const client = await signIn(cyn, true);
    client.send({ op: 'auth', token: cyn.token, cancelOnDisconnect: false });
    await client.next('authenticated');
    await client.close();
    // Another connection, with the wish, stays open.
    await signIn(cyn, true);
    await (await connect()).caughtUp();
    expect(await restingOrders(cyn)).toBe(1);
  });

  test('and when the exchange stops: everything is told first, then 1001; the orders are gone after the restart', async () => {
    const dan = await server.register('dan');
    const eve = await server.register('eve');
    await rest(dan);
    await rest(eve);
    const client = await signIn(dan, true);
    await client.subscribe('user', `book:${MARKET}`);
    const other = await connectAs(eve);
    await other.subscribe('user');
    const bystander = await connect();
    const bids: Message[] = (await bystander.subscribe('prices:BTC')) as Message[];
    expect(bids).toHaveLength(1);
    for (let i = 1; i <= 500; i++) server.feed.deliver('BTC', 100_000 + i);
    const folder = server.folder;
    await server.close();
    for (const each of [client, other, bystander]) {
      expect(await each.closed).toEqual({ code: 1001, reason: CLOSE.goingAway.reason });
    }
    expect(client.of('user').at(-1).data.events).toMatchObject([
      { type: 'order_cancelled', reason: 'requested' },
    ]);
    expect(other.of('user')).toHaveLength(1);
    expect(bystander.of('prices:BTC').at(-1).data.price).toBe(100_500);
    server = await TestServer.start({}, folder);
    expect(await restingOrders(dan)).toBe(0);
    expect(await restingOrders(eve)).toBe(1);
  });
});
