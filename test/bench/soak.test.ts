/**
 * What the trial `soak` judges by detects what it should: an acknowledged change that is lost,
 * duplicated or answered differently, and growing memory.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../../bench/http/load/client.js';
import type { RequestFields } from '../../bench/http/load/messages.js';
import { Random } from '../../bench/workload/random.js';
import { MARKET, PASSWORD, TestServer } from '../support/server.js';
import { Floor } from '../trials/soak/floor.js';
import { checkJournal } from '../trials/soak/journal-check.js';
import { Load } from '../trials/soak/load.js';
import { judgeLevel, type MemorySample } from '../trials/soak/memory.js';
import { AttemptRecord, answerHash, keyOf, TradeSum, validUntilOf } from '../trials/soak/record.js';
import { Tally } from '../trials/soak/tally.js';
import { Trader } from '../trials/soak/trader.js';

test('an attempt that was lost more often than a byte can count is still lost', () => {
  const record = new AttemptRecord();
  const attempt = record.begin();
  for (let i = 0; i < 256; i++) record.lost(attempt);
  expect(record.losses(attempt)).toBe(255);
});

describe('the record', () => {
  const record = new AttemptRecord();
  const tally = new Tally();
  let server: TestServer;
  let traders: Trader[];
  let users: Set<number>;
  let client: Client;

  const buyOnce = (attempt: number, key: string | null): RequestFields => {
    const { token } = traders[0]!.options;
    const headers = { 'x-user-token': token, ...(key === null ? {} : { 'Idempotency-Key': key }) };
    const body = {
      outcome: 'UP',
      shares: 1,
      price: 0.001,
      timeInForce: 'GTC',
      validUntilMs: validUntilOf(attempt),
    };
    return { method: 'POST', path: `/markets/15m/${MARKET}/buy`, headers, body };
  };
  const send = async (request: RequestFields) => {
    const { status, text } = await client.mustAsk(request);
    expect(status).toBe(200);
    return answerHash(status, Buffer.from(text));
  };
  const problems = async () => (await checkJournal(server.folder, record, users, [])).problems;

  beforeAll(async () => {
    server = await TestServer.withMarket();
    const { port } = server.exchange;
    const [random, floor] = [new Random('soak test'), new Floor(1)];
    floor.update([MARKET], performance.now());
    const makeTrader = async (username: string) => {
      const { userId, token } = await server.register(username);
      const claims = true;
      return new Trader({
        username,
        password: PASSWORD,
        userId,
        token,
        claims,
        floor,
        record,
        random,
      });
    };
    traders = await Promise.all(
      ['one', 'two', 'three', 'four'].map((name) => makeTrader(`user-${name}`)),
    );
    users = new Set(traders.map(({ userId }) => Number(userId.slice(1))));
    client = new Client({ port });
    const load = new Load({
      port,
      connections: 4,
      traders,
      record,
      tally,
      random,
    });
    await load.closedLoop(500);
    await load.openLoop(200, 500);
    load.close();
  });
  afterAll(async () => {
    client.close();
    await server.stop();
  });

  test('matches the journal after a load with hang-ups and retries', async () => {
    expect(tally.problemTexts).toEqual([]);
    expect(record.acknowledged).toBeGreaterThan(50);
    const check = await checkJournal(server.folder, record, users, []);
    expect(check.problems).toEqual([]);
    expect(check.executed).toBeGreaterThanOrEqual(record.acknowledged);
    for (const { userId, taken } of traders) {
      const number = Number(userId.slice(1));
      const { json } = await server.api.read(`/users/${userId}/trades?limit=200`);
      const listed = new TradeSum();
      for (const { tradeId, orderId, shares, price, role } of json.trades) {
        if (role !== 'taker') continue;
        const [lots, ticks] = [Math.round(shares * 1_000), Math.round(price * 1_000)];
        listed.add(Number(tradeId.slice(1)), Number(orderId.slice(1)), lots, ticks);
      }
      if (json.nextCursor === null) expect(listed).toEqual(taken.plus(check.unseen.get(number)!));
    }
  });

  test('reports an acknowledged change that is missing as lost', async () => {
    const attempt = record.begin();
    record.answered(attempt, 1, false);
    expect(await problems()).toContain(
      `lost: attempt ${attempt} was answered but is not in the journal`,
    );
  });

  test('reports a change that was executed twice as duplicated', async () => {
    const attempt = record.begin();
    record.answered(attempt, await send(buyOnce(attempt, null)), false);
    expect(await problems()).not.toContainEqual(
      expect.stringContaining(`duplicated: attempt ${attempt} `),
    );
    await send(buyOnce(attempt, null));
    expect(await problems()).toContain(`duplicated: attempt ${attempt} was executed 2 times`);
  });

  test("reports an answer that differs from the journal's", async () => {
    const attempt = record.begin();
    const hash = await send(buyOnce(attempt, keyOf(attempt)));
    record.answered(attempt, hash + 1, false);
    expect(await problems()).toContain(
      `the answer to attempt ${attempt} differs from the journal's`,
    );
  });

  test('compares what a user was shown with the account at that sequence', async () => {
    const { userId, options } = traders[0]!;
    const { json } = await server.api.get(`/users/${userId}/balance`, options.token);
    const orders = await server.api.get(`/users/${userId}/orders?limit=200`, options.token);
    const account = {
      userId: Number(userId.slice(1)),
      sequence: json.sequence as number,
      availableMicros: Math.round(json.available * 1_000_000),
      heldMicros: Math.round(json.held * 1_000_000),
      orders: orders.json.orders.length as number,
    };
    const shown = expect.stringContaining(`${userId} at ${account.sequence} was shown`);
    const check = async (seen: typeof account) =>
      (await checkJournal(server.folder, record, users, [seen])).problems;
    expect(await check(account)).not.toContainEqual(shown);
    expect(await check({ ...account, heldMicros: account.heldMicros + 1 })).toContainEqual(shown);
  });
});

describe('memory growth', () => {
  const MIB = 2 ** 20;
  /** Ten minutes, one sample a second: a noisy saw-tooth from garbage collection. */
  const series = (growthPerSecond: (second: number) => number): MemorySample[] => {
    const random = new Random('memory');
    let base = 300 * MIB;
    return Array.from({ length: 600 }, (_, second) => {
      base += growthPerSecond(second);
      const garbage = (second % 17) * 4 * MIB;
      return { atMs: second * 1_000, bytes: base + garbage + random.whole(0, 6 * MIB) };
    });
  };

  test('is not reported for noise and garbage', () => {
    const level = judgeLevel(
      'heap',
      series(() => 0),
    )!;
    expect(level.isLevel).toBe(true);
    expect(Math.abs(level.growthBytes)).toBeLessThan(3 * MIB);
  });

  test('is not reported for memory filled during the warm-up', () => {
    expect(
      judgeLevel(
        'heap',
        series((second) => (second < 280 ? MIB : 0)),
      )!.isLevel,
    ).toBe(true);
  });

  test('is reported for fifty bytes per request at 2,000 requests per second', () => {
    const level = judgeLevel(
      'heap',
      series(() => 2_000 * 50),
    )!;
    expect(level.isLevel).toBe(false);
    expect(level.growthBytes).toBeGreaterThan(20 * MIB);
  });

  test('of what the process has of the machine may be a tenth', () => {
    const perSecond = (megabytes: number) => () => (megabytes * MIB) / 300;
    expect(judgeLevel('resident', series(perSecond(25)))!.isLevel).toBe(true);
    expect(judgeLevel('external', series(perSecond(25)))!.isLevel).toBe(false);
    expect(judgeLevel('resident', series(perSecond(50)))!.isLevel).toBe(false);
  });

  test('is not reported for too few samples', () => {
    expect(judgeLevel('heap', series(() => MIB).slice(0, 30))).toBe(null);
  });
});
