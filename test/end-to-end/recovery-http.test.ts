/**
 * An exchange is the same however it was started: from a snapshot and the rest of the journal, or
 * from the whole journal, with or without its history. Every read route answers with the same bytes
 * for every user and market. snapshot.test.ts compares the bytes of the state, on which later
 * answers depend.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import { sessionSecrets } from '../../gateway/access/secret.js';
import { Sessions } from '../../gateway/access/sessions.js';
import { buildDocument } from '../../gateway/contract/document.js';
import type { Operation } from '../../gateway/contract/openapi.js';
import { ROUTES } from '../../gateway/resources/routes.js';
import { openJournalReader } from '../../persistence/journal/reader.js';
import { recoverFromSnapshot, type SnapshotRecovery } from '../../persistence/recovery/recovery.js';
import { eventually } from '../support/eventually.js';
import { SEED } from '../support/extent.js';
import { isVouchedFor } from '../support/folders/vouched.js';
import { Log } from '../support/follower-fixture.js';
import { Folders } from '../support/journal-fixture.js';
import { IDLE_USER, ReplayExchange } from '../support/replay-exchange.js';
import { type Answer, PARTNER_KEY, PARTNER_KEYS, TestServer } from '../support/server.js';

/** Routes that report on the process, or whose answer contains its address. */
const OF_THE_PROCESS = ['/metrics', '/markets/{id}/card'];

const folders = new Folders();
const servers = new Map<string, TestServer>();
const recoveries: SnapshotRecovery[] = [];
/** Each user's token, from the latest credential. */
const tokens = new Map<string, string>();
let userIds: string[];
let marketIds: string[];

const folder = folders.make();
const endMs = await makeFolder(folder);
const copies = {
  'snapshot and history': [],
  'snapshot alone': ['history'],
  'history alone': ['snapshots'],
  'the journal alone': ['history', 'snapshots'],
};
for (const [name, without] of Object.entries(copies)) {
  const copy = folders.copy(folder);
  for (const part of without) rmSync(join(copy, part), { recursive: true });
  recoveries.push(await recoveryOf(copy));
  // An engine and a history are kept or made again; these two servers have one of each.
  if (without.length !== 1) servers.set(name, await open(copy, endMs));
}
afterAll(async () => {
  for (const server of servers.values()) await server.close();
  folders.removeAll();
});

/**
 * A journal of hours in which everything happens and a day without claims, then an hour of trading
 * with a snapshot in its middle and the history written up to there. Returns the time at its end.
 */
async function makeFolder(folder: string): Promise<number> {
  const before = await ReplayExchange.open(folder, SEED);
  await before.run(600);
  await before.sequencer.close();
  const middle = await ReplayExchange.open(folder, `${SEED}:middle`);
  middle.useSubAccount();
  await tradeOn(middle, 400);
  const server = await open(folder, middle.nowMs, 20);
  for (let i = 0; i < 40; i++) server.exchange.sequencer.submit({ kind: 'advanceTime' });
  await eventually(() => isVouchedFor(folder));
  await server.close();
  const after = await ReplayExchange.open(folder, `${SEED}:after`);
  await tradeOn(after, 400);
  const { engine, nowMs } = after;
  const sessions = new Sessions(sessionSecrets(folder));
  for (let userId = 1; userId <= engine.userCount; userId++) {
    tokens.set(`u${userId}`, await sessions.issue(userId, engine.credentialVersion(userId), nowMs));
  }
  return nowMs;
}

async function recoveryOf(folder: string): Promise<SnapshotRecovery> {
  const reader = await openJournalReader(folder);
  const recovery = await recoverFromSnapshot({
    folder,
    reader,
    log: new Log(),
    elapsedMs: () => 0,
  });
  await reader.close();
  return recovery;
}

async function tradeOn(exchange: ReplayExchange, commands: number): Promise<void> {
  for (let i = 0; i < commands; i++) {
    exchange.trade();
    if (i % 20 === 0) await exchange.settle();
  }
  await exchange.sequencer.close();
}

