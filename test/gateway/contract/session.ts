/**
 * A session that uses every route once as intended. The examples of the contract were taken from it
 * and are compared with it. Every run gets the same answers, except for tokens and the digest,
 * which depend on random numbers.
 */
import { expect } from 'vitest';
import type { Route, RouteExample } from '../../../gateway/http/route.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import {
  type Answer,
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  TestServer,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

const PASSWORD = 'correct horse battery staple';

/** Values that differ in every run, as they appear in the examples. */
const TOKEN =
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1MiIsInZlciI6MSwiaWF0IjoxNzYzNzAwMzAwfQ.c2lnbmF0dXJl';
const DIGEST = '6b0c94e7d1f2a385';
const HASH = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae';

interface Step {
  method: Route['method'];
  /** As in the route table. */
  path: string;
  /** Values of the path parameters. */
  parameters?: Record<string, string>;
  query?: string;
  body?: object;
  token?: string;
}

export class ContractSession {
  readonly examples: Record<string, RouteExample> = {};

  constructor(private readonly server: TestServer) {}

  static async run(): Promise<Record<string, RouteExample>> {
    const server = await TestServer.start({ partnerKeys: PARTNER_KEYS });
    server.feed.deliver('BTC', 100_000);
    try {
      const session = new ContractSession(server);
      await session.use();
      return session.examples;
    } finally {
      await server.stop();
    }
  }

