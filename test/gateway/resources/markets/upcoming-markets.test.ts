/** Upcoming markets over HTTP: listed, traded, over the opening and a restart. */
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../../../support/eventually.js';
import {
  type Answer,
  codeOf,
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';

const marketIn = (windows: number) => `btc-15m-${(WINDOW_START_MS + windows * WINDOW_MS) / 1_000}`;
const NEXT = marketIn(1);

let server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
afterAll(() => server.stop());

const order = (trader: Trader, fields: object): Promise<Answer> =>
  server.buy(
    trader,
    { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC', ...fields },
    NEXT,
  );

async function idsOf(path: string): Promise<string[]> {
  const { json } = await server.api.read(path);
  return json.markets.map(({ id }: { id: string }) => id);
}

test('are listed for an hour ahead, apart from the active ones', async () => {
  expect(await idsOf('/markets/15m')).toEqual([MARKET]);
  const ahead = [4, 3, 2, 1].map(marketIn);
  expect(await idsOf('/markets?status=upcoming&asset=btc')).toEqual(ahead);
  // ETH has no price, so its current market is still upcoming.
  expect(await idsOf('/markets?status=upcoming')).toHaveLength(9);
  // The history may be behind for a moment.
  await eventually(async () =>
    expect((await server.api.read(`/markets/${NEXT}`)).json).toMatchObject({
      id: NEXT,
      status: 'upcoming',
      startPrice: null,
      startPriceFinal: false,
      feeRate: 0.005,
      curveFeeRate: 0,
      makerFeeRate: 0,
      priceHistory: [],
    }),
  );
  expect((await server.api.read(`/markets/15m/${NEXT}/ticks`)).json).toMatchObject({
    startPrice: null,
    endPrice: null,
    start: [],
    end: [],
  });
  expect(codeOf(await server.api.get('/markets?status=open'))).toBe('400 invalid_request');
});

test('take orders of every kind', async () => {
  expect((await order(ada, {})).json).toMatchObject({ status: 'resting', fee: 0 });
  const quote = `/markets/15m/${NEXT}/quote?outcome=DOWN&amount=1.2`;
  expect((await server.api.read(quote)).json).toMatchObject({ filled: 2, averagePrice: 0.6 });
  const amount = { outcome: 'DOWN', amount: 1.2 };
  expect((await server.buy(bob, amount, NEXT)).json).toMatchObject({ shares: 2, fee: 0.006 });
  const crossing = { outcome: 'DOWN', price: 0.6, postOnly: true };
  expect(codeOf(await order(bob, crossing))).toBe('409 post_only_would_trade');
  const killed = { outcome: 'DOWN', price: 0.6, timeInForce: 'FOK' };
  expect(codeOf(await order(bob, killed))).toBe('409 price_not_met');
  const split = await server.api.post(`/markets/15m/${NEXT}/split`, { shares: 5 }, bob.token);
  expect(split.json).toMatchObject({ shares: 5, fee: 0.025 });
  const sale = { outcome: 'DOWN', shares: 1, price: 0.6, timeInForce: 'GTC', postOnly: true };
  const path = `/markets/15m/${NEXT}/sell`;
  expect((await server.api.post(path, sale, bob.token)).json.status).toBe('resting');
  const { json } = await server.api.read(`/users/${bob.userId}/positions?marketId=${NEXT}`);
  expect(json.positions).toMatchObject([{ status: 'open' }, { status: 'open' }]);
  await server.followed();
  const trades = { trades: [{ outcome: 'DOWN', price: 0.6, shares: 2 }] };
  for (const of of [`/markets/15m/${NEXT}`, `/users/${bob.userId}`])
    expect((await server.api.read(`${of}/trades`)).json).toMatchObject(trades);
});

test('open with their book, also after a restart', async () => {
  const { folder, clock } = server;
  const before = await server.state();
  await server.close();
  server = await TestServer.start({}, folder, clock.nowMs());
  expect(await server.state()).toEqual(before);
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 3_000, 100_100);
  expect(await idsOf('/markets/15m')).toEqual([NEXT]);
  expect(await idsOf('/markets?status=upcoming&asset=BTC')).toEqual([5, 4, 3, 2].map(marketIn));
  const { json } = await server.api.read(`/markets/15m/${NEXT}/orderbook`);
  expect(json.DOWN).toEqual({
    bids: [],
    asks: [{ price: 0.6, shares: 9 }],
  });
  expect((await order(bob, { outcome: 'DOWN', shares: 8, price: 0.6 })).json.status).toBe('filled');
  await server.followed();
  const { json: market } = await server.api.read(`/markets/${NEXT}`);
  expect(market.priceHistory[0]).toMatchObject({ atMs: WINDOW_START_MS + WINDOW_MS });
});

test('an asset that is configured no more gets no further ones, and its last ones are VOID', async () => {
  const { folder, clock } = server;
  await server.close();
  server = await TestServer.start({ assets: ['ETH'] }, folder, clock.nowMs());
  await server.passTime(WINDOW_START_MS + 7 * WINDOW_MS, 3_000, 'ETH');
  expect(await idsOf('/markets?status=upcoming&asset=BTC')).toEqual([]);
  await server.followed();
  const { json } = await server.api.read('/markets/15m/history?asset=BTC');
  type Past = { id: string; startPrice: number | null; resolution: string; priceHistory: [] };
  const last = json.markets.filter(({ startPrice }: Past) => startPrice === null);
  expect(
    last.map(({ id, resolution, priceHistory }: Past) => [id, resolution, priceHistory]),
  ).toEqual([5, 4, 3, 2].map((windows) => [marketIn(windows), 'VOID', []]));
});
