/**
 * The book that a client builds from the stream equals GET /orderbook at the same sequence, through
 * thousands of changes, with connections that break at random, resume, and sometimes resume too
 * late.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Random } from '../../../bench/workload/random.js';
import { MARKET, TestServer } from '../../support/server.js';
import { randomCommand, type Trading } from './commands.js';
import { type Message, StreamClient, streamLimits } from './support.js';

const CHANNEL = `book:${MARKET}`;
const USERS = 5;
const STEPS = 120;

type Levels = Map<number, number>;
interface Sides {
  bids: Levels;
  asks: Levels;
}

/** What a client of the stream would implement. */
class RebuiltBook {
  private UP: Sides = { bids: new Map(), asks: new Map() };
  private DOWN: Sides = { bids: new Map(), asks: new Map() };
  /** Sequence number of the last message. */
  last = 0;
  deltas = 0;

  take(message: Message): void {
    if (message.type === 'snapshot') {
      this.UP = { bids: new Map(), asks: new Map() };
      this.DOWN = { bids: new Map(), asks: new Map() };
    } else if (message.type === 'delta') {
      expect(message.channelSequence).toBeGreaterThan(this.last);
      expect(message.previousSequence).toBeLessThanOrEqual(this.last);
      this.deltas++;
    } else return;
    this.last = message.channelSequence;
    for (const outcome of ['UP', 'DOWN'] as const) {
      for (const side of ['bids', 'asks'] as const)
        change(this[outcome][side], message.data[outcome][side]);
    }
  }

  view(): object {
    return { UP: sorted(this.UP), DOWN: sorted(this.DOWN) };
  }
}

function change(levels: Levels, changed: { price: number; shares: number }[]): void {
  for (const { price, shares } of changed) {
    if (shares === 0) levels.delete(price);
    else levels.set(price, shares);
  }
}

/** Best first, as in the API. */
function sorted({ bids, asks }: Sides): object {
  const list = (levels: Levels) => Array.from(levels, ([price, shares]) => ({ price, shares }));
  return {
    bids: list(bids).sort((a, b) => b.price - a.price),
    asks: list(asks).sort((a, b) => a.price - b.price),
  };
}

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.withMarket(
    streamLimits({ keptMessages: 120, operationsBurst: 10_000 }),
  );
  for (let i = 1; i <= USERS; i++) {
    server.submit({
      kind: 'register',
      username: `trader${i}`,
      credential: '',
      referralCode: '',
      grantMicros: 1e10,
      partner: null,
    });
  }
  await server.durable();
});
afterAll(() => server.stop());

describe('the book', () => {
  test('equals GET /orderbook at the same sequence, through broken connections, resumes and gaps', async () => {
    const random = new Random('reconnecting');
    const { engine } = server.exchange.sequencer;
    const marketId = engine.activeMarket(0);
    const trading: Trading = { engine, marketId, users: USERS, random: new Random('trading') };
    const trade = (commands: number) => {
      for (let i = 0; i < commands; i++) server.submit(randomCommand(trading));
    };
    const book = new RebuiltBook();
    const seen = { compared: 0, levels: 0, resumed: 0, gaps: 0, replayed: 0, resubscribed: 0 };

    let client: StreamClient | null = await StreamClient.connect(server.exchange.port);
    let taken = 0;
    await client.subscribe(CHANNEL);
    const takeUpTo = (sequence: number) => {
      const { messages } = client!;
      while (taken < messages.length && (messages[taken].sequence ?? 0) <= sequence)
        book.take(messages[taken++]);
    };

    for (let step = 0; step < STEPS; step++) {
      trade(random.whole(1, 25));
      if (client === null) {
        // Disconnected: briefly, or for longer than messages are kept.
        if (random.chance(0.3)) trade(400);
        client = await StreamClient.connect(server.exchange.port);
        taken = 0;
        client.send({ op: 'resume', channel: CHANNEL, after: book.last });
        trade(random.whole(0, 5));
        const answer = await client.next(
          (message) => message.type === 'resumed' || message.type === 'gap',
        );
        expect(answer.after).toBe(book.last);
        if (answer.type === 'gap') seen.gaps++;
        else {
          seen.resumed++;
          seen.replayed += answer.channelSequence - answer.after;
        }
        continue;
      }
      const answer = server.api.get(`/markets/15m/${MARKET}/orderbook?depth=999`);
      trade(random.whole(0, 10));
      const { sequence, UP, DOWN } = (await answer).json;
      expect((await client.caughtUp()).sequence).toBeGreaterThanOrEqual(sequence);
      takeUpTo(sequence);
      expect({ UP, DOWN }).toEqual(book.view());
      seen.compared++;
      seen.levels = Math.max(seen.levels, UP.bids.length + UP.asks.length);
      if (random.chance(0.1)) {
        client.send({ op: 'unsubscribe', channels: [CHANNEL] });
        trade(5);
        await client.subscribe(CHANNEL);
        seen.resubscribed++;
      } else if (random.chance(0.25)) {
        // Messages in flight are lost with the connection.
        trade(20);
        takeUpTo(Number.POSITIVE_INFINITY);
        await (random.chance(0.5) ? client.hangUp() : client.close());
        client = null;
      }
    }
    // Reports what was actually tested.
    expect(book.deltas).toBeGreaterThan(1_000);
    expect(seen.compared).toBeGreaterThan(70);
    expect(seen.levels).toBeGreaterThan(30);
    expect(seen.resumed).toBeGreaterThan(8);
    expect(seen.replayed).toBeGreaterThan(80);
    expect(seen.gaps).toBeGreaterThan(2);
    expect(seen.resubscribed).toBeGreaterThan(2);
    await client?.close();
  });
});
