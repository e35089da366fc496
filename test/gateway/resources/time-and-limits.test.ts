/** `/time`, `/limits` and the time in `/status`: exact bodies, and what they refuse. */
import { afterAll, expect, test } from 'vitest';
import { codeOf, only, rates, TestServer, WINDOW_START_MS } from '../../support/server.js';

const RATES = rates({
  orders: { user: { perSecond: 12.5, burst: 100 }, address: null },
  cancels: { user: only(7), address: null },
  reads: { user: null, address: only(7) },
});

const server = await TestServer.start({ fairUse: RATES });
server.feed.deliver('BTC', 100_000);
await server.durable();
afterAll(() => server.stop());

/** The address has few reads, which the tests use up one after the other. */
test('the time is the exchange’s, and is not behind in /status', async () => {
  const { durableSequence } = server.exchange.sequencer;
  const time = await server.api.get('/time');
  expect([time.status, time.text]).toEqual([
    200,
    `{"nowMs":${WINDOW_START_MS},"sequence":${durableSequence}}`,
  ]);
  server.clock.set(WINDOW_START_MS + 1_234);
  expect((await server.api.get('/time')).json.nowMs).toBe(WINDOW_START_MS + 1_234);
  expect((await server.api.get('/status')).json.nowMs).toBe(WINDOW_START_MS + 1_234);
});

test('the limits are those that the exchange enforces', async () => {
  const { status, json } = await server.api.get('/limits');
  expect(status).toBe(200);
  expect(json).toEqual({
    ruleSet: 1,
    feeRate: 0.005,
    curveFeeRate: 0,
    makerFeeRate: 0,
    makerShare: 0,
    vaultShare: 0.4,
    tickSize: 0.001,
    lotSize: 0.001,
    prices: 'simulated',
    restingOrderValue: 1,
    startingBalance: 10_000,
    startAgain: true,
    maxima: {
      orderAmount: 1_000_000,
      orderShares: 10_000_000,
      tradesPerOrder: 5_000,
      openOrders: 1_000,
      batchOperations: 100,
      bodyBytes: 65_536,
      pageEntries: 200,
      bookLevels: 999,
      stake: 100_000_000,
      orderGroups: 20,
      vaultDeposits: 10_000,
      referralCodes: 20,
      idempotencyKeys: 8_000_000,
      idempotencyKeptMs: 3_600_000,
    },
    rateTier: 1,
    rates: RATES,
  });
});

test('both refuse other methods and unknown parameters, and count as reads', async () => {
  for (const path of ['/time', '/limits']) {
    const posted = await server.api.post(path, {});
    expect(codeOf(posted)).toBe('405 method_not_allowed');
    expect(posted.headers).toMatchObject({ allow: 'GET, HEAD' });
  }
  const unknown = await server.api.get('/time?at=1');
  expect([unknown.status, unknown.json.error.details]).toEqual([
    400,
    { at: 'is not a known field' },
  ]);
  // The burst is 7. Requests for unknown routes count as well.
  const refused = await server.api.get('/limits');
  expect(codeOf(refused)).toBe('429 rate_limited');
});
