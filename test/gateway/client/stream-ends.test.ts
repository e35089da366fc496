/**
 * What a stream client learns when something is refused, lost or over: no call waits forever, no
 * channel falls silent, and the gap before a new snapshot is reported.
 */

import type { AddressInfo } from 'node:net';
import { createServer, connect as openSocket, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import * as client from '../../../gateway/client/index.js';
import {
  Api,
  followAccount,
  followBook,
  followBooks,
  followMarkets,
  moneyChange,
  Stream,
  submit,
} from '../../../gateway/client/index.js';
import { eventually } from '../../support/eventually.js';
import { MARKET, PASSWORD, TestServer, WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';
import { streamLimits } from '../stream/support.js';
import { FlakySockets } from './flaky-socket.js';

const BREATH = { firstWaitMs: 1, longestWaitMs: 20 };
const ORDER = { outcome: 'UP', shares: 2, price: '0.5', timeInForce: 'GTC' } as const;
const RESTS = { op: 'buy', marketId: MARKET, ...ORDER } as const;

let server: TestServer;
const streams: Stream[] = [];
const doors: Server[] = [];
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  for (const door of doors.splice(0)) door.close();
  await server.stop();
});

async function signedUp(username: string) {
  const api = new Api({ url: `${server.api.url}/api`, retries: BREATH });
  const { userId, token } = await client.register(api, { username, password: PASSWORD });
  api.token = token;
  return { api, userId };
}

function streamOf(api: Api, options: client.StreamOptions = {}): Stream {
  const stream = new Stream(api, { ...BREATH, ...options });
  streams.push(stream);
  return stream;
}

/** Sends `answer` to clients until it is opened, or closes connections if `null`. */
async function door(answer: string | null) {
  const state = { isOpen: false, knocks: 0 };
  const opened = createServer((from) => {
    state.knocks++;
    from.on('error', () => {});
    if (!state.isOpen) {
      from.once('data', () => (answer === null ? from.destroy() : from.end(answer)));
      return;
    }
    const to = openSocket(server.exchange.port, '127.0.0.1');
    to.on('error', () => from.destroy());
    from.pipe(to).pipe(from);
  });
  doors.push(opened);
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve));
  return { state, url: `http://127.0.0.1:${(opened.address() as AddressInfo).port}/api` };
}

