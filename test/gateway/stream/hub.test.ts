/**
 * The hub and its channels without sockets: their messages, their numbering, and that nothing is
 * sent before it is durable.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import { Engine } from '../../../engine/engine.js';
import type { Command } from '../../../engine/interface/commands.js';
import { Outcome, TimeInForce } from '../../../engine/interface/domain.js';
import type { DepthLevel } from '../../../engine/interface/views.js';
import { WatchedSequencer } from '../../../gateway/observe/watched-sequencer.js';
import type { Channel, Subscriber } from '../../../gateway/stream/channels/channel.js';
import { type ChannelId, channelNamed } from '../../../gateway/stream/channels/names.js';
import { Hub } from '../../../gateway/stream/hub.js';
import { STREAM_LIMITS, type StreamLimits } from '../../../gateway/stream/limits.js';
import { ServerMessage } from '../../../gateway/stream/messages.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import type { BatchContent } from '../../../persistence/journal/format.js';
import type { CommitDone } from '../../../persistence/journal/journal.js';
import type { CommitLog } from '../../../persistence/sequencer.js';
import {
  batch,
  buy,
  DOLLAR,
  price,
  registration,
  WINDOW_START_MS,
} from '../../support/engine-support.js';
import { randomCommand } from './commands.js';
import type { Message } from './support.js';

const MARKET = 'btc-15m-1763700300';
const WINDOW_MS = 900_000;
const DAY_MS = 86_400_000;

/** An in-memory journal that reports a batch as durable when the test says so. */
class HeldLog implements CommitLog {
  readonly end = { sequence: 0, digest: null };
  private readonly held: { batch: BatchContent; done: CommitDone }[] = [];

  append(batch: BatchContent, done: CommitDone): void {
    this.held.push({ batch, done });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get isHolding(): boolean {
    return this.held.length > 0;
  }

  /** Reports that the oldest batch is durable or that it failed; returns its last sequence. */
  answer(error: JournalError | null = null): number {
    const { batch, done } = this.held.shift()!;
    done(error);
    return batch.lastSequence;
  }
}

/** An engine with a market and three users, a sequencer and a hub, with all commits held back. */
class Bench {
  readonly engine = new Engine();
  readonly log = new HeldLog();
  readonly failures: Error[] = [];
  readonly published: Message[] = [];
  readonly tokensEnded: [number, number][] = [];
  readonly sequencer: WatchedSequencer;
  readonly hub: Hub;
  nowMs = WINDOW_START_MS;

  constructor(limits: Partial<StreamLimits> = {}) {
    const { engine, log } = this;
    this.sequencer = new WatchedSequencer({
      engine,
      journal: log,
      now: () => this.nowMs,
      onFatal: (error) => this.failures.push(error),
    });
    this.hub = new Hub({
      engine,
      releaseAt: (sequence, target) => this.sequencer.releaseAt(sequence, target),
      publish: (topic, text) =>
        this.published.push({ topic, ...ServerMessage.parse(JSON.parse(text)) }),
      onTokensEnded: (userId, version) => this.tokensEnded.push([userId, version]),
      limits: { ...STREAM_LIMITS, ...limits },
    });
    this.sequencer.watch(() => this.hub.observe());
    this.do({ kind: 'listAsset', symbol: 'BTC' }, price(100_000, this.nowMs));
    for (const name of ['ada', 'bob', 'cyn']) this.do(registration(name, 10_000));
  }

  get marketId(): number {
    return this.engine.activeMarket(0);
  }

  do(...commands: Command[]): void {
    for (const command of commands) this.sequencer.submit(command);
  }

  /** Makes everything durable. */
  async flush(): Promise<void> {
    while (this.sequencer.backlog > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.log.isHolding) this.log.answer();
    }
  }

  /** Subscribes to a channel; returns it, and its last message once its market is closed. */
  follow(name: string, userId = 0): { channel: Channel; closed: string[]; subscriber: Subscriber } {
    const channel = this.hub.channel(channelNamed(this.engine, userId, name) as ChannelId);
    const closed: string[] = [];
    const subscriber = { channelClosed: (text: string) => void closed.push(text) };
    channel.add(subscriber);
    return { channel, closed, subscriber };
  }

