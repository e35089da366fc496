import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../gateway/resources/routes.js';
import {
  type Answer,
  type ApiClient,
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

const NEXT_MARKET = 'btc-15m-1763701200';

let server: TestServer;
let api: ApiClient;
const seen = new Set<string>();

async function fresh(): Promise<void> {
  server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
  api = server.api;
}

async function done(): Promise<void> {
  for (const answer of api.seen) seen.add(answer);
  await server.stop();
}

const trade = (verb: 'buy' | 'sell', trader: Trader, body: object, market = MARKET) =>
  api.post(`/markets/15m/${market}/${verb}`, body, trader.token);
const balance = async (trader: Trader) =>
  (await api.get(`/users/${trader.userId}/balance`, trader.token)).json;

/** Two traders who have minted 100 sets: Ada has UP at 0.4, Bob DOWN at 0.6. */
async function twoTraders(): Promise<[Trader, Trader]> {
  const ada = await server.register('ada');
  const bob = await server.register('bob');
  await trade('buy', ada, { outcome: 'UP', shares: 100, price: 0.4, timeInForce: 'GTC' });
  const { json } = await trade('buy', bob, { outcome: 'DOWN', amount: 60 });
  expect(json.shares).toBe(100);
  return [ada, bob];
}

describe('markets', () => {
  beforeAll(fresh);
  afterAll(done);

  test('shows the active market, alone and in lists', async () => {
    const active = await api.get('/markets/15m');
    expect(active.json.serverTimeMs).toBe(WINDOW_START_MS);
    expect(active.json.markets).toHaveLength(1);
    const [market] = active.json.markets;
    expect(market).toMatchObject({
      id: MARKET,
      title: 'BTC up or down, 2025-11-21 04:45 to 05:00 UTC',
      asset: 'BTC',
      status: 'active',
      resolution: null,
      startPrice: 100_000,
      endPrice: null,
      assetPrice: 100_000,
      prices: { UP: 0.5, DOWN: 0.5 },
      endsAtMs: WINDOW_START_MS + WINDOW_MS,
    });
    const { priceHistory, sequence, ...alone } = (await api.read(`/markets/${MARKET}`)).json;
    expect({ ...alone, sequence: market.sequence }).toEqual(market);
    expect(sequence).toBeGreaterThanOrEqual(market.sequence);
    expect(priceHistory[0]).toEqual({
      atMs: WINDOW_START_MS,
      UP: 0.5,
      DOWN: 0.5,
      assetPrice: 100_000,
    });
    expect((await api.read('/markets')).json.markets).toEqual([market]);
    expect((await api.read('/markets?status=resolved')).json.markets).toEqual([]);
    expect((await api.read('/markets?asset=btc&status=active')).json.markets).toEqual([market]);
    expect((await api.get('/markets/15m?asset=ETH')).json.markets).toEqual([]);
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

  test('limits the levels of the book by depth', async () => {
    const { json } = await api.get(`/markets/15m/${MARKET}/orderbook?depth=1`);
    expect(json.UP.bids).toHaveLength(1);
    expect((await api.get(`/markets/15m/${MARKET}/orderbook?depth=999`)).status).toBe(200);
  });

  test('answers HEAD like GET, without the body', async () => {
    const head = await api.send('HEAD', `/markets/${MARKET}`);
    const get = await api.read(`/markets/${MARKET}`);
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
    expect(head.headers['content-length']).toBe(`${Buffer.byteLength(get.text)}`);
  });
});

describe('trading', () => {
  beforeAll(fresh);
  afterAll(done);

  test('accounts for every micro-dollar from the first buy to the claim', async () => {
    const ada = await server.register('ada');
    const bob = await server.register('bob');
    const rested = await trade('buy', ada, {
      userId: ada.userId,
      outcome: 'UP',
      shares: 100,
      price: 0.4,
      timeInForce: 'GTC',
    });
    expect(rested.json).toMatchObject({
      status: 'resting',
      shares: 0,
      restingShares: 100,
      spent: 0,
    });
    expect(rested.json.balance).toEqual({ available: 9_960, held: 40 });
    const { json: orders } = await api.get(`/users/${ada.userId}/orders`, ada.token);
    expect(orders.orders).toMatchObject([
      { orderId: rested.json.orderId, price: 0.4, shares: 100, side: 'BUY' },
    ]);
    const { orderId } = rested.json;
    const one = await api.read(`/users/${ada.userId}/orders/${orderId}`, ada.token);
    expect(one.json).toMatchObject({ orderId, originalShares: 100, filledShares: 0 });
    const statement = await api.read(`/users/${ada.userId}/ledger?limit=1`, ada.token);
    expect(statement.json.entries).toMatchObject([{ orderId, cause: 'hold', held: 40 }]);

    const bought = await trade('buy', bob, { outcome: 'DOWN', amount: 30.0005 });
    expect(bought.json).toMatchObject({
      side: 'BUY',
      outcome: 'DOWN',
      status: 'filled',
      shares: 50,
      averagePrice: 0.6,
      spent: 30,
      fee: 0.150003,
      total: 30.150003,
      unspent: 0.0005,
      position: { UP: 0, DOWN: 50 },
      balance: { available: 9_969.849997, held: 0 },
    });
    expect(bought.json.fills).toMatchObject([{ price: 0.6, shares: 50 }]);

    const { json: positions } = await api.get(`/users/${bob.userId}/positions`);
    expect(positions.positions).toMatchObject([
      {
        marketId: MARKET,
        outcome: 'DOWN',
        shares: 50,
        cost: 30,
        averagePrice: 0.6,
        price: 0.6,
        status: 'open',
      },
    ]);

    const sold = await trade('sell', bob, {
      outcome: 'DOWN',
      shares: 10,
      price: 0.7,
      timeInForce: 'GTC',
    });
    expect(sold.json).toMatchObject({
      side: 'SELL',
      status: 'resting',
      received: 0,
      restingShares: 10,
    });
    const cancelled = await api.delete(
      `/markets/15m/${MARKET}/orders/${sold.json.orderId}`,
      bob.token,
    );
    expect(cancelled.json).toMatchObject({ status: 'cancelled', cancelledShares: 10 });

    const all = await api.delete(`/markets/15m/${MARKET}/orders`, ada.token);
    expect(all.json).toMatchObject({ cancelledOrders: 1, balance: { available: 9_980, held: 0 } });

    await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 90_000);
    const resolved = (await api.read(`/markets/${MARKET}`)).json;
    expect(resolved).toMatchObject({
      status: 'resolved',
      resolution: 'DOWN',
      endPrice: 90_000,
      volume: 30,
    });
    const claimable = (await api.get(`/users/${bob.userId}/positions`)).json.positions;
    expect(claimable).toMatchObject([
      { status: 'claimable', price: 1, value: 50, unrealizedProfit: 20 },
    ]);
    expect((await api.get(`/users/${ada.userId}/positions`)).json.positions).toEqual([]);
    const filtered = async (query: string) =>
      (await api.get(`/users/me/positions?${query}`, bob.token)).json.positions;
    expect(await filtered(`status=claimable&marketId=${MARKET}`)).toEqual(claimable);
    expect(await filtered('status=open')).toEqual([]);
    expect(await filtered('marketId=btc-15m-1763699400')).toEqual([]);
    const refused = await api.get('/users/me/positions?status=closed', bob.token);
    expect(refused.json.error.details).toMatchObject({ status: expect.any(String) });

    const claimed = await api.post(`/markets/15m/${MARKET}/claim`, undefined, bob.token);
    expect(claimed.json).toMatchObject({ resolution: 'DOWN', shares: 50, payout: 50 });
    expect(claimed.json).not.toHaveProperty('refundedFees');
    expect(await balance(bob)).toMatchObject({
      available: 10_019.849997,
      held: 0,
      total: 10_019.849997,
      currency: 'USD',
    });
    expect(await balance(ada)).toMatchObject({ available: 9_980 });
    const profile = (await api.read(`/users/${bob.userId}`)).json;
    expect(profile).toMatchObject({
      username: 'bob',
      volume: 30,
      realizedProfit: 19.849997,
      trades: 1,
    });
  });

  test('pays half a dollar a share and refunds the fees when a market is VOID', async () => {
    const [ada, bob] = [await server.register('eve'), await server.register('joe')];
    await trade(
      'buy',
      ada,
      { outcome: 'UP', shares: 100, price: 0.4, timeInForce: 'GTC' },
      NEXT_MARKET,
    );
    await trade('buy', bob, { outcome: 'DOWN', amount: 60 }, NEXT_MARKET);
    server.clock.set(WINDOW_START_MS + 2 * WINDOW_MS + 60_000);
    await server.advance();
    expect((await api.read(`/markets/${NEXT_MARKET}`)).json).toMatchObject({
      resolution: 'VOID',
      endPrice: null,
    });
    const { json } = await api.post(
      `/markets/15m/${NEXT_MARKET}/claim`,
      { userId: bob.userId },
      bob.token,
    );
    expect(json).toMatchObject({ resolution: 'VOID', shares: 100, payout: 50, refundedFees: 0.3 });
    expect(json.balance).toEqual({ available: 9_990, held: 0 });
  });
});

describe('lists', () => {
  beforeAll(fresh);
  afterAll(done);

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
        // One that was already listed is cancelled, and one more is placed.
        await api.delete(`/markets/15m/${MARKET}/orders/${ids[2]}`, ada.token);
        ids.push((await place()).json.orderId);
      }
    } while (cursor !== null);
    expect(found).toEqual(ids);
    expect(pages).toBe(3);
  });

  test('pages of markets are newest first, and a cursor only works in its own list', async () => {
    await server.passTime(WINDOW_START_MS + 4 * WINDOW_MS + 2_000, 100_000);
    const first = await api.read('/markets?limit=3&asset=BTC');
    expect(first.json.markets).toHaveLength(3);
    const cursor = first.json.nextCursor;
    const second = await api.read(`/markets?limit=3&asset=BTC&cursor=${cursor}`);
    expect(second.json.nextCursor).toBe(null);
    const starts = [...first.json.markets, ...second.json.markets].map(
      (market) => market.startsAtMs,
    );
    expect(starts).toEqual([4, 3, 2, 1, 0].map((window) => WINDOW_START_MS + window * WINDOW_MS));
    for (const other of [`/markets?cursor=${cursor}`, '/markets?cursor=abc', '/markets?cursor=']) {
      const refused = await api.get(other);
      expect(refused.status).toBe(400);
      expect(refused.json.error.details).toHaveProperty('cursor');
    }
  });
});

