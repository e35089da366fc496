/**
 * A socket thread from which the trading thread takes nothing: what waits is bounded, what comes
 * beyond is refused, and cancels are the last that are.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Handler } from '../../../gateway/http/router.js';
import { SocketCounts } from '../../../gateway/sockets/counts.js';
import { HandedAnswers } from '../../../gateway/sockets/remote-response.js';
import { SocketThreads } from '../../../gateway/sockets/socket-threads.js';
import { eventually } from '../../support/eventually.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';

const UNSENT = { bytes: 1e6, bytesPerAddress: 0, ms: 60_000 };
/** Of the largest size. */
const LARGE = JSON.stringify('x'.repeat(65_534));
/** More of them than a ring has room for, and 8 MiB besides. */
const FILLING = 160;
/** More of them than the reserve of cancels has room for. */
const FILLING_RESERVE = 20;
const CANCELS = '{"operations":[{"op":"cancel","marketId":"m1","orderId":"o1"}]}';
const ORDERS = '{"operations":[{"op":"buy","marketId":"m1"}]}';

let threads: SocketThreads;
let url: string;
let clients: RawConnection[];

beforeEach(async () => {
  clients = [];
  const unsent = new HandedAnswers(UNSENT, () => performance.now());
  threads = new SocketThreads({
    threads: 1,
    trustProxy: false,
    connections: { total: 1_000, perAddress: 0, streamsPerAddress: 0 },
    unsent: UNSENT,
    counts: SocketCounts.create(2),
    tellConnections: () => {},
    fail: (error) => expect.unreachable(String(error)),
    refuse: () => {},
  });
  const take: Handler = (response) => {
    response.cork(() => unsent.send(response, 'taken'));
  };
  threads.onBody('post', '/api/buy', take);
  threads.onBody('del', '/api/orders', take, 'all');
  threads.onBody('post', '/api/batch', take, 'by body');
  url = `http://127.0.0.1:${await threads.listen('127.0.0.1', 0)}`;
  // Messages of the thread are not followed any more.
  threads['isPlanned'] = true;
});
afterEach(async () => {
  for (const client of clients) client.leave();
  threads.close();
  await threads.closed();
});

async function ask(method: string, path: string, body: string): Promise<RawConnection> {
  const client = new RawConnection(url);
  clients.push(client);
  await client.send(requestText(method, path, {}, body));
  return client;
}

const askAll = (count: number, method: string, path: string) =>
  Promise.all(Array.from({ length: count }, () => ask(method, path, LARGE)));
const statusOf = async (client: RawConnection) => (await client.answers(1))[0]!.status;
const refusedOf = (asked: RawConnection[]) =>
  asked.filter(({ received }) => received.startsWith('HTTP/1.1 503 ')).length;

test('refuses orders first, and cancels when their reserve is full', async () => {
  const orders = await askAll(FILLING, 'POST', '/buy');
  await eventually(() => refusedOf(orders) > 0);
  expect(await statusOf(await ask('POST', '/buy', '{}'))).toBe(503);
  expect(await statusOf(await ask('POST', '/batch', ORDERS))).toBe(503);
  const cancels = [await ask('DELETE', '/orders', '{}'), await ask('POST', '/batch', CANCELS)];
  const more = await askAll(FILLING_RESERVE, 'DELETE', '/orders');
  await eventually(() => refusedOf(more) > 0);
  expect([refusedOf(cancels), refusedOf(more) < FILLING_RESERVE]).toEqual([0, true]);

  threads.work();
  expect(await Promise.all(cancels.map(statusOf))).toEqual([200, 200]);
  const statuses = await Promise.all([...orders, ...more].map(statusOf));
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect(await statusOf(await ask('POST', '/buy', LARGE))).toBe(200);
});
