/**
 * The live feed against a local server that speaks Coinbase's protocol and misbehaves in every way.
 */
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { COINBASE } from '../../../gateway/inputs/feeds/coinbase-messages.js';
import { LiveFeed, type LiveFeedOptions } from '../../../gateway/inputs/feeds/live.js';
import { ManualClock } from '../../support/clock.js';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../support/house-support.js';

const NOW_MS = Date.UTC(2025, 10, 21, 6, 30, 0);

/** Connections on this path are closed after subscribing. */
const LATER = '/later';

let server: WebSocketServer;
let port: number;
let sockets: WebSocket[];
let received: string[];
let receivedAtMs: number[];
let logged: { level: number; msg: string; delayMs?: number; reason?: string }[];
let feed: LiveFeed | null;
let clock: ManualClock;
let delivered: { symbol: string; priceMicros: number; observedAtMs: number; elapsedMs: number }[];

beforeEach(async () => {
  sockets = [];
  received = [];
  receivedAtMs = [];
  logged = [];
  delivered = [];
  feed = null;
  clock = new ManualClock(NOW_MS, 1);
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket, { url }) => {
    if (url === LATER) return void socket.on('message', () => socket.terminate());
    sockets.push(socket);
    socket.on('message', (data) => {
      received.push(data.toString());
      receivedAtMs.push(performance.now());
    });
  });
  await new Promise((resolve) => server.once('listening', resolve));
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  await feed?.stop();
  for (const socket of server.clients) socket.terminate();
  await new Promise((resolve) => server.close(resolve));
});

function connect(options: Partial<LiveFeedOptions> = {}): LiveFeed {
  const log = pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) });
  feed = new LiveFeed({
    venue: COINBASE,
    symbols: ['BTC', 'ETH', 'SOL'],
    clock,
    log,
    random: () => 0.5,
    url: `ws://127.0.0.1:${port}`,
    backoffFirstMs: 10,
    backoffMaxMs: 40,
    ...options,
  });
  feed.start((symbol, priceMicros, observedAtMs) =>
    delivered.push({ symbol, priceMicros, observedAtMs, elapsedMs: performance.now() }),
  );
  return feed;
}

const readOne = (text: string) => COINBASE.read(text)[0]!;

/** Has all fields that Coinbase sends. */
function ticker(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    type: 'ticker',
    sequence: 1,
    product_id: 'BTC-USD',
    price: '95123.45',
    open_24h: '94000.00',
    volume_24h: '8123.1',
    low_24h: '93000',
    high_24h: '96000',
    volume_30d: '300000.1',
    best_bid: '95123.44',
    best_bid_size: '0.1',
    best_ask: '95123.46',
    best_ask_size: '0.2',
    side: 'buy',
    time: '2025-11-21T06:29:59.123456Z',
    trade_id: 1,
    last_size: '0.001',
    ...fields,
  });
}

/** The n-th connection, once it has subscribed. */
async function subscribed(count = 1): Promise<WebSocket> {
  await eventually(() => expect(received).toHaveLength(count));
  return sockets[count - 1]!;
}

/**
 * Waits until a new feed has reconnected twice. By then, a feed that failed to stop would have
 * reconnected as well.
 */
async function laterFeedReconnected(backoffMs: number): Promise<void> {
  const later = new LiveFeed({
    venue: COINBASE,
    symbols: ['BTC'],
    clock,
    log: silentLog,
    random: () => 0.5,
    url: `ws://127.0.0.1:${port}${LATER}`,
    backoffFirstMs: backoffMs,
    backoffMaxMs: backoffMs,
  });
  later.start(() => {});
  await eventually(() => later.status().connections > 2);
  await later.stop();
}

const prices = () => delivered.map((tick) => tick.priceMicros / 1_000_000);

