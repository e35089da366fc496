/** The hub's channels without sockets: the messages of markets, prices and users. */
import { describe, expect, test } from 'vitest';
import type { Command } from '../../../engine/interface/commands.js';
import { Outcome } from '../../../engine/interface/domain.js';
import type { Channel } from '../../../gateway/stream/channels/channel.js';
import { buy, DOLLAR, price, registration, WINDOW_START_MS } from '../../support/engine-support.js';
import { Bench, DAY_MS, MARKET, WINDOW_MS } from './hub-bench.js';
import type { Message } from './support.js';

describe('a market', () => {
  test('opens, has its start price fixed, ends and is resolved; its book ends empty', async () => {
    const bench = new Bench();
    const markets = bench.follow('markets').channel;
    const book = bench.follow(`book:${MARKET}`).channel;
    bench.do(...Array.from({ length: 1_000 }, () => bench.rest(1, 400, 1)));
    bench.do(...Array.from({ length: 200 }, () => bench.rest(2, 300, 1)));
    // Passes the market's end in steps of 30 s. The orders are cancelled in two commands.
    for (let i = 1; i <= 32; i++) {
      bench.nowMs = WINDOW_START_MS + i * 30_000;
      bench.do(price(100_000 + i, bench.nowMs));
    }
    bench.do({ kind: 'advanceTime' });
    await bench.flush();
    const changes = bench.messagesOf(markets).flatMap((message) => message.data.changes);
    expect(
      changes.map(({ change, marketId, market }) => [change, marketId, market.status]),
    ).toEqual([
      ['ended', MARKET, 'ended'],
      ['opened', 'btc-15m-1763701200', 'active'],
      ['resolved', MARKET, 'resolved'],
      ['start_price_fixed', 'btc-15m-1763701200', 'active'],
    ]);
    expect(changes[2].market.resolution).toBe('UP');
    const last = bench.messagesOf(book).at(-1);
    expect(bench.messagesOf(book)).toHaveLength(1_201);
    expect(last).toMatchObject({
      type: 'snapshot',
      data: { UP: { bids: [], asks: [] }, DOWN: { bids: [], asks: [] } },
    });
    // A new subscriber sees the same.
    expect(JSON.parse(book.snapshot(bench.hub.stamp)).data.UP).toEqual({ bids: [], asks: [] });
  });

  test('reports a start price that changes', async () => {
    const bench = new Bench();
    const markets = bench.follow('markets').channel;
    bench.nowMs = WINDOW_START_MS + WINDOW_MS - 60_000;
    bench.do(price(100_000, bench.nowMs));
    bench.nowMs = WINDOW_START_MS + WINDOW_MS + 1_000;
    // The next market opens at 100,000. A late price shows that it was lower before.
    bench.do({ kind: 'advanceTime' }, price(90_000, WINDOW_START_MS + WINDOW_MS - 30_000));
    bench.nowMs += 1_000;
    bench.do({ kind: 'advanceTime' });
    await bench.flush();
    const message = bench.messagesOf(markets).at(-1);
    expect(message.data.changes.at(-1)).toMatchObject({
      change: 'start_price_fixed',
      market: { startPrice: 95_000 },
    });
  });

  test('reports a start price that stays as it is once it is final', async () => {
    const bench = new Bench();
    bench.nowMs = WINDOW_START_MS + WINDOW_MS - 60_000;
    bench.do(price(100_000, bench.nowMs));
    bench.nowMs = WINDOW_START_MS + WINDOW_MS + 1_000;
    bench.do({ kind: 'advanceTime' });
    // The channel begins while the price may still change.
    const markets = bench.follow('markets').channel;
    bench.nowMs += 500;
    bench.do(price(90_000, bench.nowMs));
    bench.nowMs += 500;
    bench.do({ kind: 'advanceTime' });
    bench.do(price(91_000, bench.nowMs));
    await bench.flush();
    const changes = bench.messagesOf(markets).flatMap((message) => message.data.changes);
    expect(changes.filter(({ change }) => change === 'start_price_fixed')).toMatchObject([
      { market: { startPrice: 100_000, startPriceFinal: true } },
    ]);
  });

  test('ends and closes in one command after a leap in time', async () => {
    const bench = new Bench();
    const book = bench.follow(`book:${MARKET}`);
    const user = bench.follow('user', 1).channel;
    const markets = bench.follow('markets').channel;
    bench.do(bench.rest(1, 400));
    bench.nowMs = WINDOW_START_MS + 3 * DAY_MS;
    bench.do({ kind: 'advanceTime' });
    await bench.flush();
    const [{ data }] = bench.messagesOf(markets);
    expect(data.changes).toEqual(
      ['ended', 'resolved', 'closed'].map((change) => ({ change, marketId: MARKET, market: null })),
    );
    expect(JSON.parse(book.closed[0]!).channelSequence).toBe(bench.engine.sequence);
    const cancelled = bench.messagesOf(user).at(-1).data;
    expect(cancelled.events).toMatchObject([{ type: 'order_cancelled', reason: 'market_ended' }]);
    expect(cancelled.balance.held).toBe(0);
  });
});

