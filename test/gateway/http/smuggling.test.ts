/**
 * Request smuggling. On any path, a request that two readers could read differently is refused or
 * is the last of its connection, and a request hidden in it is never executed. For the cases, see
 * smuggling-cases.ts.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { contractFiles } from '../../../gateway/contract/serve.js';
import { ROUTES } from '../../../gateway/resources/routes.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';
import { AT_EDGES, MARKET, only, TestServer } from '../../support/server.js';
import {
  type Carrier,
  CHUNK_CASES,
  FRAMING_CASES,
  LIBRARY_CASES,
  type RawCase,
  type RawExpectation,
  type RawOutcome,
  REQUEST_CASES,
  rawBytes,
  sendRaw,
} from './smuggling-cases.js';

const all = { user: only(1_000_000), address: only(1_000_000) };
const server = await TestServer.withMarket({
  connections: { total: 1_000, perAddress: 0, streamsPerAddress: 0 },
  // Charging reads the address, which throws for a connection that the next request has closed.
  fairUse: { orders: all, cancels: all, reads: all, signIns: all },
});
const ada = await server.register('ada');
const order = JSON.stringify({ outcome: 'UP', shares: 0.001, price: 0.001, timeInForce: 'GTC' });
const hidden = requestText(
  'POST',
  `/markets/15m/${MARKET}/buy`,
  { 'x-user-token': ada.token },
  order,
);
afterAll(() => server.stop());

const ordersOfAda = () => server.exchange.sequencer.engine.orders(1).length;
const pathOf = (path: string) => `/api${path.replace(/:\w+/g, 'u1')}`;

const TAKERS: Carrier[] = ROUTES.filter((route) => route.body !== undefined).map(
  ({ method, path }) => ({
    method,
    path: pathOf(path),
  }),
);
/**
 * Every other path, with methods that it supports and some that it does not: the files, the stream,
 * and an unknown path.
 */
const OTHERS: Carrier[] = [
  ...ROUTES.filter((route) => route.body === undefined).flatMap(({ path }) =>
    ['GET', 'HEAD'].map((method) => ({ method, path: pathOf(path) })),
  ),
  ...[
    '/api/health',
    '/api/batch',
    '/api/openapi.json',
    '/api/docs',
    '/api/stream',
    '/api/nowhere',
    '/',
  ].flatMap((path) =>
    ['PATCH', 'OPTIONS', 'DELETE', 'TRACE', 'get'].map((method) => ({ method, path })),
  ),
  ...[...contractFiles().keys(), '/api/stream', '/api/nowhere'].flatMap((path) =>
    ['GET', 'HEAD', 'POST'].map((method) => ({ method, path })),
  ),
];

function play(raw: RawCase, carrier: Carrier, leaves = false): Promise<RawOutcome> {
  return sendRaw(server.exchange.port, [rawBytes(raw, carrier, hidden)], leaves);
}

/** Like {@link play}, but in two packets, the second with the body. */
function playInTwo(raw: RawCase, carrier: Carrier, leaves = false): Promise<RawOutcome> {
  const bytes = rawBytes(raw, carrier, hidden);
  const headEnd = bytes.indexOf('\r\n\r\n') + 4;
  return sendRaw(server.exchange.port, [bytes.slice(0, headEnd), bytes.slice(headEnd)], leaves);
}

function judge(name: string, expected: RawExpectation, { statuses }: RawOutcome): void {
  if (expected === 'ignored') expect(statuses, name).toEqual([]);
  else expect(statuses.length, `${name}: ${statuses}`).toBeLessThanOrEqual(1);
  if (expected === 'refused')
    for (const status of statuses) expect([400, 431, 501, 505], name).toContain(status);
}

describe('a request with two lengths or a malformed one', () => {
  async function refused(send: typeof play, carrier: Carrier): Promise<void> {
    const before = ordersOfAda();
    const outcomes = await Promise.all(FRAMING_CASES.map((raw) => send(raw, carrier)));
    for (const [i, raw] of FRAMING_CASES.entries()) judge(raw.name, raw.expected, outcomes[i]!);
    expect(ordersOfAda()).toBe(before);
  }

  test.each([...TAKERS, ...OTHERS])('is refused by $method $path', (carrier) =>
    refused(play, carrier),
  );
  test.each(TAKERS)('is refused by $method $path when the body comes later', (carrier) =>
    refused(playInTwo, carrier),
  );
});

describe('a chunked body that readers could split differently', () => {
  test.each(TAKERS)(
    'cannot hide a request from $method $path, and its own is the last of the connection',
    async (carrier) => {
      const before = ordersOfAda();
      for (const send of [play, playInTwo]) {
        const outcomes = await Promise.all(CHUNK_CASES.map((raw) => send(raw, carrier, true)));
        for (const [i, raw] of CHUNK_CASES.entries()) judge(raw.name, raw.expected, outcomes[i]!);
      }
      expect(ordersOfAda()).toBe(before);
    },
  );

  test.each(OTHERS)('is refused by $method $path, which takes no body', async (carrier) => {
    const before = ordersOfAda();
    const outcomes = await Promise.all(CHUNK_CASES.map((raw) => play(raw, carrier)));
    for (const [i, raw] of CHUNK_CASES.entries()) judge(raw.name, 'refused', outcomes[i]!);
    expect(ordersOfAda()).toBe(before);
  });
});

