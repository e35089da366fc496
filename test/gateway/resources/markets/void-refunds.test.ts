/**
 * Refunds of a VOID market, to users with and without shares in it: positions, the claim, the
 * stream and the realized profit agree.
 */
import { afterAll, expect, test } from 'vitest';
import {
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';

const server = await TestServer.withMarket();
afterAll(() => server.stop());
const [seller, holder, maker] = [
  await server.register('seller'),
  await server.register('holder'),
  await server.register('maker'),
];

const sold = { outcome: 'UP', shares: 10, price: 0.4 };

async function positionsOf({ userId, token }: Trader) {
  const { json } = await server.api.get(`/users/${userId}/positions`, token);
  return json.positions;
}

const sum = (positions: { [field: string]: number }[], field: string) =>
  positions.reduce((total, each) => total + each[field]!, 0);

async function profitOf({ userId }: Trader): Promise<number> {
  return (await server.api.read(`/users/${userId}`)).json.realizedProfit;
}

async function ok(who: Trader, kind: 'buy' | 'sell', body: object): Promise<void> {
  const path = `/markets/15m/${MARKET}/${kind}`;
  const { status, text } = await server.api.post(path, body, who.token);
  expect(status, text).toBe(200);
}

test('refunds are positions to claim, for whoever paid a fee', async () => {
  // Resting orders pay no fee. The seller has paid one, and has no shares left.
  await ok(maker, 'buy', { outcome: 'DOWN', shares: 20, price: 0.6, timeInForce: 'GTC' });
  await ok(seller, 'buy', sold);
  await ok(holder, 'buy', sold);
  await ok(maker, 'buy', { outcome: 'UP', shares: 10, price: 0.3, timeInForce: 'GTC' });
  await ok(seller, 'sell', { ...sold, price: 0.3 });
  expect(await positionsOf(seller)).toEqual([]);

  // No price arrives in the last minute or the minute after it.
  server.clock.set(WINDOW_START_MS + WINDOW_MS);
  await server.advance();
  server.clock.set(WINDOW_START_MS + WINDOW_MS + 60_000);
  await server.advance();

  for (const [who, before] of [
    [seller, { shares: 0, value: 0.02, profit: -1.02 }],
    [holder, { shares: 10, value: 5.02, profit: -0.02 }],
  ] as const) {
    const positions = await positionsOf(who);
    expect(positions.every(({ status }: { status: string }) => status === 'claimable')).toBe(true);
    expect(positions[0]).toMatchObject({ outcome: null, shares: 0, averagePrice: null });
    expect(sum(positions, 'shares')).toBe(before.shares);
    expect(sum(positions, 'value')).toBeCloseTo(before.value, 6);
    expect(sum(positions, 'payout')).toBeCloseTo(before.value, 6);
    const filtered = await server.api.get('/users/me/positions?status=claimable', who.token);
    expect(filtered.json.positions).toEqual(positions);
    // The settlement has added the refund and the payout, minus the cost, to the profit.
    const settled = sum(positions, 'unrealizedProfit');
    const profit = await profitOf(who);
    const claim = await server.api.post(`/markets/15m/${MARKET}/claim`, {}, who.token);
    expect(claim.json.payout + claim.json.refundedFees).toBeCloseTo(before.value, 6);
    expect(await profitOf(who)).toBe(profit);
    expect(profit - settled).toBeCloseTo(before.profit, 6);
    expect(await positionsOf(who)).toEqual([]);
  }
});
