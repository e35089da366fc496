/**
 * Order entry over the stream: receipts and refusals equal those of HTTP, are durable before they
 * are sent, and are counted and limited like orders over HTTP.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Config } from '../../../../gateway/start/config.js';
import { CLOSE } from '../../../../gateway/stream/limits.js';
import { eventually } from '../../../support/eventually.js';
import { AT_EDGES, MARKET, only, rates, TestServer, type Trader } from '../../../support/server.js';
import { clientsOf, type Message, type StreamClient, streamLimits } from '../support.js';

let server: TestServer;
const { connect, connectAs } = clientsOf(() => server);

function withServer(overrides: Partial<Config> = {}): void {
  beforeAll(async () => {
    server = await TestServer.withMarket(overrides);
  });
  afterAll(() => server.stop());
}

const REST = { outcome: 'UP', shares: 10, price: 0.4, timeInForce: 'GTC' };
const rest = { op: 'buy', marketId: MARKET, ...REST };
const order = (id: string, operation: object = rest, more: object = {}) => ({
  op: 'order',
  id,
  operation,
  ...more,
});

async function restingOrders({ userId, token }: Trader): Promise<number> {
  return (await server.api.get(`/users/${userId}/orders?limit=200`, token)).json.orders.length;
}

describe('an order', () => {
  withServer(streamLimits({ operationsBurst: 10_000 }));

  test('is durable before its receipt is sent, which follows the events of `user`', async () => {
    const cyn = await server.register('cyn');
    const client = await connect();
    client.send({ op: 'auth', id: 'a', token: cyn.token });
    expect((await client.next('authenticated')).id).toBe('a');
    await client.subscribe('user');
    for (let i = 0; i < 20; i++) {
      client.send(order(`${i}`));
      const receipt = await client.next('receipt');
      expect(server.exchange.sequencer.durableSequence).toBeGreaterThanOrEqual(receipt.sequence);
      expect(client.of('user').at(-1).sequence).toBe(receipt.sequence);
      expect(client.of('user').at(-1).data.events[0].orderId).toBe(receipt.orderId);
    }
  });

  let eves = 0;
  const claim = { op: 'claim', marketId: MARKET };
  const batch = (...operations: object[]) => ({ op: 'batch', id: '1', operations });
  const twice = JSON.stringify(order('1', claim)).replace('"id":"1"', '"id":"1","id":"2"');
  const inexact = JSON.stringify(order('1')).replace('0.4', `0.4${'0'.repeat(20)}1`);
  test.each<[string, RegExp, string | undefined, unknown]>([
    ['invalid_request', /id is required/, undefined, { op: 'order', operation: rest }],
    ['invalid_request', /id must have 1 to 64/, undefined, order('')],
    ['invalid_request', /id must have 1 to 64/, undefined, order('x'.repeat(65))],
    ['invalid_request', /operation is required/, '1', { op: 'order', id: '1' }],
    ['invalid_request', /atomic is not/, '1', order('1', claim, { atomic: true })],
    ['invalid_request', /Key must/, '1', order('1', claim, { idempotencyKey: 'a b' })],
    ['invalid_request', /1 to 100/, '1', batch()],
    ['invalid_request', /1 to 100/, '1', batch(...new Array(101).fill(claim))],
    ['invalid_request', /id is duplicated/, '2', twice],
    ['invalid_request', /digits/, '1', inexact],
  ])('%s, %s: it is refused and changes nothing', async (code, words, id, message) => {
    const eve = await server.register(`eve-${++eves}`);
    const client = await connectAs(eve);
    const error = await client.refusal(message);
    expect(error.code, error.message).toBe(code);
    expect(error.message).toMatch(words);
    expect(error.id).toBe(id);
    expect(await restingOrders(eve)).toBe(0);
    await client.caughtUp();
  });

  test('may be written in any JSON, with any characters in its id', async () => {
    const fay = await server.register('fay');
    const client = await connectAs(fay);
    const ids = ['é', '😀 "quoted" \\ \n', '\ud800', 'plain'];
    for (const id of ids) {
      client.socket.send(JSON.stringify(order(id, { ...rest, price: 0.4 }), null, 2));
      expect((await client.next('receipt')).id).toBe(id);
    }
    const escaped = JSON.stringify(order('1')).replace('"buy"', '"\\u0062uy"');
    client.socket.send(escaped.replace('0.4', '4e-1'));
    expect((await client.next('receipt')).restingShares).toBe(10);
  });

  test('may come in a batch as large as over HTTP; a larger frame ends the connection', async () => {
    const hal = await server.register('hal');
    const client = await connectAs(hal);
    const operations = new Array(100).fill({ ...rest, shares: 0.001 });
    const text = JSON.stringify({ op: 'batch', id: '1', operations });
    client.socket.send(text.padEnd(65_536, ' '));
    expect((await client.next('receipt')).results).toHaveLength(100);
    expect(await client.refusal({ op: 'ping', pad: 'x'.repeat(5_000) })).toMatchObject({
      code: 'body_too_large',
    });
    client.socket.send(text.padEnd(70_000, ' '));
    expect((await client.closed).code).toBe(1006);
  });

  test('is refused once the token has been revoked, before the connection is closed', async () => {
    const ivy = await server.register('ivy');
    const client = await connectAs(ivy);
    await client.caughtUp();
    const userId = Number(ivy.userId.slice(1));
    // The order is applied when the message arrives, but becomes durable later.
    client.socket.send(JSON.stringify(order('1')));
    server.submit({ kind: 'setCredential', userId, credential: 'x' });
    expect(await client.closed).toEqual({ code: 4001, reason: CLOSE.tokenRevoked.reason });
    expect(client.messages.filter(({ type }) => type === 'receipt')).toEqual([]);
    expect(server.exchange.sequencer.engine.orders(userId)).toEqual([]);
  });
});

describe('the limit of', () => {
  const refused = (client: StreamClient, code: string) =>
    client.answers.filter((answer) => answer.code === code).map(({ id }) => id);

  describe('unanswered requests', () => {
    withServer(streamLimits({ outstandingRequests: 4 }));

    // Requests sent together reach the core in one turn only without edges.
    test.skipIf(AT_EDGES)(
      'refuses one more, and lets others in once they are answered',
      async () => {
        const client = await connectAs(await server.register('ada'));
        await client.caughtUp();
        client.sendTogether(Array.from({ length: 10 }, (_, i) => order(`${i}`)));
        await client.next(({ id }) => id === '9');
        expect(refused(client, 'limit_reached')).toEqual(['4', '5', '6', '7', '8', '9']);
        client.send(order('10'));
        expect((await client.next(({ id }) => id === '10')).type).toBe('receipt');
      },
    );
  });

  describe('orders', () => {
    const orders = { address: only(100), user: only(5) };
    const cancels = { address: only(100), user: only(3) };
    withServer({ fairUse: rates({ orders, cancels }) });

    test('counts every operation, over the stream and over HTTP together', async () => {
      const ada = await server.register('ada');
      const client = await connectAs(ada);
      const batch = { op: 'batch', id: 'b', operations: [rest, rest, rest] };
      client.send(batch);
      await client.next('receipt');
      client.send(order('1'));
      await client.next('receipt');
      const tooMany = await client.refusal({ ...batch, id: 'c' });
      expect(tooMany).toMatchObject({ id: 'c', code: 'rate_limited' });
      expect(tooMany.details.retryAfterMs).toBeGreaterThan(1_000);
      const overHttp = () => server.buy(ada, REST);
      expect((await overHttp()).status).toBe(200);
      expect((await overHttp()).status).toBe(429);
      expect(await client.refusal(order('2'))).toMatchObject({ code: 'rate_limited' });
      expect(await restingOrders(ada)).toBe(5);
      // Reads are not affected.
      await client.caughtUp();
    });

    test('closes a connection that goes on regardless', async () => {
      const client = await connectAs(await server.register('bob'));
      client.sendTogether(Array.from({ length: 200 }, (_, i) => order(`${i}`)));
      expect(await client.closed).toEqual({ code: 4029, reason: 'rate_limited' });
    });
  });
});

describe('an id', () => {
  withServer(streamLimits({ subscriptions: 2, operationsBurst: 1_000 }));

  test('is repeated by every answer, and by no other message', async () => {
    const client = await connect();
    const steps: [object, string[]][] = [
      [{ op: 'ping', id: 'a' }, ['pong']],
      [{ op: 'subscribe', id: 'b', channels: ['prices:BTC', 'markets'] }, ['snapshot', 'snapshot']],
      [{ op: 'unsubscribe', id: 'c', channels: ['markets'] }, ['unsubscribed']],
      [{ op: 'unsubscribe', id: 'd', channels: ['markets'] }, ['error']],
      [{ op: 'resume', id: 'e', channel: 'prices:BTC', after: 1e9 }, ['gap', 'snapshot']],
      [{ op: 'auth', id: 'f', token: 'x' }, ['error']],
      [{ op: 'sing', id: 'g' }, ['error']],
      [{ op: 'auth', id: 'h', token: 'x'.repeat(5_000) }, ['error']],
    ];
    for (const [message] of steps) {
      client.send(message);
      await client.next((answer) => answer.id === (message as Message).id);
    }
    await client.caughtUp();
    server.feed.deliver('BTC', 100_001);
    await client.next('delta');
    const expected = steps.flatMap(([message, types]) =>
      types.map((type) => [type, (message as Message).id]),
    );
    expect(client.answers.map(({ type, id }) => [type, id])).toEqual([
      ...expected,
      ['pong', undefined],
      ['delta', undefined],
    ]);
  });

  test('a channel that cannot be subscribed to gets its own error; the others go on', async () => {
    const client = await connect();
    const channels = ['weather', 'prices:BTC', 'user', `book:x`, 'markets', 'prices:ETH'];
    client.send({ op: 'subscribe', id: 's', channels });
    await client.caughtUp();
    expect(client.answers.map(({ type, id, channel, code }) => [type, id, channel, code])).toEqual([
      ['error', 's', 'weather', 'invalid_request'],
      ['error', 's', 'user', 'missing_token'],
      ['error', 's', 'book:x', 'market_not_found'],
      ['error', 's', 'prices:ETH', 'limit_reached'],
      ['snapshot', 's', 'prices:BTC', undefined],
      ['snapshot', 's', 'markets', undefined],
      ['pong', undefined, undefined, undefined],
    ]);
    server.feed.deliver('BTC', 100_002);
    expect((await client.next('delta')).channel).toBe('prices:BTC');
  });
});

test('orders are counted by their status', async () => {
  server = await TestServer.withMarket();
  try {
    const client = await connectAs(await server.register('ada'));
    for (const id of ['1', '2']) client.send(order(id));
    client.send(order('3', { ...rest, op: 'sell' }));
    await client.next(({ id }) => id === '3');
    await eventually(async () => {
      const { text } = await server.api.get('/metrics');
      for (const [status, count] of [
        [200, 2],
        [422, 1],
      ]) {
        expect(text).toContain(
          `exchange_http_answers_total{method="WS",route="/stream order",status="${status}"} ${count}`,
        );
      }
    });
  } finally {
    await server.stop();
  }
});
