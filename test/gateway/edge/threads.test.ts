/**
 * An exchange with two edge threads. Clients see no difference: the trial `edges` runs the tests of
 * HTTP and the stream at edges.
 */
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import { MARKET, TestServer } from '../../support/server.js';
import { clientsOf } from '../stream/support.js';

const BUY = `/markets/15m/${MARKET}/buy`;
const ORDER = { outcome: 'UP', shares: 0.001, price: 0.001, timeInForce: 'GTC' };
const CONNECTIONS = 100;
const ROUNDS = 2;

const { connectAs } = clientsOf(() => server);
const server = await TestServer.withMarket({ edgeThreads: 2 });
const ada = await server.register('ada');
let connections: RawConnection[] = [];
afterEach(() => {
  for (const connection of connections) connection.leave();
  connections = [];
});
afterAll(() => server.stop());

function connect(to = server): RawConnection {
  const connection = new RawConnection(to.api.url);
  connections.push(connection);
  return connection;
}

const ordersOfAda = () => server.exchange.sequencer.engine.orders(1).length;
const buyText = (key: string) =>
  requestText(
    'POST',
    BUY,
    { 'x-user-token': ada.token, 'idempotency-key': key },
    JSON.stringify(ORDER),
  );

test('serves 100 connections at once, each its own answers in order, each order once', async () => {
  const clients = Array.from({ length: CONNECTIONS }, () => connect());
  for (let round = 1; round <= ROUNDS; round++) {
    for (const [i, client] of clients.entries()) void client.send(buyText(`${i}-${round}`));
    for (const client of clients) await client.answers(round);
  }
  const orders = new Set<string>();
  for (const client of clients) {
    const answers = await client.answers(ROUNDS);
    const ids = answers.map(({ status, text }) => {
      expect(status, text).toBe(200);
      return JSON.parse(text).orderId;
    });
    // Ids rise on each connection, because requests are sent one at a time.
    const numbers = ids.map((id: string) => Number(id.slice(1)));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    for (const id of ids) orders.add(id);
  }
  expect(orders.size).toBe(CONNECTIONS * ROUNDS);
  expect(ordersOfAda()).toBe(CONNECTIONS * ROUNDS);
  expect(server.exchange.sequencer.durableSequence).toBeGreaterThan(CONNECTIONS * ROUNDS);
  // A used key returns its first answer in every thread.
  const [first] = await clients[0]!.answers(1);
  await clients[1]!.send(buyText('0-1'));
  const again = (await clients[1]!.answers(ROUNDS + 1)).at(-1)!;
  expect(again.text).toBe(first!.text);
  expect(again.headers['idempotency-replayed']).toBe('true');
});

test('gives the answers of a stream in their order, wherever they come from', async () => {
  const client = await connectAs(ada);
  const order = { op: 'buy', marketId: MARKET, ...ORDER };
  const text = (id: string, idempotencyKey: string) =>
    JSON.stringify({ op: 'order', id, idempotencyKey, operation: order });
  client.socket.send(text('first', 'in-order'));
  await client.next(({ id }) => id === 'first');
  await server.followed();
  server.dropResults();
  // An edge does not parse an id with an escape, so the core parses this message.
  client.socket.send(text('0', 'in-order').replace('"0"', '"\\u0030"'));
  for (const [i, key] of ['new-1', 'in-order', 'new-2'].entries())
    client.socket.send(text(`${i + 1}`, key));
  client.send({ op: 'order', id: '4', operation: { op: 'none' } });
  client.socket.send(text('5', 'new-3'));
  await client.next(({ id }) => id === '5');
  const answers = client.messages.filter(({ id }) => id !== undefined && id !== 'first');
  expect(answers.map(({ id, type }) => `${id} ${type}`).slice(-6)).toEqual([
    '0 receipt',
    '1 receipt',
    '2 receipt',
    '3 receipt',
    '4 error',
    '5 receipt',
  ]);
});

test('numbers an order that follows a second sign-in by its token', async () => {
  const named = await server.api.post('/auth/tokens', { name: 'bot', scope: 'trade' }, ada.token);
  const client = await connectAs(ada);
  const operation = { op: 'buy', marketId: MARKET, ...ORDER };
  const enter = (id: string, clientSequence: number) =>
    client.send({ op: 'order', id, clientSequence, operation });
  client.send({ op: 'auth', id: 'again', token: named.json.token });
  enter('of the bot', 7);
  expect(await client.next(({ id }) => id === 'of the bot')).toMatchObject({ type: 'receipt' });
  client.send({ op: 'auth', id: 'first', token: ada.token });
  enter('of ada', 5);
  expect(await client.next(({ id }) => id === 'of ada')).toMatchObject({ type: 'receipt' });
  enter('next of ada', 6);
  expect(await client.next(({ id }) => id === 'next of ada')).toMatchObject({ type: 'receipt' });
});

