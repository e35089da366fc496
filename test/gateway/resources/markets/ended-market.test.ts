/** What a market says after its end, while the engine has it and a day later, when it has not. */
import { afterAll, expect, test } from 'vitest';
import {
  type Answer,
  AT_EDGES,
  codeOf,
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';

const END_MS = WINDOW_START_MS + WINDOW_MS;
const DAY_MS = 86_400_000;
const NEVER = 'btc-15m-1763699400';

const server = await TestServer.withMarket();
afterAll(() => server.stop());
const [claimer, sleeper, loser] = [
  await server.register('claimer'),
  await server.register('sleeper'),
  await server.register('loser'),
];

const claim = (who: Trader, marketId = MARKET, headers = {}): Promise<Answer> =>
  server.api.send('POST', `/markets/15m/${marketId}/claim`, {}, { token: who.token, headers });

/** The refusal, when the history has caught up. */
async function refused(asked: () => Promise<Answer>) {
  await server.followed();
  const answer = await asked();
  return { code: codeOf(answer), details: answer.json.error.details };
}

async function expectPaid(): Promise<void> {
  const byUser = { paidAtMs: END_MS + 5_000, amount: 10, by: 'user' };
  const expected = { code: '409 already_paid', details: byUser };
  expect(await refused(() => claim(claimer))).toEqual(expected);
  const headers = { 'idempotency-key': `key-${server.clock.nowMs()}` };
  const first = await claim(claimer, MARKET, headers);
  const again = await claim(claimer, MARKET, headers);
  expect([codeOf(first), again.text]).toEqual(['409 already_paid', first.text]);
  expect(again.headers['idempotency-replayed']).toBe('true');
}

test.skipIf(AT_EDGES)('a claim that was paid says when and how much', async () => {
  for (const who of [claimer, sleeper]) {
    await server.buy(loser, { outcome: 'DOWN', shares: 10, price: 0.5, timeInForce: 'GTC' });
    expect((await server.buy(who, { outcome: 'UP', shares: 10, price: 0.5 })).status).toBe(200);
  }
  await server.passTime(END_MS + 5_000, 100_001);
  expect((await claim(claimer)).json).toMatchObject({ payout: 10 });
  await expectPaid();
  expect((await refused(() => claim(loser))).code).toBe('409 nothing_to_claim');
});

test.skipIf(AT_EDGES)('a day later, all is said that was', async () => {
  server.clock.set(END_MS + DAY_MS + 60_000);
  await server.advance();
  await expectPaid();
  expect(await refused(() => claim(sleeper))).toEqual({
    code: '409 already_paid',
    details: { paidAtMs: END_MS + DAY_MS + 60_000, amount: 10, by: 'automatic' },
  });

  const { json: market } = await server.api.read(`/markets/${MARKET}`);
  expect(market.status).toBe('resolved');
  const details = {
    status: 'resolved',
    resolution: 'UP',
    endsAtMs: END_MS,
    resolvedAtMs: market.resolvedAtMs,
  };
  const order = { outcome: 'UP', shares: 10, price: 0.5 };
  const asked: [string, (id: string) => Promise<Answer>][] = [
    ['nothing_to_claim', (id) => claim(loser, id)],
    ['market_not_active', (id) => server.buy(loser, order, id)],
    ['market_not_active', (id) => server.api.post(`/markets/15m/${id}/sell`, order, loser.token)],
    [
      'market_not_active',
      (id) => server.api.post(`/markets/15m/${id}/split`, { shares: 1 }, loser.token),
    ],
    ['market_not_active', (id) => server.api.delete(`/markets/15m/${id}/orders/o1`, loser.token)],
    ['market_not_active', (id) => server.api.get(`/markets/15m/${id}/orderbook`)],
    ['market_not_active', (id) => server.api.get(`/markets/15m/${id}/quote?outcome=UP&amount=1`)],
  ];
  for (const [code, ask] of asked) {
    expect(await refused(() => ask(MARKET))).toEqual({ code: `409 ${code}`, details });
    expect((await refused(() => ask(NEVER))).code).toBe('404 market_not_found');
    expect((await refused(() => ask('x'))).code).toBe('404 market_not_found');
  }
});
