/**
 * Misbehaving clients on raw sockets: they pipeline, hang up, send nothing, slowly, endlessly or
 * garbage, or open too many connections. The exchange keeps working, frees their resources, and
 * executes their requests at most once.
 *
 * Two real times are fixed here: 5 s for a body, and 10 s until uWebSockets.js drops an idle
 * connection. Tests wait for their effects with a generous limit.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../../support/eventually.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import {
  type ApiClient,
  AT_EDGES,
  MARKET,
  metricIn,
  TestServer,
  type Trader,
} from '../../support/server.js';

let server: TestServer;
let api: ApiClient;
let ada: Trader;

const BUY = `/markets/15m/${MARKET}/buy`;
const ORDER = JSON.stringify({ outcome: 'UP', shares: 0.001, price: 0.001, timeInForce: 'GTC' });

const connection = () => new RawConnection(api.url);
const buyText = (headers: Record<string, string> = {}) =>
  requestText('POST', BUY, { 'x-user-token': ada.token, ...headers }, ORDER);

/** Waits until no call is under way except the one that reads this metric. */
const noCallIsLeft = () =>
  eventually(async () => (await api.metric('exchange_calls_under_way')) === 1);
const ordersOfAda = () => server.exchange.sequencer.engine.orders(1).length;

async function start(): Promise<void> {
  server = await TestServer.withMarket();
  api = server.api;
  ada = await server.register('ada');
}