test('numbers no order by an earlier token, however the sign-in is spelled', async () => {
  const named = await server.api.post('/auth/tokens', { name: 'bot2', scope: 'trade' }, ada.token);
  const client = await connectAs(ada);
  const operation = { op: 'buy', marketId: MARKET, ...ORDER };
  client.socket.send(`{"op":"\\u0061uth","id":"again","token":"${named.json.token}"}`);
  client.send({ op: 'order', id: 'early', clientSequence: 1_007, operation });
  expect(await client.next(({ id }) => id === 'early')).toMatchObject({ type: 'receipt' });
  const own = await connectAs(ada);
  own.send({ op: 'order', id: 'own', clientSequence: 1_007, operation });
  expect(await own.next(({ id }) => id === 'own')).toMatchObject({ type: 'receipt' });
});

test('serves the documents, and answers that are larger than a frame, whole', async () => {
  const { text } = await server.api.get('/openapi.json');
  expect(text.length).toBeGreaterThan(300_000);
  const site = await fetch(server.api.url, { headers: { accept: 'text/html' } });
  expect([site.status, site.headers.get('content-type')]).toEqual([
    200,
    'text/html; charset=utf-8',
  ]);
  const stream = await fetch(`${server.api.url}/api/stream`);
  expect(stream.status).toBe(400);
});

test('executes the order of a client that leaves, once, and gives its place to others', async () => {
  const before = ordersOfAda();
  const leaving = Array.from({ length: 50 }, () => connect());
  await Promise.all(leaving.map((client, i) => client.send(buyText(`gone-${i}`))));
  for (const client of leaving) client.leave();
  const staying = connect();
  await staying.send(buyText('here'));
  expect((await staying.answers(1))[0]!.status).toBe(200);
  await eventually(async () => (await server.api.metric('exchange_calls_under_way')) === 1);
  // Received requests were executed, and no other client got their answers.
  expect(ordersOfAda() - before).toBeLessThanOrEqual(51);
  expect(ordersOfAda() - before).toBeGreaterThanOrEqual(1);
  expect(parse(staying)).toBe(1);
  // This connection, and a few idle ones of the test's client.
  await eventually(
    async () => (await server.api.metric('exchange_connections{kind="http"}')) <= 10,
  );
});

/** Opens streams, then sends on all of them until one is cut off. */
const FLOOD = `
const { parentPort, workerData } = require('node:worker_threads');
const { WebSocket } = require('ws');
const message = '"' + 'x'.repeat(60_000) + '"';
const sockets = Array.from({ length: 16 }, () => new WebSocket(workerData.url));
let open = 0;
for (const socket of sockets) {
  socket.on('error', () => {});
  socket.on('open', () => ++open === sockets.length && parentPort.postMessage('open'));
  socket.on('close', (code) => {
    Atomics.store(workerData.closed, 0, code);
    Atomics.notify(workerData.closed, 0);
  });
}
// The number of messages that a stream may send at once.
parentPort.once('message', () => {
  for (const socket of sockets) for (let i = 0; i < 100; i++) socket.send(message);
});`;

test('cuts off the stream that sends when too much waits for the core, and counts it', async () => {
  const closed = new Int32Array(new SharedArrayBuffer(4));
  const url = `${server.api.url.replace('http', 'ws')}/api/stream`;
  const worker = new Worker(FLOOD, { eval: true, workerData: { url, closed } });
  onTestFinished(async () => void (await worker.terminate()));
  await new Promise((resolve) => worker.once('message', resolve));
  worker.postMessage('send');
  // During this wait, the core, which is this thread, reads nothing.
  Atomics.wait(closed, 0, 0, 60_000);
  expect(Atomics.load(closed, 0)).toBe(1006);
  const cutOffs = 'exchange_stream_closed_total{reason="cut_off"}';
  await eventually(async () => (await server.api.metric(cutOffs)) > 0);
  await worker.terminate();
  await eventually(
    async () => (await server.api.metric('exchange_edge_waiting_bytes{to="core"}')) === 0,
  );
});

