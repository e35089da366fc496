/**
 * Day files: complete, with every event of the day and no account data, created once, and served in
 * ranges, also by an edge and after a crash during their creation.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { rangeOf } from '../../../../gateway/resources/day-files/serve.js';
import type { Config } from '../../../../gateway/start/config.js';
import { eventually } from '../../../support/eventually.js';
import { TestServer } from '../../../support/server.js';

const START_MS = Date.UTC(2025, 10, 21, 23, 31);
const PATH = '/api/history/BTC/2025-11-21.jsonl.gz';

const folderOf = (asset: string) => join(server.folder, 'days', asset);
const fetched = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${server.api.url}${path}`, { method, headers });
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());
const dates = async () => {
  const { files } = (await server.api.get('/history?asset=btc')).json;
  return files.map(({ date }: { date: string }) => date);
};

/** Delivers prices for the two quarter hours after midnight, the second after the day's end. */
async function passMidnight(): Promise<void> {
  const midnight = Math.ceil(server.clock.nowMs() / 86_400_000) * 86_400_000;
  for (const minutes of [1, 16]) {
    server.clock.set(midnight + minutes * 60_000);
    server.feed.deliver('BTC', 100_100);
    await server.advance();
  }
}

async function restart(overrides: Partial<Config>): Promise<void> {
  await server.close();
  server = await TestServer.start(overrides, server.folder, server.clock.nowMs());
  server.feed.deliver('BTC', 100_200);
}

let server = await TestServer.start({}, undefined, START_MS);
server.feed.deliver('BTC', 100_000);
const [ada, bob] = [await server.register('ada'), await server.register('bob')];
for (const [from, until] of [
  [0, 15],
  [15, 28],
] as const) {
  const id = `btc-15m-${Date.UTC(2025, 10, 21, 23, 30 + from) / 1_000}`;
  for (const price of [0.4, 0.45]) {
    const bid = { outcome: 'UP', shares: 20, price, timeInForce: 'GTC' };
    await server.buy(ada, bid, id);
    const taken = { outcome: 'DOWN', amount: 5 };
    expect((await server.buy(bob, taken, id)).status).toBe(200);
  }
  await server.passTime(START_MS + until * 60_000, 100_050 + from);
}
expect(await dates()).toEqual([]);
await passMidnight();
await eventually(async () => expect(await dates()).toEqual(['2025-11-21']));
const answer = await fetched(PATH);
expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/gzip']);
const etag = answer.headers.get('etag')!;
const whole = await bytesOf(answer);
afterAll(() => server.stop());

test('a file has each market of its day with all its events, and no account', async () => {
  const lines = gunzipSync(whole).toString().trimEnd().split('\n');
  const expected: unknown[] = [];
  const { markets } = (await server.api.read('/markets/15m/history?asset=BTC')).json;
  const ofDay = markets.filter(
    ({ startsAtMs }: { startsAtMs: number }) => startsAtMs < Date.UTC(2025, 10, 22),
  );
  expect(ofDay.length).toBe(2);
  for (const market of ofDay.reverse()) {
    const { id: marketId, startsAtMs, endsAtMs, startPrice, endPrice, resolution } = market;
    const { resolvedAtMs, volume } = market;
    const window = { marketId, startsAtMs, endsAtMs, startPrice, endPrice };
    expected.push({ type: 'market', ...window, resolution, resolvedAtMs, volume });
    expected.push(...(await server.api.all(`/markets/15m/${marketId}/events?`, 'events')));
  }
  expect(lines.map((line) => JSON.parse(line))).toEqual(expected);
  const types = new Set(lines.map((line) => JSON.parse(line).type));
  expect(types).toEqual(new Set(['market', 'book', 'trade', 'price']));
  expect(lines.join('')).not.toMatch(/"(userId|orderId)"|"[uo]\d+"/);
});

test('it is listed with its size and its place', async () => {
  const file = { asset: 'BTC', date: '2025-11-21', bytes: whole.length, path: PATH };
  expect((await server.api.get('/history?asset=BTC')).json).toEqual({ files: [file] });
  const both = [file, { asset: 'ETH', date: '2025-11-21' }];
  // Each asset's file is written separately.
  await eventually(async () => {
    expect((await server.api.get('/history')).json.files).toMatchObject(both);
  });
  expect((await server.api.get('/history?asset=DOGE')).status).toBe(400);
});