describe('batches', () => {
  beforeAll(fresh);
  afterAll(done);

  test('places a bid and cancels it', async () => {
    const eve = await server.register('eve');
    const bid = { op: 'buy', outcome: 'UP', shares: 5, price: 0.2, timeInForce: 'GTC' };
    const { status, json } = await api.post(
      '/batch',
      { operations: [{ ...bid, marketId: MARKET }], atomic: true },
      eve.token,
    );
    expect(status).toBe(200);
    expect(await balance(eve)).toMatchObject({
      available: 9_999,
      held: 1,
      sequence: json.sequence,
    });
    const { orderId } = json.results[0];
    const operations = [{ op: 'cancel', marketId: MARKET, orderId }];
    await api.post('/batch', { operations }, eve.token);
    expect(await balance(eve)).toMatchObject({ available: 10_000, held: 0 });
  });
});

describe('users, referral and vaults', () => {
  beforeAll(fresh);
  afterAll(done);

  test('registers, shows the session, signs in and out', async () => {
    const registered = await api.post('/auth/register', { username: 'Ann', password: PASSWORD });
    expect(registered.json.referralCode).toMatch(/^[A-Z0-9]{3,20}$/);
    const { userId, token } = registered.json;
    expect((await api.get('/auth/session', token)).json).toMatchObject({ userId, username: 'Ann' });
    const signedIn = await api.post('/auth/login', { username: 'ann', password: PASSWORD });
    expect(signedIn.json).toMatchObject({ userId, username: 'Ann' });
    expect((await api.get('/auth/session', signedIn.json.token)).status).toBe(200);
    const out = await api.post('/auth/logout', undefined);
    expect([out.status, out.text]).toEqual([204, '']);
    expect(out.headers['set-cookie']).toContain('Max-Age=0');
    const changed = await api.put(
      '/auth/password',
      { currentPassword: PASSWORD, newPassword: 'another password' },
      token,
    );
    expect(changed.status).toBe(200);
    expect((await api.get('/auth/session', changed.json.token)).status).toBe(200);
  });

  test('creates a token, lists it and revokes it', async () => {
    const { token } = await server.register('tim');
    const body = { name: 'bot', scope: 'trade' };
    const created = await api.post('/auth/tokens', body, token);
    expect([created.status, created.json.name]).toEqual([201, 'bot']);
    expect((await api.get('/auth/session', created.json.token)).status).toBe(200);
    const { tokenId } = created.json;
    expect((await api.get('/auth/tokens', token)).json.tokens).toMatchObject([
      { tokenId, ...body },
    ]);
    expect((await api.delete(`/auth/tokens/${tokenId}`, token)).status).toBe(204);
    expect((await api.get('/auth/tokens', token)).json.tokens).toEqual([]);
    expect((await api.get('/auth/session', created.json.token)).status).toBe(401);
  });

  test('amends a resting order, and cancels all orders in every market', async () => {
    const { token } = await server.register('vera');
    const orders = `/markets/15m/${MARKET}/orders`;
    const terms = { outcome: 'UP', shares: 10, price: 0.05, timeInForce: 'GTC' };
    const bid = { ...terms, clientOrderId: 'bid' };
    const { json: placed } = await api.post(`/markets/15m/${MARKET}/buy`, bid, token);
    for (const [shares, order] of [
      [4, placed.orderId],
      [3, 'by-client-id?clientOrderId=bid'],
    ]) {
      const amended = await api.send('PATCH', `${orders}/${order}`, { shares }, { token });
      expect(amended.status, amended.text).toBe(200);
      const { orderId } = placed;
      expect(amended.json).toMatchObject({ orderId, keptPriority: true, restingShares: shares });
    }
    const named = await api.delete(`${orders}/by-client-id?clientOrderId=bid`, token);
    expect(named.status, named.text).toBe(200);
    const { json: again } = await api.post(`/markets/15m/${MARKET}/buy`, terms, token);
    const cancelled = await api.delete(`/users/${again.userId}/orders`, token);
    expect(cancelled.status, cancelled.text).toBe(200);
    expect(cancelled.json.cancelled).toEqual([again.orderId]);
  });

  test('sets a time at which resting orders are cancelled, and takes it back', async () => {
    const { userId, token } = await server.register('uma');
    const set = (timeoutMs: number) =>
      api.put(`/users/${userId}/cancel-after`, { timeoutMs }, token);
    const { nowMs } = (await api.get('/time')).json;
    expect((await set(5_000)).json.cancelAtMs).toBe(nowMs + 5_000);
    expect((await set(0)).json.cancelAtMs).toBe(null);
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
    expect(Object.keys(others.json).sort()).toEqual([
      'code',
      'referredUsers',
      'sequence',
      'userId',
    ]);
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

    // The fee is 0.3 and the vault's part 0.12, of which a stake earns 1/1,000 of itself at most.
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
      // 0.1005 × 365 / 100.5
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
    expect([again.status, again.json.error.code]).toEqual([409, 'deposit_closed']);
  });
});

