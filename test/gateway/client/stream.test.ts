/**
 * The stream part of the client: books, accounts and markets equal the exchange's, whatever happens
 * to the connection.
 */
import { afterEach, expect, test } from 'vitest';
import * as client from '../../../gateway/client/index.js';
import {
  type Account,
  Api,
  type Book,
  followAccount,
  followBook,
  followBooks,
  followMarkets,
  moneyChange,
  Stream,
  submit,
  submitBatch,
} from '../../../gateway/client/index.js';
import { eventually } from '../../support/eventually.js';
import { SEED } from '../../support/extent.js';
import { MARKET, PASSWORD, TestServer, WINDOW_MS, WINDOW_START_MS } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { randomCommand } from '../stream/commands.js';
import { streamLimits } from '../stream/support.js';
import { FlakySockets } from './flaky-socket.js';

const NEXT_MARKET = `btc-15m-${(WINDOW_START_MS + WINDOW_MS) / 1_000}`;
const BREATH = { firstWaitMs: 1, longestWaitMs: 20 };

let server: TestServer;
const streams: Stream[] = [];
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await server.stop();
});

interface Trader {
  api: Api;
  userId: string;
}

async function signedUp(username: string, more: { referralCode?: string } = {}): Promise<Trader> {
  const api = new Api({ url: `${server.api.url}/api`, retries: BREATH });
  const { userId, token } = await client.register(api, { username, password: PASSWORD, ...more });
  api.token = token;
  return { api, userId };
}

function streamOf(api: Api, options: client.StreamOptions = {}): Stream {
  const stream = new Stream(api, { ...BREATH, ...options });
  streams.push(stream);
  return stream;
}

/** Random orders of a trader, some of which are refused. */
async function trade({ api }: Trader, random: Random, marketId: string): Promise<void> {
  const outcome = random.pick(['UP', 'DOWN'] as const);
  const price = client.fromTicks(random.whole(300, 700));
  const shares = client.fromLots(random.whole(1, 50_000));
  const rests = { outcome, shares, price, timeInForce: 'GTC' } as const;
  const action = random.weighted({ rest: 5, buy: 3, sell: 2, cancelAll: 1 });
  const sent =
    action === 'rest'
      ? client.buy(api, marketId, rests)
      : action === 'buy'
        ? client.buy(api, marketId, { outcome, amount: client.fromMicros(random.whole(1, 9e6)) })
        : action === 'sell'
          ? client.sell(api, marketId, { outcome, shares, price })
          : client.cancelAll(api, marketId);
  await sent.catch((error) => expect(client.isRefusal(error), `${error}`).toBe(true));
}

async function expectBook(book: Book): Promise<void> {
  const { api } = server;
  await eventually(async () => {
    const { json } = await api.get(`/markets/15m/${book.marketId}/orderbook?depth=999`);
    expect(levelsOf(book)).toEqual({ UP: json.UP, DOWN: json.DOWN });
  });
}

function levelsOf(book: Book) {
  const side = (outcome: 'UP' | 'DOWN', name: 'bids' | 'asks') =>
    book.levels(outcome, name).map(({ priceTicks, lots }) => ({
      price: priceTicks / 1_000,
      shares: lots / 1_000,
    }));
  const both = (outcome: 'UP' | 'DOWN') => ({
    bids: side(outcome, 'bids'),
    asks: side(outcome, 'asks'),
  });
  return { UP: both('UP'), DOWN: both('DOWN') };
}

async function expectAccount({ api, userId }: Trader, account: Account): Promise<void> {
  await eventually(async () => {
    const balance = await client.balance(api, userId);
    expect(client.fromMicros(account.availableMicros)).toBe(`${balance.available}`);
    expect(client.fromMicros(account.heldMicros)).toBe(`${balance.held}`);
  });
  const { orders } = await client.orders(api, userId, { limit: 200 });
  const own = [...account.orders.values()].sort(
    (a, b) => Number(a.orderId.slice(1)) - Number(b.orderId.slice(1)),
  );
  expect(own.map(({ orderId, lots }) => [orderId, lots])).toEqual(
    orders.map(({ orderId, shares }) => [orderId, client.toLots(shares)]),
  );
  const { positions } = await client.positions(api, userId, { limit: 200 });
  for (const { marketId, outcome, shares } of positions)
    expect(account.lots(marketId, outcome!)).toBe(client.toLots(shares));
  expect([...account.positions.values()].flat()).toHaveLength(positions.length);
}

