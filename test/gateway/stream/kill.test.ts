/**
 * The built program, killed with SIGKILL while clients trade over the stream, and restarted on the
 * same folder. Each client resumes `user` after the last number that it saw, and the books that it
 * keeps from events alone equal the routes.
 */
import { afterAll, expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import { eventually, NO_MARKET_MS } from '../../support/eventually.js';
import { extent, SEED } from '../../support/extent.js';
import { type ChildServer, Exchanges } from '../../support/programs.js';
import { type ApiClient, PASSWORD } from '../../support/server.js';
import { lots, micros, RebuiltAccount } from './rebuilt-account.js';
import { type Message, StreamClient } from './support.js';

const KILLS = extent(40, 1);
const TRADERS = 4;
/** Unanswered orders of each trader. */
const OUTSTANDING = 32;

const exchanges = new Exchanges({
  ASSETS: 'BTC',
  HOUSE: 'off',
  SNAPSHOT_EVERY_COMMANDS: '1000',
  LOG_LEVEL: 'warn',
});
let server: ChildServer;
let api: ApiClient;
const random = new Random(SEED);

afterAll(() => exchanges.end());

async function start(): Promise<void> {
  server = exchanges.spawn();
  api = await exchanges.listening(server);
}

class Trader {
  readonly account = new RebuiltAccount();
  client: StreamClient | null = null;
  /** The last number of `user`. */
  place = 0;
  receipts = 0;
  private taken = 0;
  private lastId = 0;

  constructor(
    readonly userId: string,
    readonly token: string,
    private readonly random: Random,
  ) {}

  async connect(): Promise<void> {
    const port = Number(new URL(api.url).port);
    this.client = await StreamClient.connect(port, { 'x-user-token': this.token });
    this.taken = 0;
    if (this.place === 0) await this.client.subscribe('user');
    else {
      this.client.send({ op: 'resume', channel: 'user', afterSequence: this.place });
      await this.client.next('replayed');
    }
  }

  /** Trades until the connection is lost. */
  trade(marketId: string): void {
    const { client } = this;
    const next = () => {
      if (client!.closing !== null) return;
      client!.send(this.order(marketId));
    };
    client!.socket.on('message', (data) => {
      if (!/^\{"type":"(receipt|error)"/.test(data.toString())) return;
      this.receipts++;
      next();
    });
    for (let i = 0; i < OUTSTANDING; i++) next();
  }

  /** Takes what has arrived. A snapshot would hide a gap. */
  take(): void {
    const { client } = this;
    client!.check();
    for (; this.taken < client!.messages.length; this.taken++) {
      const message = client!.messages[this.taken];
      expect(message.type).not.toBe('gap');
      if (message.channel === 'user') this.account.take(message);
    }
    this.place = client!.numbers.get('user')!;
  }

  async compare(): Promise<void> {
    await this.client!.caughtUp();
    this.take();
    const read = async (what: string) =>
      (await api.get(`/users/${this.userId}/${what}`, this.token)).json;
    const { available, held } = await read('balance');
    expect([this.account.available, this.account.held]).toEqual([micros(available), micros(held)]);
    const orders = new Map<string, number>();
    for (let cursor = ''; ; ) {
      const page = await read(`orders?limit=200${cursor}`);
      for (const { orderId, shares } of page.orders as Message[]) orders.set(orderId, lots(shares));
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    expect(this.account.orders).toEqual(orders);
  }

  private order(marketId: string): object {
    const { random } = this;
    const outcome = random.pick(['UP', 'DOWN']);
    const shares = random.whole(1, 20);
    const orderIds = [...this.account.orders.keys()];
    const operation =
      orderIds.length > 0 && random.chance(0.2)
        ? { op: 'cancel', marketId, orderId: random.pick(orderIds) }
        : random.chance(0.6)
          ? {
              op: 'buy',
              marketId,
              outcome,
              shares,
              price: random.whole(450, 520) / 1_000,
              timeInForce: 'GTC',
            }
          : { op: random.pick(['buy', 'sell']), marketId, outcome, shares, price: 0.5 };
    return { op: 'order', id: `${++this.lastId}`, operation };
  }
}

test(`books kept from events survive kill -9, SEED=${SEED}`, {
  timeout: 60_000 + 75_000 * KILLS,
}, async () => {
  await start();
  const traders: Trader[] = [];
  for (let i = 0; i < TRADERS; i++) {
    const body = { username: `trader-${i}`, password: PASSWORD };
    const { userId, token } = (await api.post('/auth/register', body)).json;
    traders.push(new Trader(userId, token, new Random(`${SEED} ${i}`)));
  }
  for (let kill = 0; kill < KILLS; kill++) {
    let marketId = '';
    await eventually(async () => {
      marketId = (await api.get('/markets/15m')).json?.markets?.[0]?.id ?? '';
      return marketId !== '';
    }, NO_MARKET_MS);
    for (const trader of traders) await trader.connect();
    for (const trader of traders) await trader.compare();
    const before = traders.map(({ receipts }) => receipts);
    for (const trader of traders) trader.trade(marketId);
    const some = random.whole(200, 500);
    await eventually(() => traders.every(({ receipts }, i) => receipts - before[i]! >= some));
    await server.stop('SIGKILL');
    for (const trader of traders) {
      await trader.client!.closed;
      trader.take();
    }
    await api.close();
    await start();
  }
  for (const trader of traders) await trader.connect();
  for (const trader of traders) await trader.compare();
  const seen = (type: string) =>
    traders.reduce((sum, { account }) => sum + (account.seen.get(type) ?? 0), 0);
  for (const type of ['order_rested', 'order_cancelled', 'fill'])
    expect(seen(type), type).toBeGreaterThan(30 * KILLS);
  for (const trader of traders) trader.client!.socket.terminate();
  expect(await server.stop()).toBe(0);
});