describe('partners and operations', () => {
  beforeAll(fresh);
  afterAll(done);

  const asPartner = { headers: { authorization: `Bearer ${PARTNER_KEY}` } };

  test('moves money in and out, once per reference', async () => {
    const ada = await server.registerByPartner('ada');
    const deposit = { userId: ada.userId, amount: 250.000001, reference: 'in-1' };
    const first = await api.send('POST', '/partner/deposits', deposit, asPartner);
    expect(first.json).toMatchObject({
      partner: 'acme',
      amount: 250.000001,
      balance: { available: 10_250.000001 },
    });
    const again = await api.send('POST', '/partner/deposits', deposit, asPartner);
    expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
    const other = await api.send('POST', '/partner/deposits', { ...deposit, amount: 1 }, asPartner);
    expect([other.status, other.json.error.code]).toEqual([422, 'idempotency_key_reused']);
    const withdrawal = { userId: ada.userId, amount: 10_250, reference: 'out-1' };
    const out = await api.send('POST', '/partner/withdrawals', withdrawal, asPartner);
    expect(out.json.balance).toEqual({ available: 0.000001, held: 0 });
    const tooMuch = await api.send(
      'POST',
      '/partner/withdrawals',
      { ...withdrawal, reference: 'out-2' },
      asPartner,
    );
    expect(tooMuch.status).toBe(422);
    expect(tooMuch.json.error.details).toEqual({ required: 10_250, available: 0.000001 });
    const user = await api.send('GET', `/partner/users/${ada.userId}`, undefined, asPartner);
    expect(user.json).toMatchObject({ username: 'ada', available: 0.000001, total: 0.000001 });
  });

  test('reports health, readiness and status', async () => {
    expect((await api.get('/health')).json).toEqual({ status: 'ok' });
    expect((await api.get('/ready')).json).toEqual({ status: 'ready' });
    expect((await api.get('/metrics')).text).toContain('exchange_users ');
    expect((await api.get('/limits')).status).toBe(200);
    expect((await api.get('/time')).json.nowMs).toBe(server.clock.nowMs());
    const before = (await api.get('/status')).json;
    await server.register('zoe');
    const after = (await api.get('/status')).json;
    expect(after.sequence).toBe(before.sequence + 1);
    expect(after.digest).not.toBe(before.digest);
  });
});

