/**
 * ETags and compression over HTTP: the same content in every encoding, 304 while it is unchanged,
 * and another tag when it changes.
 */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import {
  MARKET,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../../support/server.js';
import { programContract } from '../../contract/check.js';

const NEXT_MARKET = 'btc-15m-1763701200';
/** Opens in the last test that advances time. */
const ACTIVE_MARKET = 'btc-15m-1763702100';

const server = await TestServer.withMarket();
const ada = await server.register('ada');
const bob = await server.register('bob');
for (let i = 0; i < 12; i++) await trade(MARKET);
await server.passTime(WINDOW_START_MS + WINDOW_MS + 3_000, 100_100);
await server.followed();
afterAll(() => server.stop());

async function trade(market: string): Promise<void> {
  const order = { outcome: 'UP', shares: 2, price: 0.5, timeInForce: 'GTC' };
  const post = (trader: Trader, body: object) => server.buy(trader, body, market);
  expect((await post(ada, order)).status).toBe(200);
  expect((await post(bob, { ...order, outcome: 'DOWN' })).status).toBe(200);
}

type Headers = Record<string, string>;

async function get(path: string, headers: Headers = {}, method: 'GET' | 'HEAD' = 'GET') {
  await server.followed();
  const answer = await request(`${server.api.url}/api${path}`, { method, headers });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const header = (name: string) => [answer.headers[name] ?? ''].flat().join(', ');
  const plain = decoded(bytes, method === 'HEAD' ? '' : header('content-encoding'));
  const seen = { status: answer.statusCode, headers: answer.headers, text: plain.toString() };
  programContract().check(method, path, seen);
  return { ...seen, bytes, header };
}

function decoded(bytes: Buffer, encoding: string): Buffer {
  if (bytes.length === 0) return bytes;
  if (encoding === 'br') return brotliDecompressSync(bytes);
  return encoding === 'gzip' ? gunzipSync(bytes) : bytes;
}

const ofAda = () => ({ 'x-user-token': ada.token });
/** Name, path, and whether only the signed-in user may read it. */
const LARGE: [string, () => string, boolean][] = [
  ['history', () => '/markets/15m/history', false],
  ['a resolved market', () => `/markets/${MARKET}`, false],
  ['events', () => `/markets/15m/${MARKET}/events`, false],
  ['trades of a market', () => `/markets/15m/${MARKET}/trades`, false],
  ['trades of a user', () => `/users/${ada.userId}/trades`, false],
  ['ledger', () => `/users/${ada.userId}/ledger`, true],
  ['closed orders', () => `/users/${ada.userId}/orders?status=closed`, true],
];

describe.each(LARGE)('%s', (_name, pathOf, isPrivate) => {
  const headersOf = (more: Headers = {}) => (isPrivate ? { ...ofAda(), ...more } : more);

  test('is the same plain and compressed, under one tag', async () => {
    const plain = await get(pathOf(), headersOf());
    expect(plain.status).toBe(200);
    expect(plain.bytes.length).toBeGreaterThan(1_024);
    expect(plain.header('content-encoding')).toBe('');
    expect(plain.header('etag')).toMatch(/^W\/"[\w-]{22}"$/);
    expect(plain.header('vary')).toContain('Accept-Encoding');
    expect(plain.header('cache-control')).toBe(isPrivate ? 'no-store' : 'no-cache');
    for (const [accept, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0.2, gzip;q=0.4', 'gzip'],
    ] as const) {
      const answer = await get(pathOf(), headersOf({ 'accept-encoding': accept }));
      expect(answer.header('content-encoding'), accept).toBe(encoding);
      expect(answer.text).toBe(plain.text);
      expect(answer.header('content-length')).toBe(`${answer.bytes.length}`);
      expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(answer.header('etag')).toBe(plain.header('etag'));
      expect(answer.header('content-type')).toBe('application/json');
    }
  });

  test.each(['identity', 'zstd, deflate', 'gzip;q=0', 'gzip;q=7, ;;', '*;q=0'])(
    'Accept-Encoding: %s gets it as it is',
    async (accept) => {
      const { header, bytes } = await get(pathOf(), headersOf({ 'accept-encoding': accept }));
      expect(header('content-encoding')).toBe('');
      expect(() => JSON.parse(bytes.toString())).not.toThrow();
    },
  );

  test('is 304 without a body for who has it', async () => {
    const { header } = await get(pathOf(), headersOf());
    const etag = header('etag');
    for (const named of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const headers = headersOf({ 'if-none-match': named, 'accept-encoding': 'br' });
      const again = await get(pathOf(), headers);
      expect([again.status, again.bytes.length], named).toEqual([304, 0]);
      expect(again.header('etag')).toBe(etag);
      expect(again.header('content-encoding')).toBe('');
      expect(again.header('vary')).toContain('Accept-Encoding');
    }
    const other = await get(pathOf(), headersOf({ 'if-none-match': '"other"' }));
    expect(other.status).toBe(200);
  });

  test('HEAD has the headers of GET, and no body', async () => {
    for (const accept of ['identity', 'gzip']) {
      const headers = headersOf({ 'accept-encoding': accept });
      const [whole, head] = [await get(pathOf(), headers), await get(pathOf(), headers, 'HEAD')];
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      for (const name of ['etag', 'content-length', 'content-type', 'content-encoding', 'vary'])
        expect(head.header(name), name).toBe(whole.header(name));
    }
  });
});

test('caches keep nothing of the path of `me`, whose answer depends on who asks', async () => {
  for (const me of ['me', 'm%65']) {
    const answer = await get(`/users/${me}/trades`, ofAda());
    expect([answer.status, answer.header('cache-control')]).toEqual([200, 'no-store']);
  }
});

test('the tag is the same after a command that does not concern it, and after a price', async () => {
  const paths = LARGE.map(([, pathOf]) => pathOf());
  const tags = async () =>
    Promise.all(paths.map(async (path) => (await get(path, ofAda())).header('etag')));
  const before = await tags();
  expect(new Set(before).size).toBe(paths.length);
  const { json } = await server.api.get('/status');
  await server.register(`carol${json.sequence}`);
  server.feed.deliver('BTC', 100_200);
  expect(await tags()).toEqual(before);
});

test('the tag changes with the content', async () => {
  const paths = LARGE.filter(([, , isPrivate]) => isPrivate).map(([, pathOf]) => pathOf());
  paths.push(`/users/${ada.userId}/trades`, `/markets/15m/${NEXT_MARKET}/trades`);
  for (const path of paths) {
    const etag = (await get(path, ofAda())).header('etag');
    await trade(NEXT_MARKET);
    const after = await get(path, { ...ofAda(), 'if-none-match': etag });
    expect(after.status, path).toBe(200);
    expect(after.header('etag')).not.toBe(etag);
  }
  // An active market, then the history after its end.
  const [market, history] = [`/markets/${NEXT_MARKET}`, '/markets/15m/history'];
  const [ofMarket, ofHistory] = [await get(market), await get(history)];
  await trade(NEXT_MARKET);
  expect((await get(market)).header('etag')).not.toBe(ofMarket.header('etag'));
  await server.passTime(WINDOW_START_MS + 2 * WINDOW_MS + 3_000, 100_300);
  expect((await get(history)).header('etag')).not.toBe(ofHistory.header('etag'));
});

test('pages and filters of a list have tags of their own', async () => {
  const path = `/users/${ada.userId}/ledger`;
  const queries = ['', '?limit=5', '?cause=hold'];
  const answers = await Promise.all(queries.map((query) => get(path + query, ofAda())));
  const csv = await get(path, { ...ofAda(), accept: 'text/csv' });
  expect(new Set([...answers, csv].map(({ header }) => header('etag'))).size).toBe(4);
  const packed = await get(path, { ...ofAda(), accept: 'text/csv', 'accept-encoding': 'gzip' });
  expect(packed.header('content-encoding')).toBe('gzip');
  expect(packed.text).toBe(csv.text);
  expect(packed.header('vary')).toBe('Accept, Accept-Encoding');
});

test('a small answer is compressed only for who refuses it as it is', async () => {
  const path = `/users/${ada.userId}/ledger?limit=1`;
  const plain = await get(path, { ...ofAda(), 'accept-encoding': 'gzip' });
  expect(plain.bytes.length).toBeLessThan(1_024);
  expect(plain.header('content-encoding')).toBe('');
  const packed = await get(path, { ...ofAda(), 'accept-encoding': 'gzip, identity;q=0' });
  expect(packed.header('content-encoding')).toBe('gzip');
  expect([packed.text, packed.header('etag')]).toEqual([plain.text, plain.header('etag')]);
});

test('refusals have neither a tag nor an encoding, and are not 304', async () => {
  const asked = { 'if-none-match': '*', 'accept-encoding': 'br' };
  for (const [path, status] of [
    [`/users/${ada.userId}/ledger`, 401],
    ['/markets/btc-15m-1763600400', 404],
    [`/markets/15m/${ACTIVE_MARKET}/events`, 409],
    ['/markets/15m/history?limit=0', 400],
  ] as const) {
    const { status: seen, header } = await get(path, asked);
    expect([seen, header('etag'), header('content-encoding')], path).toEqual([status, '', '']);
    expect(header('cache-control')).toBe('no-store');
  }
});

test('hot routes have neither', async () => {
  for (const path of [`/markets/15m/${NEXT_MARKET}/orderbook`, '/markets', '/markets/15m']) {
    const { header } = await get(path, { 'accept-encoding': 'br, gzip' });
    expect([header('etag'), header('content-encoding')], path).toEqual(['', '']);
  }
});

test.each(['/openapi.json', '/asyncapi.json', '/docs/stream', '/docs/swagger-ui-bundle.js'])(
  'the document %s is compressed, with a tag for each form',
  async (path) => {
    const url = `${server.api.url}/api${path}`;
    const fetched = async (accept: string) => {
      const { body, headers } = await request(url, { headers: { 'accept-encoding': accept } });
      return { bytes: Buffer.from(await body.arrayBuffer()), headers };
    };
    const [plain, packed, zipped] = [
      await fetched('identity'),
      await fetched('gzip, br'),
      await fetched('br;q=0.1, gzip'),
    ];
    expect(packed.headers['content-encoding']).toBe('br');
    expect(zipped.headers['content-encoding']).toBe('gzip');
    for (const { headers } of [plain, packed, zipped])
      expect(headers['vary']).toBe('Accept-Encoding');
    expect(brotliDecompressSync(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(gunzipSync(zipped.bytes).equals(plain.bytes)).toBe(true);
    expect(new Set([plain, packed, zipped].map(({ headers }) => headers['etag'])).size).toBe(3);
    const headers = { 'accept-encoding': 'br', 'if-none-match': `${packed.headers['etag']}` };
    const again = await request(url, { headers });
    expect([again.statusCode, await again.body.text()]).toEqual([304, '']);
  },
);

test('who names a sequence gets an answer with it, never 304', async () => {
  const path = `/markets/${MARKET}`;
  const { etag } = (await get(path)).headers as { etag: string };
  // Another account changes the sequence, but not the content.
  await server.register('carol');
  await server.followed();
  const { sequence } = (await server.api.get('/status')).json;
  const known = { 'if-none-match': etag };
  expect((await get(path, known)).status).toBe(304);
  for (const [query, headers] of [
    [`?minSequence=${sequence}`, known],
    ['', { ...known, 'min-sequence': `${sequence}` }],
    // Every answer includes this sequence, but a cached one may be older than the client expects.
    ['?minSequence=1', known],
  ] as const) {
    const { status, text } = await get(`${path}${query}`, headers);
    expect(status).toBe(200);
    expect(JSON.parse(text).sequence).toBeGreaterThanOrEqual(sequence);
  }
});
