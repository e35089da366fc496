/**
 * Prices of markets and positions: whether there is one, and where it comes from. Also the chance
 * derived from the asset's price, which is not a quote.
 */
import { afterEach, expect, test } from 'vitest';
import {
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';

const END_MS = WINDOW_START_MS + WINDOW_MS;
const NOTHING = { UP: null, DOWN: null };

let server: TestServer;
let [alice, bob]: Trader[] = [];
afterEach(() => server.stop());

async function start(): Promise<void> {
  server = await TestServer.withMarket();
  [alice, bob] = [await server.register('alice'), await server.register('bob')];
}

async function rest(who: Trader, outcome: 'UP' | 'DOWN', price: number, shares: number) {
  const answer = await server.buy(who, { outcome, shares, price, timeInForce: 'GTC' });
  expect(answer.status, answer.text).toBe(200);
}

/** Mints ten pairs in a trade at `price` of UP, with one half for each user. */
async function trade(price: number): Promise<void> {
  await rest(bob!, 'DOWN', (1_000 - price * 1_000) / 1_000, 10);
  await rest(alice!, 'UP', price, 10);
}

async function cancelAll(): Promise<void> {
  for (const { userId, token } of [alice!, bob!])
    expect((await server.api.delete(`/users/${userId}/orders`, token)).status).toBe(200);
}

/** The market's price fields, as every route shows them. */
async function market() {
  const { json: one } = await server.api.read(`/markets/${MARKET}`);
  const lists = [await server.api.read('/markets'), await server.api.read('/markets/15m')];
  for (const { json } of lists) {
    const listed = json.markets.find(({ id }: { id: string }) => id === MARKET);
    if (listed !== undefined) expect(one).toMatchObject(listed);
  }
  const { prices, pricesFrom, bestBid, bestAsk } = one;
  return { prices, pricesFrom, bestBid, bestAsk };
}

async function position(of: Trader, reader: Trader | null = of) {
  const { json } = await server.api.get(`/users/${of.userId}/positions`, reader?.token);
  const { price, value, payout, cost, unrealizedProfit } = json.positions[0];
  return { price, value, payout, cost, unrealizedProfit };
}

test('a market without orders and trades has no price', async () => {
  await start();
  expect(await market()).toEqual({
    prices: null,
    pricesFrom: null,
    bestBid: NOTHING,
    bestAsk: NOTHING,
  });
});

test('one side of a book is no price, and shows as what it is', async () => {
  await start();
  await rest(bob!, 'UP', 0.933, 10);
  expect(await market()).toEqual({
    prices: null,
    pricesFrom: null,
    bestBid: { UP: 0.933, DOWN: null },
    bestAsk: { UP: null, DOWN: 0.067 },
  });
});

test('beside a bid of 0.93, the last trade at 0.35 is said to be a trade', async () => {
  await start();
  await trade(0.35);
  await rest(bob!, 'UP', 0.93, 10);
  expect(await market()).toEqual({
    prices: { UP: 0.35, DOWN: 0.65 },
    pricesFrom: 'trade',
    bestBid: { UP: 0.93, DOWN: null },
    bestAsk: { UP: null, DOWN: 0.07 },
  });
  expect(await position(alice!)).toEqual({
    price: 0.35,
    value: 9.3,
    payout: 10,
    cost: 3.5,
    unrealizedProfit: 5.8,
  });
});

test('two small orders far apart do not turn 0.95 into 0.5', async () => {
  await start();
  await trade(0.95);
  await rest(alice!, 'UP', 0.01, 200);
  await rest(bob!, 'DOWN', 0.01, 200);
  expect(await market()).toMatchObject({ prices: { UP: 0.95, DOWN: 0.05 }, pricesFrom: 'trade' });
});

test.for([
  [0.45, 0.55, { UP: 0.5, DOWN: 0.5 }, 'book'],
  [0.449, 0.55, null, null],
] as const)('a book of %d to %d', async ([bid, ask, prices, pricesFrom]) => {
  await start();
  await rest(alice!, 'UP', bid, 10);
  await rest(bob!, 'DOWN', (1_000 - ask * 1_000) / 1_000, 10);
  expect(await market()).toMatchObject({ prices, pricesFrom });
});

test('a position is worth what the bids of others pay for it, and nothing is known without', async () => {
  await start();
  await trade(0.4);
  const unsaleable = { price: 0.4, value: null, payout: 10, cost: 4, unrealizedProfit: null };
  expect(await position(alice!)).toEqual(unsaleable);
  // A user's own bid does not count for that user.
  await rest(alice!, 'UP', 0.39, 10);
  expect(await position(alice!)).toEqual(unsaleable);
  expect((await position(alice!, null)).value).toBe(3.9);
  // The value depends on depth: 4 shares at 0.38, 3 at 0.37, and no bid for the last 3.
  await rest(bob!, 'UP', 0.38, 4);
  await rest(bob!, 'UP', 0.37, 3);
  expect((await position(alice!)).value).toBe(4 * 0.38 + 3 * 0.37);
  expect((await position(alice!)).unrealizedProfit).toBe(-1.37);
  const { json: quote } = await server.api.get(
    `/markets/15m/${MARKET}/quote?side=SELL&outcome=UP&shares=10`,
    alice!.token,
  );
  expect(quote.received).toBe((await position(alice!)).value);
  // Nobody bids for DOWN: Alice's bid for UP is an offer of DOWN.
  expect((await position(bob!)).value).toBe(null);
});

test('an ended market has no book: its price is its last trade, or none', async () => {
  await start();
  await trade(0.92);
  await rest(alice!, 'UP', 0.5, 10);
  server.clock.set(END_MS);
  await server.advance();
  expect(await market()).toEqual({
    prices: { UP: 0.92, DOWN: 0.08 },
    pricesFrom: 'trade',
    bestBid: NOTHING,
    bestAsk: NOTHING,
  });
  expect((await position(alice!)).value).toBe(null);
});

test('the price history has no price where there was none', async () => {
  await start();
  server.clock.set(WINDOW_START_MS + 6_000);
  await server.advance();
  await rest(alice!, 'UP', 0.6, 10);
  await rest(bob!, 'DOWN', 0.38, 10);
  server.clock.set(WINDOW_START_MS + 11_000);
  await server.advance();
  await cancelAll();
  server.clock.set(WINDOW_START_MS + 16_000);
  await server.advance();
  await server.followed();
  const { json } = await server.api.read(`/markets/${MARKET}`);
  const shown = json.priceHistory.map(({ UP, DOWN }: { UP: number; DOWN: number }) => [UP, DOWN]);
  // Prices are shown at the opening, then every 5 s.
  expect(shown).toEqual([
    [null, null],
    [null, null],
    [0.61, 0.39],
    [null, null],
  ]);
});

async function indicative(): Promise<{ UP: number; DOWN: number } | null> {
  const { json: one } = await server.api.read(`/markets/${MARKET}`);
  const { json: list } = await server.api.get('/markets/15m?asset=BTC');
  expect(list.markets[0]).toMatchObject({ indicative: one.indicative });
  return one.indicative;
}

test('the chance is by the price of the asset, without any quote', async () => {
  await start();
  expect(await indicative()).toEqual({ UP: 0.5, DOWN: 0.5 });
  server.clock.set(WINDOW_START_MS + 600_000);
  await server.advance();
  // The price is ten minutes old.
  expect(await indicative()).toBe(null);
  await server.passTime(END_MS - 30_000, 100_127);
  const half = await indicative();
  expect(half!.UP).toBeGreaterThan(0.9);
  expect(half!.UP + half!.DOWN).toBeCloseTo(1);
  server.clock.set(END_MS - 11_000);
  server.feed.deliver('BTC', 100_127);
  // Nothing is certain before the end.
  expect(await indicative()).toEqual({ UP: 0.999, DOWN: 0.001 });
  expect((await market()).prices).toBe(null);
  server.clock.set(END_MS);
  await server.advance();
  const { json: ended } = await server.api.read(`/markets/${MARKET}`);
  expect(ended).toMatchObject({ status: 'ended', indicative: null });
});
