/**
 * The exchange as ccxt's users have it: the file that the built exchange serves at
 * /client/ccxt-quarter-hour.ts, with the published package of ccxt. It compiles strictly; each
 * method it names does what ccxt says of it; a change whose answer is lost stays unknown and is
 * executed once; what the stream says is what reads say.
 *
 * The structures are checked against those that the package itself makes: the same fields, and what
 * ccxt's own tests of a live exchange demand of their values.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { compile } from '../../gateway/contract/generated-program.js';
import { eventually } from '../../support/eventually.js';
import { Client } from '../../support/http/client.js';
import { ROOT } from '../../support/sources.js';
import { startExchange, type TrialExchange } from '../exchange.js';

const VERSION = '4.5.84';
const FILE = 'ccxt-quarter-hour.ts';
/** A window takes 30 s; the last upcoming market rests for at least 90 s before it opens. */
const SPEED = 30;

const run = promisify(execFile);
// biome-ignore lint/suspicious/noExplicitAny: ccxt is not installed here, so it has no types here
type Any = any;

const folder = mkdtempSync(join(tmpdir(), 'exchange-ccxt-'));
const without = await whyNotInstalled();
beforeEach(({ skip }) => skip(without !== null, without ?? ''));

let exchange: TrialExchange;
let site: string;
let ccxt: Any;
let QuarterHour: Any;
let maker: Any;
let taker: Any;
/** Handles of the two outcomes of an upcoming market. */
let up: string;
let down: string;
const called = new Set<string>();

beforeAll(async () => {
  if (without !== null) return;
  exchange = await startExchange(folder, SPEED, {
    HOUSE: 'off',
    ASSETS: 'BTC',
    STARTING_BALANCE: '10000',
  });
  site = exchange.url.replace(/\/api$/, '');
  writeFileSync(join(folder, FILE), await (await fetch(`${site}/client/${FILE}`)).text());
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'));
  ccxt = await import(pathToFileURL(join(folder, 'node_modules/ccxt/js/ccxt.js')).href);
  ({ QuarterHour } = await import(pathToFileURL(join(folder, FILE)).href));
  maker = await signedIn('maker');
  taker = await signedIn('taker');
  const markets = Object.values<Any>(await taker.loadMarkets());
  const last = markets.toSorted((a, b) => a.end - b.end).at(-1);
  [up, down] = last.outcomes.map((each: Any) => each.outcome);
}, 5 * 60_000);