describe('tops', () => {
  const topsIn = (messages: Message[]) =>
    messages.map(({ data: { book } }) => book && [book.marketId, book.UP.bids, book.DOWN.asks]);

  test('change with the best level alone, and follow the asset to its next market', async () => {
    const bench = new Bench();
    const { channel } = bench.follow('tops:BTC');
    bench.do(bench.rest(1, 400, 1_000));
    bench.do(bench.rest(2, 300, 1_000));
    bench.do(bench.rest(2, 400, 500));
    bench.do(buy({ userId: 3, marketId: bench.marketId, outcome: Outcome.DOWN, sizeLots: 1_500 }));
    bench.nowMs = WINDOW_START_MS + WINDOW_MS - 60_000;
    bench.do(price(100_000, bench.nowMs));
    bench.nowMs = WINDOW_START_MS + WINDOW_MS + 1_000;
    bench.do({ kind: 'advanceTime' });
    await bench.flush();
    const level = (bid: number, shares: number) => [
      [{ price: bid, shares }],
      [{ price: 1 - bid, shares }],
    ];
    expect(topsIn(bench.messagesOf(channel))).toEqual([
      [MARKET, ...level(0.4, 1)],
      [MARKET, ...level(0.4, 1.5)],
      [MARKET, ...level(0.3, 1)],
      ['btc-15m-1763701200', [], []],
    ]);
    const snapshot: Message = JSON.parse(channel.snapshot(bench.hub.stamp));
    expect(snapshot.data.book).toMatchObject({ marketId: 'btc-15m-1763701200' });
  });

  test('have no book while no market is active', async () => {
    const bench = new Bench();
    const { channel } = bench.follow('tops:BTC');
    bench.nowMs = WINDOW_START_MS + WINDOW_MS + 120_000;
    bench.do({ kind: 'advanceTime' });
    await bench.flush();
    expect(bench.marketId).toBe(0);
    expect(topsIn(bench.messagesOf(channel))).toEqual([null]);
  });
});

test('books have the deltas of the active market, and a snapshot of the next one or of none', async () => {
  const bench = new Bench();
  const { channel } = bench.follow('books:BTC');
  const own = bench.follow(`book:${MARKET}`).channel;
  bench.do(bench.rest(1, 400, 3_000));
  bench.do(bench.rest(2, 300, 4_000));
  bench.do(buy({ userId: 3, marketId: bench.marketId, outcome: Outcome.DOWN, sizeLots: 1_500 }));
  bench.nowMs = WINDOW_START_MS + WINDOW_MS - 60_000;
  bench.do(price(100_000, bench.nowMs));
  bench.nowMs = WINDOW_START_MS + WINDOW_MS + 1_000;
  bench.do({ kind: 'advanceTime' });
  bench.do(bench.rest(1, 200, 5_000));
  bench.nowMs = WINDOW_START_MS + 2 * WINDOW_MS + 300_000;
  bench.do({ kind: 'advanceTime' });
  await bench.flush();
  const messages = bench.messagesOf(channel).map(({ type, data: { book } }) => [type, book]);
  const deltas = bench.messagesOf(own).filter(({ type }) => type === 'delta');
  expect(deltas.length).toBe(3);
  expect(messages.slice(0, 3)).toEqual(deltas.map(({ data }) => ['delta', data]));
  const next = 'btc-15m-1763701200';
  expect(messages.slice(3)).toMatchObject([
    ['snapshot', { marketId: next, UP: { bids: [], asks: [] } }],
    ['delta', { marketId: next, UP: { bids: [{ price: 0.2, shares: 5 }] } }],
    ['snapshot', null],
  ]);
});

