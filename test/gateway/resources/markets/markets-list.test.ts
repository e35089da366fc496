/**
 * GET /markets over more than a day, when the engine has forgotten some markets. All pages together
 * list every market that ever opened, once, newest first, for every filter and page size, and
 * whatever happens between two pages.
 */
import { afterAll, expect, test } from 'vitest';
import { marketIdNumber } from '../../../../engine/interface/notation.js';
import { TestServer, WINDOW_MS, WINDOW_START_MS } from '../../../support/server.js';

const DAY_MS = 86_400_000;
const WINDOWS_PER_DAY = DAY_MS / WINDOW_MS;
/** Enough windows that the engine has forgotten the first few. */
const WINDOWS = WINDOWS_PER_DAY + 12;

/** In every other window, one asset has no price at the end and is VOID a minute later. */
async function passWindow(): Promise<void> {
  const { clock, feed } = server;
  const window = (now - WINDOW_START_MS) / WINDOW_MS;
  const symbols = [['BTC', 'ETH'], ['BTC'], ['BTC', 'ETH'], ['ETH']][window % 4]!;
  for (const atMs of [now + WINDOW_MS - 30_000, now + WINDOW_MS]) {
    clock.set(atMs);
    await server.advance();
    if (atMs < now + WINDOW_MS) for (const symbol of symbols) feed.deliver(symbol, 1_000 + window);
  }
  now += WINDOW_MS;
  clock.set(now + 30_000);
  await server.advance();
  // A market without a price at its start opens with the first price that arrives.
  for (const symbol of ['BTC', 'ETH']) feed.deliver(symbol, 1_000);
}

interface Listed {
  id: string;
  status: string;
  resolution: string | null;
  asset: string;
  startsAtMs: number;
}

/** Returns all pages of a list. `between` runs before each page but the first. */
async function pages(
  query: string,
  limit: number,
  between = async () => {},
  from = '',
): Promise<Listed[]> {
  const markets: Listed[] = [];
  let cursor = from;
  for (;;) {
    const { status, json } = await server.api.read(`/markets?limit=${limit}${query}${cursor}`);
    expect(status, JSON.stringify(json)).toBe(200);
    expect(json.markets.length).toBeLessThanOrEqual(limit);
    markets.push(...json.markets);
    if (json.nextCursor === null) return markets;
    cursor = `&cursor=${json.nextCursor}`;
    await between();
  }
}

/** All ids, newest window first (upcoming ones included), then the asset listed last. */
function expectedIds(): string[] {
  const ids: string[] = [];
  for (let atMs = now + 4 * WINDOW_MS; atMs >= WINDOW_START_MS; atMs -= WINDOW_MS)
    for (const asset of ['eth', 'btc']) ids.push(`${asset}-15m-${atMs / 1_000}`);
  return ids;
}

const idsOf = (markets: readonly Listed[]) => markets.map(({ id }) => id);
const known = () => server.exchange.sequencer.engine.marketIds().length;

const server = await TestServer.start();
/** The start of the current window. */
let now = WINDOW_START_MS;
for (const symbol of ['BTC', 'ETH']) server.feed.deliver(symbol, 1_000);
for (let i = 0; i < WINDOWS; i++) await passWindow();
await server.durable();
afterAll(() => server.stop());

test('markets are forgotten in another order than they started', async () => {
  const { engine } = server.exchange.sequencer;
  expect(known()).toBeLessThan(expectedIds().length - 10);
  expect(known()).toBeGreaterThan(WINDOWS_PER_DAY);
  const listed = await pages('', 200);
  expect(new Set(listed.map(({ resolution }) => resolution))).toEqual(
    new Set(['UP', 'VOID', null]),
  );
  const isKnown = listed.map(({ id }) => engine.market(marketIdNumber(engine, id)) !== null);
  expect(isKnown.indexOf(false)).toBeLessThan(isKnown.lastIndexOf(true));
});

test.each([1, 7, 199])('markets are all listed, once, in pages of %d', async (limit) => {
  // With one market per page, only checks the end, where the two sources meet.
  if (limit > 1) expect(idsOf(await pages('', limit))).toEqual(expectedIds());
  else {
    const { json } = await server.api.read('/markets?limit=180');
    const rest = await pages('', 1, undefined, `&cursor=${json.nextCursor}`);
    expect(idsOf(rest)).toEqual(expectedIds().slice(180));
  }
});

test.each(['btc', 'ETH'])('markets can be filtered by asset: %s', async (asset) => {
  const expected = expectedIds().filter((id) => id.startsWith(asset.toLowerCase()));
  for (const limit of [5, 60, 200]) {
    const markets = await pages(`&asset=${asset}`, limit);
    expect(idsOf(markets)).toEqual(expected);
  }
});

test.each(['upcoming', 'active', 'ended', 'resolved'])(
  'markets can be filtered by status: %s',
  async (status) => {
    const all = await pages('', 200);
    const expected = all.filter((market) => market.status === status);
    expect(expected.length).toBeGreaterThan(status === 'resolved' ? 200 : 0);
    for (const limit of [5, 60, 200])
      expect(await pages(`&status=${status}`, limit)).toEqual(expected);
    const ofBoth = await pages(`&status=${status}&asset=BTC`, 40);
    expect(ofBoth).toEqual(expected.filter(({ asset }) => asset === 'BTC'));
  },
);

test('markets are complete while some are forgotten and others start between two pages', async () => {
  const before = expectedIds();
  const knownBefore = server.exchange.sequencer.engine.marketIds();
  const markets = await pages('', 12, passWindow);
  expect(idsOf(markets)).toEqual(before);
  const stillKnown = new Set(server.exchange.sequencer.engine.marketIds());
  expect(knownBefore.filter((id) => !stillKnown.has(id)).length).toBeGreaterThan(10);
  expect(idsOf(await pages('', 200))).toEqual(expectedIds());
});