afterAll(async () => {
  for (const each of [maker, taker]) await each?.close();
  await exchange?.process.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function whyNotInstalled(): Promise<string | null> {
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--ignore-scripts'];
  try {
    await run('npm', ['install', ...quiet, `ccxt@${VERSION}`], { cwd: folder });
    return null;
  } catch (error) {
    return `npm cannot install ccxt ${VERSION}: ${(error as Error).message.slice(0, 200)}`;
  }
}

/** A new user's exchange, which notes the methods that are called. */
async function signedIn(username: string): Promise<Any> {
  const client = new Client({ port: exchange.process.port });
  const { token } = await client.register(username);
  client.close();
  return new Proxy(new QuarterHour({ apiKey: token, url: site }), {
    get(target, name) {
      if (typeof name === 'string') called.add(name);
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const limit = (side: string, price: number, amount: number, outcome = up, params = {}) =>
  maker.createOrder(outcome, 'limit', side, amount, price, params);

/** Has the fields of the package's own structure, a known outcome, and one time in two forms. */
function expectStructure(kind: string, value: Any): void {
  const fields = (structure: object) => Object.keys(structure).sort();
  expect(fields(value), kind).toEqual(fields(taker[`safePrediction${kind}`]({})));
  expect(value.outcome).toBe(`${value.market}:${value.label}`);
  expect(value.outcomeId).toMatch(/^btc-15m-\d+-(UP|DOWN)$/);
  expect(value.info).toBeTypeOf('object');
  if (value.timestamp === undefined) return;
  expect(value.timestamp).toBeGreaterThan(1_230_940_800_000);
  expect(value.datetime).toBe(taker.iso8601(value.timestamp));
}

function expectTrade(trade: Any): void {
  expectStructure('Trade', trade);
  expect(['buy', 'sell']).toContain(trade.side);
  expect(['taker', 'maker']).toContain(trade.takerOrMaker);
  expect(trade.price).toBeGreaterThan(0);
  expect(trade.price).toBeLessThan(1);
  expect(trade.cost).toBeCloseTo(trade.price * trade.amount, 9);
}

function expectOrder(order: Any): void {
  expectStructure('Order', order);
  expect(['open', 'closed', 'canceled', 'expired']).toContain(order.status);
  expect(['buy', 'sell']).toContain(order.side);
  expect(['limit', 'market']).toContain(order.type);
  expect(['GTC', 'IOC', 'FOK', 'PO']).toContain(order.timeInForce);
  expect(order.filled + order.remaining).toBeCloseTo(order.amount, 9);
  if (order.filled > 0) expect(order.cost).toBeCloseTo(order.average * order.filled, 2);
  if (order.status === 'closed') expect(order.remaining).toBe(0);
  for (const trade of order.trades) expectTrade(trade);
}

function expectBook(book: Any): void {
  const fields = 'asks bids datetime market nonce outcome outcomeId timestamp';
  expect(Object.keys(book).sort().join(' ')).toBe(fields);
  expect(book.datetime).toBe(taker.iso8601(book.timestamp));
  const [bids, asks] = [book.bids, book.asks].map((side) => side.map(([price]: Any) => price));
  expect(bids).toEqual(bids.toSorted((a: number, b: number) => b - a));
  expect(asks).toEqual(asks.toSorted((a: number, b: number) => a - b));
  if (bids.length > 0 && asks.length > 0) expect(bids[0]).toBeLessThan(asks[0]);
  for (const [, shares] of [...book.bids, ...book.asks]) expect(shares).toBeGreaterThan(0);
}

/** The error that a call ends with. */
async function refusal(call: Promise<unknown>): Promise<Any> {
  return call.then(
    () => expect.unreachable('it was not refused'),
    (error) => error,
  );
}

test('compiles strictly against the published package, as does the example of API.md', async () => {
  const api = readFileSync(join(ROOT, 'gateway/API.md'), 'utf8');
  const [, example = ''] = /```ts\n(import { QuarterHour[\s\S]*?)```/.exec(api)!;
  writeFileSync(join(folder, 'example.ts'), example.replaceAll('http://127.0.0.1:3000', site));
  const rules = {
    exactOptionalPropertyTypes: true,
    noImplicitOverride: true,
    noUnusedLocals: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    noEmit: true,
  };
  await compile(folder, ['*.ts'], rules);
  const { stdout } = await run(process.execPath, ['example.ts'], { cwd: folder });
  expect(stdout).toMatch(/^open 20\n[\s\S]*canceled\n$/);
});

describe('reads', () => {
  test('the markets, with their precision and limits', async () => {
    const markets = Object.values<Any>(await taker.loadMarkets(true));
    expect(markets.length).toBeGreaterThanOrEqual(4);
    const { maxima } = (await (await fetch(`${exchange.url}/limits`)).json()) as Any;
    for (const market of markets) {
      expect(market).toMatchObject({ type: 'prediction', marketType: 'binary', quote: 'USD' });
      expect(market.precision).toMatchObject({ amount: 0.001, price: 0.001 });
      expect(market.limits.price).toEqual({ min: 0.001, max: 0.999 });
      expect(market.limits.amount).toEqual({ min: 0.001, max: maxima.orderShares });
      expect(market.limits.cost).toEqual({ min: 1, max: maxima.orderAmount });
      expect(market.taker).toBe(0.005);
      expect(market.expiryDatetime).toBe(taker.iso8601(market.expiry));
      for (const outcome of market.outcomes) expect(taker.outcome(outcome.outcomeId)).toBe(outcome);
    }
    expect(await taker.fetchMarkets({ asset: 'BTC' })).toHaveLength(markets.length);
    expect(Math.abs((await taker.fetchTime()) - markets[0].info.atMs)).toBeLessThan(3_600_000);
  });

  test('an outcome that is not cached, by its handle and its id; none that never was', async () => {
    const fresh = new QuarterHour({ url: site, options: { loadAllOutcomes: false } });
    const { outcomeId } = await fresh.loadOutcome(up);
    expect(outcomeId).toBe(taker.outcome(up).outcomeId);
    const other = new QuarterHour({ url: site, options: { loadAllOutcomes: false } });
    expect((await other.loadOutcome(outcomeId)).outcome).toBe(up);
    called.add('fetchOutcome');
    for (const wrong of ['BTC_15M_900:UP', 'BTC_15M_900:LEFT', 'nothing'])
      expect(await refusal(other.fetchOrderBook(wrong))).toBeInstanceOf(ccxt.BadSymbol);
    expect(await refusal(fresh.fetchBalance())).toBeInstanceOf(ccxt.AuthenticationError);
  });

  test('book, ticker, trades and candles, each outcome the mirror of the other', async () => {
    const rests = await limit('buy', 0.4, 20);
    await limit('buy', 0.5, 20, down);
    await taker.createOrder(up, 'market', 'buy', 5);
    await taker.createOrder(down, 'market', 'buy', 5);
    const books = [await taker.fetchOrderBook(up), await taker.fetchOrderBook(down)];
    for (const book of books) expectBook(book);
    expect(books[0]).toMatchObject({ bids: [[0.4, 15]], asks: [[0.5, 15]], outcome: up });
    expect(books[1]).toMatchObject({ bids: [[0.5, 15]], asks: [[0.6, 15]], outcome: down });
    expect((await taker.fetchOrderBook(up, 1)).bids).toHaveLength(1);

    const ticker = await taker.fetchTicker(down);
    expectStructure('Ticker', ticker);
    expect(ticker).toMatchObject({ bid: 0.5, ask: 0.6, average: 0.55, last: undefined });
    const tickers = await taker.fetchTickers([up, down]);
    expect(Object.keys(tickers).sort()).toEqual([down, up]);
    expect(tickers[down]).toMatchObject({ bid: 0.5, quoteVolume: 5.5, openInterest: 10 });

    // The public trades come from the history, moments later.
    await eventually(async () => (await taker.fetchTrades(up)).length === 2);
    const seen = await taker.fetchTrades(up);
    const mirror = await taker.fetchTrades(down);
    for (const trade of [...seen, ...mirror]) expectTrade(trade);
    const brief = (trades: Any) => trades.map(({ side, price }: Any) => [side, price]);
    expect(brief(seen)).toEqual([
      ['buy', 0.5],
      ['sell', 0.4],
    ]);
    expect(brief(mirror)).toEqual([
      ['sell', 0.5],
      ['buy', 0.6],
    ]);
    expect(await taker.fetchTrades(up, seen[1].timestamp, 1)).toHaveLength(1);

    const candles = await taker.fetchOHLCV(down, '5s');
    const all = candles.flat();
    expect(all.filter((value: number) => value === undefined)).toEqual([]);
    expect(candles[0].slice(1, 2)).toEqual([0.5]);
    expect(candles.at(-1)[4]).toBe(0.6);
    for (const [, open, high, low, close] of candles) {
      expect(high).toBe(Math.max(open, high, low, close));
      expect(low).toBe(Math.min(open, high, low, close));
    }
    expect(await refusal(taker.fetchOHLCV(up, '1h'))).toBeInstanceOf(ccxt.BadRequest);
    expect((await maker.cancelOrder(rests.id, up)).status).toBe('canceled');
    await maker.cancelAllOrders();
  });
});

describe('orders', () => {
  test('of each kind, as receipts and lists have them', async () => {
    const user = await signedIn('orderer');
    const before = await user.fetchBalance();
    const offer = await limit('buy', 0.5, 100, down);
    expect(offer).toMatchObject({ status: 'open', filled: 0, remaining: 100, side: 'buy' });
    const orders = [
      await user.createOrder(up, 'limit', 'buy', 10, 0.5, { clientOrderId: 'first' }),
      await user.createOrder(up, 'limit', 'buy', 10, 0.5, { timeInForce: 'IOC' }),
      await user.createOrder(up, 'limit', 'buy', 10, 0.5, { timeInForce: 'FOK' }),
      await user.createOrder(up, 'limit', 'buy', 10.0004, 0.2004, { timeInForce: 'PO' }),
      await user.createOrder(up, 'market', 'buy', 10),
      await user.createMarketBuyOrderWithCost(up, 5.5),
      await user.createOrder(up, 'limit', 'sell', 10, 0.9, { postOnly: true }),
    ];
    expect(orders[0]).toMatchObject({
      clientOrderId: 'first',
      status: 'closed',
      timeInForce: 'GTC',
    });
    expect(orders[3]).toMatchObject({ postOnly: true, price: 0.2, amount: 10, status: 'open' });
    expect(orders[4]).toMatchObject({ type: 'market', price: undefined, fee: { cost: 0.025 } });
    expect(orders[5]).toMatchObject({ cost: 5.5, average: 0.5, filled: 11, trades: [{}] });
    for (const order of [offer, ...orders]) expectOrder(order);
    for (const order of orders) {
      const { trades, info, lastUpdateTimestamp, lastTradeTimestamp, ...rest } =
        await user.fetchOrder(order.id);
      expect(order).toMatchObject(rest);
    }
    const after = await user.fetchBalance();
    expect(Object.keys(after).sort()).toEqual(
      ['USD', 'datetime', 'free', 'info', 'timestamp', 'total', 'used'].sort(),
    );
    expect(after.USD.total).toBeCloseTo(before.USD.total - 25.5 * 1.005, 6);
    expect(after.USD).toEqual({ free: after.free.USD, used: 2, total: after.total.USD });
    expect(after.USD.free + after.USD.used).toBeCloseTo(after.USD.total, 6);

    expect((await user.fetchOpenOrders()).map(({ id }: Any) => id)).toEqual([
      orders[3].id,
      orders[6].id,
    ]);
    expect(await user.fetchOpenOrders(down)).toEqual([]);
    await eventually(async () => (await user.fetchClosedOrders(up)).length === 5);
    for (const order of await user.fetchClosedOrders(up)) expectOrder(order);
    expect(await user.fetchOrders(up)).toHaveLength(7);
    expect(await user.fetchClosedOrders(up, undefined, 2)).toHaveLength(2);
    const mine = await user.fetchMyTrades(up);
    expect(mine).toHaveLength(5);
    for (const trade of mine) expectTrade(trade);
    expect(await user.fetchMyTrades(down)).toHaveLength(0);
    const [position] = await user.fetchPositions([up]);
    expectStructure('Position', position);
    expect(position).toMatchObject({ side: 'long', contracts: 51, resolved: false });
    expect(position.collateral).toBeCloseTo(position.entryPrice * position.contracts, 2);
    await user.cancelAllOrders();
  });

  test('amended and cancelled, one, some, of an outcome, all', async () => {
    const order = await limit('buy', 0.1, 50);
    const amended = await maker.editOrder(order.id, up, 'limit', 'buy', 40, 0.11);
    expect(amended).toMatchObject({ id: order.id, status: 'open', price: 0.11, amount: 40 });
    expect(await maker.fetchOrder(order.id)).toMatchObject({ price: 0.11, remaining: 40 });
    expect(await refusal(maker.cancelOrder(order.id))).toBeInstanceOf(ccxt.ArgumentsRequired);
    expect((await maker.cancelOrder(order.id, up)).outcome).toBe(up);
    const ids = [];
    for (const price of [0.1, 0.11]) ids.push((await limit('buy', price, 20)).id);
    const other = await limit('buy', 0.1, 20, down);
    expect(await maker.cancelOrders([order.id, ids[0]], up)).toMatchObject([{ id: ids[0] }]);
    const again = { idempotencyKey: 'all' };
    expect(await maker.cancelAllOrders(up, again)).toMatchObject([
      { id: ids[1], status: 'canceled' },
    ]);
    const left = await limit('buy', 0.1, 20);
    expect(await maker.cancelAllOrders(up, again)).toMatchObject([{ id: left.id }]);
    expect((await maker.fetchOpenOrders()).map(({ id }: Any) => id)).toContain(other.id);
    expect(await maker.cancelAllOrders()).not.toEqual([]);
    expect(await maker.fetchOpenOrders()).toEqual([]);
  });

  test('refused, each with the class that ccxt has for it', async () => {
    const order = await limit('buy', 0.5, 10, down, { clientOrderId: 'twice' });
    const cases: [string, () => Promise<unknown>][] = [
      ['InsufficientFunds', () => limit('buy', 0.9, 100_000)],
      ['InsufficientFunds', () => limit('sell', 0.6, 1_000, down)],
      ['InvalidOrder', () => limit('buy', 0.1, 0.001)],
      ['InvalidOrder', () => maker.createOrder(up, 'market', 'sell', 0.0001)],
      ['DuplicateOrderId', () => limit('buy', 0.5, 10, down, { clientOrderId: 'twice' })],
      [
        'OrderImmediatelyFillable',
        () => taker.createOrder(up, 'limit', 'buy', 9, 0.5, { postOnly: true }),
      ],
      [
        'OrderNotFillable',
        () => taker.createOrder(up, 'limit', 'buy', 99, 0.5, { timeInForce: 'FOK' }),
      ],
      [
        'OrderNotFillable',
        () => taker.createOrder(up, 'limit', 'buy', 9, 0.4, { timeInForce: 'IOC' }),
      ],
      ['OrderNotFound', () => maker.cancelOrder('o999999', up)],
      ['OrderNotFound', () => taker.fetchOrder('o999999')],
      ['ArgumentsRequired', () => maker.createOrder(up, 'limit', 'buy', 1)],
      ['BadRequest', () => maker.createOrder(up, 'limit', 'buy', 1, 0.5, { timeInForce: 'GTD' })],
      ['InvalidOrder', () => maker.createOrder(up, 'stop', 'buy', 10, 0.5)],
      ['InvalidOrder', () => maker.createOrder(up, 'Market', 'buy', 10, 0.5)],
      ...[{ timeInForce: 'GTC' }, { timeInForce: 'PO' }, { postOnly: true }].map(
        (params): [string, () => Promise<unknown>] => [
          'InvalidOrder',
          () => maker.createOrder(up, 'market', 'buy', 10, undefined, params),
        ],
      ),
      ['BadSymbol', () => maker.createOrder('BTC_15M_900:UP', 'limit', 'buy', 1, 0.5)],
      ['AuthenticationError', () => new QuarterHour({ url: site, apiKey: 'no' }).fetchBalance()],
    ];
    for (const [name, call] of cases) {
      expect((await refusal(call())).name, name).toBe(name);
    }
    await maker.cancelOrder(order.id, down);
    expect((await refusal(maker.cancelOrder(order.id, down))).name).toBe('OrderNotFound');
  });
});

describe('a change whose answer is lost', () => {
  /** Answers the next requests by these, each given the true answer. */
  function losing(user: Any, ...answers: ((answer: Response) => unknown)[]): void {
    user.fetchIsNative = false;
    user.fetchImplementation = async (url: string, { method, headers, body }: RequestInit) => {
      const answer = answers.shift();
      if (answers.length === 0) user.fetchIsNative = true;
      return answer!(await fetch(url, { method, headers, body } as RequestInit));
    };
  }
  const lost = () => {
    throw new TypeError('fetch failed');
  };
  const refused = (status: number, error: object) => () =>
    new Response(JSON.stringify({ error }), { status, headers: { 'retry-after': '1' } });
  const limited = refused(429, { code: 'rate_limited', message: 'too many', details: {} });
  const place = (params = {}) => maker.createOrder(up, 'limit', 'buy', 10, 0.1, params);

  test('stays unknown until its key is answered, and is executed once', async () => {
    const user = maker;
    await user.fetchTime();
    losing(user, lost, limited);
    const first = await refusal(place());
    expect(first.name).toBe('NetworkError');
    const { idempotencyKey } = first;
    // The refusal says nothing of the first attempt.
    const second = await refusal(place({ idempotencyKey }));
    expect(second.name).toBe('RequestTimeout');
    expect(second.idempotencyKey).toBe(idempotencyKey);
    const order = await place({ idempotencyKey });
    expect(await user.fetchOpenOrders(up)).toMatchObject([{ id: order.id }]);
    await user.cancelOrder(order.id, up);
  });

  test('is known not to be executed once a refusal answers its key', async () => {
    losing(maker, lost, refused(409, { code: 'market_not_active', message: 'over', details: {} }));
    const { idempotencyKey } = await refusal(place());
    expect((await refusal(place({ idempotencyKey }))).name).toBe('MarketClosed');
    await maker.cancelAllOrders();
  });

  test('is repeated under its key by maxRetriesOnFailure', async () => {
    losing(maker, lost, limited);
    const order = await place({ maxRetriesOnFailure: 2 });
    expect(await maker.fetchOpenOrders(up)).toMatchObject([{ id: order.id }]);
    await maker.cancelOrder(order.id, up);
  });

  test.each<[string, () => Response]>([
    ['breaks off', () => new Response(new ReadableStream({ pull: lost }))],
    ['is a page', () => new Response('<html>')],
    ['is empty', () => new Response('')],
    ["is a proxy's 499", () => new Response('{"message":"closed"}', { status: 499 })],
  ])('is not reported as failed if the answer %s', async (_, answer) => {
    losing(maker, answer);
    const { name, idempotencyKey } = await refusal(place());
    expect(name).toBe('RequestTimeout');
    const order = await place({ idempotencyKey });
    expect(await maker.fetchOpenOrders(up)).toMatchObject([{ id: order.id }]);
    await maker.cancelAllOrders();
  });

  test('has a key for each hundred cancelled orders', async () => {
    const [first, second] = [(await place()).id, (await place()).id];
    const ids = [...Array(100).fill(first), second];
    losing(maker, (answer) => answer, lost);
    const { idempotencyKey } = await refusal(maker.cancelOrders(ids, up));
    const cancelled = await maker.cancelOrders(ids, up, { idempotencyKey });
    expect(cancelled).toMatchObject([{ id: first }, { id: second }]);
  });

  test.each([
    ['RateLimitExceeded', 429, { code: 'rate_limited', details: { retryAfterMs: 5 } }],
    ['ExchangeNotAvailable', 503, { code: 'unavailable', details: { executed: false } }],
    ['RequestTimeout', 503, { code: 'history_unavailable', details: { executed: true } }],
    ['RequestTimeout', 504, { code: 'outcome_unknown', details: {} }],
    ['RequestTimeout', 502, undefined],
  ])('%s: %i', async (name, status, error) => {
    losing(maker, refused(status, error as object));
    expect((await refusal(place())).name).toBe(name);
    await maker.cancelAllOrders();
  });
});

describe('the stream', () => {
  test('has the books that reads have', async () => {
    const user = await signedIn('watcher');
    const books = new Map<string, Any>();
    const ends = [up, down].map(async (outcome) => {
      for (;;) books.set(outcome, await user.watchOrderBook(outcome));
    });
    const ended = Promise.allSettled(ends);
    await eventually(() => books.size === 2);
    for (const book of books.values()) expectBook({ ...book });
    await limit('buy', 0.3, 10);
    await limit('buy', 0.31, 20);
    await limit('buy', 0.6, 30, down);
    await taker.createOrder(up, 'limit', 'buy', 7, 0.4);
    await maker.cancelOrders([(await limit('buy', 0.2, 20)).id], up);
    for (const outcome of [up, down]) {
      const { bids, asks } = await taker.fetchOrderBook(outcome);
      await eventually(() => {
        const book = books.get(outcome);
        expect([[...book.bids], [...book.asks]]).toEqual([bids, asks]);
      });
    }
    const one = user.watchOrderBook(up, 1);
    await maker.cancelAllOrders(up);
    expect((await one).bids.length).toBeLessThanOrEqual(1);
    await user.close();
    for (const { reason } of (await ended) as PromiseRejectedResult[])
      expect(reason).toBeInstanceOf(ccxt.ExchangeClosedByUser);
    await maker.cancelAllOrders();
  });

  test('has the orders that reads have, in every state', async () => {
    await taker.createOrder(up, 'limit', 'buy', 50, 0.05);
    const open = await taker.fetchOpenOrders();
    expect((await taker.watchOrders()).map(({ id }: Any) => id).sort()).toEqual(
      open.map(({ id }: Any) => id).sort(),
    );
    const orders: Any[] = [await taker.createOrder(up, 'limit', 'buy', 20, 0.3)];
    await limit('buy', 0.7, 8, down);
    orders.push(await taker.createOrder(down, 'limit', 'buy', 10, 0.25));
    await taker.editOrder(orders[1].id, down, 'limit', 'buy', 6, 0.25);
    orders.push(await taker.createOrder(up, 'limit', 'buy', 10, 0.2));
    await taker.editOrder(orders[2].id, up, 'limit', 'buy', 12, 0.21);
    await taker.cancelOrder(orders[2].id, up);
    await limit('buy', 0.7, 8, down);
    await limit('buy', 0.4, 5, down);
    await limit('buy', 0.65, 5, down);
    orders.push(await taker.createOrder(up, 'limit', 'buy', 12, 0.35, { timeInForce: 'IOC' }));
    const latest = new Map<string, Any>();
    const ids = orders.map(({ id }) => id);
    // The events of an order come before its receipt.
    while (!latest.has(ids[3]))
      for (const order of await taker.watchOrders()) latest.set(order.id, order);
    for (const id of ids) {
      const read = await taker.fetchOrder(id);
      const told = latest.get(id);
      expect(Object.keys(told).sort()).toEqual(Object.keys(read).sort());
      // The stream has no price of an order that never rested.
      const fields = ['status', 'side', 'outcome', 'filled', 'cost'];
      if (told.price !== undefined) fields.push('price', 'type', 'timeInForce');
      for (const field of fields) expect(told[field], `${id} ${field}`).toEqual(read[field]);
      if (told.amount !== undefined)
        expect([told.amount, told.remaining]).toEqual([read.amount, read.remaining]);
    }
    expect(ids.map((id) => latest.get(id).price)).toEqual([0.3, 0.25, 0.21, undefined]);
    expect(ids.map((id) => latest.get(id).status)).toEqual([
      'open',
      'open',
      'canceled',
      'canceled',
    ]);
  });

  test('reports orders that ended while messages were lost', async () => {
    const user = await signedIn('deaf');
    const { handleMessage } = user;
    user.handleMessage = (client: Any, message: Any) => {
      const isFill = message.data?.events?.some(({ type }: Any) => type === 'fill');
      if (!isFill) handleMessage(client, message);
    };
    const [filled, kept] = [
      await user.createOrder(up, 'limit', 'buy', 20, 0.45),
      await user.createOrder(up, 'limit', 'buy', 20, 0.05),
    ];
    expect(await user.watchOrders()).toHaveLength(2);
    await limit('buy', 0.55, 20, down);
    await user.editOrder(kept.id, up, 'limit', 'buy', 30, 0.05);
    const orders = await user.watchOrders();
    expect(orders.map(({ id, status }: Any) => [id, status]).sort()).toEqual([
      [filled.id, 'closed'],
      [kept.id, 'open'],
    ]);
    expect(orders.find(({ id }: Any) => id === filled.id)).toMatchObject({ filled: 20 });
    await user.cancelAllOrders();
    await user.close();
  });

  test('refuses a wrong token', async () => {
    const stranger = new QuarterHour({ url: site, apiKey: 'no' });
    expect(await refusal(stranger.watchOrders())).toBeInstanceOf(ccxt.AuthenticationError);
    await stranger.close();
  });
});

test('a market that was resolved has its winner, and positions their payout', async () => {
  const { market } = taker.outcome(up);
  const { end } = taker.markets[market];
  await eventually(async () => (await taker.fetchTime()) > end + 5_000, 300_000);
  await eventually(async () => (await taker.loadOutcome(up, true)).winner !== undefined, 60_000);
  const [settled, other] = [taker.outcome(up), taker.outcome(down)];
  expect(settled.settleFraction + other.settleFraction).toBe(1);
  expect(taker.markets[market]).toMatchObject({ active: false, resolved: true });
  const won = settled.winner ? up : down;
  const [position] = await taker.fetchPositions([won]);
  expect(position).toMatchObject({ resolved: true, payout: position.contracts });
  expect(await refusal(limit('buy', 0.5, 10))).toBeInstanceOf(ccxt.MarketClosed);
});

test('each method that it names was called', ({ annotate }) => {
  const named = Object.entries(taker.has).filter(([, has]) => has === true);
  const methods = named.map(([name]) => name).filter((name) => name !== 'prediction');
  const ours = methods.filter((name) => Object.hasOwn(QuarterHour.prototype, name));
  expect(ours.filter((name) => !called.has(name))).toEqual([]);
  annotate(`${ours.length} methods`);
});
