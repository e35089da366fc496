/**
 * WebSocket frames that uWebSockets.js hands over one by one. Whatever a client sends, and wherever
 * its socket is, it is closed after the number of frames that its rate allows.
 */
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestServer } from '../../support/server.js';
import { clientsOf, type StreamClient, streamLimits } from './support.js';

/** Frames above the rate, and so many that the connection is not closed in an orderly way. */
const FEW = 500;
const MANY = 20_000;
/** Whole client frames, masked with zeros, by type. */
const FLOODS: Readonly<Record<string, string>> = {
  'empty pongs': '8a8000000000',
  'pongs with 125 bytes': `8afd00000000${'61'.repeat(125)}`,
  'empty pings': '898000000000',
  'empty messages': '818000000000',
  'binary messages': '82810000000061',
  'messages in two fragments': `018100000000${'31'}808000000000`,
};

describe.each([0, 1])('with %i edge threads', (edgeThreads) => {
  let server: TestServer;
  const { connect } = clientsOf(() => server);
  const limits = streamLimits({ heartbeatMs: 200, unansweredPings: 2 });
  beforeAll(async () => {
    server = await TestServer.withMarket({ ...limits, edgeThreads });
  });
  afterAll(() => server.stop());

  const socketOf = ({ socket }: StreamClient) => (socket as unknown as { _socket: Socket })._socket;

  test.each(Object.entries(FLOODS))('%s close the connection', async (_name, frame) => {
    for (const [count, codes] of [
      [FEW, [4029]],
      [MANY, [4029, 1006]],
    ] as const) {
      const client = await connect();
      socketOf(client).write(Buffer.from(frame.repeat(count), 'hex'));
      expect(codes).toContain((await client.closed).code);
    }
    await (await connect()).caughtUp();
  });

  test('a client that answers pings, and says nothing else, stays', async () => {
    const client = await connect();
    for (let i = 0; i < 8; i++) await client.next('heartbeat');
    expect(client.closing).toBeNull();
  });

  test('a client that answers no pings is closed', async () => {
    const client = await connect();
    client.socket.pong = () => {};
    (client.socket as unknown as { _autoPong: boolean })._autoPong = false;
    expect((await client.closed).code).toBe(4010);
  });

  test('fragments without an end are closed when they are too large', async () => {
    const client = await connect();
    const [first, next] = ['01fe040000000000', '00fe040000000000'];
    const content = '61'.repeat(1_024);
    const fragments = `${first}${content}${`${next}${content}`.repeat(80)}`;
    socketOf(client).write(Buffer.from(fragments, 'hex'));
    expect((await client.closed).code).toBe(1006);
  });
});