test.each(REQUEST_CASES)('$name is not a request', async (raw) => {
  const before = ordersOfAda();
  judge(raw.name, raw.expected, await sendRaw(server.exchange.port, [raw.bytes(hidden)], true));
  expect(ordersOfAda()).toBe(before);
});

// At an edge, the outer request waits for its answer, so the one behind it is never executed.
test.skipIf(AT_EDGES).each(LIBRARY_CASES)('$name, which only a proxy can refuse', async (raw) => {
  // The outer request is answered immediately, so the one behind it is not blocked.
  await server.durable();
  const before = ordersOfAda();
  await play(raw, { method: 'GET', path: '/api/health' }, true);
  expect(ordersOfAda()).toBe(before + 1);
});

/** The connection is kept unless the body is chunked. */
const HONEST: [what: string, head: string, body: string, isKept: boolean][] = [
  ['a body of a known length', 'Content-Length: 2', '{}', true],
  ['a length with zeros before it', 'Content-Length: 0002', '{}', true],
  ['the same length twice', 'Content-Length: 2\r\nContent-Length: 2', '{}', true],
  ['no body', 'Content-Length: 0', '', true],
  ['no body header', 'Accept: */*', '', true],
  ['a body in chunks', 'Transfer-Encoding: chunked', '1\r\n{\r\n1\r\n}\r\n0\r\n\r\n', false],
];

test.each(HONEST)(
  '%s is accepted by each route that takes a body',
  async (_what, head, body, isKept) => {
    for (const { method, path } of TAKERS) {
      const first = `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${head}\r\n\r\n${body}`;
      const before = ordersOfAda();
      const client = new RawConnection(server.api.url);
      await client.send(first);
      const [answer] = await client.answers(1);
      // Routes answer an empty object differently. Both checks show that the body was read.
      expect(answer!.status, path).not.toBe(415);
      expect(answer!.text, path).not.toContain('invalid_json');
      const { connection } = answer!.headers;
      // An answer without a body is also the last of its connection.
      const staysOpen = isKept && answer!.status !== 204;
      expect(connection, path).toBe(staysOpen ? undefined : 'close');
      await client.send(staysOpen ? requestText('GET', '/health') : hidden);
      if (staysOpen) expect((await client.answers(2))[1]!.status).toBe(200);
      else await client.closed();
      client.leave();
      expect(ordersOfAda()).toBe(before);
    }
  },
);

// The client ends its side immediately, so an edge closes before the answer arrives.
// test/gateway/edge/threads.test.ts shows that such a body is not read.
test.skipIf(AT_EDGES)(
  'a GET, HEAD or OPTIONS with a sized body is answered, and its body is not read as a request',
  async () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      const before = ordersOfAda();
      const bytes = `${method} /api/health HTTP/1.1\r\nHost: x\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`;
      const { statuses } = await sendRaw(server.exchange.port, [bytes], true);
      expect(statuses).toEqual([method === 'OPTIONS' ? 405 : 200]);
      expect(ordersOfAda()).toBe(before);
    }
  },
);

test('nothing after a HEAD, or after a request whose answer has no body, is executed', async () => {
  for (const request of [
    requestText('HEAD', '/health'),
    requestText('HEAD', '/nowhere'),
    requestText('HEAD', '/docs'),
    requestText('POST', '/auth/logout'),
  ]) {
    const before = ordersOfAda();
    const { statuses } = await sendRaw(server.exchange.port, [request + hidden], true);
    expect(statuses.length, request).toBeLessThanOrEqual(1);
    expect(ordersOfAda(), request).toBe(before);
  }
});

test('a WebSocket handshake has no body', async () => {
  const upgrade =
    'GET /api/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  const before = ordersOfAda();
  for (const [lines, body] of [
    [`Content-Length: ${hidden.length}\r\n`, hidden],
    [`Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n`, hidden],
    ['Transfer-Encoding: chunked\r\n', `0\r\n\r\n${hidden}`],
    ['Transfer-Encoding: identity\r\n', hidden],
  ]) {
    const { statuses } = await sendRaw(
      server.exchange.port,
      [`${upgrade}${lines}\r\n${body}`],
      false,
    );
    expect(statuses.filter((status) => status !== 400)).toEqual([]);
  }
  const { statuses } = await sendRaw(
    server.exchange.port,
    [`${upgrade}Content-Length: 0\r\n\r\n`],
    true,
  );
  expect(statuses).toEqual([101]);
  expect(ordersOfAda()).toBe(before);
});
