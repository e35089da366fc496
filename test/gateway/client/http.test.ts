/** The HTTP part of the client against an exchange: every route, errors, and safe repetitions. */
import { afterAll, describe, expect, test } from 'vitest';
import { credentialOf } from '../../../gateway/access/sign-in-codes.js';
import * as client from '../../../gateway/client/index.js';
import { Api, ConnectionError, ExchangeError, isRefusal } from '../../../gateway/client/index.js';
import { DEFAULT_RETRIES, repeated } from '../../../gateway/client/retries.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import {
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  PASSWORD,
  rates,
  routeOf,
  TestServer,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

/** Routes for people, monitors and browsers. */
const NOT_IN_THE_CLIENT = ['GET /health', 'GET /ready', 'GET /metrics', 'GET /markets/:id/card'];

const seen = new Set<string>();
const server = await TestServer.withMarket({ partnerKeys: PARTNER_KEYS });
afterAll(() => server.stop());

/** Sends the request and records the route. */
const recording: typeof fetch = (address, init) => {
  const path = `${address}`.split('/api')[1]!;
  const route = routeOf(init!.method!, path);
  if (route === undefined) throw new Error(`there is no route ${init!.method} ${path}`);
  seen.add(`${route.method} ${route.path}`);
  return fetch(address, init);
};

function apiOf(options: client.ApiOptions = {}): Api {
  const retries = { firstWaitMs: 1, longestWaitMs: 2_000 };
  return new Api({ url: `${server.api.url}/api`, fetch: recording, retries, ...options });
}

interface Signed {
  api: Api;
  userId: string;
}

async function signedUp(username: string, options?: client.ApiOptions): Promise<Signed> {
  const api = apiOf(options);
  const { userId, token } = await client.register(apiOf(), { username, password: PASSWORD });
  api.token = token;
  return { api, userId };
}

const micros = async ({ api, userId }: Signed) =>
  client.toMicros((await client.balance(api, userId)).available);

/** Registers a maker with offers on both sides. */
async function makeMarket(username: string, shares = 1_000): Promise<Signed> {
  const maker = await signedUp(username);
  for (const outcome of ['UP', 'DOWN'] as const) {
    const order = { outcome, shares, price: '0.45', timeInForce: 'GTC' } as const;
    const receipt = await client.buy(maker.api, MARKET, order);
    expect(receipt.status).toBe('resting');
  }
  return maker;
}

async function usesSubAccounts({ api, userId }: Signed): Promise<void> {
  const before = client.toMicros((await client.balance(api, userId)).total);
  const { userId: sub } = await client.createSubAccount(api, userId, 'maker-sub');
  const moved = await client.transfer(api, userId, { from: userId, to: sub, amount: '12.5' });
  expect([moved.from, moved.to, moved.toAvailable]).toEqual([userId, sub, 12.5]);
  const { subAccounts, allAccounts } = await client.subAccounts(api, userId);
  expect(subAccounts.map((each) => [each.userId, each.balance.total])).toEqual([[sub, 12.5]]);
  expect(client.toMicros(allAccounts.total)).toBe(before);
  const terms = { name: 'grid', scope: 'trade' } as const;
  const { token, tokenId } = await client.createSubAccountToken(api, userId, sub, terms);
  const bot = apiOf();
  bot.token = token;
  expect((await client.balance(bot, sub)).available).toBe(12.5);
  const { tokens } = await client.subAccountTokens(api, userId, sub);
  expect(tokens.map((each) => each.tokenId)).toEqual([tokenId]);
  await client.revokeToken(api, tokenId);
  await expect(client.balance(bot, sub)).rejects.toMatchObject({ code: 'token_revoked' });
}

