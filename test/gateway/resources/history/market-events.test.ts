/** A market's past over HTTP: its events, its settlement prices, and the journal's hashes. */
import { afterAll, describe, expect, test } from 'vitest';
import { openJournalReader } from '../../../../persistence/journal/reader.js';
import {
  codeOf,
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';

const NEXT_MARKET = 'btc-15m-1763701200';
const UNKNOWN_MARKET = 'btc-15m-1763600400';
const MINUTE_MS = 60_000;

interface Tick {
  observedAtMs: number;
  price: number;
}
// biome-ignore lint/suspicious/noExplicitAny: tests read events field by field
type Event = any;

const read = (path: string) => server.api.read(path);
const eventsOf = (query = '') => read(`/markets/15m/${MARKET}/events${query}`);
const ticksOf = (market: string) => read(`/markets/15m/${market}/ticks`);

const server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
const post = (trader: Trader, side: string, body: object) =>
  server.api.post(`/markets/15m/${MARKET}/${side}`, body, trader.token);
const limit = { outcome: 'UP', timeInForce: 'GTC' };
await post(bob, 'buy', { ...limit, outcome: 'DOWN', shares: 30, price: 0.5 });
await post(ada, 'buy', { outcome: 'UP', amount: 5 });
await post(ada, 'buy', { ...limit, shares: 10, price: 0.25 });
await post(ada, 'buy', { ...limit, shares: 6, price: 0.2 });
await post(ada, 'sell', { ...limit, shares: 4, price: 0.75 });
await server.api.delete(`/markets/15m/${MARKET}/orders/o3`, ada.token);
// Prices at odd times and of odd amounts, up to the end of this market and into the next one.
const { clock, feed } = server;
const untilMs = WINDOW_START_MS + WINDOW_MS + 3_000;
for (let n = 0; clock.nowMs() < untilMs; n++) {
  clock.set(Math.min(untilMs, clock.nowMs() + 3_701 + 997 * (n % 5)));
  feed.deliver('BTC', 100_000 + ((n * 7_919) % 1_000) / 7);
}
await server.advance();
afterAll(() => server.stop());

/** The average in micros by the exchange's rule: each price counts while it is the last. */
function averageMicros(ticks: Tick[], atMs: number): number {
  let sum = 0n;
  let time = 0n;
  ticks.forEach(({ observedAtMs, price }, i) => {
    const beganMs = Math.max(observedAtMs, atMs - MINUTE_MS);
    const endedMs = ticks[i + 1]?.observedAtMs ?? atMs;
    sum += BigInt(Math.round(price * 1e6)) * BigInt(endedMs - beganMs);
    time += BigInt(endedMs - beganMs);
  });
  return Number(sum / time);
}

const microsOf = (price: number) => Math.round(price * 1e6);

describe('ticks', () => {
  test('have the averages that settled the market and that open the next one', async () => {
    const { json } = await ticksOf(MARKET);
    const market = (await read(`/markets/${MARKET}`)).json;
    expect(market.status).toBe('resolved');
    expect([json.startPrice, json.endPrice]).toEqual([market.startPrice, market.endPrice]);
    expect(json.end.length).toBeGreaterThan(8);
    expect(averageMicros(json.end, market.endsAtMs)).toBe(microsOf(market.endPrice));
    // Without a price before its window, this market opened with the first one.
    expect(json.start).toEqual([{ observedAtMs: WINDOW_START_MS, price: 100_000 }]);
    const next = (await ticksOf(NEXT_MARKET)).json;
    expect(next).toMatchObject({ startPrice: market.endPrice, endPrice: null, end: [] });
    expect(next.start).toEqual(json.end);
  });

  test('are refused for a market that never was', async () => {
    for (const market of [UNKNOWN_MARKET, 'btc-15m-1', 'doge-15m-1763700300', 'x']) {
      const { status, json } = await ticksOf(market);
      expect([market, status, json.error.code]).toEqual([market, 404, 'market_not_found']);
    }
    expect((await read(`/markets/15m/${MARKET}/ticks?limit=1`)).status).toBe(400);
  });
});

describe('candles', () => {
  const candlesOf = (path: string, interval: string, limit = 200) =>
    server.api.all(`${path}/candles?interval=${interval}&`, 'candles', undefined, limit);

  test('have all trades of the market and all prices, in pages of any size', async () => {
    const prices = (await eventsOf('?limit=200')).json.events.filter(
      ({ type, atMs }: Event) => type === 'price' && atMs < WINDOW_START_MS + WINDOW_MS,
    );
    const { json: market } = await read(`/markets/${MARKET}`);
    const { trades: tape } = (await read(`/markets/15m/${MARKET}/trades`)).json;
    for (const [path, interval, count] of [
      [`/markets/15m/${MARKET}`, '5s', 180],
      [`/markets/15m/${MARKET}`, '1m', 15],
      ['/assets/btc', '1m', 16],
    ] as const) {
      const all: Event[] = await candlesOf(path, interval);
      expect(all).toHaveLength(count);
      expect(await candlesOf(path, interval, 7)).toEqual(all);
      const [first] = all.slice(-1);
      expect(first.atMs).toBe(WINDOW_START_MS);
      expect(all.reduce((sum, { trades }) => sum + trades, 0)).toBe(tape.length);
      expect(all.reduce((sum, { volume }) => sum + volume, 0)).toBeCloseTo(market.volume, 6);
      const known = all.flatMap(({ assetPrice }) => (assetPrice === null ? [] : [assetPrice]));
      expect(known.at(-1).open).toBe(prices[0].price);
      expect(Math.max(...known.map(({ high }) => high))).toBe(
        Math.max(...prices.map(({ price }: Event) => price)),
      );
    }
    const up: Event[] = (await candlesOf(`/markets/15m/${MARKET}`, '5s')).map(({ UP }) => UP);
    expect(up.at(-1)).toMatchObject({ open: 0.5 });
    expect(up[0]).toBe(null);
  });

  test('are refused for a market and an asset that never were, and other intervals', async () => {
    for (const [path, status] of [
      [`/markets/15m/${UNKNOWN_MARKET}/candles`, 404],
      ['/assets/doge/candles', 400],
      ['/assets/x/candles', 400],
      ['/assets/btc/candles?interval=15m', 400],
      [`/markets/15m/${MARKET}/candles?fromMs=1763700300001&toMs=1763700300000`, 400],
      [`/markets/15m/${MARKET}/candles?cursor=x`, 400],
    ] as const)
      expect([path, (await read(path)).status]).toEqual([path, status]);
  });
});

describe('events', () => {
  test('are all there, oldest first, in pages of any size', async () => {
    const path = `/markets/15m/${MARKET}/events?`;
    const all: Event[] = await server.api.all(path, 'events', undefined, 200);
    const sequences = all.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
    for (const limit of [7, 50])
      expect(await server.api.all(path, 'events', undefined, limit)).toEqual(all);
    const trades = all.filter(({ type }) => type === 'trade');
    const tape = (await read(`/markets/15m/${MARKET}/trades`)).json.trades;
    expect(trades.map(({ tradeId, price, shares }) => ({ tradeId, price, shares }))).toEqual(
      tape.reverse().map(({ tradeId, price, shares }: Event) => ({ tradeId, price, shares })),
    );
    const prices = all.filter(({ type }) => type === 'price');
    const last = (await ticksOf(MARKET)).json.end.at(-1);
    expect(prices.map(({ observedAtMs, price }) => ({ observedAtMs, price }))).toContainEqual(last);
  });

  test('of the book are the story of the book', async () => {
    const { json } = await eventsOf('?limit=200');
    const book = json.events.filter(({ type }: Event) => type === 'book');
    const changes = book.map(({ side, price, change }: Event) => [side, price, change]);
    // Bob bids 0.5 for DOWN, which offers UP; Ada buys 10 of it.
    expect(changes.slice(0, 6)).toEqual([
      ['SELL', 0.5, 30],
      ['SELL', 0.5, -10],
      ['BUY', 0.25, 10],
      ['BUY', 0.2, 6],
      ['SELL', 0.75, 4],
      ['BUY', 0.25, -10],
    ]);
  });

  test('are refused for a market that is not resolved or unknown, and with a bad cursor', async () => {
    const active = await read(`/markets/15m/${NEXT_MARKET}/events`);
    expect(codeOf(active)).toBe('409 market_not_resolved');
    const unknown = await read(`/markets/15m/${UNKNOWN_MARKET}/events`);
    expect(codeOf(unknown)).toBe('404 market_not_found');
    const cursorOf = (...parts: (string | number)[]) =>
      Buffer.from(parts.join('\n')).toString('base64url');
    const { nextCursor } = (await eventsOf('?limit=1')).json;
    const [list] = Buffer.from(nextCursor, 'base64url').toString().split('\n') as [string];
    const bad = ['nonsense', `${nextCursor}=`, cursorOf(list, 1), cursorOf(list, -1, 1)];
    for (const cursor of [...bad, cursorOf(list, 1, 1, 1), cursorOf('events/1', 1, 1)]) {
      const { status, json } = await eventsOf(`?cursor=${encodeURIComponent(cursor)}`);
      expect([cursor, status, Object.keys(json.error.details)]).toEqual([cursor, 400, ['cursor']]);
    }
    for (const limit of ['0', '201', 'x']) {
      expect((await eventsOf(`?limit=${limit}`)).status).toBe(400);
    }
  });

  test('a forged cursor skips no more events than its sequence has', async () => {
    const { events, nextCursor } = (await eventsOf('?limit=1')).json;
    const [list] = Buffer.from(nextCursor, 'base64url').toString().split('\n') as [string];
    const [{ sequence }] = events;
    const forged = Buffer.from(`${list}\n${sequence}\n999999999`).toString('base64url');
    const { json } = await eventsOf(`?limit=1&cursor=${forged}`);
    expect(json.events[0].sequence).toBeGreaterThan(sequence);
  });
});

describe('the digest', () => {
  test('is of the batch that holds the sequence, as the journal has it', async () => {
    await server.durable();
    const reader = await openJournalReader(server.folder);
    let batches = 0;
    for await (const batch of reader.batches()) {
      const { firstSequence, lastSequence, digest, hash } = batch;
      for (const sequence of new Set([firstSequence, lastSequence])) {
        const { status, json } = await read(`/digest?sequence=${sequence}`);
        expect([status, json]).toEqual([
          200,
          { sequence, digest, batch: { firstSequence, lastSequence, hash: hash.toString('hex') } },
        ]);
      }
      if (++batches === 40) break;
    }
    await reader.close();
    expect(batches).toBeGreaterThan(10);
  });

  test('is refused beyond the end and for what is no sequence', async () => {
    const { durableSequence } = server.exchange.sequencer;
    for (const value of [durableSequence + 1_000, 0, -1, '1.5', 'x', '', '9'.repeat(16)]) {
      const { status, json } = await read(`/digest?sequence=${value}`);
      expect([value, status, json.error.code]).toEqual([value, 400, 'invalid_request']);
      expect(Object.keys(json.error.details)).toEqual(['sequence']);
    }
    expect((await read('/digest')).status).toBe(400);
  });
});
