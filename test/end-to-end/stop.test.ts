/**
 * A stop of the built program under load: every request gets an answer, what has not started is
 * refused, and the process exits with 0 in less than five seconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../support/eventually.js';
import { type ChildServer, Exchanges } from '../support/programs.js';
import { RawConnection, requestText } from '../support/raw-connection.js';
import { type ApiClient, AT_EDGES, PASSWORD } from '../support/server.js';

let exchanges: Exchanges;
let server: ChildServer;
let api: ApiClient;
const connections: RawConnection[] = [];

beforeEach(() => {
  exchanges = new Exchanges({ ASSETS: 'BTC' });
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.leave();
  await exchanges.end();
});

async function start(variables: Record<string, string> = {}): Promise<void> {
  server = exchanges.spawn(variables);
  api = await exchanges.listening(server);
}

/** Sends SIGTERM and checks the exit. The promise of five seconds is for a quiet machine. */
async function expectGoodStop(): Promise<void> {
  const late = delay(30_000, 'it still runs', { ref: false });
  expect(await Promise.race([server.stop(), late])).toBe(0);
}

function connect(): RawConnection {
  const connection = new RawConnection(api.url);
  connections.push(connection);
  return connection;
}

/** The status of the only answer on each connection. */
async function statuses(): Promise<number[]> {
  const all: number[] = [];
  for (const connection of connections) all.push((await connection.answers(1))[0]!.status);
  return all;
}

const login = (username: string, headers: Record<string, string> = {}) =>
  requestText('POST', '/auth/login', headers, JSON.stringify({ username, password: PASSWORD }));

test('with 125 waiting sign-ins: the current one is done, all others are refused, each is answered', async () => {
  await start({ TRUST_PROXY: 'on', PASSWORD_COST_LOG2: '16' });
  const registering = connect();
  const body = JSON.stringify({ username: 'ada', password: PASSWORD });
  await registering.send(requestText('POST', '/auth/register', {}, body));
  // An edge's counts reach the metrics half a second later, when the requests may be over.
  if (!AT_EDGES) await eventually(async () => (await api.metric('exchange_calls_under_way')) === 2);
  for (let i = 0; i < 125; i++) {
    const connection = connect();
    await connection.send(login(`nobody-${i}`, { 'x-forwarded-for': `198.51.100.${i}` }));
  }
  // The count includes the request that reads the metric.
  await eventually(async () => (await api.metric('exchange_calls_under_way')) > 50);
  await expectGoodStop();
  const counts: Record<number, number> = {};
  for (const status of await statuses()) counts[status] = (counts[status] ?? 0) + 1;
  const { 201: registered = 0, 401: checked = 0, 503: refused = 0, ...others } = counts;
  expect(others).toEqual({});
  expect(registered + checked + refused).toBe(126);
  // At most one check was still to be done at the signal.
  expect(refused).toBeGreaterThan(40);
});

// With edges, only the edge knows the unfinished requests: see test/gateway/edge/threads.test.ts.
test.skipIf(AT_EDGES)('with unfinished requests: they are refused at once', async () => {
  await start();
  const whole = login('ada');
  for (let i = 0; i < 5; i++) await connect().send(whole.slice(0, -1 - i));
  await eventually(async () => (await api.metric('exchange_calls_under_way')) === 6);
  await expectGoodStop();
  expect(await statuses()).toEqual([503, 503, 503, 503, 503]);
  const answers = await connections[0]!.answers(1);
  const { error } = JSON.parse(answers[0]!.text);
  expect(error).toMatchObject({ code: 'unavailable', details: { executed: false } });
});

test('with streams and large answers that nobody reads', async () => {
  await start();
  const streams = Array.from(
    { length: 20 },
    () => new WebSocket(`${api.url.replace('http', 'ws')}/api/stream`),
  );
  const codes = streams.map((stream) => new Promise((resolve) => stream.on('close', resolve)));
  await Promise.all(streams.map((stream) => new Promise((resolve) => stream.on('open', resolve))));
  for (const stream of streams)
    stream.send('{"op":"subscribe","channels":["markets","prices:BTC"]}');
  for (let i = 0; i < 20; i++) {
    const connection = connect();
    connection.pause();
    await connection.send(requestText('GET', '/docs/swagger-ui-bundle.js'));
  }
  await eventually(
    async () => (await api.metric('exchange_stream_subscriptions{channel="markets"}')) === 20,
  );
  await expectGoodStop();
  expect(await Promise.all(codes)).toEqual(streams.map(() => 1001));
});