  messagesOf(channel: Channel): Message[] {
    return this.published.filter((message) => message.topic === channel.topic);
  }

  /** A resting order of `userId` to buy UP at this price. */
  rest(userId: number, priceTicks: number, sizeLots = 1_000): Command {
    const { marketId } = this;
    return buy({ userId, marketId, priceTicks, sizeLots, timeInForce: TimeInForce.GTC });
  }
}

/** Resolves when a hub whose commands came later has published. */
async function anotherPublishes(): Promise<void> {
  const later = new Bench();
  later.follow(`book:${MARKET}`);
  later.do(later.rest(1, 400));
  await later.flush();
  expect(later.published).toHaveLength(1);
}

describe('durability', () => {
  test('publishes a message only once its command is durable, in the order of the commands', async () => {
    const bench = new Bench();
    await bench.flush();
    bench.follow(`book:${MARKET}`);
    bench.follow('user', 1);
    bench.do(bench.rest(1, 400), bench.rest(2, 401));
    await new Promise((resolve) => setImmediate(resolve));
    // The first batch is being written; this is the second.
    bench.do(bench.rest(1, 402));
    const { sequence } = bench.engine;
    expect(bench.log.isHolding).toBe(true);
    await anotherPublishes();
    expect(bench.published).toEqual([]);

    expect(bench.log.answer()).toBe(sequence - 1);
    expect(bench.published.map((message) => [message.topic, message.sequence])).toEqual([
      ['user:1', sequence - 2],
      [`book:${MARKET}`, sequence - 2],
      [`book:${MARKET}`, sequence - 1],
    ]);
    await bench.flush();
    expect(bench.published.slice(3).map((message) => message.sequence)).toEqual([
      sequence,
      sequence,
    ]);
  });

  test('a message shows the state after its own command, however late it is sent', async () => {
    const bench = new Bench();
    const { channel } = bench.follow(`book:${MARKET}`);
    bench.do(bench.rest(1, 400), bench.rest(2, 400), bench.rest(3, 400));
    await bench.flush();
    const levels = bench.messagesOf(channel).map((message) => message.data.UP.bids);
    expect(levels).toEqual([1, 2, 3].map((shares) => [{ price: 0.4, shares }]));
    expect(bench.messagesOf(channel)[0].data.DOWN.asks).toEqual([{ price: 0.6, shares: 1 }]);
  });

  test('publishes nothing of a failed commit', async () => {
    const bench = new Bench();
    await bench.flush();
    bench.follow(`book:${MARKET}`);
    bench.do(bench.rest(1, 400), { kind: 'setCredential', userId: 1, credential: 'x' });
    await new Promise((resolve) => setImmediate(resolve));
    bench.log.answer(new JournalError('the disk is full', null));
    await anotherPublishes();
    expect(bench.failures).toHaveLength(1);
    expect(bench.published).toEqual([]);
    expect(bench.tokensEnded).toEqual([]);
  });

  test('announces revoked tokens once that is durable', async () => {
    const bench = new Bench();
    bench.do({ kind: 'setCredential', userId: 2, credential: 'x' });
    expect(bench.tokensEnded).toEqual([]);
    await bench.flush();
    expect(bench.tokensEnded).toEqual([[2, bench.engine.credentialVersion(2)]]);
  });
});

