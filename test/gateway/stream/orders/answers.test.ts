/**
 * Requests sent without waiting: each gets one answer, in order, whatever the requests between them
 * have changed, even if the exchange then closes the connection.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLOSE } from '../../../../gateway/stream/limits.js';
import { eventually } from '../../../support/eventually.js';
import { MARKET, TestServer } from '../../../support/server.js';
import { clientsOf, type StreamClient, streamLimits } from '../support.js';

let server: TestServer;
const { connectAs } = clientsOf(() => server);

const CHANNELS = ['markets', `book:${MARKET}`, `trades:${MARKET}`, 'prices:BTC', 'user', 'no'];
const channel = fc.constantFrom(...CHANNELS);
const buy = { op: 'buy', marketId: MARKET, outcome: 'UP', shares: 1, price: 0.2 };
const operation = fc.constantFrom(
  { ...buy, timeInForce: 'GTC' },
  { ...buy, price: 0.2001 },
  { op: 'cancelAll' },
);
const request = fc.oneof(
  channel.map((name) => ({ op: 'subscribe', channels: [name] })),
  channel.map((name) => ({ op: 'unsubscribe', channels: [name] })),
  fc
    .record({ channel, after: fc.nat(40) })
    .map(({ channel, after }) => ({ op: 'resume', channel, after })),
  fc.constant({ op: 'ping' }),
  operation.map((operation) => ({ op: 'order', operation })),
  fc.array(operation, { minLength: 1, maxLength: 3 }).map((operations) => ({
    op: 'batch',
    operations,
  })),
);

/** The ids of the answers, in order. A resume from memory has several messages with one id. */
function answered(client: StreamClient): string[] {
  const ids = client.answers.flatMap(({ id }) => (id === undefined ? [] : [id]));
  return ids.filter((id, at) => id !== ids[at - 1]);
}

describe('requests sent without waiting', () => {
  beforeAll(async () => {
    server = await TestServer.withMarket(streamLimits({ operationsBurst: 100_000 }));
  });
  afterAll(() => server.stop());

  test('are each answered once, in order', async () => {
    const ada = await server.register('ada');
    const messages = fc.array(request, { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(messages, async (requests) => {
        const client = await connectAs(ada);
        const sent = requests.map((each, at) => ({ ...each, id: `${at}` }));
        client.sendTogether(sent);
        await eventually(() => answered(client).length >= sent.length || client.closing !== null);
        // A resume from the journal is answered after later requests.
        const late = new Set(
          sent
            .filter(
              ({ op, ...rest }) => op === 'resume' && 'channel' in rest && rest.channel === 'user',
            )
            .map(({ id }) => id),
        );
        const inOrder = (ids: readonly string[]) => ids.filter((id) => !late.has(id));
        expect(inOrder(answered(client))).toEqual(inOrder(sent.map(({ id }) => id)));
        expect([...new Set(answered(client))].sort()).toEqual(sent.map(({ id }) => id).sort());
        await client.close();
      }),
      { numRuns: 60 },
    );
  });
});

describe('requests of a client that sends too much', () => {
  beforeAll(async () => {
    server = await TestServer.withMarket();
  });
  afterAll(() => server.stop());

  test('are answered if they were executed, before the connection is closed', async () => {
    const bob = await server.register('bob');
    const client = await connectAs(bob);
    const orders = Array.from({ length: 2_000 }, (_, at) => ({
      op: 'order',
      id: `${at}`,
      operation: { ...buy, timeInForce: 'GTC', shares: 0.001 * (at + 1) },
    }));
    client.sendTogether(orders);
    expect((await client.closed).code).toBe(CLOSE.rateLimited.code);
    const { orders: open } = (
      await server.api.get(`/users/${bob.userId}/orders?limit=200`, bob.token)
    ).json;
    const receipts = client.messages.filter(({ type }) => type === 'receipt');
    expect(receipts.length).toBeGreaterThan(0);
    expect(open.length).toBe(Math.min(receipts.length, 200));
  });
});
