/** Answers about a market after its end: from the engine, and a day later from the history. */
import { afterAll, expect, test } from 'vitest';
import { marketNumber } from '../../../../gateway/resources/last-market.js';
import {
  type Answer,
  codeOf,
  MARKET,
  only,
  rates,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';
import { StreamClient } from '../../stream/support.js';

const END_MS = WINDOW_START_MS + WINDOW_MS;
const DAY_MS = 86_400_000;
const NEVER = 'btc-15m-1763699400';
/** An operator makes it VOID before it opens. */
const VOIDED = 'btc-15m-1763702100';

let server = await TestServer.withMarket();
afterAll(() => server.stop());
const [claimer, keeper, sleeper, loser] = [
  await server.register('claimer'),
  await server.register('keeper'),
  await server.register('sleeper'),
  await server.register('loser'),
];

const claim = (who: Trader, marketId = MARKET, headers = {}): Promise<Answer> =>
  server.api.send('POST', `/markets/15m/${marketId}/claim`, {}, { token: who.token, headers });

/** Returns the refusal after the history has caught up. */
async function refused(asked: () => Promise<Answer>) {
  await server.followed();
  const answer = await asked();
  return { code: codeOf(answer), details: answer.json.error.details };
}

async function expectPaid(): Promise<void> {
  const settled = { paidAtMs: END_MS + 5_000, amount: 10, by: 'automatic' };
  expect(await refused(() => claim(keeper))).toEqual({
    code: '409 already_paid',
    details: settled,
  });
  const byUser = { paidAtMs: END_MS + 5_000, amount: 10, by: 'user' };
  const expected = { code: '409 already_paid', details: byUser };
  expect(await refused(() => claim(claimer))).toEqual(expected);
  const headers = { 'idempotency-key': `key-${server.clock.nowMs()}` };
  const first = await claim(claimer, MARKET, headers);
  const again = await claim(claimer, MARKET, headers);
  expect([codeOf(first), again.text]).toEqual(['409 already_paid', first.text]);
  expect(again.headers['idempotency-replayed']).toBe('true');
}

test('of a market that was VOID before its end, too, a claim says when it was paid', async () => {
  const marketId = marketNumber(server.exchange.sequencer.engine, VOIDED);
  const split = `/markets/15m/${VOIDED}/split`;
  expect((await server.api.post(split, { shares: 10 }, loser.token)).status).toBe(200);
  server.submit({ kind: 'voidMarket', marketId, operator: 'op', reason: 'a test' });
  expect((await claim(loser, VOIDED)).status).toBe(200);
  const paid = { code: '409 already_paid', details: { by: 'user', paidAtMs: WINDOW_START_MS } };
  expect(await refused(() => claim(loser, VOIDED))).toMatchObject(paid);
});

test('a claim that was paid says when and how much', async () => {
  await server.api.put('/users/me/auto-claim', { enabled: true }, keeper.token);
  for (const who of [claimer, keeper, sleeper]) {
    await server.buy(loser, { outcome: 'DOWN', shares: 10, price: 0.5, timeInForce: 'GTC' });
    expect((await server.buy(who, { outcome: 'UP', shares: 10, price: 0.5 })).status).toBe(200);
  }
  // The answer to a key stays the same, even if more is known later.
  const late = () =>
    server.api.send(
      'POST',
      `/markets/15m/${MARKET}/buy`,
      { outcome: 'UP', amount: 5 },
      {
        token: loser.token,
        headers: { 'idempotency-key': 'too-late' },
      },
    );
  await server.passTime(END_MS + 500, 100_001);
  const first = await late();
  expect(codeOf(first)).toBe('409 market_not_active');
  await server.passTime(END_MS + 5_000, 100_001);
  expect((await late()).text).toBe(first.text);
  expect((await claim(claimer)).json).toMatchObject({ payout: 10 });
  await expectPaid();
  const [own, automatic] = await Promise.all(
    [claimer, keeper].map(async ({ userId, token }) => {
      const { json } = await server.api.read(`/users/${userId}/ledger?cause=claim`, token);
      return json.entries.map(({ entryId, sequence, ...entry }: Record<string, unknown>) => entry);
    }),
  );
  expect(automatic).toEqual(own);
  expect((await refused(() => claim(loser))).code).toBe('409 nothing_to_claim');
});

test('a day later, all is said that was', async () => {
  server.clock.set(END_MS + DAY_MS + 60_000);
  await server.advance();
  await expectPaid();
  expect((await refused(() => claim(loser, VOIDED))).code).toBe('409 already_paid');
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
    [
      'market_not_active',
      (id) => server.api.delete(`/users/${loser.userId}/orders?marketId=${id}`, loser.token),
    ],
    ['market_not_active', (id) => server.api.get(`/markets/15m/${id}/orderbook`)],
    ['market_not_active', (id) => server.api.get(`/markets/15m/${id}/quote?outcome=UP&amount=1`)],
  ];
  for (const [code, ask] of asked) {
    expect(await refused(() => ask(MARKET))).toEqual({ code: `409 ${code}`, details });
    expect((await refused(() => ask(NEVER))).code).toBe('404 market_not_found');
    expect((await refused(() => ask('x'))).code).toBe('404 market_not_found');
  }
});