test(`book and account equal the exchange's through cuts and losses, to the last payout, SEED=${SEED}`, async () => {
  const random = new Random(SEED);
  server = await TestServer.withMarket(streamLimits({ heartbeatMs: 50 }));
  const { engine } = server.exchange.sequencer;
  const sockets = new FlakySockets();
  const one = await signedUp('one');
  const { code } = await client.referral(one.api, one.userId);
  const traders = [one, await signedUp('two', { referralCode: code })];
  const marketId = engine.activeMarket(0);
  const trading = { engine, marketId, users: 2, random: new Random(`${SEED}:trading`) };
  const seen = new Set<string>();
  const followed = traders.map(({ api }) => {
    const stream = streamOf(api, { WebSocket: sockets.WebSocket });
    const latest: { book: Book | null } = { book: null };
    followBooks(stream, 'BTC', (book) => {
      latest.book = book;
    });
    const sum = { availableMicros: 10_000_000_000, heldMicros: 0 };
    const onChange = (_: Account, events: readonly client.UserEvent[]) => {
      for (const event of events) {
        seen.add(event.type);
        const change = moneyChange(event)!;
        sum.availableMicros += change.availableMicros;
        sum.heldMicros += change.heldMicros;
      }
    };
    return { ...followBook(stream, MARKET), ...followAccount(stream, { onChange }), latest, sum };
  });
  await eventually(() => followed.every(({ account }) => account.availableMicros > 0));
  const expectAccounts = async () => {
    for (const [i, { account, sum }] of followed.entries()) {
      await expectAccount(traders[i]!, account);
      const { availableMicros, heldMicros } = account;
      expect(sum).toEqual({ availableMicros, heldMicros });
    }
  };
  const deposit = await client.stake(one.api, 100);
  await client.split(one.api, MARKET, 50);
  await client.merge(one.api, MARKET, 20);
  let lost = 0;
  for (let round = 0; round < 12; round++) {
    sockets.loses = (text) => {
      // Only book messages are lost. For lost account messages, see stream-ends.test.ts.
      const isLost =
        /"type":"(delta|snapshot)".*"channel":"books?:/.test(text) && random.chance(0.05);
      if (isLost) lost++;
      return isLost;
    };
    for (let i = 0; i < 20; i++) {
      if (random.chance(0.05)) sockets.cut();
      for (let count = random.whole(0, 3); count > 0; count--)
        server.submit(randomCommand(trading));
      await Promise.all(traders.map((trader) => trade(trader, random, MARKET)));
    }
    sockets.loses = () => false;
    for (const { book, latest } of followed) {
      await expectBook(book);
      await expectBook(latest.book!);
    }
    await expectAccounts();
  }
  expect(lost).toBeGreaterThan(5);
  expect(sockets.made).toBeGreaterThan(4);

  // One user claims; the other is paid a day later.
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 5_000, 100_001);
  await expectAccounts();
  await client.claim(one.api, MARKET);
  await client.unstake(one.api, deposit.depositId);
  server.clock.set(WINDOW_START_MS + WINDOW_MS + 86_405_000);
  await server.advance();
  await expectAccounts();
  for (const { account } of followed)
    expect([account.orders.size, account.positions.size]).toEqual([0, 0]);
  const kinds = [
    'order_rested',
    'fill',
    'order_cancelled',
    'order_amended',
    'sets_split',
    'sets_merged',
    'staked',
    'unstaked',
    'position_settled',
    'claimed',
    'points_credited',
    'referral_earned',
  ];
  expect(kinds.filter((kind) => !seen.has(kind))).toEqual([]);
});

