import { describe, expect, test } from 'vitest';
import { Outcome } from '../../../engine/interface/domain.js';
import type { Channel } from '../../../gateway/stream/channels/channel.js';
import { JournalError } from '../../../persistence/journal/errors.js';
import { batch, buy, price } from '../../support/engine-support.js';
import { eventually } from '../../support/eventually.js';
import { anotherPublishes, Bench, MARKET } from './hub-bench.js';
import type { Message } from './support.js';

describe('durability', () => {
  test('publishes a message only once its command is durable, in the order of the commands', async () => {
    const bench = new Bench();
    await bench.flush();
    bench.follow(`book:${MARKET}`);
    bench.follow('user', 1);
    bench.do(bench.rest(1, 400), bench.rest(2, 401));
    await eventually(() => bench.log.isHolding);
    // The first batch is being written; this is the second.
    bench.do(bench.rest(1, 402));
    const { sequence } = bench.engine;
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
    await eventually(() => bench.log.isHolding);
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
  test('are those of the journal, and a forgotten channel does not know earlier ones', async () => {
    const bench = new Bench({ keptMs: 1_000 });
    const { channel, subscriber } = bench.follow(`book:${MARKET}`);
    const first = bench.engine.sequence;
    expect(channel.lastSequence).toBe(first);
    bench.do(bench.rest(1, 400), price(100_001, bench.nowMs), bench.rest(1, 401));
    await bench.flush();
    expect(bench.messagesOf(channel).map((message) => message.channelSequence)).toEqual([
      first + 1,
      first + 3,
    ]);
    expect(bench.messagesOf(channel)[1].previousSequence).toBe(first + 1);

    channel.remove(subscriber, 5_000);
    bench.hub.forgetIdle(5_999);
    bench.do(bench.rest(1, 402));
    await bench.flush();
    expect(channel.since(first, bench.engine.sequence)).toHaveLength(3);
    bench.hub.forgetIdle(6_000);
    bench.do(bench.rest(1, 403), bench.rest(1, 404));
    await bench.flush();
    // The channel is forgotten, and nothing is built for it.
    expect(channel.lastSequence).toBe(first + 4);
    expect(bench.messagesOf(channel)).toHaveLength(3);

    const again = bench.follow(`book:${MARKET}`).channel;
    expect(again).not.toBe(channel);
    expect(again.lastSequence).toBe(bench.engine.sequence);
    // The new channel cannot continue from the old channel's numbers.
    for (let after = first; after <= first + 4; after++)
      expect(again.since(after, bench.engine.sequence)).toBe(null);
    bench.do(bench.rest(1, 405));
    await bench.flush();
    // Changes from the time without subscribers are not reported now.
    const last = bench.messagesOf(channel).at(-1);
    expect(last.channelSequence).toBe(bench.engine.sequence);
    expect(last.data.UP.bids).toEqual([{ price: 0.405, shares: 1 }]);
    expect(again.since(again.lastSequence - 1, bench.engine.sequence)).toHaveLength(1);
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
    expect(again.since(channel.lastSequence, bench.engine.sequence)).toEqual([]);
    bench.do(bench.rest(1, 401));
    expect(again.since(channel.lastSequence, bench.engine.sequence)).toHaveLength(1);
  });

  test('channels of all kinds are forgotten without subscribers, and release their messages', async () => {
    const bench = new Bench({ keptMs: 1_000, keptCharactersInAll: 4_000 });
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
    expect(stays.since(stays.lastSequence - 12, bench.engine.sequence)).toHaveLength(12);
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
    expect(channel.since(first + 2, bench.engine.sequence)).toBe(null);
    const kept = channel.since(first + 3, bench.engine.sequence)!;
    expect(kept.map((text) => JSON.parse(text).channelSequence)).toEqual(
      [4, 5, 6, 7, 8].map((i) => first + i),
    );
    expect(channel.since(first + 8, bench.engine.sequence)).toEqual([]);
    expect(channel.since(first + 9, bench.engine.sequence)).toBe(null);
    expect(channel.since(0, bench.engine.sequence)).toBe(null);

    const wide = bench.follow(`book:${MARKET}`).channel;
    const orders = Array.from({ length: 40 }, (_, i) => bench.rest(1, 400 + i));
    bench.do(batch(1, orders as never[]));
    expect(wide.since(wide.lastSequence - 1, bench.engine.sequence)).toBe(null);
    expect(wide.since(wide.lastSequence, bench.engine.sequence)).toEqual([]);
  });

  test('all channels together keep a limited number of characters', () => {
    const bench = new Bench({ keptCharactersInAll: 20_000 });
    const { channel } = bench.follow(`book:${MARKET}`);
    const user = bench.follow('user', 1).channel;
    for (let i = 0; i < 300; i++) bench.do(bench.rest(1, 100 + i));
    const kept = (of: Channel) => {
      let count = 0;
      while (of.since(of.lastSequence - count - 1, bench.engine.sequence) !== null) count++;
      return of
        .since(of.lastSequence - count, bench.engine.sequence)!
        .reduce((sum, text) => sum + text.length, 0);
    };
    expect(kept(channel) + kept(user)).toBeGreaterThan(10_000);
    expect(kept(channel) + kept(user)).toBeLessThan(21_000);
  });
});