  private async use(): Promise<void> {
    const [bob, ada] = await this.signIn();
    // After a minute it would warn that only one asset has prices.
    await this.step({ method: 'GET', path: '/ready' });
    await this.partners(ada);
    const depositId = await this.stake(ada);
    await this.trade(bob, ada);
    await this.readMarkets();
    await this.readUser(ada);
    await this.server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 101_250.5);
    await this.afterTheEnd(ada, depositId);
    await this.amendAndCancel(ada);
    await this.amendAndCancelNamed(ada);
  }

  /** Tokens of Bob, who referred Ada, and of Ada. */
  private async signIn(): Promise<[string, string]> {
    const bob = await this.server.api.post('/auth/register', {
      username: 'bob',
      password: PASSWORD,
    });
    const body = { username: 'ada', password: PASSWORD, referralCode: bob.json.referralCode };
    const ada = await this.step({ method: 'POST', path: '/auth/register', body });
    const token: string = ada.token;
    await this.step({ method: 'GET', path: '/auth/session', token });
    await this.step({
      method: 'POST',
      path: '/auth/login',
      body: { username: 'ada', password: PASSWORD },
    });
    await this.step({ method: 'POST', path: '/auth/logout' });
    const change = { currentPassword: PASSWORD, newPassword: 'a better password than that' };
    const changed = await this.step({ method: 'PUT', path: '/auth/password', body: change, token });
    return [bob.json.token, changed.token];
  }

  private async access(token: string): Promise<void> {
    const path = '/auth/tokens';
    const body = {
      name: 'market maker',
      scope: 'trade',
      expiresAtMs: WINDOW_START_MS + 30 * 86_400_000,
      allowedAddresses: ['192.0.2.0/24', '2001:db8::1'],
    };
    const { tokenId } = await this.step({ method: 'POST', path, body, token });
    await this.step({ method: 'GET', path, token });
    const parameters = { tokenId };
    await this.step({ method: 'DELETE', path: `${path}/:tokenId`, parameters, token });
    await this.step({
      method: 'PUT',
      path: '/users/:id/cancel-after',
      parameters: { id: 'u2' },
      body: { timeoutMs: 30_000 },
      token,
    });
  }

  private async partners(token: string): Promise<void> {
    const { json } = await this.server.api.get('/auth/session', token);
    const { userId } = json;
    const deposit = { userId, amount: 250.5, reference: 'wire-2025-11-21-17' };
    await this.step({ method: 'POST', path: '/partner/deposits', body: deposit });
    const withdrawal = { userId, amount: 50.25, reference: 'payout-2025-11-21-3' };
    await this.step({ method: 'POST', path: '/partner/withdrawals', body: withdrawal });
    await this.step({ method: 'GET', path: '/partner/users/:id', parameters: { id: userId } });
  }

  private async stake(token: string): Promise<string> {
    const body = { amount: 1_000 };
    const { depositId } = await this.step({
      method: 'POST',
      path: '/vaults/flex/stake',
      body,
      token,
    });
    await this.step({ method: 'GET', path: '/vaults' });
    return depositId;
  }

  private async trade(bob: string, ada: string): Promise<void> {
    const rest = { marketId: MARKET, timeInForce: 'GTC' };
    const operations = [
      { op: 'buy', outcome: 'UP', shares: 200, price: 0.45, ...rest },
      { op: 'buy', outcome: 'DOWN', shares: 150, price: 0.5, ...rest },
      { op: 'sell', outcome: 'UP', shares: 5, ...rest, price: 0.6 },
    ];
    await this.step({ method: 'POST', path: '/batch', body: { operations }, token: bob });
    await this.readBook();
    const parameters = { marketId: MARKET };
    const path = '/markets/15m/:marketId' as const;
    const order = { outcome: 'UP', amount: 25.5 };
    await this.step({ method: 'POST', path: `${path}/buy`, parameters, body: order, token: ada });
    const sale = { outcome: 'UP', shares: 11, price: 0.45 };
    await this.step({ method: 'POST', path: `${path}/sell`, parameters, body: sale, token: ada });
    const bid = { outcome: 'UP', shares: 10, price: 0.3, timeInForce: 'GTC', postOnly: true };
    const { api } = this.server;
    const { json } = await api.post(`/markets/15m/${MARKET}/buy`, bid, ada);
    await api.post(`/markets/15m/${MARKET}/buy`, { ...bid, price: 0.31 }, ada);
    const { userId, orderId } = json;
    await this.step({
      method: 'GET',
      path: '/users/:id/orders',
      parameters: { id: userId },
      token: ada,
    });
    await this.step({
      method: 'GET',
      path: '/users/:id/orders/:orderId',
      parameters: { id: userId, orderId },
      token: ada,
    });
    const cancel = { method: 'DELETE', path: `${path}/orders/:orderId`, token: ada } as const;
    await this.step({ ...cancel, parameters: { marketId: MARKET, orderId } });
    await this.step({ method: 'DELETE', path: `${path}/orders`, parameters, token: ada });
  }

  /** In the next market. */
  private async amendAndCancel(token: string): Promise<void> {
    const { api } = this.server;
    const { json } = await api.get('/markets/15m?asset=BTC');
    const marketId: string = json.markets[0].id;
    const bid = { outcome: 'UP', shares: 10, price: 0.3, timeInForce: 'GTC' };
    const { json: order } = await api.post(`/markets/15m/${marketId}/buy`, bid, token);
    const { orderId, userId } = order;
    await this.step({
      method: 'PATCH',
      path: '/markets/15m/:marketId/orders/:orderId',
      parameters: { marketId, orderId },
      body: { shares: 6 },
      token,
    });
    const parameters = { id: userId };
    await this.step({ method: 'DELETE', path: '/users/:id/orders', parameters, token });
  }

  /** Also in the next market, by the name that the order's owner gave it. */
  private async amendAndCancelNamed(token: string): Promise<void> {
    const { api } = this.server;
    const { json } = await api.get('/markets/15m?asset=BTC');
    const marketId: string = json.markets[0].id;
    const clientOrderId = 'grid-7';
    const bid = { outcome: 'UP', shares: 10, price: 0.3, timeInForce: 'GTC', clientOrderId };
    await api.post(`/markets/15m/${marketId}/buy`, bid, token);
    const path = '/markets/15m/:marketId/orders/by-client-id' as const;
    const query = `?clientOrderId=${clientOrderId}`;
    const named = { path, parameters: { marketId }, query, token };
    await this.step({ ...named, method: 'PATCH', body: { shares: 6 } });
    await this.step({ ...named, method: 'DELETE' });
  }

  private async readBook(): Promise<void> {
    const parameters = { marketId: MARKET };
    await this.step({ method: 'GET', path: '/markets/15m/:marketId/orderbook', parameters });
    const query = '?outcome=UP&amount=25.5';
    await this.step({ method: 'GET', path: '/markets/15m/:marketId/quote', parameters, query });
  }

  private async readMarkets(): Promise<void> {
    await this.step({ method: 'GET', path: '/markets' });
    await this.step({ method: 'GET', path: '/markets/15m' });
    await this.step({ method: 'GET', path: '/markets/:id', parameters: { id: MARKET } });
    await this.step({
      method: 'GET',
      path: '/markets/15m/:marketId/trades',
      parameters: { marketId: MARKET },
    });
  }

  private async readUser(token: string): Promise<void> {
    const { json } = await this.server.api.get('/auth/session', token);
    const parameters = { id: json.userId };
    for (const part of ['', '/balance', '/positions', '/referral', '/trades', '/ledger']) {
      await this.step({ method: 'GET', path: `/users/:id${part}`, parameters, token });
    }
    const body = { code: 'ADA-2025' };
    await this.step({ method: 'PUT', path: '/users/:id/referral/code', parameters, body, token });
    await this.step({
      method: 'GET',
      path: '/users/:userId/vaults',
      parameters: { userId: json.userId },
    });
  }

  private async afterTheEnd(token: string, depositId: string): Promise<void> {
    const parameters = { marketId: MARKET };
    await this.step({ method: 'POST', path: '/markets/15m/:marketId/claim', parameters, token });
    await this.step({ method: 'GET', path: '/markets/15m/history' });
    for (const part of ['ticks', 'events'] as const) {
      const path = `/markets/15m/:marketId/${part}`;
      await this.step({ method: 'GET', path, parameters });
    }
    await this.step({ method: 'GET', path: '/digest', query: '?sequence=11' });
    const { json } = await this.server.api.get('/auth/session', token);
    await this.step({
      method: 'GET',
      path: '/users/:id/points',
      parameters: { id: json.userId },
      token,
    });
    await this.step({ method: 'GET', path: '/leaderboard' });
    const deposit = { depositId };
    await this.step({
      method: 'POST',
      path: '/vaults/deposits/:depositId/claim',
      parameters: deposit,
      token,
    });
    await this.step({
      method: 'POST',
      path: '/vaults/deposits/:depositId/unstake',
      parameters: deposit,
      token,
    });
    for (const path of ['/health', '/status', '/time', '/limits', '/metrics'])
      await this.step({ method: 'GET', path });
    await this.access(token);
  }

  /** Uses a route, which must succeed, and records the answer. */
  private async step({
    method,
    path,
    parameters = {},
    query = '',
    body,
    token,
    // biome-ignore lint/suspicious/noExplicitAny: an answer is read field by field
  }: Step): Promise<any> {
    const key = `${method} ${path}`;
    const route = ROUTES.find((route) => `${route.method} ${route.path}` === key);
    expect(route, key).not.toBe(undefined);
    const headers: Record<string, string> =
      route!.access === 'partner' || route!.access === 'openOrPartner'
        ? { authorization: `Bearer ${PARTNER_KEY}` }
        : {};
    const filled = path.replace(/:(\w+)/g, (_, name: string) => parameters[name]!);
    const { api } = this.server;
    const answer = await (method === 'GET' && route!.access !== 'partner'
      ? api.read(filled + query, token)
      : api.send(method, filled + query, body, { token, headers }));
    expect(answer.status, `${key}: ${answer.text}`).toBeLessThan(300);
    this.examples[key] = {
      ...(body === undefined ? {} : { request: body }),
      ...(answer.text === '' ? {} : { response: exampleOf(answer) }),
    };
    return answer.json;
  }
}

/** For the metrics, which are not JSON: one metric that never changes. */
function exampleOf({ json, text }: Answer): unknown {
  if (json !== undefined) return JSON.parse(text, masked);
  return /# HELP exchange_users .*\n.*\n.*\n/.exec(text)?.[0];
}

/** For a long list: the first two entries and the last. */
function masked(name: string, value: unknown): unknown {
  if (name === 'token') return TOKEN;
  if (name === 'digest') return DIGEST;
  if (name === 'hash') return HASH;
  const isLong = name === 'priceHistory' || name === 'events';
  if (isLong && Array.isArray(value) && value.length > 3) {
    return [...value.slice(0, 2), value.at(-1)];
  }
  return value;
}