describe('sequence numbers', () => {
  test("start at the engine's sequence, have no gaps, and restart after a time without subscribers", async () => {
    const bench = new Bench({ keptMs: 1_000 });
    const { channel, subscriber } = bench.follow(`book:${MARKET}`);
    const first = bench.engine.sequence;
    expect(channel.lastSequence).toBe(first);
    bench.do(bench.rest(1, 400), price(100_001, bench.nowMs), bench.rest(1, 401));
    await bench.flush();
    expect(bench.messagesOf(channel).map((message) => message.channelSequence)).toEqual([
      first + 1,
      first + 2,
    ]);

    channel.remove(subscriber, 5_000);
    bench.hub.forgetIdle(5_999);
    bench.do(bench.rest(1, 402));
    await bench.flush();
    expect(channel.since(first)).toHaveLength(3);
    bench.hub.forgetIdle(6_000);
    bench.do(bench.rest(1, 403), bench.rest(1, 404));
    await bench.flush();
    // The channel is forgotten, and nothing is built for it.
    expect(channel.lastSequence).toBe(first + 3);
    expect(bench.messagesOf(channel)).toHaveLength(3);

    const again = bench.follow(`book:${MARKET}`).channel;
    expect(again).not.toBe(channel);
    expect(again.lastSequence).toBe(bench.engine.sequence);
    // A number of the earlier channel is not accepted for this one.
    for (let after = first; after <= first + 3; after++) expect(again.since(after)).toBe(null);
    bench.do(bench.rest(1, 405));
    await bench.flush();
    // Changes from the time without subscribers are not reported now.
    const last = bench.messagesOf(channel).at(-1);
    expect(last.channelSequence).toBe(bench.engine.sequence);
    expect(last.data.UP.bids).toEqual([{ price: 0.405, shares: 1 }]);
    expect(again.since(again.lastSequence - 1)).toHaveLength(1);
  });

  test('a channel that restarts at its last number has missed nothing', async () => {
    const bench = new Bench({ keptMs: 0 });
    const { channel, subscriber } = bench.follow(`book:${MARKET}`);
    bench.do(bench.rest(1, 400));
    await bench.flush();
    channel.remove(subscriber, 0);
    bench.hub.forgetIdle(1);
    const again = bench.follow(`book:${MARKET}`).channel;
    expect(again).not.toBe(channel);
    expect(again.since(channel.lastSequence)).toEqual([]);
    bench.do(bench.rest(1, 401));
    expect(again.since(channel.lastSequence)).toHaveLength(1);
  });

  test('channels of all kinds are forgotten without subscribers, and release their messages', async () => {
    const bench = new Bench({ keptMs: 1_000, keptCharactersInAll: 3_000 });
    const names = ['markets', `book:${MARKET}`, `trades:${MARKET}`, 'prices:BTC', 'user'];
    const followed = names.map((name) => bench.follow(name, 1));
    const stays = bench.follow('prices:BTC').channel;
    bench.do(bench.rest(1, 400, 1_000), price(100_001, bench.nowMs));
    await bench.flush();
    for (const { channel, subscriber } of followed) channel.remove(subscriber, 0);
    bench.hub.forgetIdle(1_000);
    for (const [i, { channel }] of followed.entries()) {
      expect(bench.follow(names[i]!, 1).channel === channel, names[i]).toBe(channel === stays);
    }
    // The whole limit is available to the channel that still has a subscriber.
    for (let i = 0; i < 12; i++) bench.do(price(100_100 + i, bench.nowMs));
    expect(stays.since(stays.lastSequence - 12)).toHaveLength(12);
  });

  test('one command causes at most one message per channel, and none if it changes nothing', async () => {
    const bench = new Bench();
    const book = bench.follow(`book:${MARKET}`).channel;
    const trades = bench.follow(`trades:${MARKET}`).channel;
    bench.do(bench.rest(1, 400, 1_000), bench.rest(2, 401, 1_000), bench.rest(1, 402, 1_000));
    const down = { userId: 3, marketId: bench.marketId, outcome: Outcome.DOWN };
    bench.do(
      batch(3, [
        buy({ ...down, sizeLots: 2_500 }),
        buy({ ...down, sizeLots: 100, priceTicks: 700 }),
      ]),
    );
    bench.do(buy({ ...down, sizeLots: 100, priceTicks: 500 }));
    await bench.flush();
    expect(bench.messagesOf(book)).toHaveLength(4);
    const [message] = bench.messagesOf(trades);
    expect(bench.messagesOf(trades)).toHaveLength(1);
    expect(
      message.data.trades.map((trade: Message) => [trade.price, trade.shares, trade.matchType]),
    ).toEqual([
      [0.598, 1, 'mint'],
      [0.599, 1, 'mint'],
      [0.6, 0.5, 'mint'],
      [0.6, 0.1, 'mint'],
    ]);
    const levels = bench.messagesOf(book).at(-1).data.UP.bids;
    expect(levels).toEqual([
      { price: 0.402, shares: 0 },
      { price: 0.401, shares: 0 },
      { price: 0.4, shares: 0.4 },
    ]);
  });

  test('keep the last messages for a client that reconnects, up to a count and a size', async () => {
    const bench = new Bench({ keptMessages: 5, keptCharacters: 2_000 });
    const { channel } = bench.follow('prices:BTC');
    const first = channel.lastSequence;
    for (let i = 1; i <= 8; i++) bench.do(price(100_000 + i, bench.nowMs));
    expect(channel.since(first + 2)).toBe(null);
    const kept = channel.since(first + 3)!;
    expect(kept.map((text) => JSON.parse(text).channelSequence)).toEqual(
      [4, 5, 6, 7, 8].map((i) => first + i),
    );
    expect(channel.since(first + 8)).toEqual([]);
    expect(channel.since(first + 9)).toBe(null);
    expect(channel.since(0)).toBe(null);

    const wide = bench.follow(`book:${MARKET}`).channel;
    const orders = Array.from({ length: 40 }, (_, i) => bench.rest(1, 400 + i));
    bench.do(batch(1, orders as never[]));
    expect(wide.since(wide.lastSequence - 1)).toBe(null);
    expect(wide.since(wide.lastSequence)).toEqual([]);
  });

  test('all channels together keep a limited number of characters', () => {
    const bench = new Bench({ keptCharactersInAll: 20_000 });
    const { channel } = bench.follow(`book:${MARKET}`);
    const user = bench.follow('user', 1).channel;
    for (let i = 0; i < 300; i++) bench.do(bench.rest(1, 100 + i));
    const kept = (of: Channel) => {
      let count = 0;
      while (of.since(of.lastSequence - count - 1) !== null) count++;
      return of.since(of.lastSequence - count)!.reduce((sum, text) => sum + text.length, 0);
    };
    expect(kept(channel) + kept(user)).toBeGreaterThan(10_000);
    expect(kept(channel) + kept(user)).toBeLessThan(21_000);
  });
});