describe('prices', () => {
  test('subscribes to the ticker of each asset and delivers prices', async () => {
    const live = connect();
    const socket = await subscribed();
    expect(JSON.parse(received[0]!)).toEqual({
      type: 'subscribe',
      product_ids: ['BTC-USD', 'ETH-USD', 'SOL-USD'],
      channels: ['ticker'],
    });
    const channels = [{ name: 'ticker', product_ids: ['BTC-USD', 'ETH-USD', 'SOL-USD'] }];
    socket.send(JSON.stringify({ type: 'subscriptions', channels }));
    socket.send(ticker());
    socket.send(ticker({ product_id: 'ETH-USD', price: '3300.1' }));
    socket.send(ticker({ product_id: 'SOL-USD', price: '190' }));
    await eventually(() => expect(delivered).toHaveLength(3));
    const observedAtMs = NOW_MS - 877;
    expect(delivered.map(({ elapsedMs, ...tick }) => tick)).toEqual([
      { symbol: 'BTC', priceMicros: 95_123_450_000, observedAtMs },
      { symbol: 'ETH', priceMicros: 3_300_100_000, observedAtMs },
      { symbol: 'SOL', priceMicros: 190_000_000, observedAtMs },
    ]);
    expect(logged.some((entry) => entry.msg === 'price feed: subscribed')).toBe(true);
    expect(live.status()).toEqual({
      live: true,
      connections: 1,
      delivered: 3,
      malformed: 0,
      serverErrors: 0,
    });
  });

  test("a time later than the exchange's clock is replaced by the clock's", async () => {
    connect();
    const socket = await subscribed();
    socket.send(ticker({ time: '2025-11-21T06:30:05.000000Z' }));
    await eventually(() => expect(delivered).toHaveLength(1));
    expect(delivered[0]?.observedAtMs).toBe(NOW_MS);
  });

  test('one price far ahead is refused, counted, and hides no other', async () => {
    const live = connect();
    const socket = await subscribed();
    socket.send(ticker({ price: '99', time: '2025-11-21T07:30:00.000000Z' }));
    socket.send(ticker({ sequence: 2, price: '100', time: '2025-11-21T06:30:20.000000Z' }));
    clock.set(NOW_MS + 1_000);
    await eventually(() => expect(prices()).toEqual([100]));
    socket.send(ticker({ sequence: 3, price: '101', time: '2025-11-21T06:30:01.000000Z' }));
    await eventually(() => expect(prices()).toEqual([100, 101]));
    expect(live.status()).toMatchObject({ live: true, malformed: 1 });
    expect(logged.some(({ reason }) => reason?.includes('BTC-USD at 2025-11-21T07:30'))).toBe(true);
  });

  test('a price that the engine would not remember is no sign of life', async () => {
    const live = connect();
    const socket = await subscribed();
    socket.send(ticker({ price: '99', time: '1970-01-01T00:00:00.000000Z' }));
    socket.send(ticker({ sequence: 2, price: '98', product_id: 'ETH-USD' }));
    await eventually(() => expect(prices()).toEqual([98]));
    expect(live.status()).toMatchObject({ live: true, delivered: 1 });
  });

  test('drops duplicates, older sequence numbers and older times', async () => {
    connect();
    const socket = await subscribed();
    socket.send(ticker({ sequence: 10, price: '100' }));
    await eventually(() => expect(prices()).toEqual([100]));
    socket.send(ticker({ sequence: 10, price: '101' }));
    socket.send(ticker({ sequence: 9, price: '102' }));
    socket.send(ticker({ sequence: 11, price: '103', time: '2025-11-21T06:29:58.000000Z' }));
    socket.send(ticker({ sequence: 3, price: '104', product_id: 'ETH-USD' }));
    socket.send(ticker({ sequence: 12, price: '105' }));
    await eventually(() => expect(delivered).toHaveLength(3));
    expect(prices()).toEqual([100, 104, 105]);
  });

  test('delivers at most ten prices a second per asset, always the newest', async () => {
    connect();
    const socket = await subscribed();
    for (let i = 1; i <= 500; i++) {
      socket.send(ticker({ sequence: i, price: `${i}` }));
      if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 40));
    }
    await eventually(() => expect(prices().at(-1)).toBe(500));
    expect(delivered.length).toBeGreaterThan(2);
    for (let i = 1; i < delivered.length; i++) {
      // Prices are a tenth of a second apart. The test's own measurement may be imprecise.
      expect(delivered[i]!.elapsedMs - delivered[i - 1]!.elapsedMs).toBeGreaterThan(70);
      expect(delivered[i]!.priceMicros).toBeGreaterThan(delivered[i - 1]!.priceMicros);
    }
  });
});

