/**
 * Batches over real HTTP: a batch answers what the single routes would have answered in sequence,
 * and an atomic one succeeds or fails as a whole.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  type ApiClient,
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';
import { Random } from '../../support/workload/random.js';

type Operation = Record<string, unknown> & { op: string; marketId: string };

let server: TestServer;
let api: ApiClient;
let ada: Trader;
let bob: Trader;

/** A separate exchange for the tests of one block. */
function withTraders(): void {
  beforeAll(async () => {
    server = await TestServer.withMarket();
    api = server.api;
    ada = await server.register('ada');
    bob = await server.register('bob');
  });
  afterAll(() => server.stop());
}

const batch = (trader: Trader, body: object, key?: string): Promise<Answer> =>
  api.send('POST', '/batch', body, {
    token: trader.token,
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

/** The same operation on its own route. */
function single(client: ApiClient, trader: Trader, { op, marketId, orderId, ...body }: Operation) {
  const path = `/markets/15m/${marketId}`;
  if (op === 'cancel') return client.delete(`${path}/orders/${orderId}`, trader.token);
  return client.post(`${path}/${op}`, body, trader.token);
}

const buy = (outcome: string, rest: object): Operation => ({
  op: 'buy',
  marketId: MARKET,
  outcome,
  ...rest,
});

describe('an atomic batch', () => {
  withTraders();
  beforeAll(async () => {
    await batch(ada, {
      operations: [
        buy('UP', { shares: 10, price: 0.4, timeInForce: 'GTC' }),
        buy('UP', { shares: 10, price: 0.3, timeInForce: 'GTC' }),
      ],
    });
  });

  test('fails with the status, code and index of a refused operation, and changes nothing', async () => {
    const before = await server.shown([ada, bob]);
    const operations = [
      buy('DOWN', { amount: 3 }),
      buy('DOWN', { shares: 4, price: 0.9, timeInForce: 'GTC' }),
      { op: 'sell', marketId: MARKET, outcome: 'DOWN', shares: 1_000 },
      buy('DOWN', { amount: 1 }),
    ];
    const first = await batch(bob, { operations, atomic: true }, 'atomic-1');
    expect(first.status).toBe(422);
    expect(first.json.error).toEqual({
      code: 'insufficient_shares',
      message:
        'The batch was not executed because operation 2 failed. This requires 1000 shares, but 9 are available.',
      details: { operation: 2, required: 1_000, available: 9 },
    });
    expect(await server.shown([ada, bob])).toEqual(before);
    const again = await batch(bob, { operations, atomic: true }, 'atomic-1');
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });
});

describe('an invalid batch', () => {
  withTraders();

  const good = buy('UP', { amount: 1 });
  const invalid: [string, unknown, string][] = [
    ['no operation', [], 'operations'],
    ['101 operations', Array.from({ length: 101 }, () => good), 'operations'],
    ['no list', good, 'operations'],
    ['an unknown op', [good, { ...good, op: 'hold' }], 'operations.1.op'],
    ['no op', [{ marketId: MARKET, outcome: 'UP', amount: 1 }], 'operations.0.op'],
    ['an operation that is not an object', [good, 5], 'operations.1'],
    ['an unknown field', [good, { ...good, limit: 0.4 }], 'operations.1.limit'],
    ['a field of another op', [{ ...good, orderId: 'o1' }], 'operations.0.orderId'],
    ['shares without a price', [buy('UP', { shares: 1 })], 'operations.0.price'],
    ['GTC without a price', [buy('UP', { amount: 1, timeInForce: 'GTC' })], 'operations.0.price'],
  ];

  test.each(invalid)('is refused: %s', async (_name, operations, field) => {
    const before = await server.state();
    const { status, json } = await batch(ada, { operations });
    expect([status, json.error.code]).toEqual([400, 'invalid_request']);
    expect(Object.keys(json.error.details)).toContain(field);
    expect(json.error.message).toContain(field);
    expect(await server.state()).toEqual(before);
  });

  test.each([
    [
      { operations: [{ ...good, op: 'hold' }] },
      'operations.0.op must be buy or sell or cancel or amend or cancelAll or claim or split or merge.',
    ],
    [
      { operations: [{ marketId: MARKET }] },
      'operations.0.op must be buy or sell or cancel or amend or cancelAll or claim or split or merge.',
    ],
    [{ operations: good }, 'operations must be an array.'],
    [{ operations: [good], atomic: 1 }, 'atomic must be a boolean.'],
  ])('%j, in words', async (body, words) => {
    const { json } = await batch(ada, body);
    expect(json.error.message).toBe(`The request is not valid: ${words}`);
  });

  test('is refused: an operation for another user, checked before the rest of the body', async () => {
    const before = await server.state();
    const operations = [
      { ...good, amount: -1 },
      { ...good, userId: bob.userId },
    ];
    const { status, json } = await batch(ada, { operations });
    expect([status, json.error.code]).toEqual([403, 'user_mismatch']);
    expect(await server.state()).toEqual(before);
  });

  test('100 operations are accepted', async () => {
    const operations = Array.from({ length: 100 }, (_, i) =>
      buy('UP', { shares: 0.001, price: (i + 1) / 1_000, timeInForce: 'GTC' }),
    );
    const { status, json } = await batch(ada, { operations, atomic: true });
    expect(status).toBe(200);
    expect(json.results).toHaveLength(100);
  });
});

test('a batch answers what the single routes answer in sequence', async () => {
  const random = new Random('batches and single orders');
  server = await TestServer.withMarket();
  api = server.api;
  const twin = await TestServer.withMarket();
  const traders = ['ada', 'bob', 'cyd'];
  const here = await registerAll(server, traders);
  const there = await registerAll(twin, traders);
  const seen = new Map<string, number>();
  /** Orders that rested, by trader. */
  const rested: string[][] = [[], [], []];
  const compare = async (trader: number, operations: Operation[]) => {
    const { status, json } = await batch(here[trader]!, { operations });
    expect(status).toBe(200);
    for (const [i, operation] of operations.entries()) {
      const { type, ...result } = json.results[i];
      expect(type).toBe(result.error === undefined ? operation.op : 'error');
      const alone = await single(twin.api, there[trader]!, operation);
      expect({ ...result, sequence: 0 }, JSON.stringify(operation)).toEqual({
        ...alone.json,
        sequence: 0,
      });
      if (result.restingShares > 0) rested[trader]!.push(result.orderId);
      const kind = `${operation.op} ${result.error?.code ?? 'done'}`;
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
  };
  for (let round = 0; round < 90; round++) {
    const trader = random.whole(0, 2);
    const orderIds = ['o1', ...rested[trader]!.slice(-5)];
    const operations = Array.from({ length: random.whole(1, 8) }, () =>
      randomOperation(random, orderIds),
    );
    await compare(trader, operations);
  }
  for (const exchange of [server, twin])
    await exchange.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 100_000);
  const claim: Operation = { op: 'claim', marketId: MARKET };
  for (const trader of [0, 1, 2])
    await compare(trader, [claim, claim, randomOperation(random, ['o1'])]);
  for (const kind of [
    'buy done',
    'sell done',
    'cancel done',
    'claim done',
    'split done',
    'merge done',
    'merge insufficient_shares',
    'buy insufficient_liquidity',
    'buy price_not_met',
    'sell insufficient_shares',
    'cancel order_closed',
    'claim already_paid',
  ]) {
    expect(seen.get(kind), kind).toBeGreaterThan(0);
  }
  await twin.stop();
  await server.stop();
});

async function registerAll(exchange: TestServer, names: readonly string[]): Promise<Trader[]> {
  const registered: Trader[] = [];
  for (const name of names) registered.push(await exchange.register(name));
  return registered;
}

function randomOperation(random: Random, orderIds: readonly string[]): Operation {
  const outcome = random.pick(['UP', 'DOWN']);
  const price = random.whole(1, 999) / 1_000;
  const shares = random.whole(1, 20_000) / 1_000;
  const sell: Operation = { op: 'sell', marketId: MARKET, outcome, shares };
  const limit = { price, timeInForce: 'GTC', postOnly: random.chance(0.25) };
  switch (random.whole(0, 9)) {
    case 0:
      return buy(outcome, { amount: random.whole(1, 10_000_000) / 1_000_000 });
    case 1:
      return buy(outcome, { amount: 5, price, timeInForce: 'FOK' });
    case 2:
      return sell;
    case 3:
      return { ...sell, ...limit };
    case 4:
      return { op: 'cancel', marketId: MARKET, orderId: random.pick(orderIds) };
    case 5:
      return { op: 'claim', marketId: MARKET };
    case 6:
      return { op: 'split', marketId: MARKET, shares };
    case 7:
      return { op: 'merge', marketId: MARKET, shares: random.whole(1, 5_000) / 1_000 };
    default:
      return buy(outcome, { shares, ...limit });
  }
}