describe('history', () => {
  beforeAll(fresh);
  afterAll(done);

  test('shows an acknowledged trade in the very next answer, on both sides and in the public trades', async () => {
    const [ada, bob] = await twoTraders();
    const { json: mine } = await api.read(`/users/${bob.userId}/trades`);
    expect(mine.trades).toMatchObject([
      { outcome: 'DOWN', side: 'BUY', price: 0.6, shares: 100, value: 60, fee: 0.3, role: 'taker' },
    ]);
    const { json: hers } = await api.read(`/users/${ada.userId}/trades`);
    expect(hers.trades).toMatchObject([
      { outcome: 'UP', side: 'BUY', price: 0.4, shares: 100, value: 40, fee: 0, role: 'maker' },
    ]);
    const { json: tape } = await api.read(`/markets/15m/${MARKET}/trades`);
    expect(tape.trades).toMatchObject([
      { outcome: 'DOWN', side: 'BUY', price: 0.6, shares: 100, value: 60, matchType: 'mint' },
    ]);
    expect(tape.trades[0].tradeId).toBe(mine.trades[0].tradeId);
  });

  test('pages of trades continue where the last one ended while new trades come', async () => {
    const ada = await server.register('pager');
    const bob = await server.register('seller');
    const swap = async () => {
      await trade('buy', bob, { outcome: 'DOWN', shares: 1, price: 0.6, timeInForce: 'GTC' });
      await trade('buy', ada, { outcome: 'UP', amount: 0.4 });
    };
    for (let i = 0; i < 5; i++) await swap();
    const path = `/users/${ada.userId}/trades?limit=2`;
    const first = (await api.read(path)).json;
    await swap();
    const second = (await api.read(`${path}&cursor=${first.nextCursor}`)).json;
    const third = (await api.read(`${path}&cursor=${second.nextCursor}`)).json;
    const ids = [...first.trades, ...second.trades, ...third.trades].map((entry) => entry.tradeId);
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
    expect(third.nextCursor).toBeNull();
    const other = await api.read(`/users/${bob.userId}/trades?cursor=${first.nextCursor}`);
    expect([other.status, other.json.error.details]).toEqual([
      400,
      { cursor: 'is not a cursor of this list' },
    ]);
  });

  test('shows past markets, points and the leaderboard after the end of a market', async () => {
    await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 100_001);
    const { json: past } = await api.read('/markets/15m/history?asset=BTC');
    expect(past.markets).toHaveLength(1);
    const [market] = past.markets;
    expect(market).toMatchObject({
      id: MARKET,
      status: 'resolved',
      resolution: 'UP',
      startPrice: 100_000,
    });
    expect(market.priceHistory.length).toBeGreaterThan(100);
    expect(market.priceHistory.at(-1).atMs).toBe(WINDOW_START_MS + WINDOW_MS);

    const [bob, ada] = ['u2', 'u1'];
    const { json: byProfit } = await api.read('/leaderboard?metric=profit&period=day');
    // Ada had 100 UP that cost 40 dollars; Bob paid 60 and a fee of 0.3 for worthless shares.
    expect(byProfit.entries[0]).toEqual({ rank: 1, userId: ada, username: 'ada', value: 60 });
    const last = byProfit.entries.at(-1);
    expect(last).toEqual({
      rank: byProfit.entries.length,
      userId: bob,
      username: 'bob',
      value: -60.3,
    });
    expect((await api.read(`/users/${bob}`)).json).toMatchObject({
      realizedProfit: -60.3,
      rank: last.rank,
    });
    const { json: paged } = await api.read('/leaderboard?metric=profit&period=day&limit=1');
    const { json: rest } = await api.read(
      `/leaderboard?metric=profit&period=day&cursor=${paged.nextCursor}`,
    );
    expect([...paged.entries, ...rest.entries]).toEqual(byProfit.entries);

    const login = await api.post('/auth/login', { username: 'bob', password: PASSWORD });
    const { json: points } = await api.read(`/users/${bob}/points`, login.json.token);
    expect(points).toMatchObject({
      balance: 30,
      history: [{ points: 30, reason: 'fees', marketId: MARKET }],
    });
    expect((await api.get(`/users/${ada}/points`, login.json.token)).status).toBe(403);
  });

  test('shows what happened in a past market, what settled it, and the hash of a batch', async () => {
    const { json: market } = await api.read(`/markets/${MARKET}`);
    const { json: tape } = await api.read(`/markets/15m/${MARKET}/trades?limit=200`);
    const { json: past } = await api.read(`/markets/15m/${MARKET}/events?limit=200`);
    expect(past.nextCursor).toBeNull();
    const idsOf = (trades: { tradeId: string }[]) => trades.map(({ tradeId }) => tradeId);
    const ofType = (type: string) =>
      past.events.filter((event: { type: string }) => event.type === type);
    expect(tape.trades.length).toBeGreaterThan(1);
    expect(idsOf(ofType('trade'))).toEqual(idsOf(tape.trades).reverse());

    const { json: ticks } = await api.read(`/markets/15m/${MARKET}/ticks`);
    expect(ticks).toMatchObject({ startPrice: market.startPrice, endPrice: market.endPrice });
    // Since the market opened, every price was the same.
    const prices = ticks.end.map(({ price }: { price: number }) => price);
    expect(new Set(prices)).toEqual(new Set([market.endPrice]));
    expect(ofType('price')).toContainEqual(expect.objectContaining(ticks.end.at(-1)));

    const trade = ofType('trade')[0];
    const { json: found } = await api.read(`/digest?sequence=${trade.sequence}`);
    expect(found.sequence).toBe(trade.sequence);
    expect(found.batch.firstSequence).toBeLessThanOrEqual(trade.sequence);
    expect(found.batch.lastSequence).toBeGreaterThanOrEqual(trade.sequence);
  });

  test('refuses what does not exist', async () => {
    const trades = await api.get('/users/u999/trades');
    expect([trades.status, trades.json.error.code]).toEqual([404, 'user_not_found']);
    for (const path of ['/markets/btc-15m-1/trades', '/markets/btc-15m-900/trades']) {
      const tape = await api.read(path.replace('/markets/', '/markets/15m/'));
      expect([tape.status, tape.json.error.code]).toEqual([404, 'market_not_found']);
    }
    expect((await api.get('/leaderboard?metric=luck')).status).toBe(400);
    expect((await api.get('/leaderboard?cursor=abc')).status).toBe(400);
  });
});

test('every route was used, with every success status', () => {
  const promised = ROUTES.flatMap((route) =>
    Object.keys(route.responses).map((status) => `${route.method} ${route.path} ${status}`),
  );
  expect(promised.length).toBeGreaterThan(25);
  expect(promised.filter((answer) => !seen.has(answer))).toEqual([]);
});