function open(
  folder: string,
  atMs: number,
  snapshotEveryCommands = 1_000_000,
): Promise<TestServer> {
  return TestServer.start({ partnerKeys: PARTNER_KEYS, snapshotEveryCommands }, folder, atMs);
}

/** Reads the same path at all servers and returns their common answer. */
async function askAll(path: string, token?: string): Promise<Answer> {
  const partner = path.startsWith('/partner') ? { authorization: `Bearer ${PARTNER_KEY}` } : {};
  const session = token === undefined ? {} : { 'x-user-token': token };
  const [{ api }, ...others] = [...servers.values()] as [TestServer, ...TestServer[]];
  // The contract is checked at the first server; the others' bytes must be the same.
  const [answer, ...same] = await Promise.all([
    'authorization' in partner
      ? api.send('GET', path, undefined, { token, headers: partner })
      : api.read(path, token),
    ...others.map((other) => bytesOf(`${other.api.url}/api${path}`, { ...partner, ...session })),
  ]);
  for (const other of same) expect(other, path).toEqual([answer.status, answer.text]);
  return answer;
}

/** An answer's status and text, once the follower is not behind. */
async function bytesOf(url: string, headers: Record<string, string>): Promise<[number, string]> {
  let answer: [number, string] = [503, ''];
  await eventually(async () => {
    const { statusCode, body } = await request(url, { headers });
    answer = [statusCode, await body.text()];
    return statusCode !== 503;
  });
  return answer;
}

/** The values tried for a route's parameter; undefined leaves out a query parameter. */
function valuesOf(name: string, template: string): (string | undefined)[] {
  const isUser = name === 'userId' || (name === 'id' && template.includes('/users/'));
  const isMarket = name === 'marketId' || (name === 'id' && template.startsWith('/markets/'));
  if (isUser) return [...userIds, 'u9999'];
  // Filters of a user's lists, which are tried for every user.
  if (template.startsWith('/users/') && name === 'marketId') return [undefined, marketIds[1]];
  if (template.endsWith('/orders') && name === 'status') return [undefined, 'closed', 'all'];
  if (template.endsWith('/ledger') && name === 'limit') return ['60'];
  if (template === '/digest') return name === 'sequence' ? ['1', '200'] : [undefined];
  if (/\/(events|candles)$/.test(template) && name === 'limit') return ['200'];
  if (isMarket) return [...marketIds, 'btc-15m-1763600400'];
  const values: Record<string, (string | undefined)[]> = {
    status: [undefined, 'active', 'ended', 'resolved'],
    asset: [undefined, 'BTC', 'ETH', 'DOGE'],
    symbol: ['BTC', 'DOGE'],
    interval: [undefined, '5s'],
    orderId: ['o1', 'o20', 'o300'],
    subAccountId: [`u${IDLE_USER + 1}`],
    cause: [undefined, 'fill'],
    fromMs: [undefined],
    toMs: [undefined],
    priceHistory: [undefined, 'off'],
    limit: [undefined, '3'],
    depth: [undefined, '1'],
    side: [undefined, 'BUY', 'SELL'],
    outcome: ['UP', 'DOWN'],
    amount: [undefined, '7.25'],
    shares: [undefined, '1.5'],
    price: [undefined, '0.5'],
    metric: ['profit', 'volume', 'points'],
    period: ['all', 'day', 'week'],
    // Cursors are followed from page to page instead.
    cursor: [undefined],
    clientOrderId: [undefined, 'mine'],
    minSequence: [undefined],
  };
  const found = values[name];
  if (found === undefined)
    throw new Error(`${template} has a parameter without test values: ${name}`);
  return found;
}

/** Every path of an operation; every twelfth path with every combination of query values. */
function pathsOf(template: string, { parameters = [] }: Operation): string[] {
  const of = (place: string) =>
    parameters.filter((each) => each.in === place && (place === 'path' || each.name !== 'userId'));
  let paths = [template];
  for (const { name } of of('path'))
    paths = paths.flatMap((path) =>
      valuesOf(name, template).map((value) => path.replace(`{${name}}`, value!)),
    );
  return paths.flatMap((path, i) => {
    let all = [path];
    for (const { name } of of('query')) {
      const values = valuesOf(name, template);
      const tried = i % 12 === 0 ? values : values.slice(0, 1);
      all = all.flatMap((each) => tried.map((value) => withQuery(each, name, value)));
    }
    return all;
  });
}

