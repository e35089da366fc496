/** One rule for all lists: a market that never existed, and times in seconds, are refused. */
import { afterAll, expect, test } from 'vitest';
import { codeOf, MARKET, TestServer, WINDOW_MS, WINDOW_START_MS } from '../../../support/server.js';

const DAY_MS = 86_400_000;

const server = await TestServer.withMarket();
afterAll(() => server.stop());
const alice = await server.register('alice');

const OF_MARKET = ['positions', 'trades', 'orders', 'ledger'].map((list) => `/users/me/${list}`);
const BETWEEN = [...OF_MARKET.slice(1), '/markets/15m/history'];

const asked = (path: string, query: string) => server.api.read(`${path}?${query}`, alice.token);

/** Ids that are not a quarter hour, before the exchange began, not an asset, or not ids. */
const NEVER = ['btc-15m-17', 'btc-15m-900', 'btc-15m-1763699400', 'doge-15m-1763700300', 'x', ''];

test.for(OF_MARKET)('%s of a market that never was is not an empty list', async (list) => {
  for (const marketId of NEVER)
    expect(codeOf(await asked(list, `marketId=${marketId}`))).toBe('404 market_not_found');
  expect((await asked(list, `marketId=${MARKET}`)).status).toBe(200);
});

test.for(BETWEEN)('%s takes milliseconds, not seconds', async (list) => {
  const seconds = WINDOW_START_MS / 1_000;
  for (const field of ['fromMs', 'toMs']) {
    const { status, json } = await asked(list, `${field}=${seconds}`);
    expect([status, Object.keys(json.error.details)]).toEqual([400, [field]]);
    expect((await asked(list, `${field}=${WINDOW_START_MS}`)).status).toBe(200);
    expect((await asked(list, `${field}=0`)).status).toBe(400);
    for (const tooLarge of ['8640000000001', '9'.repeat(30)]) {
      const late = await asked(list, `${field}=${tooLarge}`);
      expect(late.json.error.details).toEqual({ [field]: 'must be at most 8640000000000' });
    }
  }
});

test('a market that the engine has forgotten is known', async () => {
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 3_000, 100_001);
  server.clock.set(WINDOW_START_MS + WINDOW_MS + DAY_MS + 60_000);
  await server.advance();
  for (const list of OF_MARKET) {
    expect((await asked(list, `marketId=${MARKET}`)).status).toBe(200);
    expect(codeOf(await asked(list, 'marketId=btc-15m-900'))).toBe('404 market_not_found');
  }
});