test('a book says what is best, and mirrors the outcomes', async () => {
  server = await TestServer.withMarket();
  const trader = await signedUp('one');
  const { book } = followBook(streamOf(trader.api), MARKET);
  expect([book.bestBid('UP'), book.bestAsk('DOWN')]).toEqual([null, null]);
  for (const price of ['0.4', '0.41', '0.39'])
    await client.buy(trader.api, MARKET, { outcome: 'UP', shares: 2, price, timeInForce: 'GTC' });
  await expectBook(book);
  expect(book.bestBid('UP')).toEqual({ priceTicks: 410, lots: 2_000 });
  expect(book.bestAsk('DOWN')).toEqual({ priceTicks: 590, lots: 2_000 });
  expect(book.levels('DOWN', 'asks', 2).map(({ priceTicks }) => priceTicks)).toEqual([590, 600]);
  expect(book.bestBid('DOWN')).toBe(null);
});

test('orders over the stream are executed once, in order, over lost connections', async () => {
  server = await TestServer.withMarket();
  const random = new Random(`${SEED}:orders`);
  const sockets = new FlakySockets();
  const trader = await signedUp('one');
  const stream = streamOf(trader.api, { WebSocket: sockets.WebSocket });
  const { account } = followAccount(stream);
  const order = { outcome: 'UP', shares: '0.001', price: '0.5', timeInForce: 'GTC' } as const;
  const operation = { op: 'buy', marketId: MARKET, ...order } as const;
  // More requests than may be unanswered at a time.
  const receipts = Array.from({ length: 600 }, () => submit(stream, operation));
  for (let cut = 0; cut < 5; cut++) {
    await new Promise((resolve) => setTimeout(resolve, random.whole(1, 20)));
    sockets.cut();
  }
  const ids = (await Promise.all(receipts)).map(({ orderId }) => orderId);
  expect(new Set(ids).size).toBe(600);
  expect(ids).toEqual([...ids].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
  await eventually(() => account.orders.size === 600);
  expect(account.heldMicros).toBe(600 * 500);
  const [first, second] = ids as [string, string];
  const cancels = [first, second].map(
    (orderId) => ({ op: 'cancel', marketId: MARKET, orderId }) as const,
  );
  const { results } = await submitBatch(stream, [...cancels, operation], { atomic: true });
  expect(results).toHaveLength(3);
  const error = await submit(stream, cancels[0]!).catch((thrown) => thrown);
  expect(client.isRefusal(error), `${error}`).toBe(true);
  const inexact = { ...operation, price: 0.1 + 0.2 };
  await expect(submit(stream, inexact)).rejects.toThrow(RangeError);
  await eventually(() => expect(account.orders.size).toBe(599));
  const third = { op: 'amend', marketId: MARKET, orderId: ids[2]! } as const;
  expect(await submit(stream, { ...third, price: '0.1' })).toMatchObject({ orderId: ids[2] });
  await submit(stream, { op: 'cancelAll' });
  await eventually(() => expect(account.orders.size).toBe(0));
});

test('an order without an answer says so after its attempts; a closed stream at once', async () => {
  server = await TestServer.withMarket();
  const sockets = new FlakySockets();
  const trader = await signedUp('one');
  const stream = streamOf(trader.api, { WebSocket: sockets.WebSocket });
  sockets.loses = (text) => text.includes('"receipt"');
  const operation = { op: 'buy', marketId: MARKET, outcome: 'UP' } as const;
  const order = { ...operation, shares: 1, price: '0.5', timeInForce: 'GTC' } as const;
  const retries = { attempts: 3, timeoutMs: 50, firstWaitMs: 1 };
  const error = await submit(stream, order, { retries }).catch((thrown) => thrown);
  expect(error).toMatchObject({ name: 'ConnectionError', mayBeExecuted: true });
  sockets.loses = () => false;
  await submit(stream, order, { idempotencyKey: error.idempotencyKey });
  expect((await client.orders(trader.api, trader.userId)).orders).toHaveLength(1);
  const stop = new AbortController();
  sockets.loses = () => true;
  const stopped = submit(stream, order, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(stopped).rejects.toThrow('enough');
  stream.close();
  await expect(submit(stream, order, { retries: { attempts: 1 } })).rejects.toThrow('no answer');
});

test('markets roll over: each opens, ends and is resolved once, also over a lost connection', async () => {
  server = await TestServer.withMarket();
  const sockets = new FlakySockets();
  const trader = await signedUp('one');
  const seen: string[] = [];
  const note = (what: string) => (market: client.Market) => {
    seen.push(`${what} ${market.id}`);
  };
  const stream = streamOf(trader.api, { WebSocket: sockets.WebSocket });
  const { markets } = followMarkets(stream, {
    onOpened: note('opened'),
    onEnded: note('ended'),
    onResolved: note('resolved'),
  });
  await eventually(() => markets.active.size === 1);
  expect(markets.upcoming.get(NEXT_MARKET)?.startPrice).toBe(null);
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 3_000, 100_100);
  await eventually(() => expect(seen).toContain(`resolved ${MARKET}`));
  expect([...markets.active.keys()]).toEqual([NEXT_MARKET]);
  expect(markets.upcoming.has(NEXT_MARKET)).toBe(false);
  sockets.loses = () => true;
  await server.passTime(WINDOW_START_MS + 2 * WINDOW_MS + 3_000, 100_000);
  sockets.loses = () => false;
  sockets.cut();
  await eventually(() => expect(seen).toContain(`ended ${NEXT_MARKET}`));
  expect([...new Set(seen)]).toEqual(seen);
  // Markets of ETH never open, because it has no price.
  const ofBtc = seen.filter((what) => what.includes('btc'));
  expect(ofBtc.slice(0, 4).sort()).toEqual(
    [`ended ${MARKET}`, `opened ${MARKET}`, `opened ${NEXT_MARKET}`, `resolved ${MARKET}`].sort(),
  );
});

test('the exchange may restart', async () => {
  server = await TestServer.withMarket();
  const { folder, clock } = server;
  const { port: first } = new URL(server.api.url);
  const redirect = (url: string) => url.replace(first, new URL(server.api.url).port);
  const sockets = new FlakySockets();
  sockets.redirect = redirect;
  const { token, userId } = await server.register('one');
  const api = new Api({
    url: `${server.api.url}/api`,
    token,
    retries: BREATH,
    fetch: (address, init) => fetch(redirect(`${address}`), init),
  });
  const trader = { api, userId };
  const stream = streamOf(api, { WebSocket: sockets.WebSocket });
  const [{ book }, { account }] = [followBook(stream, MARKET), followAccount(stream)];
  const random = new Random(`${SEED}:restart`);
  for (let restart = 0; restart < 2; restart++) {
    for (let i = 0; i < 20; i++) await trade(trader, random, MARKET);
    await server.close();
    server = await TestServer.start({}, folder, clock.nowMs());
    server.feed.deliver('BTC', 100_000);
    for (let i = 0; i < 20; i++) await trade(trader, random, MARKET);
    await expectBook(book);
    await expectAccount(trader, account);
  }
});

test('a change with a number of its own is sent once, and its lost answer is reported', async () => {
  server = await TestServer.withMarket();
  const { api, userId } = await signedUp('one');
  const sockets = new FlakySockets();
  let whenLost = () => {};
  const onState = (isOpen: boolean) => (isOpen ? undefined : whenLost());
  const stream = streamOf(api, { WebSocket: sockets.WebSocket, onState });
  const operation = {
    op: 'buy',
    marketId: MARKET,
    outcome: 'UP',
    amount: '5',
    price: '0.1',
  } as const;
  const resting = { ...operation, timeInForce: 'GTC' } as const;
  // The answer is lost, then the connection, but the exchange has the order.
  sockets.loses = (text) => {
    const isReceipt = text.includes('"type":"receipt"');
    if (isReceipt) sockets.cut();
    return isReceipt;
  };
  const lost = submit(stream, resting, { clientSequence: 1, retries: BREATH });
  await expect(lost).rejects.toMatchObject({ name: 'ConnectionError', mayBeExecuted: true });
  sockets.loses = () => false;
  const { orderId } = await submit(stream, resting, { clientSequence: 2, retries: BREATH });
  const { orders } = await client.orders(api, userId, {});
  expect(orders).toHaveLength(2);
  expect(orders.map((order) => order.orderId)).toContain(orderId);
  // An unsent request waits for the next connection.
  const waiting = new Promise<client.BuyReceipt>((resolve) => {
    whenLost = () => resolve(submit(stream, resting, { clientSequence: 3, retries: BREATH }));
  });
  sockets.cut();
  expect((await waiting).status).toBe('resting');
});