describe('one connection', () => {
  beforeAll(start);
  afterAll(() => server.stop());
  afterEach(async () => {
    await noCallIsLeft();
    expect((await api.get('/health')).status).toBe(200);
  });

  // At an edge, pipelined requests close the connection.
  test.skipIf(AT_EDGES)(
    'answers pipelined requests in order when each is answered at once',
    async () => {
      const client = connection();
      const paths = ['/health', '/no/such/route', '/health', '/markets/15m?asset=', '/health'];
      await client.send(paths.map((path) => requestText('GET', path)).join(''));
      const answers = await client.answers(paths.length);
      expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 400, 200]);
      client.leave();
    },
  );

  test('closes the connection when a pipelined request waits: no answer is mixed up, and the first is executed once', async () => {
    const before = ordersOfAda();
    const client = connection();
    await client.send(buyText() + buyText() + requestText('GET', '/health'));
    await client.closed();
    expect(client.received).toBe('');
    await noCallIsLeft();
    expect(ordersOfAda()).toBe(before + 1);
  });

  test('a second request before the answer closes the connection, or is answered after the first', async () => {
    const before = ordersOfAda();
    const client = connection();
    // The second request is sent with the first, during it, or normally after its answer.
    await client.send(buyText());
    await client.send(buyText());
    await eventually(() => client.isClosed || client.received.split('HTTP/1.1 200').length === 3);
    client.leave();
    await noCallIsLeft();
    const executed = ordersOfAda() - before;
    expect(executed).toBe(client.received.includes('HTTP/1.1') ? 2 : 1);
  });

  test('executes each order exactly once when clients hang up before the answer, and frees everything', async () => {
    const before = ordersOfAda();
    const keys = Array.from({ length: 200 }, (_, i) => `gone-${i}`);
    await Promise.all(
      keys.map(async (key) => {
        const client = connection();
        await client.send(buyText({ 'idempotency-key': key }));
        client.leave();
        await client.closed();
      }),
    );
    await eventually(() => ordersOfAda() === before + keys.length);
    await noCallIsLeft();
    for (const key of keys) {
      const { status, headers } = await api.send('POST', BUY, undefined, {
        token: ada.token,
        raw: ORDER,
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
      });
      expect([status, headers['idempotency-replayed']]).toEqual([200, 'true']);
    }
    expect(ordersOfAda()).toBe(before + keys.length);
  });

  test('executes nothing when clients hang up in the middle of a request', async () => {
    const before = await server.state();
    const whole = buyText();
    for (let cut = 1; cut < whole.length; cut += 7) {
      const client = connection();
      await client.send(whole.slice(0, cut));
      client.leave();
    }
    await noCallIsLeft();
    expect(await server.state()).toEqual(before);
  });

  test('accepts a request in small pieces', async () => {
    const client = connection();
    const whole = buyText();
    for (let at = 0; at < whole.length; at += 11) await client.send(whole.slice(at, at + 11));
    const [answer] = await client.answers(1);
    expect(answer).toMatchObject({ status: 200 });
    client.leave();
  });

  test('closes idle and slow connections, and tells those that began a body why', async () => {
    const silent = Array.from({ length: 100 }, connection);
    const headersOnly = connection();
    const noBody = connection();
    const dripping = connection();
    const chunked = connection();
    const headers = { 'x-user-token': ada.token, 'content-length': '5000' };
    await headersOnly.send('POST /api/auth/login HTTP/1.1\r\nhost: exchange\r\n');
    await noBody.send(requestText('POST', BUY, headers));
    await dripping.send(requestText('POST', BUY, headers));
    await chunked.send(
      requestText('POST', BUY, { 'x-user-token': ada.token, 'transfer-encoding': 'chunked' }),
    );
    const drip = setInterval(() => {
      void headersOnly.send('x-drop: 1\r\n');
      void dripping.send(' ');
      void chunked.send('1\r\n \r\n');
    }, 200);
    for (const client of [noBody, dripping, chunked]) {
      const [answer] = await client.answers(1);
      expect(answer).toMatchObject({ status: 400, headers: { connection: 'close' } });
      expect(JSON.parse(answer!.text).error).toMatchObject({
        code: 'invalid_request',
        details: { body: 'did not end within 5 seconds' },
      });
      await client.closed();
    }
    await headersOnly.closed();
    clearInterval(drip);
    for (const client of silent) await client.closed();
    expect(await api.metric('exchange_slow_bodies_total')).toBe(3);
    // The rest are connections of this test's own client.
    await eventually(async () => (await api.metric('exchange_connections{kind="http"}')) < 10);
  });

  test('cuts off a body that never ends', async () => {
    const slow = await api.metric('exchange_slow_bodies_total');
    const block = 'x'.repeat(64 * 1024);
    for (const headers of [
      { 'transfer-encoding': 'chunked' },
      { 'content-length': '1000000000000' },
    ]) {
      const client = connection();
      await client.send(requestText('POST', BUY, { 'x-user-token': ada.token, ...headers }));
      const piece =
        'content-length' in headers ? block : `${block.length.toString(16)}\r\n${block}\r\n`;
      for (let i = 0; i < 200 && !client.isClosed && client.received === ''; i++)
        await client.send(piece);
      await client.closed();
      // The client gets the answer, unless it was too busy sending to read.
      if (client.received !== '') {
        const [answer] = await client.answers(1);
        expect(JSON.parse(answer!.text).error.code).toBe('body_too_large');
      }
    }
    expect(await api.metric('exchange_slow_bodies_total')).toBe(slow);
  });

  test('limits headers, and refuses what is not HTTP', async () => {
    const before = await server.state();
    const long = connection();
    await long.send(requestText('GET', '/health', { 'x-long': 'x'.repeat(5_000) }));
    expect((await long.answers(1))[0]).toMatchObject({ status: 431 });
    await long.closed();
    const many = connection();
    const headers = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, '1']));
    await many.send(requestText('GET', '/health', headers));
    expect((await many.answers(1))[0]!.status).toBe(431);
    for (const garbage of [
      'GET /api/health HTTP/1.0\r\nhost: x\r\n\r\n',
      `${buyText({ 'transfer-encoding': 'chunked' })}`,
      requestText('POST', BUY, { 'content-length': '-1' }, ORDER),
      requestText('POST', BUY, { 'content-length': '12abc' }, ORDER),
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello tls\r\n\r\n',
    ]) {
      const client = connection();
      await client.send(garbage);
      await eventually(() => client.isClosed || client.received !== '');
      expect(client.received, garbage).not.toContain('HTTP/1.1 200');
      client.leave();
    }
    expect(await server.state()).toEqual(before);
  });

  test.each(['Idempotency-Key', 'Client-Sequence'])('refuses two of %s', async (name) => {
    const before = await server.state();
    for (const first of ['1', '2', '']) {
      const client = connection();
      await client.send(buyText({ [name.toLowerCase()]: first, [name]: '2' }));
      const [answer] = await client.answers(1);
      expect(answer!.status).toBe(400);
      expect(JSON.parse(answer!.text).error.details).toHaveProperty(name);
      client.leave();
    }
    expect(await server.state()).toEqual(before);
  });

  test('reads a body in one-byte pieces, up to a maximum number of pieces', async () => {
    const pieces = [...ORDER.padEnd(20_000)].map((byte) => `1\r\n${byte}\r\n`);
    const sent = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const headers = { 'x-user-token': ada.token, ...sent };
    for (const [count, status] of [
      [ORDER.length, 200],
      [pieces.length, 413],
    ] as const) {
      const client = connection();
      const chunks = `${pieces.slice(0, count).join('')}0\r\n\r\n`;
      await client.send(requestText('POST', BUY, headers) + chunks);
      expect((await client.answers(1))[0]!.status).toBe(status);
      client.leave();
    }
  });

  test('answers a body full of mistakes with a short message', async () => {
    const before = await server.state();
    const many = JSON.stringify(
      Object.fromEntries(Array.from({ length: 4_000 }, (_, i) => [`field-${i}`, 1])),
    );
    const long = JSON.stringify({ ['🙂'.repeat(8_000)]: 1 });
    const digits = `{"outcome":"UP","amount":0.${'1'.repeat(60_000)}}`;
    const operations = JSON.stringify({
      operations: Array.from({ length: 100 }, () => ({
        op: 'buy',
        a: 1,
        b: 2,
        c: 3,
        ['d'.repeat(500)]: 4,
      })),
    });
    for (const [path, raw] of [
      [BUY, many],
      [BUY, long],
      [BUY, digits],
      ['/batch', many],
      ['/batch', operations],
    ] as const) {
      const options = { token: ada.token, raw, headers: { 'content-type': 'application/json' } };
      const { status, text, json } = await api.send('POST', path, undefined, options);
      expect([status, json.error.code]).toEqual([400, 'invalid_request']);
      expect(Object.keys(json.error.details).length).toBeLessThanOrEqual(20);
      expect(text.length).toBeLessThan(6_000);
    }
    const { json } = await api.send('GET', `/vaults?${'q'.repeat(3_000)}=1`);
    expect(Object.keys(json.error.details)[0]!.length).toBeLessThanOrEqual(60);
    expect(await server.state()).toEqual(before);
  });
});

