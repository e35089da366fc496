/**
 * Fair use: token buckets against a plain model; addresses; and over real HTTP the refusals, their
 * headers, and that no refused request is executed. Over HTTP the buckets do not refill within a
 * test, so nothing depends on time.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { addressKey, forwardedKey } from '../../../gateway/access/fair-use/addresses.js';
import {
  Bill,
  FairUse,
  type FairUseRates,
  type Payer,
} from '../../../gateway/access/fair-use/fair-use.js';
import { TokenBuckets } from '../../../gateway/access/fair-use/token-buckets.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import {
  type Answer,
  type ApiClient,
  MARKET,
  only,
  PASSWORD,
  rates,
  TestServer,
  type Trader,
} from '../../support/server.js';

describe('token buckets', () => {
  test('agree with a bucket that is refilled step by step', () => {
    const requests = fc.array(
      fc.record({
        key: fc.integer({ min: 0, max: 3 }),
        afterMs: fc.integer({ min: 0, max: 3_000 }),
        count: fc.integer({ min: 1, max: 8 }),
      }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(requests, fc.integer({ min: 1, max: 10 }), (list, burst) => {
        // One token per quarter second, so both are exact.
        const buckets = new TokenBuckets<number>({ perSecond: 4, burst });
        const model = new Map<number, { tokens: number; atMs: number }>();
        let nowMs = 0;
        for (const { key, afterMs, count } of list) {
          nowMs += afterMs;
          const bucket = model.get(key) ?? { tokens: burst, atMs: 0 };
          bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / 250);
          bucket.atMs = nowMs;
          model.set(key, bucket);
          const isThere = bucket.tokens >= Math.min(count, burst);
          if (isThere) bucket.tokens -= count;
          expect(buckets.take(key, count, nowMs)).toBe(isThere);
          expect(buckets.state().remaining).toBe(Math.max(0, Math.floor(bucket.tokens)));
          const waitMs = (Math.min(count, burst) - bucket.tokens) * 250;
          if (!isThere) expect(buckets.waitMs(key, count, nowMs)).toBeCloseTo(waitMs);
        }
      }),
    );
  });

  test('are forgotten when full, and limited in number', () => {
    const buckets = new TokenBuckets<number>({ perSecond: 1, burst: 2 }, 1_000);
    for (let key = 0; key < 900; key++) buckets.take(key, 2, 0);
    expect(buckets.size).toBe(900);
    // The first buckets are full by now, and each new bucket checks two of them.
    for (let key = 1_000; key < 1_600; key++) buckets.take(key, 2, 10_000);
    expect(buckets.size).toBeLessThan(700);
    for (let key = 2_000; key < 10_000; key++) buckets.take(key, 2, 10_000);
    expect(buckets.size).toBe(1_000);
    // The latest ones are still stored.
    expect(buckets.take(9_999, 1, 10_000)).toBe(false);
  });
});

describe('a charge', () => {
  const rate = fc.record({
    perSecond: fc.integer({ min: 1, max: 50 }).map((number) => number / 8),
    burst: fc.integer({ min: 1, max: 400 }),
  });
  const party = fc.option(rate, { nil: null });
  const tier = fc.constantFrom(1, 2, 5, 10);
  const request = fc.record({
    afterMs: fc.integer({ min: 0, max: 20_000 }),
    cost: fc.integer({ min: 1, max: 300 }),
    isSignedIn: fc.boolean(),
  });

  test('is taken whole or not at all: whoever is alone and waits as told is served', () => {
    fc.assert(
      fc.property(
        party,
        party,
        tier,
        fc.array(request, { maxLength: 30 }),
        (user, address, tier, requests) => {
          let nowMs = 0;
          const fairUse = new FairUse(rates({ orders: { user, address } }), () => nowMs);
          fairUse.setTier(7, tier);
          const payer: Payer = { payerId: 7, ahead: null };
          const waitMs = (cost: number, isSignedIn: boolean) => {
            const bill = new Bill({ address: 'home' });
            if (isSignedIn) bill.payer = payer;
            const result = fairUse.charge('orders', bill, cost);
            return result?.granted === false ? result.waitMs : 0;
          };
          // config.ts ensures that an address's burst covers a user's most expensive request.
          const dearest = address?.burst ?? Number.POSITIVE_INFINITY;
          for (const { afterMs, isSignedIn, ...request } of requests) {
            const cost = isSignedIn ? Math.min(request.cost, dearest) : request.cost;
            nowMs += afterMs;
            const toldMs = Math.ceil(waitMs(cost, isSignedIn));
            nowMs += toldMs;
            if (toldMs > 0) expect(waitMs(cost, isSignedIn)).toBe(0);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('addresses', () => {
  const bytes = (...values: number[]) => Uint8Array.from(values).buffer;
  const ipv6 = (...groups: number[]) =>
    bytes(...groups.flatMap((group) => [group >> 8, group & 255]));

  test('are read from a socket', () => {
    expect(addressKey(bytes(192, 168, 1, 255))).toBe(0xc0a8_01ff);
    expect(addressKey(ipv6(0, 0, 0, 0, 0, 0xffff, 0xc0a8, 0x01ff))).toBe(0xc0a8_01ff);
    const network = addressKey(ipv6(0x2001, 0xdb8, 1, 2, 3, 4, 5, 6));
    expect(addressKey(ipv6(0x2001, 0xdb8, 1, 2, 9, 9, 9, 9))).toBe(network);
    expect(addressKey(ipv6(0x2001, 0xdb8, 1, 3, 3, 4, 5, 6))).not.toBe(network);
  });

  test.each([
    ['203.0.113.7', 0xcb00_7107],
    ['10.0.0.1, 203.0.113.7', 0xcb00_7107],
    ['unknown,203.0.113.7:4711', 0xcb00_7107],
    ['::ffff:203.0.113.7', 0xcb00_7107],
    ['[::ffff:cb00:7107]:80', 0xcb00_7107],
    ['2001:db8::7', '20010db8'],
    ['', null],
    ['203.0.113.7, unknown', null],
    ['203.0.113', null],
    ['<script>', null],
  ])('forwarded: %j', (header, key) => {
    const expected = key === '20010db8' ? addressKey(ipv6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7)) : key;
    expect(forwardedKey(header)).toBe(expected);
  });

  test('are equal in full and compressed form when forwarded', () => {
    const written = fc.tuple(fc.ipV6(), fc.constant(null)).map(([text]) => text);
    fc.assert(
      fc.property(written, (text) => {
        const full = new URL(`http://[${text}]/`).hostname;
        expect(forwardedKey(full)).toBe(forwardedKey(text));
        expect(forwardedKey(text)).not.toBe(null);
      }),
    );
  });
});

describe('over HTTP', () => {
  let server: TestServer;
  let api: ApiClient;
  afterEach(() => server.stop());

  async function start(some: Partial<FairUseRates>, trustProxy = false): Promise<void> {
    server = await TestServer.withMarket({ fairUse: rates(some), trustProxy });
    api = server.api;
  }

  const buy = (trader: Trader, headers: Record<string, string> = {}) =>
    api.send(
      'POST',
      `/markets/15m/${MARKET}/buy`,
      { outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' },
      { token: trader.token, headers },
    );

  function expectRefused({ status, json, headers }: Answer, limit: number): void {
    expect([status, json.error.code]).toEqual([429, 'rate_limited']);
    expect(json.error.details.retryAfterMs).toBeGreaterThan(0);
    expect(Number(headers['retry-after'])).toBe(Math.ceil(json.error.details.retryAfterMs / 1_000));
    expect(headers['ratelimit-limit']).toBe(`${limit}`);
    expect(Number(headers['ratelimit-remaining'])).toBeLessThan(limit);
    expect(Number(headers['ratelimit-reset'])).toBeGreaterThan(0);
  }

  test("refuses a user's orders over the limit without executing them, and no read and no other user's order", async () => {
    await start({ orders: { user: only(3), address: null } });
    const ada = await server.register('ada');
    const bob = await server.register('bob');
    const remaining: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await buy(ada);
      expect([status, headers['ratelimit-limit']]).toEqual([200, '3']);
      remaining.push(headers['ratelimit-remaining']);
    }
    expect(remaining).toEqual(['2', '1', '0']);
    const before = await server.state();
    expectRefused(await buy(ada), 3);
    expectRefused(await api.post('/vaults/flex/stake', { amount: 1 }, ada.token), 3);
    expect(await server.state()).toEqual(before);
    expect((await buy(bob)).status).toBe(200);
    const { status, headers } = await api.get(`/users/${ada.userId}/balance`, ada.token);
    expect(status).toBe(200);
    expect(headers['ratelimit-limit']).toBe(undefined);
  });

  test('counts cancels apart, so that who has used up the limit of orders can cancel', async () => {
    await start({
      orders: { user: only(5), address: null },
      cancels: { user: only(4), address: null },
    });
    const ada = await server.register('ada');
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await buy(ada)).json.orderId);
    expectRefused(await buy(ada), 5);
    const path = `/markets/15m/${MARKET}/orders`;
    const single = await api.delete(`${path}/${ids[0]}`, ada.token);
    expect([single.status, single.headers['ratelimit-remaining']]).toEqual([200, '3']);
    const cancel = (i: number) => ({ op: 'cancel', marketId: MARKET, orderId: ids[i] });
    const batch = (operations: object[]) => api.post('/batch', { operations }, ada.token);
    const two = await batch([cancel(1), cancel(2)]);
    expect([two.status, two.headers['ratelimit-remaining']]).toEqual([200, '1']);
    const rest = { outcome: 'UP', shares: 1, price: 0.1, timeInForce: 'GTC' };
    const mixed = [cancel(3), { op: 'buy', marketId: MARKET, ...rest }];
    expectRefused(await batch(mixed), 5);
    expect((await api.delete(`${path}/${ids[0]}`, ada.token)).status).not.toBe(429);
    expectRefused(await api.delete(path, ada.token), 4);
    expect((await api.get(`/users/${ada.userId}/orders`, ada.token)).json.orders).toHaveLength(2);
  });

  test('says when all of a request can pass, also before it is read', async () => {
    const slow = { perSecond: 0.001, burst: 100 };
    await start({ orders: { user: slow, address: null }, reads: { user: null, address: slow } });
    const ada = await server.register('ada');
    const operations = Array.from({ length: 98 }, () => ({ op: 'cancel', orderId: 'x' }));
    const order = { op: 'buy', marketId: MARKET, outcome: 'UP', shares: 1, price: 0.1 };
    const send = (count: number) =>
      api.post('/batch', { operations: [order, ...operations].slice(0, count) }, ada.token);
    const waitMs = async (answer: Promise<Answer>) =>
      (await answer).json.error.details.retryAfterMs as number;
    for (let i = 0; i < 100; i++) await buy(ada);
    expect(Math.round((await waitMs(send(5))) / 1e5)).toBe(50);
    await server.followed();
    expect((await api.get('/markets/15m/history?limit=100')).status).toBe(200);
    const page = (query: string) => waitMs(api.get(`/markets/15m/history${query}`));
    expect(Math.round((await page('?limit=7')) / 1e5)).toBe(70);
    expect(Math.round((await page('')) / 1e5)).toBe(500);
  });

  test('counts every market that a page of past markets with prices may have', async () => {
    await start({ reads: { user: only(100), address: only(300) } });
    const ada = await server.register('ada');
    const path = '/markets/15m/history';
    await server.followed();
    const first = await api.get(`${path}?limit=200`);
    expect([first.status, first.headers['ratelimit-remaining']]).toEqual([200, '100']);
    expect((await api.get(`${path}?limit=1`)).headers['ratelimit-remaining']).toBe('99');
    expect((await api.get(path)).headers['ratelimit-remaining']).toBe('49');
    expectRefused(await api.get(path), 300);
    expectRefused(await api.get(`${path}?limit=200`, ada.token), 300);
    await server.stop();

    await start({ reads: { user: only(100), address: null } });
    const bob = await server.register('bob');
    await server.followed();
    const own = await api.get(`${path}?limit=70`, bob.token);
    expect([own.status, own.headers['ratelimit-remaining']]).toEqual([200, '30']);
    expectRefused(await api.get(path, bob.token), 100);
    // The refused request paid nothing.
    expect((await api.get(`${path}?limit=30`, bob.token)).headers['ratelimit-remaining']).toBe('0');
  });

  test('limits reads and orders by address, whoever is signed in', async () => {
    const few = {
      orders: { user: null, address: only(3) },
      reads: { user: null, address: only(4) },
    };
    await start(few, true);
    const ada = await server.register('ada');
    const bob = await server.register('bob');
    expect((await api.get('/markets/15m')).headers['ratelimit-remaining']).toBe('3');
    expect((await api.get(`/users/${ada.userId}/balance`, ada.token)).status).toBe(200);
    expect((await api.get(`/users/${bob.userId}/balance`, bob.token)).status).toBe(200);
    expect((await api.get('/vaults')).status).toBe(200);
    expectRefused(await api.get('/vaults'), 4);
    expectRefused(await api.get(`/users/${bob.userId}`), 4);
    expectRefused(await api.get('/auth/session'), 4);
    for (const trader of [ada, bob, ada]) expect((await buy(trader)).status).toBe(200);
    expectRefused(await buy(bob), 3);
    // Probes are never refused.
    expect((await api.get('/health')).status).toBe(200);
    expect((await api.get('/ready')).status).toBe(200);
    const { text } = await api.get('/metrics');
    expect(text).toContain('exchange_rate_limited_total{quota="reads",party="address"} 3');
    expect(text).toContain('exchange_rate_limited_total{quota="orders",party="address"} 1');
  });

  test("a signed-in user gets exactly the address's tokens, though they are reserved in steps", async () => {
    await start({ reads: { user: null, address: only(100) } });
    const ada = await server.register('ada');
    const path = `/users/${ada.userId}/balance`;
    const statuses: number[] = [];
    for (let i = 0; i < 101; i++) statuses.push((await api.get(path, ada.token)).status);
    // Tokens are taken in advance in steps of six. The last four are taken one by one.
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.at(-1)).toBe(429);
    expect((await api.get('/vaults')).status).toBe(429);
  });

  test('limits sign-ins by user, by unknown name in the same way, and by address', async () => {
    await start({ signIns: { user: only(2), address: only(7) } });
    await server.register('ada');
    const login = (username: string, password: string) =>
      api.post('/auth/login', { username, password });
    for (const name of ['ada', 'nobody']) {
      expect((await login(name, 'a wrong password')).status).toBe(401);
      expect((await login(name.toUpperCase(), 'a wrong password')).status).toBe(401);
      expectRefused(await login(name, PASSWORD), 2);
    }
    expect((await login('somebody', PASSWORD)).status).toBe(401);
    expect((await login('somebody', PASSWORD)).status).toBe(401);
    const { status, headers } = await api.post('/auth/register', {
      username: 'cyd',
      password: PASSWORD,
    });
    expect([status, headers['ratelimit-limit']]).toEqual([429, '7']);
  });

  test('counts a name as a name, even if it looks like a user number', async () => {
    await start({ signIns: { user: only(2), address: null } });
    const ada = await server.register('ada');
    const login = (username: string) =>
      api.post('/auth/login', { username, password: 'a wrong password' });
    const rest = async (username: string) => {
      const { status, headers } = await login(username);
      return [status, headers['ratelimit-remaining']];
    };
    // A user's number, an unused number, and a used-up name: knowing a number reveals nothing about
    // the limits left.
    for (const name of [ada.userId.slice(1), '2', 'nobody', 'ada', 'x'.repeat(30)]) {
      expect([name, await rest(name)]).toEqual([name, [401, '1']]);
      expect([name, await rest(name)]).toEqual([name, [401, '0']]);
      expectRefused(await login(name), 2);
    }
  });

  test('wrong passwords from other addresses do not lock a user out', async () => {
    await start({ signIns: { user: only(2), address: null } }, true);
    const ada = await server.register('ada');
    const from = (address: string, password: string) =>
      api.send(
        'POST',
        '/auth/login',
        { username: 'ada', password },
        { headers: { 'x-forwarded-for': address } },
      );
    for (let i = 0; i < 2; i++)
      expect((await from('198.51.100.1', 'a wrong password')).status).toBe(401);
    expect((await from('198.51.100.1', PASSWORD)).status).toBe(429);
    expect((await from('198.51.100.2', PASSWORD)).status).toBe(200);
    const change = { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` };
    expect((await api.send('PUT', '/auth/password', change, { token: ada.token })).status).toBe(
      200,
    );
  });

  test('takes the address that a trusted proxy saw, and ignores the header from others', async () => {
    await start({ reads: { user: null, address: only(1) } }, true);
    const from = (...addresses: string[]) =>
      api.send('GET', '/vaults', undefined, {
        headers: { 'x-forwarded-for': addresses.join(', ') },
      });
    expect((await from('198.51.100.1')).status).toBe(200);
    expect((await from('198.51.100.1')).status).toBe(429);
    expect((await from('198.51.100.2')).status).toBe(200);
    // A client's forged address comes first in the header.
    expect((await from('198.51.100.3', '198.51.100.2')).status).toBe(429);
    // Here the client sends a separate header before the proxy's.
    const client = new RawConnection(api.url);
    await client.send(
      requestText('GET', '/vaults', {
        'x-forwarded-for': '198.51.100.4',
        'X-Forwarded-For': '198.51.100.2',
      }),
    );
    expect((await client.answers(1))[0]!.status).toBe(429);
    client.leave();
    expect((await from('2001:db8::1')).status).toBe(200);
    expect((await from('2001:db8::2')).status).toBe(429);
    await server.stop();
    await start({ reads: { user: null, address: only(1) } });
    expect((await from('198.51.100.1')).status).toBe(200);
    expect((await from('198.51.100.2')).status).toBe(429);
  });
});