describe('a market', () => {
  test('opens, has its start price fixed, ends and is resolved; its book ends empty', async () => {
    const bench = new Bench();
    const markets = bench.follow('markets').channel;
    const book = bench.follow(`book:${MARKET}`).channel;
    bench.do(...Array.from({ length: 1_000 }, () => bench.rest(1, 400, 1)));
    bench.do(...Array.from({ length: 200 }, () => bench.rest(2, 300, 1)));
    // At 30 s, 60 s, … past the end: the orders are cancelled in two commands.
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
    // The next market is open at 100,000; then a late price shows that it had halved for the last
    // half minute.
    bench.do({ kind: 'advanceTime' }, price(50_000, WINDOW_START_MS + WINDOW_MS - 30_000));
    bench.nowMs += 1_000;
    bench.do({ kind: 'advanceTime' });
    await bench.flush();
    const message = bench.messagesOf(markets).at(-1);
    expect(message.data.changes.at(-1)).toMatchObject({
      change: 'start_price_fixed',
      market: { startPrice: 75_000 },
    });
  });

  test('closes a day after it is resolved, and its channels end', async () => {
    const bench = new Bench();
    const book = bench.follow(`book:${MARKET}`);
    const trades = bench.follow(`trades:${MARKET}`);
    const markets = bench.follow('markets').channel;
    const before = book.channel.lastSequence;
    bench.nowMs = WINDOW_START_MS + WINDOW_MS + 60_000;
    bench.do({ kind: 'advanceTime' });
    bench.nowMs += DAY_MS;
    bench.do({ kind: 'advanceTime' });
    expect(book.closed).toEqual([]);
    await bench.flush();
    expect(ServerMessage.parse(JSON.parse(book.closed[0]!))).toMatchObject({
      type: 'closed',
      channel: `book:${MARKET}`,
      channelSequence: before + 2,
    });
    expect(trades.closed).toHaveLength(1);
    expect(bench.messagesOf(markets).at(-1).data.changes).toEqual([
      { change: 'closed', marketId: MARKET, market: null },
    ]);
    expect(channelNamed(bench.engine, 0, `book:${MARKET}`)).toMatchObject({ status: 404 });
  });

  test('ends and closes in one command after a leap in time', async () => {
    const bench = new Bench();
    const book = bench.follow(`book:${MARKET}`);
    const user = bench.follow('user', 1).channel;
    const markets = bench.follow('markets').channel;
    bench.do(bench.rest(1, 400));
    const before = book.channel.lastSequence;
    bench.nowMs = WINDOW_START_MS + 3 * DAY_MS;
    bench.do({ kind: 'advanceTime' });
    await bench.flush();
    const [{ data }] = bench.messagesOf(markets);
    expect(data.changes).toEqual(
      ['ended', 'resolved', 'closed'].map((change) => ({ change, marketId: MARKET, market: null })),
    );
    expect(JSON.parse(book.closed[0]!).channelSequence).toBe(before + 1);
    const cancelled = bench.messagesOf(user).at(-1).data;
    expect(cancelled.events).toMatchObject([{ type: 'order_cancelled', reason: 'market_ended' }]);
    expect(cancelled.balance.held).toBe(0);
  });
});