/** Raw sockets only, because an HTTP client chooses its own number of connections. */
describe('many connections', () => {
  let probe: RawConnection;
  let asked: number;
  afterEach(() => server.stop());

  async function startWith(connections: { total: number; perAddress: number }): Promise<void> {
    server = await TestServer.withMarket({ connections: { ...connections, streamsPerAddress: 0 } });
    api = server.api;
    probe = connection();
    asked = 0;
  }

  async function seen(name: string): Promise<number> {
    await probe.send(requestText('GET', '/metrics'));
    return metricIn((await probe.answers(++asked)).at(-1)!.text, name);
  }

  const opened = async (): Promise<RawConnection> => {
    const client = connection();
    await client.send(requestText('GET', '/health'));
    await eventually(() => client.isClosed || client.received !== '');
    return client;
  };

  // Edges report their counts twice a second; see test/gateway/edge/threads.test.ts.
  test.skipIf(AT_EDGES)(
    'are closed at once beyond the limit, and accepted again when others have left',
    async () => {
      await startWith({ total: 6, perAddress: 0 });
      expect(await seen('exchange_connections{kind="http"}')).toBe(1);
      const clients: RawConnection[] = [];
      for (let i = 0; i < 5; i++) clients.push(await opened());
      expect(clients.map((client) => client.isClosed)).toEqual(clients.map(() => false));
      for (let i = 0; i < 3; i++) expect((await opened()).received).toBe('');
      expect(await seen('exchange_connections_refused_total{limit="total"}')).toBe(3);
      clients.pop()!.leave();
      await eventually(async () => (await seen('exchange_connections{kind="http"}')) === 5);
      clients.push(await opened());
      expect(clients.at(-1)!.received).toContain('HTTP/1.1 200');
      for (const client of clients) client.leave();
    },
  );

  // Each edge has some of the connections.
  test.skipIf(AT_EDGES)('include open WebSockets', async () => {
    await startWith({ total: 4, perAddress: 0 });
    for (let round = 0; round < 3; round++) {
      const streams = await Promise.all([1, 2, 3].map(openStream));
      expect(await seen('exchange_connections{kind="stream"}')).toBe(3);
      expect(await seen('exchange_connections{kind="http"}')).toBe(1);
      expect((await opened()).received).toBe('');
      for (const stream of streams) stream.close();
      await eventually(async () => (await seen('exchange_connections{kind="stream"}')) === 0);
    }
  });

  function openStream(): Promise<WebSocket> {
    return new Promise((resolve, reject) => {
      const stream = new WebSocket(`${api.url.replace('http', 'ws')}/api/stream`);
      stream.on('open', () => resolve(stream));
      stream.on('error', reject);
    });
  }

  // Each edge has its share of this limit.
  test.skipIf(AT_EDGES)('are limited for one address within ten seconds', async () => {
    await startWith({ total: 1_000, perAddress: 8 });
    expect(await seen('exchange_connections{kind="http"}')).toBe(1);
    const clients: RawConnection[] = [];
    for (let i = 0; i < 30; i++) clients.push(await opened());
    const welcome = clients.filter((client) => client.received.includes('HTTP/1.1 200'));
    // Seven in addition to the probe, plus those that fit as time passes.
    expect(welcome.length).toBeGreaterThanOrEqual(7);
    expect(welcome.length).toBeLessThan(30);
    expect(await seen('exchange_connections_refused_total{limit="address"}')).toBe(
      30 - welcome.length,
    );
    for (const client of clients) client.leave();
  });
});