test('markets are announced as upcoming, opened and ended, and their books go on', async () => {
  const bench = new Bench();
  const markets = bench.follow('markets').channel;
  bench.do({ kind: 'listMarkets', asset: 0, ahead: true });
  const next = 'btc-15m-1763701200';
  const book = bench.follow(`book:${next}`).channel;
  const { channel } = bench.follow('books:BTC');
  const marketId = bench.engine.upcomingMarkets(0)[0]!;
  bench.do({ ...bench.rest(1, 400, 3_000), marketId } as Command);
  bench.nowMs = WINDOW_START_MS + WINDOW_MS - 60_000;
  bench.do(price(100_000, bench.nowMs));
  bench.nowMs = WINDOW_START_MS + WINDOW_MS + 1_000;
  bench.do({ kind: 'advanceTime' });
  await bench.flush();
  const changes = bench.messagesOf(markets).map(({ data }) => data.changes);
  const named = (each: Message[]) => each.map(({ change, market }) => [change, market.status]);
  expect(changes.map(named)).toEqual([
    Array(4).fill(['upcoming', 'upcoming']),
    [
      ['ended', 'ended'],
      ['opened', 'active'],
      ['upcoming', 'upcoming'],
    ],
  ]);
  const bids = [{ price: 0.4, shares: 3 }];
  expect(bench.messagesOf(book).map(({ type, data }) => [type, data.UP.bids])).toEqual([
    ['delta', bids],
  ]);
  expect(bench.messagesOf(channel).map(({ type, data }) => [type, data.book.UP.bids])).toEqual([
    ['snapshot', bids],
  ]);
  const snapshot: Message = JSON.parse(markets.snapshot(bench.hub.stamp));
  expect(snapshot.data.markets.map(({ status }: Message) => status)).toEqual([
    'active',
    ...Array(4).fill('upcoming'),
  ]);
});

test('prices show the price observed last, even if an earlier one arrives late', async () => {
  const bench = new Bench();
  bench.do({ kind: 'listAsset', symbol: 'ETH' });
  const none = bench.follow('prices:ETH').channel;
  expect(JSON.parse(none.snapshot(bench.hub.stamp)).data).toEqual({
    asset: 'ETH',
    price: null,
    observedAtMs: null,
    marketId: null,
    indicative: null,
  });
  const { channel } = bench.follow('prices:BTC');
  bench.nowMs += 2_000;
  bench.do(price(100_002, bench.nowMs - 500), price(100_001, bench.nowMs - 1_000));
  await bench.flush();
  expect(bench.messagesOf(channel).map(({ data }) => [data.price, data.observedAtMs])).toEqual([
    [100_002, bench.nowMs - 500],
    [100_002, bench.nowMs - 500],
  ]);
  expect(bench.messagesOf(none)).toEqual([]);
});

test('the user channel reports deposits and withdrawals, the vault and referrals', async () => {
  const bench = new Bench();
  const code = bench.engine.referral(1)!.code;
  bench.do(registration('dan', 10_000, code, 'acme'));
  const ada = bench.follow('user', 1).channel;
  const dan = bench.follow('user', 4).channel;
  const transfer = { userId: 4, amountMicros: 5 * DOLLAR, partner: 'acme' };
  bench.do(
    { kind: 'deposit', ...transfer, reference: 'in' },
    { kind: 'withdraw', ...transfer, reference: 'out' },
  );
  const own = { userId: 4, idempotencyKey: null };
  bench.do({ kind: 'stake', ...own, amountMicros: 100 * DOLLAR });
  bench.do(bench.rest(2, 500, 100_000));
  bench.do(buy({ userId: 4, marketId: bench.marketId, outcome: Outcome.DOWN, sizeLots: 100_000 }));
  for (let i = 1; i <= 61; i++) {
    bench.nowMs = WINDOW_START_MS + i * 30_000;
    bench.do(price(99_000, bench.nowMs));
  }
  bench.do({ kind: 'claim', ...own, marketId: bench.engine.marketIds()[0]! });
  bench.do({ kind: 'unstake', ...own, depositId: 1 });
  await bench.flush();
  const events = (channel: Channel) =>
    bench.messagesOf(channel).flatMap((message) => message.data.events as Message[]);
  expect(events(dan).map((event) => event.type)).toEqual([
    'deposited',
    'withdrawn',
    'staked',
    'fill',
    'position_settled',
    'points_credited',
    'claimed',
    'unstaked',
  ]);
  expect(events(dan)[3]).toMatchObject({
    role: 'taker',
    side: 'BUY',
    price: 0.5,
    value: 50,
    fee: 0.25,
  });
  expect(events(dan)[4]).toMatchObject({ DOWN: 100, payout: 100, profit: 50 });
  // 40% of the fee, and 1/1,000 of the stake.
  expect(events(dan)[7]).toEqual({ type: 'unstaked', depositId: 'd1', amount: 100, yield: 0.1 });
  expect(events(ada)).toEqual([
    { type: 'referral_earned', marketId: MARKET, amount: 0.025 },
    { type: 'points_credited', marketId: MARKET, points: 2.5, reason: 'referral' },
  ]);
  const { available, held, total } = bench.messagesOf(dan).at(-1).data.balance;
  expect([available, held, total]).toEqual([10_049.85, 0, 10_049.85]);
});
