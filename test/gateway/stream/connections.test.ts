/**
 * A stream connection over real sockets: messages, heartbeats, and the effect of its end on the
 * user's orders.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ErrorBody } from '../../../gateway/commands/errors.js';
import type { Config } from '../../../gateway/start/config.js';
import { CLOSE } from '../../../gateway/stream/limits.js';
import { eventually } from '../../support/eventually.js';
import {
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';
import { clientsOf, type Message, type StreamClient, streamLimits } from './support.js';

const DAY_MS = 86_400_000;

let server: TestServer;
const { connect, connectAs } = clientsOf(() => server);

/** A server with its own limits for the tests of one block. */
function withServer(overrides: Partial<Config> = {}): void {
  beforeAll(async () => {
    server = await TestServer.withMarket(overrides);
  });
  afterAll(() => server.stop());
}

const rest = (trader: Trader, price = 0.4, market = MARKET) => {
  const order = { outcome: 'UP', shares: 10, price, timeInForce: 'GTC' };
  return server.buy(trader, order, market);
};
const restingOrders = async (trader: Trader) =>
  (await server.api.get(`/users/${trader.userId}/orders`, trader.token)).json.orders.length;

describe('messages', () => {
  withServer(streamLimits({ operationsBurst: 10_000 }));

  const subscribe = (...channels: unknown[]) => ({ op: 'subscribe', channels });
  const leave = (...channels: string[]) => ({ op: 'unsubscribe', channels });
  const resume = (more: object) => ({ op: 'resume', channel: 'markets', ...more });
  const many = Array.from({ length: 51 }, (_, i) => `book:${i}`);
  test.each<[string, RegExp, unknown]>([
    ['invalid_json', /JSON/, '{"op":'],
    ['invalid_json', /text/, Buffer.from('{"op":"ping"}')],
    ['body_too_large', /4096/, { op: 'auth', token: 'x'.repeat(4_100) }],
    ['invalid_request', /must be an object/, '[1]'],
    ['invalid_request', /must be an object/, '"subscribe"'],
    ['invalid_request', /must be an object/, 'null'],
    ['invalid_request', /op must be auth or subscribe or /, '{}'],
    ['invalid_request', /op must be auth or /, '{"op":"buy"}'],
    ['invalid_request', /now is not a known field/, '{"op":"ping","now":1}'],
    ['invalid_request', /not a known field/, '{"op":"ping","__proto__":{"op":"auth"}}'],
    ['invalid_request', /channels is required/, { op: 'subscribe' }],
    ['invalid_request', /channel is not a known/, { op: 'subscribe', channel: 'markets' }],
    ['invalid_request', /must name a channel/, subscribe()],
    ['invalid_request', /must be a/, { op: 'subscribe', channels: 'markets' }],
    ['invalid_request', /must be a string/, subscribe(7)],
    ['invalid_request', /contains a duplicate channel/, subscribe('markets', 'markets')],
    ['invalid_request', /at most 50/, subscribe(...many)],
    ['invalid_request', /weather is not a channel/, subscribe('weather')],
    ['invalid_request', /assets are BTC, ETH/, subscribe('prices:DOGE')],
    ['invalid_request', /is not the channel of a listed asset/, subscribe('prices:btc')],
    ['market_not_found', /no market/, subscribe('book:btc-15m-1763800200')],
    ['market_not_found', /no market/, subscribe('trades:')],
    ['invalid_request', /after is required/, resume({})],
    ['invalid_request', /whole number/, resume({ after: 1.5 })],
    ['invalid_request', /negative/, resume({ after: -1 })],
    [
      'invalid_request',
      /digits/,
      JSON.stringify(resume({ after: 1 })).replace('1}', `1.${'0'.repeat(19)}1}`),
    ],
    ['invalid_request', /markets is not subscribed/, leave('prices:BTC', 'markets')],
    ['invalid_request', /token must be a string/, { op: 'auth', token: 1 }],
    ['invalid_request', /boolean/, { op: 'auth', token: '', cancelOnDisconnect: 'yes' }],
  ])('%s, %s: the message is refused and changes nothing', async (code, words, message) => {
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

  test('invalid bytes are answered or end the connection, and the server continues', async () => {
    for (let i = 0; i < 20; i++) {
      const client = await connect();
      client.socket.send(
        Buffer.from(Array.from({ length: i * 7 }, (_, k) => (k * 37 + i * 11) & 127)),
        { binary: false },
      );
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

  test('a plain GET of the path explains the stream; other methods are refused', async () => {
    const url = `${server.exchange.address}/api/stream`;
    const plain = await fetch(url);
    expect([plain.status, ErrorBody.parse(await plain.json()).error.code]).toEqual([
      400,
      'invalid_request',
    ]);
    const posted = await fetch(url, { method: 'POST', body: '{}' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
    expect(ErrorBody.parse(await posted.json()).error.code).toBe('method_not_allowed');
  });

  test('a client that subscribes again gets a new snapshot, one that has left gets nothing', async () => {
    const client = await connect();
    await client.subscribe('prices:BTC', 'markets');
    server.feed.deliver('BTC', 100_001);
    const [snapshot] = await client.subscribe('prices:BTC');
    expect(snapshot).toMatchObject({
      channelSequence: server.exchange.sequencer.engine.sequence,
      data: { price: 100_001 },
    });
    client.send({ op: 'unsubscribe', channels: ['prices:BTC'] });
    expect(await client.next('unsubscribed')).toEqual({
      type: 'unsubscribed',
      channels: ['prices:BTC'],
    });
    server.feed.deliver('BTC', 100_002);
    await server.durable();
    await client.caughtUp();
    expect(client.of('prices:BTC').map(({ type }) => type)).toEqual([
      'snapshot',
      'delta',
      'snapshot',
    ]);
  });

  test('the channels of a market close with it', async () => {
    const client = await connect();
    await client.subscribe(`book:${MARKET}`, `trades:${MARKET}`, 'markets');
    await server.passTime(WINDOW_START_MS + WINDOW_MS + 60_000, 100_000);
    server.clock.set(WINDOW_START_MS + WINDOW_MS + DAY_MS + 120_000);
    server.submit({ kind: 'advanceTime' });
    const closed = [await client.next('closed'), await client.next('closed')];
    expect(closed.map(({ channel }) => channel)).toEqual([`book:${MARKET}`, `trades:${MARKET}`]);
    expect(await client.refusal({ op: 'unsubscribe', channels: [`book:${MARKET}`] })).toMatchObject(
      { code: 'invalid_request' },
    );
    expect(
      await client.refusal({ op: 'resume', channel: `book:${MARKET}`, after: 1 }),
    ).toMatchObject({ code: 'market_not_found' });
  });
});

describe('heartbeats', () => {
  withServer(streamLimits({ heartbeatMs: 50 }));

  test('carry the time and the last sequence number of each channel', async () => {
    const client = await connect();
    expect((await client.next('heartbeat')).channels).toEqual({});
    await client.subscribe('markets', 'prices:BTC');
    for (let i = 0; i < 5; i++) {
      server.feed.deliver('BTC', 100_000 + i);
      const heartbeat = await client.next(
        (message) =>
          message.type === 'heartbeat' &&
          message.sequence >= server.exchange.sequencer.engine.sequence,
      );
      expect(heartbeat.atMs).toBe(server.clock.nowMs());
      expect(heartbeat.channels).toEqual(Object.fromEntries(client.numbers));
    }
    expect(client.of('prices:BTC')).toHaveLength(6);
    expect(client.numbers.get('prices:BTC')).toBe(client.of('prices:BTC').at(-1).channelSequence);
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

  test('cancels resting orders in all markets, however the connection ends', async () => {
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

  test('cancels nothing when not requested, or after the request was withdrawn', async () => {
    const cyn = await server.register('cyn');
    await rest(cyn);
    await (await signIn(cyn)).close();
    const client = await signIn(cyn, true);
    client.send({ op: 'auth', token: cyn.token, cancelOnDisconnect: false });
    await client.next('authenticated');
    await client.close();
    // Another connection, with the request, stays open.
    await signIn(cyn, true);
    await (await connect()).caughtUp();
    expect(await restingOrders(cyn)).toBe(1);
  });

  test('cancels when the exchange stops: clients are told everything, then closed with 1001, and the orders are gone after the restart', async () => {
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
      { type: 'order_cancelled', reason: 'disconnected' },
    ]);
    expect(other.of('user')).toHaveLength(1);
    expect(bystander.of('prices:BTC').at(-1).data.price).toBe(100_500);
    server = await TestServer.start({}, folder);
    expect(await restingOrders(dan)).toBe(0);
    expect(await restingOrders(eve)).toBe(1);
  });
});