describe('the book', () => {
  type Sides = { bids: Map<number, number>; asks: Map<number, number> };
  const empty = (): Sides => ({ bids: new Map(), asks: new Map() });

  function change(sides: Sides, data: Message): void {
    for (const side of ['bids', 'asks'] as const) {
      for (const { price, shares } of data[side]) {
        if (shares === 0) sides[side].delete(price);
        else sides[side].set(price, shares);
      }
    }
  }

  const fromEngine = (levels: DepthLevel[]) =>
    new Map(levels.map(({ priceTicks, sizeLots }) => [priceTicks / 1_000, sizeLots / 1_000]));

  test("deltas add up to the engine's book after each of 20,000 random commands", () => {
    const bench = new Bench();
    const { channel } = bench.follow(`book:${MARKET}`);
    const trading = {
      engine: bench.engine,
      marketId: bench.marketId,
      users: 3,
      random: new Random('book'),
    };
    const sides = empty();
    let [deltas, atThisSequence] = [0, 0];
    for (let i = 0; i < 20_000; i++) {
      const before = channel.lastSequence;
      bench.do(randomCommand(trading));
      for (const text of channel.since(before)!) {
        const message = JSON.parse(text);
        change(sides, message.data.UP);
        deltas++;
        if (message.sequence === bench.engine.sequence) atThisSequence++;
      }
      const depth = bench.engine.depth(bench.marketId, 999)!;
      const book = { bids: fromEngine(depth.bids), asks: fromEngine(depth.asks) };
      // `expect` is slow; here it only reports the difference.
      if (!isDeepStrictEqual(sides, book)) expect(sides).toEqual(book);
    }
    expect(deltas).toBeGreaterThan(5_000);
    expect(atThisSequence).toBe(deltas);
    expect(bench.engine.account(1)!.tradeCount).toBeGreaterThan(1_000);
    bench.engine.checkInvariants();
  });
});

describe('prices', () => {
  test('show the price observed last, even if an earlier one arrives late', async () => {
    const bench = new Bench();
    bench.do({ kind: 'listAsset', symbol: 'ETH' });
    const none = bench.follow('prices:ETH').channel;
    expect(JSON.parse(none.snapshot(bench.hub.stamp)).data).toEqual({
      asset: 'ETH',
      price: null,
      observedAtMs: null,
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
});

describe('the user channel', () => {
  test('reports deposits and withdrawals, the vault and referrals', async () => {
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
    bench.do({ kind: 'stake', ...own, amountMicros: 10 * DOLLAR });
    bench.do(bench.rest(2, 500, 100_000));
    bench.do(
      buy({ userId: 4, marketId: bench.marketId, outcome: Outcome.DOWN, sizeLots: 100_000 }),
    );
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
    // 40% of the fee.
    expect(events(dan)[7]).toEqual({ type: 'unstaked', depositId: 'd1', amount: 10, yield: 0.1 });
    expect(events(ada)).toEqual([
      { type: 'referral_earned', marketId: MARKET, amount: 0.025 },
      { type: 'points_credited', marketId: MARKET, points: 2.5, reason: 'referral' },
    ]);
    const { available, held, total } = bench.messagesOf(dan).at(-1).data.balance;
    expect([available, held, total]).toEqual([10_049.85, 0, 10_049.85]);
  });
});
