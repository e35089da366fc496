/**
 * A session that uses every route once as intended. The contract's examples are its record. Every
 * run gets the same answers, except for tokens and the digest, which depend on random numbers.
 */
import { expect } from 'vitest';
import { credentialOf } from '../../../gateway/access/sign-in-codes.js';
import type { RouteExample } from '../../../gateway/contract/examples.js';
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
/** The second user, after Bob. */
const ADA = 'u2';

/** Values that differ in every run, as they appear in the examples. */
const TOKEN =
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1MiIsInZlciI6MSwiaWF0IjoxNzYzNzAwMzAwfQ.c2lnbmF0dXJl';
const DIGEST = '6b0c94e7d1f2a385';
const HASH = '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae';

interface Step {
  /** Values of the path parameters. */
  of?: Record<string, string>;
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
      await session.useAll();
      return session.examples;
    } finally {
      await server.stop();
    }
  }

  private async useAll(): Promise<void> {
    const [bob, ada] = await this.signIn();
    // After a minute, the exchange would warn that only one asset has prices.
    await this.use('GET /ready');
    await this.partners();
    const { depositId } = await this.use('POST /vaults/flex/stake', {
      body: { amount: 1_000 },
      token: ada,
    });
    await this.use('GET /vaults');
    await this.trade(bob, ada);
    for (const path of ['/markets', '/markets/15m', '/history']) await this.use(`GET ${path}`);
    for (const part of ['', '/card'])
      await this.use(`GET /markets/:id${part}`, { of: { id: MARKET } });
    await this.use('GET /markets/15m/:marketId/trades', { of: { marketId: MARKET } });
    const query = '?limit=2';
    await this.use('GET /markets/15m/:marketId/candles', { of: { marketId: MARKET }, query });
    await this.use('GET /assets/:symbol/candles', { of: { symbol: 'BTC' }, query });
    await this.readUser(ada);
    await this.server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 101_250.5);
    await this.afterTheEnd(ada, depositId);
    await this.amendAndCancel(ada);
    await this.startAgain();
  }

  /** Tokens of Bob, who referred Ada, and of Ada. */
  private async signIn(): Promise<[string, string]> {
    const login = (username: string) => ({ username, password: PASSWORD });
    const { json: bob } = await this.server.api.post('/auth/register', login('bob'));
    const body = { ...login('ada'), referralCode: bob.referralCode };
    const { token } = await this.use('POST /auth/register', { body });
    await this.use('GET /auth/session', { token });
    await this.use('POST /auth/login', { body: login('ada') });
    await this.use('POST /auth/logout');
    const change = { currentPassword: PASSWORD, newPassword: 'a better password than that' };
    await this.use('PUT /auth/password', { body: change, token });
    const code = '7K2MD-0Q9XA-3VT8H-JW5RC';
    const credential = credentialOf(code, this.server.clock.nowMs() + 86_400_000);
    const action = { userId: Number(ADA.slice(1)), operator: 'olga', reason: 'forgotten' };
    this.server.submit({ kind: 'resetCredential', credential, ...action });
    const recovery = { username: 'ada', code, newPassword: 'another better password' };
    const { token: last } = await this.use('POST /auth/recovery', { body: recovery });
    return [bob.token, last];
  }

  private async startAgain(): Promise<void> {
    const { userId: id, token } = await this.server.registerPoor('cleo');
    await this.use('POST /users/:id/start-again', { of: { id }, token });
  }

  private async access(token: string): Promise<void> {
    const body = {
      name: 'market maker',
      scope: 'trade',
      expiresAtMs: WINDOW_START_MS + 30 * 86_400_000,
      allowedAddresses: ['192.0.2.0/24', '2001:db8::1'],
    };
    const { tokenId } = await this.use('POST /auth/tokens', { body, token });
    await this.use('GET /auth/tokens', { token });
    await this.use('DELETE /auth/tokens/:tokenId', { of: { tokenId }, token });
    const timer = { of: { id: ADA }, body: { timeoutMs: 30_000 }, token };
    await this.use('PUT /users/:id/cancel-after', timer);
    await this.orderGroups(token);
  }

  private async orderGroups(token: string): Promise<void> {
    const body = { maxFilledShares: 500, windowMs: 5_000 };
    const groups = '/users/:id/order-groups';
    const { groupId } = await this.use(`POST ${groups}`, { of: { id: ADA }, body, token });
    await this.use(`GET ${groups}`, { of: { id: ADA }, token });
    const of = { id: ADA, groupId };
    await this.use(`POST ${groups}/:groupId/reset`, { of, token });
    await this.use(`DELETE ${groups}/:groupId`, { of, token });
  }

  private async partners(): Promise<void> {
    const deposit = { userId: ADA, amount: 250.5, reference: 'wire-2025-11-21-17' };
    await this.use('POST /partner/deposits', { body: deposit });
    const withdrawal = { userId: ADA, amount: 50.25, reference: 'payout-2025-11-21-3' };
    await this.use('POST /partner/withdrawals', { body: withdrawal });
    await this.use('GET /partner/users/:id', { of: { id: ADA } });
  }

  private async trade(bob: string, ada: string): Promise<void> {
    const rest = { marketId: MARKET, timeInForce: 'GTC' };
    const operations = [
      { op: 'buy', outcome: 'UP', shares: 200, price: 0.45, ...rest },
      { op: 'buy', outcome: 'DOWN', shares: 150, price: 0.5, ...rest },
      { op: 'sell', outcome: 'UP', shares: 5, ...rest, price: 0.6 },
    ];
    await this.use('POST /batch', { body: { operations }, token: bob });
    const of = { marketId: MARKET };
    await this.use('GET /markets/15m/:marketId/orderbook', { of });
    const query = '?outcome=UP&amount=25.5';
    await this.use('GET /markets/15m/:marketId/quote', { of, query });
    const hers = { of, token: ada };
    const order = { outcome: 'UP', amount: 25.5 };
    await this.use('POST /markets/15m/:marketId/buy', { ...hers, body: order });
    const sale = { outcome: 'UP', shares: 11, price: 0.45 };
    await this.use('POST /markets/15m/:marketId/sell', { ...hers, body: sale });
    const bid = { outcome: 'UP', shares: 10, price: 0.3, timeInForce: 'GTC', postOnly: true };
    const { orderId } = await this.bid(MARKET, bid, ada);
    await this.bid(MARKET, { ...bid, price: 0.31 }, ada);
    await this.use('GET /users/:id/orders', { of: { id: ADA }, token: ada });
    await this.use('GET /users/:id/orders/:orderId', { of: { id: ADA, orderId }, token: ada });
    const one = { of: { ...of, orderId }, token: ada };
    await this.use('DELETE /markets/15m/:marketId/orders/:orderId', one);
    await this.use('DELETE /markets/15m/:marketId/orders', hers);
  }

  /** Amends and cancels in the next market, by both kinds of order id; also complete sets. */
  private async amendAndCancel(token: string): Promise<void> {
    const { json } = await this.server.api.get('/markets/15m?asset=BTC');
    const marketId: string = json.markets[0].id;
    const bid = { outcome: 'UP', shares: 10, price: 0.3, timeInForce: 'GTC' };
    const body = { shares: 6 };
    const { orderId } = await this.bid(marketId, bid, token);
    const one = { of: { marketId, orderId }, body, token };
    await this.use('PATCH /markets/15m/:marketId/orders/:orderId', one);
    await this.use('DELETE /users/:id/orders', { of: { id: ADA }, token });
    const clientOrderId = 'grid-7';
    await this.bid(marketId, { ...bid, clientOrderId }, token);
    const named = { of: { marketId }, query: `?clientOrderId=${clientOrderId}`, token };
    await this.use('PATCH /markets/15m/:marketId/orders/by-client-id', { ...named, body });
    await this.use('DELETE /markets/15m/:marketId/orders/by-client-id', named);
    const sets = { of: { marketId }, token };
    await this.use('POST /markets/15m/:marketId/split', { ...sets, body: { shares: 20 } });
    await this.use('POST /markets/15m/:marketId/merge', { ...sets, body: { shares: 5 } });
  }

  private async bid(marketId: string, body: object, token: string) {
    return (await this.server.api.post(`/markets/15m/${marketId}/buy`, body, token)).json;
  }

  private async readUser(token: string): Promise<void> {
    const of = { id: ADA };
    for (const part of ['', '/balance', '/positions', '/referral', '/trades', '/ledger'])
      await this.use(`GET /users/:id${part}`, { of, token });
    await this.use('PUT /users/:id/referral/code', { of, body: { code: 'ADA-2025' }, token });
    await this.use('PUT /users/:id/privacy', { of, body: { private: true }, token });
    await this.use('GET /users/:id/privacy', { of, token });
    await this.use('PUT /users/:id/privacy', { of, body: { private: false }, token });
    await this.use('PUT /users/:id/auto-claim', { of, body: { enabled: true }, token });
    await this.use('GET /users/:id/auto-claim', { of, token });
    await this.use('PUT /users/:id/auto-claim', { of, body: { enabled: false }, token });
    await this.use('GET /users/:userId/vaults', { of: { userId: ADA } });
    await this.subAccounts(token);
  }

  private async subAccounts(token: string): Promise<void> {
    const of = { id: ADA };
    const body = { username: 'ada-grid' };
    const { userId } = await this.use('POST /users/:id/sub-accounts', { of, body, token });
    const transfer = { from: ADA, to: userId, amount: 250 };
    await this.use('POST /users/:id/transfers', { of, body: transfer, token });
    await this.use('GET /users/:id/sub-accounts', { of, token });
    const tokens = '/users/:id/sub-accounts/:subAccountId/tokens';
    const one = { of: { ...of, subAccountId: userId }, token };
    const terms = { name: 'grid', scope: 'trade' };
    await this.use(`POST ${tokens}`, { ...one, body: terms });
    await this.use(`GET ${tokens}`, one);
  }

  private async afterTheEnd(token: string, depositId: string): Promise<void> {
    const of = { marketId: MARKET };
    await this.use('POST /markets/15m/:marketId/claim', { of, token });
    await this.use('GET /markets/15m/history');
    for (const part of ['ticks', 'events'])
      await this.use(`GET /markets/15m/:marketId/${part}`, { of });
    await this.use('GET /digest', { query: '?sequence=11' });
    await this.use('GET /users/:id/points', { of: { id: ADA }, token });
    await this.use('GET /leaderboard');
    for (const verb of ['claim', 'unstake'])
      await this.use(`POST /vaults/deposits/:depositId/${verb}`, { of: { depositId }, token });
    for (const path of ['/health', '/status', '/time', '/limits', '/metrics'])
      await this.use(`GET ${path}`);
    await this.access(token);
  }

  /** Uses a route, named as in the route table, which must succeed. Records the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer is read field by field
  private async use(name: string, { of = {}, query = '', body, token }: Step = {}): Promise<any> {
    const route = ROUTES.find(({ method, path }) => `${method} ${path}` === name);
    expect(route, name).not.toBe(undefined);
    const { method, path, access } = route!;
    const isPartner = access === 'partner' || access === 'openOrPartner';
    const headers = isPartner ? { authorization: `Bearer ${PARTNER_KEY}` } : {};
    const filled = path.replace(/:(\w+)/g, (_, parameter: string) => of[parameter]!) + query;
    const { api } = this.server;
    const answer = await (method === 'GET' && access !== 'partner'
      ? api.read(filled, token)
      : api.send(method, filled, body, { token, headers: headers as Record<string, string> }));
    expect(answer.status, `${name}: ${answer.text}`).toBeLessThan(300);
    this.examples[name] = {
      ...(body === undefined ? {} : { request: body }),
      ...(answer.text === '' ? {} : { response: exampleOf(answer) }),
    };
    return answer.json;
  }
}

/** Also shortens other answers: a constant metric, or a page's head up to its title. */
function exampleOf({ json, text }: Answer): unknown {
  if (json !== undefined) return JSON.parse(text, masked);
  return /# HELP exchange_users .*\n.*\n.*\n|^<!doctype[\s\S]*<\/title>/.exec(text)?.[0];
}

/** Shortens a long list to its first two entries and the last. */
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
