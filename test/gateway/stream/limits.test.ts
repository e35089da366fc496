/**
 * Limits of the stream over real sockets: per connection, address and user, and for slow readers.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TimeInForce } from '../../../engine/interface/domain.js';
import type { Config } from '../../../gateway/start/config.js';
import { CLOSE } from '../../../gateway/stream/limits.js';
import { batch, buy } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { MARKET, only, rates, TestServer } from '../../support/server.js';
import { clientsOf, Refused, type StreamClient, streamLimits } from './support.js';

let server: TestServer;
const { connect, connectAs, refusal } = clientsOf(() => server);

/** A server with its own limits for the tests of one block. */
function withServer(overrides: Partial<Config> = {}): void {
  beforeAll(async () => {
    server = await TestServer.withMarket(overrides);
  });
  afterAll(() => server.stop());
}

/** Connects; `null` if the connection was refused. */
async function isLetIn(): Promise<StreamClient | null> {
  return connect().catch((error) => {
    expect(error).toBeInstanceOf(Refused);
    return null;
  });
}

describe('the limit of', () => {
  withServer({
    ...streamLimits({
      subscriptions: 3,
      operationsBurst: 12,
      operationsPerSecond: 0.001,
      connections: 4,
    }),
    connections: { total: 100, perAddress: 0, streamsPerAddress: 0 },
  });

  test('subscriptions', async () => {
    const client = await connect();
    await client.subscribe('markets', 'prices:BTC', 'prices:ETH');
    expect(await client.refusal({ op: 'subscribe', channels: [`book:${MARKET}`] })).toMatchObject({
      code: 'limit_reached',
    });
    expect(
      await client.refusal({ op: 'resume', channel: `book:${MARKET}`, after: 0 }),
    ).toMatchObject({ code: 'limit_reached' });
    await client.subscribe('markets');
  });

  test('messages, and of channels in them', async () => {
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
    expect(await refusal({})).toBe('503 unavailable');
    await open[0]!.close();
    const next = await connect();
    await next.caughtUp();
  });
});

describe('connections of one address', () => {
  withServer({ connections: { total: 100, perAddress: 0, streamsPerAddress: 2 } });

  test('are limited, and free their places when they end', async () => {
    const [first] = [await connect(), await connect()];
    expect(await refusal({})).toBe('422 limit_reached');
    await first!.hangUp();
    await eventually(async () => (await isLetIn()) !== null);
  });
});

describe('connections of newcomers', () => {
  withServer({
    ...streamLimits({ connections: 16 }),
    connections: { total: 100, perAddress: 0, streamsPerAddress: 16 },
  });

  test('are fewer from one address the more there are', async () => {
    const [first] = [await connect(), await connect()];
    expect(await refusal({})).toBe('503 unavailable');
    await first!.hangUp();
    await eventually(async () => (await isLetIn()) !== null);
  });
});

