/** The fields of a market over its life: at the start, in the last minute, after the end. */
import { afterAll, expect, test } from 'vitest';
import { marketIdNumber } from '../../../../engine/interface/notation.js';
import { TestServer, WINDOW_MS, WINDOW_START_MS } from '../../../support/server.js';

const NEXT_START_MS = WINDOW_START_MS + WINDOW_MS;
const NEXT_END_MS = NEXT_START_MS + WINDOW_MS;
const NEXT = 'btc-15m-1763701200';
const NEXT_ETH = 'eth-15m-1763701200';

const server = await TestServer.withMarket();
server.feed.deliver('ETH', 3_000);
afterAll(() => server.stop());

/** Moves time and applies everything due, without a price. */
async function at(atMs: number): Promise<void> {
  server.clock.set(atMs);
  await server.advance();
}

/** Returns the market, which every route must show the same. */
async function market(id = NEXT) {
  const { json } = await server.api.read(`/markets/${id}`);
  const { priceHistory, ...alone } = json;
  const { json: list } = await server.api.read('/markets');
  expect(list.markets.find((one: { id: string }) => one.id === id)).toEqual(alone);
  return json;
}

test('the start price is provisional until two seconds after the start', async () => {
  for (const ms of [60_000, 30_000]) {
    server.clock.set(NEXT_START_MS - ms);
    server.feed.deliver('BTC', 100_100);
    server.feed.deliver('ETH', 3_000);
  }
  await at(NEXT_START_MS);
  expect(await market()).toMatchObject({ startPriceFinal: false, startPrice: 100_100 });
  await at(NEXT_START_MS + 1_999);
  expect((await market()).startPriceFinal).toBe(false);
  await at(NEXT_START_MS + 2_000);
  expect(await market()).toMatchObject({
    startPriceFinal: true,
    resolvedAtMs: null,
    averageSoFar: null,
    prices: null,
  });
});

test('the average so far is that of the last minute alone', async () => {
  server.clock.set(NEXT_END_MS - 90_000);
  server.feed.deliver('BTC', 100_200);
  await at(NEXT_END_MS - 60_000);
  expect((await market()).averageSoFar).toBe(null);
  await at(NEXT_END_MS - 45_000);
  expect((await market()).averageSoFar).toBe(100_200);
  server.clock.set(NEXT_END_MS - 40_000);
  server.feed.deliver('BTC', 100_201);
  // 20 s at 100,200 and 10 s at 100,201.
  await at(NEXT_END_MS - 30_000);
  expect((await market()).averageSoFar).toBe(100_200.333333);
  const { json } = await server.api.get('/markets/15m?asset=BTC');
  expect(json.markets[0].averageSoFar).toBe(100_200.333333);
  // The last price of ETH is too old to count.
  expect((await market(NEXT_ETH)).averageSoFar).toBe(null);
});

test('a resolved market pays its prices', async () => {
  await at(NEXT_END_MS);
  const ended = await market();
  expect(ended).toMatchObject({ status: 'ended', resolvedAtMs: null, averageSoFar: null });
  await at(NEXT_END_MS + 2_500);
  expect(await market()).toMatchObject({
    resolution: 'UP',
    resolvedAtMs: NEXT_END_MS + 2_500,
    endPrice: 100_200.666666,
    prices: { UP: 1, DOWN: 0 },
  });
  await at(NEXT_END_MS + 60_000);
  const voided = await market(NEXT_ETH);
  expect(voided).toMatchObject({
    resolution: 'VOID',
    resolvedAtMs: NEXT_END_MS + 60_000,
    endPrice: null,
    prices: { UP: 0.5, DOWN: 0.5 },
  });
});

test('the history shows the same, also when the engine has forgotten the market', async () => {
  const before = [await market(), await market(NEXT_ETH)];
  const page = await server.api.read('/markets/15m/history');
  for (const { assetPrice, indicative, sequence, atMs: _, ...one } of before) {
    expect(page.json.markets.find(({ id }: { id: string }) => id === one.id)).toMatchObject(one);
  }
  const list = async (query: string) =>
    (await server.api.read(`/markets/15m/history?${query}`)).json;
  const short = await list('priceHistory=off');
  expect(short.markets).toEqual(
    page.json.markets.map((one: object) => ({ ...one, priceHistory: null })),
  );
  const starts = before[0].startsAtMs;
  const within = page.json.markets.filter(
    ({ startsAtMs }: { startsAtMs: number }) => startsAtMs === starts,
  );
  expect(within.length).toBeGreaterThan(0);
  expect(within.length).toBeLessThan(page.json.markets.length);
  const first = await list(`fromMs=${starts}&toMs=${starts}&limit=1`);
  expect(first.markets).toEqual(within.slice(0, 1));
  const next = await list(`fromMs=${starts}&toMs=${starts}&cursor=${first.nextCursor}`);
  expect([...first.markets, ...next.markets]).toEqual(within);
  expect((await list(`fromMs=${starts + 1}`)).markets).toEqual([]);
  expect((await server.api.get('/markets/15m/history?fromMs=2&toMs=1')).status).toBe(400);
  await at(NEXT_END_MS + 86_500_000);
  const { engine } = server.exchange.sequencer;
  for (const { assetPrice, indicative, sequence, atMs: _, ...one } of before) {
    expect(engine.market(marketIdNumber(engine, one.id))).toBe(null);
    expect(await market(one.id)).toMatchObject(one);
  }
});