/** Opens connections, asks for a stream on each, and then reads a page that an edge serves. */
const HANDSHAKES = `
const { parentPort, workerData } = require('node:worker_threads');
const { connect } = require('node:net');
const { hostname, port } = new URL(workerData.url);
const head = ['GET /api/stream HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: websocket',
  'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
let [open, upgraded] = [0, 0];
const sockets = Array.from({ length: workerData.count }, () => {
  const socket = connect(Number(port), hostname, () => {
    if (++open === workerData.count) parentPort.postMessage('open');
  });
  socket.once('data', (data) => {
    if (String(data).startsWith('HTTP/1.1 101')) upgraded++;
    if (upgraded === workerData.count) parentPort.postMessage('upgraded');
  });
  return socket;
});
parentPort.once('message', async () => {
  for (const socket of sockets) socket.write(head.join('\\r\\n') + '\\r\\n\\r\\n');
  const { status } = await fetch(workerData.url, { headers: { accept: 'text/html' } });
  Atomics.store(workerData.served, 0, status);
  Atomics.notify(workerData.served, 0);
});`;

test('delays no request for the handshakes of others, which wait for the core', async () => {
  const served = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { url: server.api.url, served, count: 20 };
  const worker = new Worker(HANDSHAKES, { eval: true, workerData });
  onTestFinished(async () => void (await worker.terminate()));
  await new Promise((resolve) => worker.once('message', resolve));
  worker.postMessage('ask');
  // During this wait, the core, which is this thread, decides no handshake.
  Atomics.wait(served, 0, 0, 10_000);
  expect(Atomics.load(served, 0)).toBe(200);
  await new Promise((resolve) => worker.once('message', resolve));
});

test('limits the connections of all threads together', async () => {
  const connections = { total: 20, perAddress: 0, streamsPerAddress: 0 };
  const small = await TestServer.withMarket({ edgeThreads: 2, connections });
  onTestFinished(() => small.stop());
  const clients = Array.from({ length: 30 }, () => connect(small));
  await eventually(() => clients.filter(({ isClosed }) => isClosed).length >= 10);
  // The remaining connections are served.
  const open = clients.filter(({ isClosed }) => !isClosed);
  expect(open.length).toBeGreaterThan(0);
  await open[0]!.send(requestText('GET', '/health'));
  expect((await open[0]!.answers(1))[0]!.status).toBe(200);
  for (const client of clients) client.leave();
  const refused = 'exchange_connections_refused_total{limit="total"}';
  await eventually(async () => expect(await small.api.metric(refused)).toBeGreaterThan(0));
});

test('answers a GET with a body, which is not read, and goes on with the connection', async () => {
  const headers = { 'content-length': '5' };
  const [head] = requestText('GET', '/health', headers).split('\r\n\r\n');
  const inOne = connect();
  const inTwo = connect();
  for (let count = 1; count <= 3; count++) {
    await inOne.send(`${head}\r\n\r\nGET /`);
    await inTwo.send(`${head}\r\n\r\n`);
    await inTwo.answers(count);
    await inTwo.send('GET /');
    for (const client of [inOne, inTwo]) {
      const statuses = (await client.answers(count)).map(({ status }) => status);
      expect(statuses).toEqual(new Array(count).fill(200));
    }
  }
});

test('answers what it has begun before a stop, and refuses the rest', async () => {
  const before = ordersOfAda();
  const clients = Array.from({ length: 40 }, () => connect());
  const slow = connect();
  const all = [...clients, slow];
  const askAll = async (asked: RawConnection[], count: number) => {
    for (const client of asked) await client.send(requestText('GET', '/health'));
    for (const client of asked) await client.answers(count);
  };
  await askAll(all, 1);
  await slow.send(buyText('slow').slice(0, -5));
  // Every thread has checked all its connections before the other requests are answered.
  await askAll(clients, 2);
  await Promise.all(clients.map((client, i) => client.send(buyText(`stop-${i}`))));
  await server.exchange.stop();
  let executed = 0;
  for (const client of clients) {
    await client.closed();
    if (parse(client) === 2) continue;
    const { status } = (await client.answers(3)).at(-1)!;
    expect([200, 503]).toContain(status);
    if (status === 200) executed++;
  }
  expect(executed).toBe(ordersOfAda() - before);
  await slow.closed();
  expect(slow.received).toContain('HTTP/1.1 503');
});

/** The number of whole answers on a connection. */
function parse(connection: RawConnection): number {
  return connection.received.split('HTTP/1.1 ').length - 1;
}