describe('connections of one user', () => {
  withServer(streamLimits({ connectionsPerUser: 2 }));

  test('are limited, however they sign in', async () => {
    const [ada, bob] = [await server.register('ada'), await server.register('bob')];
    const first = await connectAs(ada);
    const second = await connect();
    second.send({ op: 'auth', token: ada.token });
    await second.next('authenticated');
    expect(await refusal({ 'x-user-token': ada.token })).toBe('422 limit_reached');
    const third = await connect();
    expect(await third.refusal({ op: 'auth', token: ada.token })).toMatchObject({
      code: 'limit_reached',
    });
    // The third connection is still not signed in. A signed-in connection may sign in again.
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
  describe('of an address', () => {
    withServer({ fairUse: rates({ reads: { address: only(16), user: null } }) });

    test('counts handshakes, messages and channels; the excess is refused, and nothing else happens', async () => {
      const client = await connect();
      await client.subscribe(`trades:${MARKET}`, 'prices:BTC', 'prices:ETH');
      for (let i = 0; i < 6; i++) await client.caughtUp();
      // Two tokens are left of 16, because the handshake took five.
      const tooMany = { op: 'subscribe', channels: [`book:${MARKET}`, 'user', 'markets'] };
      const { code, details } = await client.refusal(tooMany);
      expect(code).toBe('rate_limited');
      expect(details.retryAfterMs).toBeGreaterThan(1_000);
      // The refused request cost nothing.
      for (let i = 0; i < 2; i++) await client.caughtUp();
      expect(await client.refusal({ op: 'ping' })).toMatchObject({ code: 'rate_limited' });
      // Existing subscriptions continue.
      server.feed.deliver('BTC', 100_001);
      await client.next(({ type, channel }) => type === 'delta' && channel === 'prices:BTC');
      expect(client.closing).toBe(null);
      expect(await refusal({})).toBe('429 rate_limited');
      expect(await refusal({ 'x-user-token': 'x.y.z' })).toBe('429 rate_limited');
    });
  });

  describe('of a user', () => {
    withServer({ fairUse: rates({ reads: { address: null, user: only(3) } }) });

    test('counts all connections of the user, and no others', async () => {
      const [ada, bob] = [await server.register('ada'), await server.register('bob')];
      const clients = [await connectAs(ada), await connectAs(ada)];
      await clients[0]!.subscribe('user', 'prices:BTC');
      await clients[1]!.caughtUp();
      expect(await clients[0]!.refusal({ op: 'ping' })).toMatchObject({ code: 'rate_limited' });
      await (await connectAs(bob)).caughtUp();
    });

    test('counts a long resume as more than one message', async () => {
      const visitor = await connect();
      const [snapshot] = await visitor.subscribe('prices:BTC');
      for (let i = 1; i <= 300; i++) server.feed.deliver('BTC', 100_000 + i);
      await server.durable();
      const cyn = await connectAs(await server.register('cyn'));
      const after = snapshot.channelSequence;
      await cyn.caughtUp();
      // The message costs one token and its answers three; two are left.
      expect(await cyn.refusal({ op: 'resume', channel: 'prices:BTC', after })).toMatchObject({
        code: 'rate_limited',
      });
      cyn.send({ op: 'resume', channel: 'prices:BTC', after: after + 250 });
      await cyn.next(({ channelSequence }) => channelSequence === after + 300);
    });
  });
});

describe('slow readers', () => {
  withServer(streamLimits({ backlogBytes: 256 * 1024 }));

  async function slowReadersClosed(): Promise<boolean> {
    const { text } = await server.api.get('/metrics');
    return /^exchange_stream_closed_total\{reason="slow_reader"\} 1$/m.test(text);
  }

  test('are closed with their own code; other readers get everything', async () => {
    server.submit({
      kind: 'register',
      username: 'maker',
      credential: '',
      referralCode: '',
      grantMicros: 1e12,
      partner: null,
    });
    const channel = `book:${MARKET}`;
    const slow = await connect();
    await slow.subscribe(channel);
    const quick = await connect();
    await quick.subscribe(channel);
    slow.socket.pause();
    const { engine } = server.exchange.sequencer;
    const marketId = engine.activeMarket(0);
    const userId = engine.findUser('maker');
    const bid = (priceTicks: number) =>
      buy({ userId, marketId, priceTicks, sizeLots: 1, timeInForce: TimeInForce.GTC });
    let rounds = 0;
    // Twenty rounds, each touching 100 levels twice and reporting it in two messages of about 8 kB.
    const trade = async () => {
      for (let i = 0; i < 20; i++) {
        const first = 1 + (rounds++ % 4) * 100;
        const bids = Array.from({ length: 100 }, (_, level) => bid(first + level));
        server.submit(batch(userId, bids));
        server.submit({ kind: 'cancelAll', userId, idempotencyKey: null, marketId });
      }
      await server.durable();
    };
    // The operating system buffers a varying amount before anything is unsent in the exchange.
    while (!(await slowReadersClosed())) await trade();
    await trade();
    const last = engine.sequence;
    await quick.next((message) => message.channelSequence === last);
    expect(quick.closing).toBe(null);
    expect(slow.closing).toBe(null);
    slow.socket.resume();
    expect(await slow.closed).toEqual({ code: CLOSE.slowReader.code, reason: 'slow_reader' });
    // The received messages have no gaps (the client checks), but are not complete.
    slow.check();
    expect(slow.numbers.get(channel)).toBeLessThan(last);
    // The client reconnects and continues.
    const again = await connect();
    again.send({ op: 'resume', channel, after: slow.numbers.get(channel) });
    const answer = await again.next(
      (message) => message.type === 'resumed' || message.type === 'gap',
    );
    await again.next((message) => message.channelSequence === last);
    expect(answer.channelSequence).toBeLessThanOrEqual(last);
  });
});