describe('a connection that fails', () => {
  test('is replaced when the server closes it, with new sequence numbers', async () => {
    const live = connect();
    const first = await subscribed();
    first.send(ticker({ sequence: 500, price: '100' }));
    await eventually(() => expect(delivered).toHaveLength(1));
    first.close(1001);
    const second = await subscribed(2);
    await eventually(() => expect(live.status().live).toBe(false));
    second.send(ticker({ sequence: 7, price: '101' }));
    await eventually(() => expect(prices()).toEqual([100, 101]));
    expect(live.status()).toMatchObject({ live: true, connections: 2 });
  });

  test('is replaced when it is silent', async () => {
    connect({ idleTimeoutMs: 50 });
    await subscribed();
    await subscribed(2);
    expect(logged.some((entry) => entry.msg.includes('silent'))).toBe(true);
  });

  test('is replaced when all of its prices are dropped, though it is not silent', async () => {
    const live = connect({ idleTimeoutMs: 300 });
    const first = await subscribed();
    first.send(ticker({ sequence: Number.MAX_SAFE_INTEGER, price: '100' }));
    await eventually(() => expect(prices()).toEqual([100]));
    const again = setInterval(() => first.send(ticker({ sequence: 9, price: '101' })), 20);
    try {
      const second = await subscribed(2);
      second.send(ticker({ sequence: 10, price: '102' }));
    } finally {
      clearInterval(again);
    }
    await eventually(() => expect(prices()).toEqual([100, 102]));
    expect(live.status()).toMatchObject({ live: true, connections: 2 });
    expect(logged.some(({ msg }) => msg.includes('all prices are dropped'))).toBe(true);
  });

  test('is replaced less and less often for one product whose prices stay bad', async () => {
    const idleTimeoutMs = 100;
    connect({ idleTimeoutMs, symbols: ['BTC', 'ETH'] });
    const future = new Date(clock.nowMs() + 3_600_000).toISOString();
    let sequence = 0;
    const again = setInterval(() => {
      const socket = sockets.at(-1);
      socket?.send(ticker({ sequence: ++sequence }));
      socket?.send(ticker({ sequence: ++sequence, product_id: 'ETH-USD', time: future }));
    }, 5);
    try {
      await eventually(() => expect(received.length).toBeGreaterThanOrEqual(4));
      const [, second, third, fourth] = receivedAtMs as [number, number, number, number];
      // The waits double; a busy machine makes one shorter only by noticing its beginning late.
      expect(third - second).toBeGreaterThan(1.5 * idleTimeoutMs);
      expect(fourth - third).toBeGreaterThan(3 * idleTimeoutMs);
    } finally {
      clearInterval(again);
    }
  });

  test('counts as silent when it sends only garbage, which is logged and counted', async () => {
    const live = connect({ idleTimeoutMs: 1_000 });
    const socket = await subscribed();
    const garbage = [
      '',
      'nonsense',
      '[]',
      'null',
      '{}',
      '{"type":7}',
      ticker({ price: 95_000 }),
      ticker({ price: '-1' }),
      ticker({ price: '1e5' }),
      ticker({ price: undefined }),
      ticker({ time: 'yesterday' }),
      ticker({ sequence: 1.5 }),
      ticker({ sequence: '1' }),
      ticker({ product_id: 'DOGE-USD' }),
      '{"type":"error"}',
      '{"type":"subscriptions","channels":"ticker"}',
    ];
    for (const text of garbage) socket.send(text);
    await eventually(() => expect(live.status().malformed).toBeGreaterThanOrEqual(garbage.length));
    const again = setInterval(() => socket.send('nonsense'), 20);
    try {
      await subscribed(2);
    } finally {
      clearInterval(again);
    }
    expect(delivered).toEqual([]);
    const warnings = logged.filter((entry) => entry.msg === 'price feed: malformed message');
    expect(warnings.length).toBe(live.status().malformed);
  });

  test('is logged, counted and retried when refused with an error message', async () => {
    const live = connect();
    const socket = await subscribed();
    const reason = 'SOL-USD is delisted';
    socket.send(JSON.stringify({ type: 'error', message: 'Failed to subscribe', reason }));
    await subscribed(2);
    expect(live.status().serverErrors).toBe(1);
    const entry = logged.find((each) => each.level === 50);
    expect(entry).toMatchObject({ reason: 'Failed to subscribe: SOL-USD is delisted' });
  });

  test('is closed by a message that is too large', async () => {
    connect();
    (await subscribed()).send('x'.repeat(100_000));
    await subscribed(2);
    expect(delivered).toEqual([]);
  });

  test('is retried with doubling delays up to a maximum, with jitter, until a price comes', async () => {
    connect({ random: () => 0.999_999, backoffFirstMs: 4, backoffMaxMs: 16 });
    const waits = () => logged.filter((entry) => 'delayMs' in entry).map((entry) => entry.delayMs);
    for (let i = 1; i <= 5; i++) (await subscribed(i)).terminate();
    const last = await subscribed(6);
    expect(waits()).toEqual([4, 8, 16, 16, 16]);
    last.send(ticker());
    await eventually(() => expect(delivered).toHaveLength(1));
    last.terminate();
    await subscribed(7);
    expect(waits().at(-1)).toBe(4);
  });
});

describe('stop', () => {
  test('closes the connection and opens no other', async () => {
    const live = connect();
    const socket = await subscribed();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await live.stop();
    await closed;
    await laterFeedReconnected(10);
    expect(sockets).toHaveLength(1);
  });

  test('drops a price that waits for its turn', async () => {
    const live = connect();
    const socket = await subscribed();
    socket.send(ticker({ sequence: 1, price: '1' }));
    await eventually(() => expect(delivered).toHaveLength(1));
    socket.send(ticker({ sequence: 2, price: '2' }));
    socket.send('nonsense');
    await eventually(() => expect(live.status().malformed).toBe(1));
    // 1, or more if the machine was so slow that the pending price was already due.
    const count = delivered.length;
    await live.stop();
    // A new feed delivers two prices, the second after waiting for its turn.
    connect({ symbols: ['ETH'] });
    const next = await subscribed(2);
    next.send(ticker({ sequence: 1, price: '3', product_id: 'ETH-USD' }));
    next.send(ticker({ sequence: 2, price: '4', product_id: 'ETH-USD' }));
    await eventually(() => expect(prices().at(-1)).toBe(4));
    expect(prices().slice(count)).toEqual([3, 4]);
  });
});

test('ignores other kinds of messages', () => {
  expect(readOne('{"type":"heartbeat","sequence":1}')).toEqual({ type: 'other' });
  expect(readOne(ticker({ time: '2025-11-21T06:29:59.999999Z' }))).toMatchObject({
    tradedAtMs: NOW_MS - 1,
  });
});
