/** Answers that the contract's examples do not show. Each test has its own exchange. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Answer,
  type ApiClient,
  codeOf,
  MARKET,
  PASSWORD,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

let server: TestServer;
let api: ApiClient;

beforeEach(async () => {
  server = await TestServer.withMarket();
  api = server.api;
});
afterEach(() => server.stop());

const trade = (verb: 'buy' | 'sell', trader: Trader, body: object) =>
  api.post(`/markets/15m/${MARKET}/${verb}`, body, trader.token);

/** Two traders who have minted 100 sets: Ada has UP at 0.4, Bob DOWN at 0.6. */
async function twoTraders(): Promise<[Trader, Trader]> {
  const ada = await server.register('ada');
  const bob = await server.register('bob');
  await trade('buy', ada, { outcome: 'UP', shares: 100, price: 0.4, timeInForce: 'GTC' });
  const { json } = await trade('buy', bob, { outcome: 'DOWN', amount: 60 });
  expect(json.shares).toBe(100);
  return [ada, bob];
}

test('filters choose markets by asset and status, and positions by market and status', async () => {
  const idsOf = async (path: string) =>
    (await api.read(path)).json.markets.map(({ id }: { id: string }) => id);
  expect(await idsOf('/markets?asset=btc&status=active')).toEqual([MARKET]);
  expect(await idsOf('/markets?status=resolved')).toEqual([]);
  expect(await idsOf('/markets/15m?asset=ETH')).toEqual([]);
  const [ada, bob] = await twoTraders();
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 90_000);
  const positions = async (query: string, { token } = bob) =>
    (await api.get(`/users/me/positions?${query}`, token)).json.positions;
  const claimable = [{ status: 'claimable', price: 1, value: 100, unrealizedProfit: 40 }];
  expect(await positions(`status=claimable&marketId=${MARKET}`)).toMatchObject(claimable);
  expect(await positions('status=open')).toEqual([]);
  expect(await positions('', ada)).toEqual([]);
});

test('shows the book from both sides, a quote, and prices from the middle of the book', async () => {
  const maker = await server.register('maker');
  await trade('buy', maker, {
    outcome: 'UP',
    shares: 10,
    price: 0.401,
    timeInForce: 'GTC',
    postOnly: true,
  });
  await trade('buy', maker, { outcome: 'DOWN', shares: 20, price: 0.5, timeInForce: 'GTC' });
  const { json: book } = await api.get(`/markets/15m/${MARKET}/orderbook`);
  expect(book.UP).toEqual({
    bids: [{ price: 0.401, shares: 10 }],
    asks: [{ price: 0.5, shares: 20 }],
  });
  expect(book.DOWN).toEqual({
    bids: [{ price: 0.5, shares: 20 }],
    asks: [{ price: 0.599, shares: 10 }],
  });
  expect((await api.read(`/markets/${MARKET}`)).json.prices).toEqual({
    UP: 0.4505,
    DOWN: 0.5495,
  });

  const quote = `/markets/15m/${MARKET}/quote`;
  expect((await api.get(`${quote}?outcome=UP&amount=4.0001`)).json).toMatchObject({
    side: 'BUY',
    shares: 8,
    averagePrice: 0.5,
    worstPrice: 0.5,
    spent: 4,
    fee: 0.020001,
    unspent: 0.0001,
  });
  expect((await api.get(`${quote}?outcome=UP&side=SELL&shares=4`)).json).toMatchObject({
    received: 1.604,
    fee: 0,
  });
  const limited = await api.get(`${quote}?outcome=UP&amount=4&price=0.499`);
  expect(limited.json).toMatchObject({ shares: 0, averagePrice: null, worstPrice: null });
  // The maker's own orders are not liquidity for the maker.
  expect((await api.get(`${quote}?outcome=UP&amount=4`, maker.token)).json.shares).toBe(0);
});