describe('ranges', () => {
  const ranged = async (range: string, more: Record<string, string> = {}) => {
    const answer = await fetched(PATH, { range, ...more });
    const { status, headers } = answer;
    return { status, of: headers.get('content-range'), bytes: await bytesOf(answer) };
  };

  test.each([
    ['bytes=0-9', 0, 10],
    ['bytes=10-', 10, undefined],
    ['bytes=-7', -7, undefined],
    ['bytes=5-999999999', 5, undefined],
    ['bytes=-999999999', 0, undefined],
  ] as const)('%s is 206 with these bytes', async (range, from, to) => {
    const part = whole.subarray(from, to);
    const start = from < 0 ? whole.length + from : from;
    const of = `bytes ${start}-${start + part.length - 1}/${whole.length}`;
    expect(await ranged(range)).toEqual({ status: 206, of, bytes: part });
    expect(await ranged(range, { 'if-range': etag })).toMatchObject({ status: 206 });
    expect(await ranged(range, { 'if-range': '"other"' })).toMatchObject({ status: 200 });
  });

  test.each(['bytes=0-1,3-4', 'bytes=9-3', 'bytes=x-y', 'bytes=-', 'items=0-1'])(
    '%s is no single range of bytes: the whole file',
    async (range) => {
      expect(await ranged(range)).toEqual({ status: 200, of: null, bytes: whole });
    },
  );

  test('beyond the end it is 416', async () => {
    for (const range of [`bytes=${whole.length}-`, 'bytes=-0']) {
      const { status, of, bytes } = await ranged(range);
      expect([status, of, bytes.length], range).toEqual([416, `bytes */${whole.length}`, 0]);
    }
    expect(rangeOf('bytes=0-', 0)).toEqual({ start: 0, length: 0 });
  });
});

test('a known tag is 304, HEAD has the length, and other names and methods are refused', async () => {
  expect((await fetched(PATH, { 'if-none-match': etag })).status).toBe(304);
  const head = await fetched(PATH, {}, 'HEAD');
  expect([head.status, head.headers.get('content-length')]).toEqual([200, `${whole.length}`]);
  for (const path of [
    '/api/history/BTC/2025-11-22.jsonl.gz',
    '/api/history/btc/2025-11-21.jsonl.gz',
    '/api/history/BTC/2025-11-21.jsonl.gz.tmp',
    '/api/history/BTC/..%2f..%2fjournal.head',
    '/api/history/..%2fBTC/2025-11-21.jsonl.gz',
  ])
    expect((await fetched(path)).status, path).toBe(404);
  expect((await fetched(PATH, {}, 'POST')).status).toBe(405);
});

test('a large file comes whole, and not to more than 8 of an address at once', async () => {
  mkdirSync(folderOf('SOL'), { recursive: true });
  const large = randomBytes(9_000_000);
  writeFileSync(join(folderOf('SOL'), '2025-11-21.jsonl.gz'), large);
  const path = PATH.replace('BTC', 'SOL');
  const answer = await fetched(path, { range: 'bytes=1-' });
  expect((await bytesOf(answer)).equals(large.subarray(1))).toBe(true);
  // These clients read only the head.
  const open = () =>
    new Promise<{ status: number; end: () => void }>((resolve, reject) => {
      const request = get(`${server.api.url}${path}`, { agent: false }, (response) =>
        resolve({ status: response.statusCode!, end: () => void request.destroy() }),
      ).on('error', reject);
    });
  const slow = await Promise.all(Array.from({ length: 8 }, open));
  expect(slow.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect((await open()).status).toBe(503);
  for (const { end } of slow) end();
  await eventually(async () =>
    expect((await bytesOf(await fetched(path))).equals(large)).toBe(true),
  );
});

test('what a crash leaves is rebuilt identically, and an edge serves it', async () => {
  await server.close();
  const path = join(folderOf('BTC'), '2025-11-21.jsonl.gz');
  rmSync(path);
  writeFileSync(`${path}.tmp`, whole.subarray(0, 20));
  server = await TestServer.start({ edgeThreads: 1 }, server.folder, server.clock.nowMs());
  server.feed.deliver('BTC', 100_200);
  await eventually(async () => expect(await dates()).toEqual(['2025-11-21']));
  expect(readFileSync(path).equals(whole)).toBe(true);
  expect(readdirSync(folderOf('BTC'))).toEqual(['2025-11-21.jsonl.gz']);
  const part = await fetched(PATH, { range: 'bytes=3-' });
  expect((await bytesOf(part)).equals(whole.subarray(3))).toBe(true);
});

test('older files are removed, and none is made without them', async () => {
  await restart({ dayFiles: 1 });
  await passMidnight();
  await eventually(async () => expect(await dates()).toEqual(['2025-11-22']));
  await restart({ dayFiles: 0 });
  await passMidnight();
  await server.followed();
  expect(await dates()).toEqual(['2025-11-22']);
});