function withQuery(path: string, name: string, value: string | undefined): string {
  if (value === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${name}=${value}`;
}

/** The tokens to try: of the page's user, of another user, and none. */
function tokensFor(path: string, { security = [] }: Operation): (string | undefined)[] {
  const takesToken = security.some((each) => 'userToken' in each);
  const isPublic = security.length === 0 || security.some((each) => Object.keys(each).length === 0);
  const owner = /\/users\/(u\d+)/.exec(path)?.[1];
  const own = takesToken ? [tokens.get(owner ?? 'u1')] : [];
  return isPublic && takesToken ? [undefined, ...own] : own.length > 0 ? own : [undefined];
}

describe(`recovery, SEED=${SEED}`, () => {
  test('gives the same state from a snapshot and the rest of the journal as from the whole journal', async () => {
    const [rest, , whole] = recoveries.map(({ commands }) => commands);
    expect(recoveries.map(({ commands }) => commands)).toEqual([rest, rest, whole, whole]);
    expect(rest).toBeGreaterThan(300);
    expect(whole).toBeGreaterThan(rest! + 900);
    for (const { engine, end } of recoveries) {
      expect([engine.sequence, engine.digest()]).toEqual([whole, end.digest]);
      expect(end).toEqual(recoveries[0]!.end);
    }
    // Wait until a missing history has been rebuilt.
    for (const { api } of servers.values()) await api.read('/leaderboard?metric=profit&period=all');
    await askAll('/status');
  });

  test('every read route gives the same bytes, for every user and market', {
    timeout: 300_000,
  }, async () => {
    const { engine } = [...servers.values()][0]!.exchange.sequencer;
    // Some routes answer only a few users.
    userIds = Array.from({ length: engine.userCount }, (_, i) => `u${i + 1}`);
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { json }: Answer = await askAll(`/markets/15m/history?limit=5${cursor}`);
      ids.push(...json.markets.map(({ id }: { id: string }) => id));
      cursor = json.nextCursor === null ? null : `&cursor=${json.nextCursor}`;
    }
    const active = await askAll('/markets/15m');
    marketIds = [...active.json.markets.map(({ id }: { id: string }) => id), ...ids];
    expect(active.json.markets.length).toBeGreaterThan(0);
    expect(marketIds.length).toBeGreaterThan(8);

    const { paths } = buildDocument(ROUTES, 'any');
    const asked = new Map<string, number>();
    for (const [template, { get }] of Object.entries(paths)) {
      if (get === undefined || OF_THE_PROCESS.includes(template)) continue;
      for (const path of pathsOf(template, get)) {
        for (const token of tokensFor(path, get)) {
          const statuses = await askPages(path, token);
          for (const status of statuses) {
            const kind = `${template} ${status < 300 ? 'answered' : 'refused'}`;
            asked.set(kind, (asked.get(kind) ?? 0) + 1);
          }
        }
      }
    }
    const answered = [...asked.keys()].filter((kind) => kind.endsWith('answered')).length;
    const routes = Object.values(paths).filter(({ get }) => get !== undefined).length;
    process.stdout.write(
      `${[...asked.values()].reduce((sum, count) => sum + count)} reads of ${answered} routes\n`,
    );
    expect(answered).toBe(routes - OF_THE_PROCESS.length);
  });
});

/** Reads a path and the pages after it; returns the statuses. */
async function askPages(path: string, token: string | undefined): Promise<number[]> {
  const statuses: number[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, json }: Answer = await askAll(next, token);
    statuses.push(status);
    next =
      typeof json?.nextCursor === 'string' ? withQuery(path, 'cursor', json.nextCursor) : undefined;
  }
  return statuses;
}