test('pages of orders have no gaps and no duplicates while orders come and go', async () => {
  const ada = await server.register('ada');
  const place = () =>
    trade('buy', ada, { outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' });
  const ids: string[] = [];
  for (let i = 0; i < 7; i++) ids.push((await place()).json.orderId);
  const path = `/users/${ada.userId}/orders?limit=3`;
  const found: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: Answer = await api.get(
      cursor === null ? path : `${path}&cursor=${cursor}`,
      ada.token,
    );
    found.push(...page.json.orders.map((order: { orderId: string }) => order.orderId));
    cursor = page.json.nextCursor;
    pages++;
    if (pages === 1) {
      // An order already listed is cancelled, and another one is placed.
      await api.delete(`/markets/15m/${MARKET}/orders/${ids[2]}`, ada.token);
      ids.push((await place()).json.orderId);
    }
  } while (cursor !== null);
  expect(found).toEqual(ids);
  expect(pages).toBe(3);
});

test("shows a referral's code, the referred users, and private details to the user only", async () => {
  const eve = await server.register('eve');
  const changed = await api.put(
    `/users/${eve.userId}/referral/code`,
    { code: 'my-Code' },
    eve.token,
  );
  expect(changed.json).toMatchObject({
    code: 'MY-CODE',
    referredUsers: 0,
    earned: 0,
    pending: 0,
    referredBy: null,
  });
  const referred = await api.post('/auth/register', {
    username: 'fay',
    password: PASSWORD,
    referralCode: 'my-code',
  });
  expect(referred.status).toBe(201);
  const own = await api.get(`/users/${eve.userId}/referral`, eve.token);
  expect(own.json).toMatchObject({ code: 'MY-CODE', referredUsers: 1, earned: 0 });
  const others = await api.get(`/users/${eve.userId}/referral`);
  expect(Object.keys(others.json)).toEqual(['userId', 'code', 'referredUsers', 'sequence', 'atMs']);
  const fays = await api.get(`/users/${referred.json.userId}/referral`, referred.json.token);
  expect(fays.json.referredBy).toBe(eve.userId);
});

test('stakes, earns, claims yield and unstakes', async () => {
  const stan = await server.register('stan');
  expect((await api.get('/vaults')).json.vaults).toMatchObject([
    { id: 'flex', staked: 0, deposits: 0, feeShare: 0.4, apr: null },
  ]);
  const staked = await api.post('/vaults/flex/stake', { amount: 100.5 }, stan.token);
  expect(staked.status).toBe(201);
  expect(staked.json).toMatchObject({
    vaultId: 'flex',
    userId: stan.userId,
    amount: 100.5,
    status: 'active',
    earnsFromMs: WINDOW_START_MS + WINDOW_MS,
    balance: { available: 9_899.5, held: 0 },
  });
  const { depositId } = staked.json;
  const listed = await api.get(`/users/${stan.userId}/vaults`);
  expect(listed.json.deposits).toMatchObject([{ depositId, amount: 100.5, accruedYield: 0 }]);

  expect((await api.get('/vaults')).json.vaults).toMatchObject([{ staked: 100.5, apr: 0 }]);

  // The fee is 0.3 and the vault's share 0.12, of which a stake earns at most 1/1,000 of itself.
  await twoTraders();
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 100_001);
  const claimed = await api.post(`/vaults/deposits/${depositId}/claim`, undefined, stan.token);
  expect(claimed.json).toMatchObject({
    depositId,
    claimed: 0.1005,
    claimedYield: 0.1005,
    accruedYield: 0,
  });
  expect((await api.get('/vaults')).json.vaults).toMatchObject([
    // The yearly yield is 0.1005 × 365 / 100.5.
    { staked: 100.5, deposits: 1, yieldPaid: 0.1005, apr: 0.365 },
  ]);
  // A day without fees.
  server.clock.set(WINDOW_START_MS + 2 * WINDOW_MS + 86_400_000);
  await server.advance();
  expect((await api.get('/vaults')).json.vaults).toMatchObject([{ staked: 100.5, apr: 0 }]);
  const unstaked = await api.post(`/vaults/deposits/${depositId}/unstake`, {}, stan.token);
  expect(unstaked.json).toMatchObject({
    status: 'closed',
    returned: 100.5,
    yieldPaid: 0,
    claimedYield: 0.1005,
  });
  expect(unstaked.json.balance).toEqual({ available: 10_000.1005, held: 0 });
  expect((await api.get(`/users/${stan.userId}/vaults`)).json.deposits).toEqual([]);
  const again = await api.post(`/vaults/deposits/${depositId}/unstake`, {}, stan.token);
  expect(codeOf(again)).toBe('409 deposit_closed');
});
