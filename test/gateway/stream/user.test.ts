/**
 * The `user` channel: the account that a client builds from its events equals the routes at the
 * same sequence and adds up to the balance at every message, from the first order to the last
 * payout.
 */

import { afterAll, expect, test } from 'vitest';
import {
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { randomCommand, type Trading } from './commands.js';
import { byPlace, heldOf, lots, micros, RebuiltAccount } from './rebuilt-account.js';
import { type Message, StreamClient, streamLimits } from './support.js';

const DAY_MS = 86_400_000;

/** A trader with an open stream, which sometimes breaks. */
class Watcher {
  readonly account = new RebuiltAccount();
  private taken = 0;

  private constructor(
    readonly trader: Trader,
    private client: StreamClient,
  ) {}

  static async of(trader: Trader): Promise<Watcher> {
    const client = await connectAs(trader);
    await client.subscribe('user');
    return new Watcher(trader, client);
  }

  async breakOff(meanwhile: () => void): Promise<void> {
    this.takeUpTo(Number.POSITIVE_INFINITY);
    const after = this.client.numbers.get('user');
    await this.client.hangUp();
    meanwhile();
    this.client = await StreamClient.connect(server.exchange.port);
    this.taken = 0;
    // Sent together: the second waits until the first is verified.
    this.client.send({ op: 'auth', token: this.trader.token });
    this.client.send({ op: 'resume', channel: 'user', after });
    await this.client.next('authenticated');
  }

  /** Compares the rebuilt account with the routes while trading continues. */
  async compare(trade: () => void): Promise<void> {
    const { userId, token } = this.trader;
    const read = async (path: string) => {
      const answer = server.api.get(`/users/${userId}/${path}`, token);
      trade();
      const { json } = await answer;
      expect((await this.client.caughtUp()).sequence).toBeGreaterThanOrEqual(json.sequence);
      this.takeUpTo(json.sequence);
      return json;
    };
    const balance = await read('balance');
    expect([micros(balance.available), micros(balance.held)]).toEqual([
      this.account.available,
      this.account.held,
    ]);
    const { orders, nextCursor } = await read('orders?limit=200');
    expect(nextCursor).toBe(null);
    const resting = orders.map(({ orderId, shares }: Message) => [orderId, lots(shares)]);
    expect(new Map(resting)).toEqual(this.account.orders);
    const { positions } = await read('positions?limit=200');
    expect(this.account.positionList()).toEqual(positions.map(heldOf).sort(byPlace));
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  private takeUpTo(sequence: number): void {
    const { messages } = this.client;
    while (this.taken < messages.length && (messages[this.taken].sequence ?? 0) <= sequence) {
      this.account.take(messages[this.taken++]);
    }
  }
}

const connectAs = (trader: Trader) =>
  StreamClient.connect(server.exchange.port, { 'x-user-token': trader.token });

const server = await TestServer.withMarket(streamLimits({ operationsBurst: 10_000 }));
afterAll(() => server.stop());

test('equals the account from its first order to its last payout', async () => {
  const ada = await server.register('ada');
  const { json } = await server.api.get(`/users/${ada.userId}/referral`);
  const traders = [ada, await server.register('bob', json.code), await server.register('cyn')];
  const watchers: Watcher[] = [];
  for (const trader of traders) watchers.push(await Watcher.of(trader));
  const { engine } = server.exchange.sequencer;
  const random = new Random('user');
  const trading: Trading = {
    engine,
    marketId: engine.activeMarket(0),
    users: 3,
    random: new Random('user trading'),
  };
  const trade = () => {
    for (let i = random.whole(0, 12); i > 0; i--) server.submit(randomCommand(trading));
  };
  await server.api.post('/vaults/flex/stake', { amount: 100 }, ada.token);
  const sets = (op: string, shares: number) =>
    server.api.post(`/markets/15m/${MARKET}/${op}`, { shares }, ada.token);
  expect((await sets('split', 50)).json.fee).toBe(0.25);
  expect((await sets('merge', 20)).json.profit).toBe(0);

  for (let step = 0; step < 50; step++) {
    trade();
    const watcher = watchers[random.whole(0, 2)]!;
    if (random.chance(0.2)) await watcher.breakOff(trade);
    await watcher.compare(trade);
  }

  await server.passTime(WINDOW_START_MS + WINDOW_MS + 5_000, 100_001);
  for (const watcher of watchers) await watcher.compare(() => {});
  // One user claims; the others are paid a day later.
  expect((await server.api.post(`/markets/15m/${MARKET}/claim`, {}, ada.token)).status).toBe(200);
  await server.api.post('/vaults/deposits/d1/unstake', {}, ada.token);
  for (const watcher of watchers) await watcher.compare(() => {});
  server.clock.set(WINDOW_START_MS + WINDOW_MS + DAY_MS + 5_000);
  server.submit({ kind: 'advanceTime' });
  for (const watcher of watchers) await watcher.compare(() => {});

  const seen = (type: string) =>
    watchers.reduce((sum, { account }) => sum + (account.seen.get(type) ?? 0), 0);
  expect(seen('order_rested')).toBeGreaterThan(80);
  expect(seen('fill')).toBeGreaterThan(80);
  expect(seen('order_cancelled')).toBeGreaterThan(15);
  const others = [
    'sets_split',
    'sets_merged',
    'staked',
    'unstaked',
    'position_settled',
    'claimed',
    'points_credited',
    'referral_earned',
  ];
  for (const type of others) expect(seen(type), type).toBeGreaterThan(0);
  for (const { account } of watchers) {
    expect(account.orders.size).toBe(0);
    expect(account.positionList()).toEqual([]);
  }
  for (const watcher of watchers) await watcher.close();
});

test("hides other users' accounts, and public trades name nobody", async () => {
  const eve = await server.register('eve');
  const dan = await server.register('dan');
  server.feed.deliver('BTC', 100_000);
  const client = await connectAs(eve);
  const market = (await server.api.get('/markets/15m?asset=BTC')).json.markets[0].id;
  await client.subscribe('user', `trades:${market}`);
  const order = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
  await server.buy(dan, order, market);
  await server.buy(dan, { outcome: 'DOWN', amount: 3 }, market);
  const cyn = await server.register('cyn2');
  await server.buy(dan, order, market);
  await server.buy(cyn, { outcome: 'DOWN', amount: 3 }, market);
  const trades = await client.next(
    (message) => message.type === 'delta' && message.channel.startsWith('trades'),
  );
  expect(trades.data.trades).toMatchObject([
    { outcome: 'DOWN', side: 'BUY', price: 0.6, shares: 5 },
  ]);
  expect(JSON.stringify(trades)).not.toMatch(/"[uo]\d+"|userId|orderId/);
  await client.caughtUp();
  expect(client.of('user')).toHaveLength(1);
  await client.close();
});