test.each([
  ['a closed connection', null],
  ['a handshake that is not 101', 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n'],
])('the WebSocket of Node.js connects again after %s', async (_, answer) => {
  server = await TestServer.withMarket();
  const { api } = await signedUp('one');
  const { state, url } = await door(answer);
  const { account } = followAccount(streamOf(new Api({ url, token: api.token })));
  await eventually(() => expect(state.knocks).toBeGreaterThan(2));
  state.isOpen = true;
  await eventually(() => expect(account.availableMicros).toBe(10_000_000_000));
});

test('a dead token ends the stream: its calls, its channels and the stream itself say so', async () => {
  server = await TestServer.withMarket();
  const { api } = await signedUp('one');
  const ends: string[] = [];
  const note = (what: string) => (error: Error | null) => ends.push(`${what}: ${error?.message}`);
  const sockets = new FlakySockets();
  sockets.loses = (text) => text.includes('"receipt"');
  const stream = streamOf(api, { WebSocket: sockets.WebSocket, onEnd: note('stream') });
  const { account } = followAccount(stream, { onEnd: note('account') });
  await eventually(() => account.availableMicros > 0);
  const underWay = submit(stream, RESTS).catch((error) => error);
  await eventually(() => account.orders.size === 1);
  await client.changePassword(api, { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` });
  const error = await underWay;
  expect(error).toMatchObject({ name: 'ConnectionError', mayBeExecuted: true });
  expect((error as Error).cause).toMatchObject({ code: 'token_revoked' });
  expect(ends.map((end) => end.split(':')[0])).toEqual(['account', 'stream']);
  expect(stream.failure).toMatchObject({ code: 'token_revoked' });
  await expect(submit(stream, RESTS)).rejects.toMatchObject({ code: 'token_revoked' });
  await expect(stream.request({ op: 'ping' })).rejects.toMatchObject({ code: 'token_revoked' });
  expect(() => stream.subscribe('markets', () => {})).toThrow('token_revoked');
});

test('a token says when it ends, and the end is announced', async () => {
  server = await TestServer.withMarket(streamLimits({ heartbeatMs: 50 }));
  const { api } = await signedUp('one');
  const expiresAtMs = server.clock.nowMs() + 90_000;
  const terms = { name: 'bot', scope: 'trade', expiresAtMs } as const;
  const { token } = await client.createToken(api, terms);
  const announced: number[] = [];
  const stream = new Promise<Stream>((resolve) => {
    const ended: Stream = streamOf(new Api({ url: api.url, token }), {
      onSessionEnding: (endsAtMs) => announced.push(endsAtMs),
      onEnd: () => resolve(ended),
    });
    followAccount(ended);
  });
  const [opened] = streams as [Stream];
  await eventually(() => expect(opened.sessionEndsAtMs).toBe(expiresAtMs));
  expect(announced).toEqual([]);
  await server.passTime(expiresAtMs - 50_000, 100_000);
  await eventually(() => expect(announced).toEqual([expiresAtMs]));
  await server.passTime(expiresAtMs + 1_000, 100_000);
  expect((await stream).failure).toMatchObject({ code: 'token_expired' });
  expect(announced).toHaveLength(1);
});

test('a token that is refused ends the stream', async () => {
  server = await TestServer.withMarket();
  const api = new Api({ url: `${server.api.url}/api`, token: 'no token' });
  const error = await new Promise((onEnd) => followAccount(streamOf(api, { onEnd })));
  expect(error).toMatchObject({ code: 'invalid_token' });
});

test('a channel that is refused says so; one whose market was closed meanwhile just ends', async () => {
  server = await TestServer.withMarket();
  const { api } = await signedUp('one');
  const sockets = new FlakySockets();
  const stream = streamOf(api, { WebSocket: sockets.WebSocket });
  const refusal = (follow: (onEnd: (error: Error | null) => void) => void) =>
    new Promise((resolve) => follow(resolve));
  expect(
    await refusal((onEnd) => followBook(stream, 'btc-15m-1763700301', undefined, onEnd)),
  ).toMatchObject({ code: 'market_not_found' });
  expect(await refusal((onEnd) => followBooks(stream, 'DOGE', () => {}, onEnd))).toMatchObject({
    code: 'invalid_request',
  });
  let end: Error | null | undefined;
  const { book } = followBook(stream, MARKET, undefined, (error) => {
    end = error;
  });
  await eventually(() => book.sequence > 0);
  sockets.loses = () => true;
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 3_000, 100_100);
  await server.passTime(WINDOW_START_MS + 100 * WINDOW_MS, 100_100);
  sockets.loses = () => false;
  sockets.cut();
  await eventually(() => expect(end).toBe(null));
});

test('no event of the account is lost with a message, and its sums hold', async () => {
  server = await TestServer.withMarket(streamLimits({ heartbeatMs: 50 }));
  const { api } = await signedUp('one');
  const sockets = new FlakySockets();
  const stream = streamOf(api, { WebSocket: sockets.WebSocket });
  let sum = 10_000_000_000;
  let gaps = 0;
  const { account } = followAccount(stream, {
    onChange(_, events) {
      for (const event of events) sum += moneyChange(event)!.availableMicros;
    },
    onGap: () => gaps++,
  });
  await eventually(() => account.availableMicros === sum);
  for (const count of [1, 2, 3, 4]) {
    const isOdd = count % 2 === 1;
    let isLost = false;
    sockets.loses = (text) => {
      const loses = !isLost && text.includes('"delta"') && text.includes('order_rested');
      isLost ||= loses;
      return loses;
    };
    await client.buy(api, MARKET, ORDER);
    // In every other round, another message reveals the loss before the heartbeat does.
    if (isOdd) await client.buy(api, MARKET, ORDER);
    await eventually(() =>
      expect(account.heldMicros).toBe(((3 * count + Number(isOdd)) / 2) * 1e6),
    );
    expect(isLost).toBe(true);
  }
  expect([sum, gaps]).toEqual([account.availableMicros, 0]);
});

test('a message that never comes is a gap', async () => {
  server = await TestServer.withMarket(streamLimits({ heartbeatMs: 50 }));
  const { api } = await signedUp('one');
  const sockets = new FlakySockets();
  const stream = streamOf(api, { WebSocket: sockets.WebSocket });
  let gaps = 0;
  const { account } = followAccount(stream, { onGap: () => gaps++ });
  await eventually(() => account.availableMicros > 0);
  sockets.loses = (text) => text.includes('"delta"') && text.includes('order_rested');
  await client.buy(api, MARKET, ORDER);
  await eventually(() => expect(account.orders.size).toBe(1));
  expect(gaps).toBe(1);
});

test('a lost message is missed at the first heartbeat after a resume, not at the fourth', async () => {
  server = await TestServer.withMarket(streamLimits({ heartbeatMs: 200 }));
  const { api } = await signedUp('one');
  const sockets = new FlakySockets();
  const stream = streamOf(api, { WebSocket: sockets.WebSocket });
  const { book } = followBook(stream, MARKET);
  await eventually(() => book.sequence > 0);
  let resumed = 0;
  let heartbeats = 0;
  sockets.loses = (text) => {
    if (text.includes('"resumed"')) resumed++;
    if (text.includes('"heartbeat"')) heartbeats++;
    return resumed > 0 && heartbeats === 0 && text.includes('"delta"');
  };
  sockets.cut();
  await eventually(() => expect(resumed).toBe(1));
  heartbeats = 0;
  await client.buy(api, MARKET, ORDER);
  await eventually(() => expect(book.bestBid('UP')).toEqual({ priceTicks: 500, lots: 2_000 }));
  expect(heartbeats).toBeLessThanOrEqual(2);
});

test('markets that ended or were resolved while messages were lost end and resolve once', async () => {
  server = await TestServer.withMarket();
  const { folder, clock } = server;
  const { port: first } = new URL(server.api.url);
  const redirect = (url: string) => url.replace(first, new URL(server.api.url).port);
  const { token } = await server.register('one');
  const api = new Api({
    url: `${server.api.url}/api`,
    token,
    retries: BREATH,
    fetch: (address, init) => fetch(redirect(`${address}`), init),
  });
  const sockets = new FlakySockets();
  sockets.redirect = redirect;
  const seen: string[] = [];
  const note = (what: string) => (market: client.Market) => {
    if (market.asset === 'BTC') seen.push(`${what} ${market.id} ${market.status}`);
  };
  const stream = streamOf(api, { WebSocket: sockets.WebSocket });
  const { markets } = followMarkets(stream, {
    onEnded: note('ended'),
    onResolved: note('resolved'),
  });
  await eventually(() => markets.active.size === 1);
  const next = `btc-15m-${(WINDOW_START_MS + WINDOW_MS) / 1_000}`;
  expect(markets.upcoming.has(next)).toBe(true);
  sockets.loses = () => true;
  await server.passTime(WINDOW_START_MS + 2 * WINDOW_MS + 3_000, 100_100);
  await server.close();
  server = await TestServer.start({}, folder, clock.nowMs());
  server.feed.deliver('BTC', 100_000);
  sockets.loses = () => false;
  await eventually(() =>
    expect(seen.filter((what) => what.startsWith('resolved'))).toHaveLength(2),
  );
  expect(seen.sort()).toEqual([
    `ended ${MARKET} resolved`,
    `ended ${next} resolved`,
    `resolved ${MARKET} resolved`,
    `resolved ${next} resolved`,
  ]);
});

test('an account that the journal cannot bring up to date begins again, with a gap', async () => {
  server = await TestServer.withMarket(
    streamLimits({ keptMessages: 1, replayedCommands: 1, heartbeatMs: 50 }),
  );
  const { api } = await signedUp('one');
  const sockets = new FlakySockets();
  const stream = streamOf(api, { WebSocket: sockets.WebSocket });
  let gaps = 0;
  const { account } = followAccount(stream, { onGap: () => gaps++ });
  await eventually(() => account.availableMicros > 0);
  sockets.loses = () => true;
  for (let i = 0; i < 5; i++) await client.buy(api, MARKET, ORDER);
  sockets.loses = () => false;
  sockets.cut();
  await eventually(() => expect(account.orders.size).toBe(5));
  expect(gaps).toBe(1);
});

test.each([2, 5])(
  'message %i of 5 that is lost in a resume from the journal is sent again',
  async (lost) => {
    server = await TestServer.withMarket(streamLimits({ keptMessages: 1, heartbeatMs: 50 }));
    const { api } = await signedUp('one');
    const sockets = new FlakySockets();
    const stream = streamOf(api, { WebSocket: sockets.WebSocket });
    let [sum, gaps, seen] = [0, 0, 0];
    const { account } = followAccount(stream, {
      onChange(_, events) {
        for (const event of events) sum += moneyChange(event)!.heldMicros;
      },
      onGap: () => gaps++,
    });
    await eventually(() => account.availableMicros > 0);
    sockets.loses = () => true;
    for (let i = 0; i < 5; i++) await client.buy(api, MARKET, ORDER);
    sockets.loses = (text) => text.includes('"delta"') && ++seen === lost;
    sockets.cut();
    await eventually(() => expect(account.orders.size).toBe(5));
    expect(seen).toBeGreaterThan(5);
    expect([sum, gaps]).toEqual([account.heldMicros, 0]);
  },
);

test('a maker whose thousand orders are swept at once has each fill, of a message in parts', async () => {
  server = await TestServer.withMarket();
  const { api } = await signedUp('maker');
  const { api: taker } = await signedUp('taker');
  const sockets = new FlakySockets();
  let [parts, fills, sum, gaps] = [0, 0, 0, 0];
  sockets.loses = (text) => {
    if (text.startsWith('{"type":"part"')) parts++;
    return false;
  };
  const { account } = followAccount(streamOf(api, { WebSocket: sockets.WebSocket }), {
    onChange(_, events) {
      for (const event of events) {
        sum += moneyChange(event)!.availableMicros;
        if (event.type === 'fill') fills++;
      }
    },
    onGap: () => gaps++,
  });
  await eventually(() => account.availableMicros > 0);
  const first = account.availableMicros;
  const order = {
    op: 'buy',
    marketId: MARKET,
    outcome: 'UP',
    shares: '0.01',
    price: '0.6',
  } as const;
  for (let batch = 0; batch < 10; batch++)
    await client.batch(
      api,
      Array.from({ length: 100 }, (_, i) => ({
        ...order,
        timeInForce: 'GTC' as const,
        clientOrderId: `a-name-as-long-as-a-name-may-be-that-a-program-makes-${batch}-${i}`,
      })),
    );
  await eventually(() => expect(account.orders.size).toBe(1_000));
  const swept = await client.buy(taker, MARKET, { outcome: 'DOWN', shares: 10, price: '0.4' });
  expect(swept.fills).toHaveLength(1_000);
  await eventually(() => expect(account.orders.size).toBe(0));
  expect([fills, account.lots(MARKET, 'UP'), gaps]).toEqual([1_000, 10_000, 0]);
  expect(account.availableMicros).toBe(first + sum);
  expect(parts).toBeGreaterThan(1);
});