test('batches and orders of the stream say the same, each in its turn', async () => {
  const order = { marketId: MARKET, outcome: 'UP', amount: 5 } as const;
  const operations = [
    { op: 'buy', ...order },
    { op: 'claim', marketId: MARKET },
    { op: 'buy', ...order, marketId: NEVER },
    { op: 'cancelAll' },
  ];
  await server.followed();
  const { json } = await server.api.post('/batch', { operations }, sleeper.token);
  const paid = { amount: 10, by: 'automatic' };
  const over = { status: 'resolved', resolution: 'UP', endsAtMs: END_MS };
  expect(json.results).toMatchObject([
    { type: 'error', error: { code: 'market_not_active', details: over } },
    { type: 'error', error: { code: 'already_paid', details: paid } },
    { type: 'error', error: { code: 'market_not_found' } },
    { type: 'cancelAll', cancelledOrders: 0 },
  ]);
  const atomic = await server.api.post('/batch', { operations, atomic: true }, sleeper.token);
  expect(codeOf(atomic)).toBe('409 market_not_active');
  expect(atomic.json.error.details).toMatchObject({ operation: 0, ...over });

  const client = await StreamClient.connect(server.exchange.port);
  client.send({ op: 'auth', token: sleeper.token });
  await client.next('authenticated');
  client.sendTogether([
    { op: 'ping', id: '1' },
    { op: 'order', id: '2', operation: operations[0] },
    { op: 'batch', id: '3', operations },
    { op: 'order', id: '4', operation: operations[1] },
    { op: 'order', id: '5', operation: { op: 'cancelAll' } },
    { op: 'ping', id: '6' },
  ]);
  await client.next(({ id }) => id === '6');
  const answers = client.messages.filter(({ id }) => id !== undefined);
  expect(answers.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(answers[1]).toMatchObject({ type: 'error', code: 'market_not_active', details: over });
  expect(answers[2]!['results'].slice(0, 3)).toEqual(json.results.slice(0, 3));
  expect(answers[3]).toMatchObject({ type: 'error', code: 'already_paid', details: paid });
  await client.close();
});

test('a command asks each question once, for a read of its user', async () => {
  const { folder, clock } = server;
  const atMs = clock.nowMs();
  await server.close();
  const limits = { fairUse: rates({ reads: { user: only(6), address: null } }) };
  server = await TestServer.start(limits, folder, atMs);
  await server.followed();
  const batch = async (marketIds: string[]) => {
    const operations = marketIds.map((marketId) => ({ op: 'claim', marketId }));
    const { json } = await server.api.post('/batch', { operations }, claimer.token);
    return json.results.map(({ error }: Answer['json']) => error.code);
  };
  const same = Array(100).fill(MARKET);
  expect(await batch(same)).toEqual(same.map(() => 'already_paid'));
  // Each market that never existed costs two reads, so two of them use up the quota.
  const never = [1, 2, 3].map((n) => `btc-15m-${900 * n}`);
  expect(await batch([...never, MARKET, never[0]!])).toEqual([
    'market_not_found',
    'market_not_found',
    'history_unavailable',
    'history_unavailable',
    'market_not_found',
  ]);
  const keyed = () => claim(claimer, MARKET, { 'idempotency-key': 'without-reads' });
  const first = await keyed();
  expect([codeOf(first), (await keyed()).text]).toEqual(['503 history_unavailable', first.text]);
  const orders = (who: Trader) => server.api.get(`/users/${who.userId}/orders`, who.token);
  expect([codeOf(await orders(claimer)), (await orders(sleeper)).status]).toEqual([
    '429 rate_limited',
    200,
  ]);
});