test('every route of the API is a function that gets its answer', async () => {
  const maker = await makeMarket('maker');
  const taker = await signedUp('taker');
  const { api, userId } = taker;

  expect((await client.session(api)).userId).toBe(userId);
  expect(await micros(taker)).toBe(10_000_000_000);
  expect((await client.login(apiOf(), { username: 'taker', password: PASSWORD })).userId).toBe(
    userId,
  );
  expect((await client.markets(api, { status: 'active', limit: 5 })).markets[0]!.id).toBe(MARKET);
  expect((await client.activeMarkets(api, { asset: 'btc' })).markets).toHaveLength(1);
  expect((await client.market(api, MARKET)).priceHistory).not.toBe(undefined);
  expect((await client.orderbook(api, MARKET, { depth: 1 })).UP.bids).toEqual([
    { price: 0.45, shares: 1_000 },
  ]);
  const wanted = { outcome: 'UP', amount: '5.5' } as const;
  const quote = await client.buyQuote(api, MARKET, wanted);
  const bought = await client.buy(api, MARKET, wanted);
  expect([bought.shares, bought.fee]).toEqual([quote.shares, quote.fee]);
  expect(client.toMicros(bought.balance.available)).toBe(10_000_000_000 - 5_527_500);
  const sale = { outcome: 'UP', shares: client.fromLots(1_500) } as const;
  const saleQuote = await client.sellQuote(api, MARKET, sale);
  const sold = await client.sell(api, MARKET, sale);
  expect(sold.received).toBe(saleQuote.received);
  expect((await client.marketTrades(api, MARKET)).trades).toHaveLength(2);
  const [candle] = (await client.marketCandles(api, MARKET, { interval: '5s' })).candles;
  expect(candle).toMatchObject({ UP: { open: quote.averagePrice }, trades: 2 });
  const { candles } = await client.assetCandles(api, 'btc', { limit: 1 });
  expect(candles).toMatchObject([{ volume: candle!.volume, trades: 2 }]);
  const trades = client.pages((paging) => client.userTrades(api, userId, paging), 'trades', 1);
  const sides: string[] = [];
  for await (const trade of trades) sides.push(trade.side);
  expect(sides).toEqual(['SELL', 'BUY']);

  const { orders } = await client.orders(maker.api, maker.userId);
  expect(orders).toHaveLength(2);
  expect((await client.cancel(maker.api, MARKET, orders[0]!.orderId)).status).toBe('cancelled');
  const gone = await client.order(maker.api, maker.userId, orders[0]!.orderId);
  expect([gone.status, gone.reason]).toEqual(['cancelled', 'requested']);
  expect((await client.cancelAfter(maker.api, maker.userId, 0)).cancelAtMs).toBe(null);
  expect((await client.setPrivacy(maker.api, maker.userId, { private: false })).private).toBe(
    false,
  );
  expect((await client.privacy(maker.api, maker.userId)).private).toBe(false);
  expect((await client.setAutoClaim(maker.api, maker.userId, true)).enabled).toBe(true);
  expect((await client.autoClaim(maker.api, maker.userId)).enabled).toBe(true);
  const poor = await server.registerPoor('broke');
  const poorApi = apiOf();
  poorApi.token = poor.token;
  expect((await client.startAgain(poorApi, poor.userId)).amount).toBe(9_999);
  await usesSubAccounts(maker);
  expect((await client.cancelAll(maker.api, MARKET)).cancelledOrders).toBe(1);
  const order = { outcome: 'UP', shares: 5, price: 0.2, timeInForce: 'GTC' } as const;
  const { orderId } = await client.buy(maker.api, MARKET, order);
  const smaller = await client.amend(maker.api, MARKET, orderId, { shares: 3 });
  expect(smaller.keptPriority).toBe(true);
  const name = { clientOrderId: 'mine' };
  await client.buy(maker.api, MARKET, { ...order, ...name });
  const named = await client.amend(maker.api, MARKET, name, { shares: '4.5' });
  expect([named.clientOrderId, named.restingShares]).toEqual(['mine', 4.5]);
  expect((await client.cancel(maker.api, MARKET, name)).cancelledShares).toBe(4.5);
  const all = await client.cancelEverywhere(maker.api, maker.userId);
  expect(all.cancelled).toEqual([orderId]);
  const pairs = await client.split(maker.api, MARKET, '2.5');
  expect([pairs.position.UP, pairs.total]).toEqual([4, 2.5125]);
  expect((await client.merge(maker.api, MARKET, 1.5)).position.UP).toBe(2.5);
  const { results } = await client.batch(
    maker.api,
    [
      { op: 'buy', marketId: MARKET, outcome: 'UP', shares: '2', price: '0.3', timeInForce: 'GTC' },
      { op: 'sell', marketId: MARKET, outcome: 'UP', shares: 1e6 },
    ],
    { atomic: false },
  );
  expect(results[0]).toMatchObject({ status: 'resting', restingShares: 2 });
  expect(results[1]).toMatchObject({ error: { code: 'insufficient_shares' } });

  const { entries } = await client.ledger(api, userId, { marketId: MARKET, cause: 'fee' });
  expect(entries.map(({ available }) => available)).toEqual([-0.0275]);
  const first = await client.ledgerCsv(api, userId, { limit: 1 });
  expect(first.csv.split('\r\n')).toHaveLength(3);
  const second = await client.ledgerCsv(api, userId, { cursor: first.nextCursor });
  expect(first.csv).toMatch(/^entryId,eventId,sequence,atMs,atUtc,cause,/);
  expect(second.csv).not.toContain(first.csv.split('\r\n')[1]);
  expect(second.nextCursor).toBe(null);
  expect((await client.positions(api, userId)).positions[0]!.outcome).toBe('UP');
  expect((await client.profile(api, userId)).trades).toBe(2);
  expect((await client.setReferralCode(api, userId, 'FRIENDS')).code).toBe('FRIENDS');
  expect((await client.referral(api, userId)).code).toBe('FRIENDS');
  expect((await client.leaderboard(api, { metric: 'volume' })).entries.length).toBe(1);
  expect((await client.points(api, userId)).history).toEqual([]);

  const limits = { maxFilledShares: '50', windowMs: 1_000 };
  const { groupId } = await client.createOrderGroup(api, userId, limits);
  expect((await client.resetOrderGroup(api, userId, groupId)).maxFilledShares).toBe(50);
  expect((await client.orderGroups(api, userId)).orderGroups).toMatchObject([{ groupId }]);
  expect((await client.removeOrderGroup(api, userId, groupId)).cancelled).toEqual([]);

  const deposit = await client.stake(api, '100.25');
  expect((await client.vaults(api)).vaults[0]!.staked).toBe(100.25);
  expect((await client.deposits(api, userId)).deposits).toHaveLength(1);
  await expect(client.claimYield(api, deposit.depositId)).rejects.toMatchObject({
    code: 'nothing_to_claim',
  });
  expect((await client.unstake(api, deposit.depositId)).returned).toBe(100.25);

  const partner = apiOf({ partnerKey: PARTNER_KEY });
  const transfer = { userId, amount: '0.000001', reference: 'first' };
  expect((await client.partnerDeposit(partner, transfer)).amount).toBe(0.000001);
  await expect(
    client.partnerWithdrawal(partner, { ...transfer, reference: 'second' }),
  ).rejects.toMatchObject({ code: 'user_mismatch', status: 403 });
  expect((await client.partnerUser(partner, userId)).available).toBe(null);

  expect((await client.time(api)).nowMs).toBe(server.clock.nowMs());
  expect((await client.limits(api)).tickSize).toBe(0.001);
  expect((await client.dayFiles(api)).files).toEqual([]);
  expect((await client.status(api)).sequence).toBeGreaterThan(10);

  await server.passTime(WINDOW_START_MS + WINDOW_MS + 3_000, 100_100);
  await server.followed();
  expect((await client.pastMarkets(api, { asset: 'BTC' })).markets[0]!.resolution).toBe('UP');
  const { endPrice, end } = await client.marketTicks(api, MARKET);
  expect(end.map(({ price }) => price)).toContain(endPrice);
  const replay = client.pages((paging) => client.marketEvents(api, MARKET, paging), 'events', 7);
  const types = new Set<string>();
  for await (const event of replay) types.add(event.type);
  expect([...types].sort()).toEqual(['book', 'price', 'trade']);
  const { batch } = await client.digest(api, bought.sequence);
  expect(batch.firstSequence).toBeLessThanOrEqual(bought.sequence);
  expect((await client.claim(api, MARKET)).payout).toBeGreaterThan(0);
  const reading = await client.createToken(api, { name: 'charts', scope: 'read' });
  const reader = apiOf({ token: reading.token });
  expect((await client.session(reader)).userId).toBe(userId);
  await expect(client.stake(reader, 1)).rejects.toMatchObject({ code: 'scope_insufficient' });
  expect((await client.tokens(api)).tokens.map(({ name }) => name)).toEqual(['charts']);
  await client.revokeToken(api, reading.tokenId);
  await expect(client.session(reader)).rejects.toMatchObject({ code: 'token_revoked' });
  const passwords = { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` };
  const { token } = await client.changePassword(api, passwords);
  await expect(client.session(api)).rejects.toMatchObject({ code: 'token_revoked', status: 401 });
  api.token = token;
  const { username } = await client.profile(api, userId);
  const code = '7K2MD-0Q9XA-3VT8H-JW5RC';
  const credential = credentialOf(code, server.clock.nowMs() + 1_000);
  const action = { userId: Number(userId.slice(1)), operator: 'op', reason: 'a test' };
  server.submit({ kind: 'resetCredential', credential, ...action });
  const recovered = await client.recover(apiOf(), { username, code, newPassword: PASSWORD });
  api.token = recovered.token;
  await client.logout(api);

  const missing = ROUTES.map(({ method, path }) => `${method} ${path}`).filter(
    (route) => !seen.has(route) && !NOT_IN_THE_CLIENT.includes(route),
  );
  expect(missing).toEqual([]);
});

test('the address of the API may end in a slash', async () => {
  const { markets } = await client.activeMarkets(apiOf({ url: `${server.api.url}/api/` }));
  expect(markets.length).toBeGreaterThan(0);
});

describe('errors', () => {
  test('have the code, the message, the details and the status of the answer', async () => {
    const { api } = await signedUp('poor');
    const order = { outcome: 'UP', shares: 100_000, price: 0.5, timeInForce: 'GTC' } as const;
    const { markets } = await client.activeMarkets(api);
    const error = await client.buy(api, markets[0]!.id, order).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ExchangeError);
    expect(error).toMatchObject({
      code: 'insufficient_balance',
      status: 422,
      details: { required: 50_250, available: 10_000 },
    });
    expect(isRefusal(error, 'insufficient_balance')).toBe(true);
    expect(isRefusal(error, 'order_not_found')).toBe(false);
    expect(isRefusal(new Error(error.message))).toBe(false);
  });

  test('an amount that is not exact is not sent', async () => {
    const { api } = await signedUp('inexact', {
      fetch: () => {
        throw new Error('a request was sent');
      },
    });
    for (const amount of [0.1 + 0.2, '1e3', 'ten'])
      await expect(client.buy(api, MARKET, { outcome: 'UP', amount })).rejects.toThrow(RangeError);
  });

  test('an answer that is not of the API is "unknown"', async () => {
    const api = apiOf({ url: server.api.url, fetch });
    await expect(client.status(api)).rejects.toMatchObject({ code: 'route_not_found' });
    const elsewhere = apiOf({ fetch: async () => new Response('<html>', { status: 403 }) });
    await expect(client.status(elsewhere)).rejects.toMatchObject({ code: 'unknown', status: 403 });
  });
});

describe('repetitions', () => {
  /** Sends the requests, but loses the first `count` answers. */
  function losing(count: number, keys: (string | null)[]): typeof fetch {
    let lost = 0;
    return async (address, init) => {
      keys.push((init!.headers as Headers).get('idempotency-key'));
      const response = await fetch(address, init);
      if (lost++ < count) throw new TypeError('the connection was closed');
      return response;
    };
  }

  test('a change whose answers are lost is executed once', async () => {
    const keys: (string | null)[] = [];
    const { api, userId } = await signedUp('lossy', { fetch: losing(4, keys) });
    const deposit = await client.stake(api, 25);
    expect(new Set(keys).size).toBe(1);
    expect(keys).toHaveLength(5);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    const { deposits } = await client.deposits(api, userId);
    expect(deposits.map(({ depositId }) => depositId)).toEqual([deposit.depositId]);
    await client.stake(api, 25);
    expect(keys.at(-1)).not.toBe(keys[0]);
    expect(await micros({ api, userId })).toBe(9_950_000_000);
  });

  test('after the last attempt the error says that it may be executed, and with which key', async () => {
    const keys: (string | null)[] = [];
    const retries = { attempts: 3, firstWaitMs: 1 };
    const lossy = await signedUp('unlucky', { fetch: losing(3, keys), retries });
    const error = await client.stake(lossy.api, 25).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ mayBeExecuted: true, idempotencyKey: keys[0] });
    expect(keys).toHaveLength(3);
    const again = { idempotencyKey: error.idempotencyKey };
    expect((await client.stake(lossy.api, 25, again)).amount).toBe(25);
    expect(await micros(lossy)).toBe(9_975_000_000);
  });

  test('a change without a key is not repeated when its answer is lost', async () => {
    const keys: (string | null)[] = [];
    const api = apiOf({ fetch: losing(1, keys) });
    const account = { username: 'registered-once', password: PASSWORD };
    await expect(client.register(api, account)).rejects.toMatchObject({ mayBeExecuted: true });
    expect(keys).toEqual([null]);
    expect((await client.login(apiOf(), account)).username).toBe('registered-once');
  });

  test('429 is repeated after the wait that the exchange asks for, unless that is too long', async () => {
    const strict = await TestServer.withMarket({
      fairUse: rates({ orders: { user: { perSecond: 20, burst: 2 }, address: null } }),
    });
    let sent = 0;
    const counting: typeof fetch = (address, init) => {
      sent++;
      return fetch(address, init);
    };
    const url = `${strict.api.url}/api`;
    const api = new Api({ url, fetch: counting, retries: { firstWaitMs: 1 } });
    const { userId, token } = await client.register(api, { username: 'fast', password: PASSWORD });
    api.token = token;
    sent = 0;
    await Promise.all(Array.from({ length: 8 }, () => client.stake(api, 1)));
    expect(sent).toBeGreaterThan(8);
    expect(client.toMicros((await client.balance(api, userId)).available)).toBe(9_992_000_000);

    const impatient = new Api({ url, token, retries: { longestWaitMs: 1 } });
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => client.stake(impatient, 1)),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused)
      expect(reason).toMatchObject({ code: 'rate_limited', status: 429 });
    await strict.stop();
  });

  test('a 503 is repeated: without a key only if it says that nothing was executed', async () => {
    const body = (details: object) =>
      JSON.stringify({ error: { code: 'unavailable', message: 'Later.', details } });
    /** First answers like a proxy or an overloaded exchange, then forwards to the exchange. */
    const refusing = (text: string, sent: string[]): typeof fetch => {
      return (address, init) => {
        sent.push(`${address}`);
        return sent.length > 1
          ? fetch(address, init)
          : Promise.resolve(new Response(text, { status: 503 }));
      };
    };
    const account = (username: string) => ({ username, password: PASSWORD });
    let sent: string[] = [];
    let api = apiOf({ fetch: refusing(body({ executed: false }), sent) });
    await client.register(api, account('patient'));
    expect(sent).toHaveLength(2);
    sent = [];
    api = apiOf({ fetch: refusing('<html>', sent) });
    await expect(client.register(api, account('unsure'))).rejects.toMatchObject({ status: 503 });
    expect(sent).toHaveLength(1);
    sent = [];
    api = apiOf({ fetch: refusing('<html>', sent) });
    expect((await client.status(api)).version).toMatch(/^\d/);
    expect(sent).toHaveLength(2);
  });

  test.each([503, 0])('what was executed before is asked for again, status %s', async (status) => {
    const retries = { ...DEFAULT_RETRIES, firstWaitMs: 1 };
    const details = { executed: true, sequence: 7 };
    const error = new ExchangeError('history_unavailable', 'Later.', details, status);
    let sent = 0;
    const attempt = async () => (++sent < 3 ? { error } : { answer: 'the first one' });
    expect(await repeated(attempt, true, retries)).toBe('the first one');
    sent = 0;
    await expect(repeated(attempt, false, retries)).rejects.toBe(error);
    expect(sent).toBe(1);
  });

  test('a signal ends a call and its waits', async () => {
    const stop = new AbortController();
    const nobody = new Api({
      url: 'http://127.0.0.1:1/api',
      retries: { attempts: 1_000, firstWaitMs: 100_000, longestWaitMs: 100_000 },
    });
    const waiting = client.status(nobody, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(client.status(nobody, { signal: stop.signal })).rejects.toThrow('enough');
  });

  test('an attempt that takes too long counts as lost', async () => {
    let attempts = 0;
    const hanging: typeof fetch = (address, init) => {
      if (attempts++ > 0) return fetch(address, init);
      return new Promise((_, reject) => {
        init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason));
      });
    };
    const api = apiOf({ fetch: hanging, retries: { firstWaitMs: 1, timeoutMs: 50 } });
    expect((await client.status(api)).version).toMatch(/^\d/);
    expect(attempts).toBeGreaterThan(1);
  });
});
