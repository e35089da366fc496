/**
 * A day of real prices through the built program at high speed, traded by clients over HTTP. In the
 * end every market matches the price file, every balance and leaderboard matches the trades that
 * HTTP reported, and every answer matches the journal. SEED repeats the clients' choices. The
 * amount of trading depends on the machine; the checks do not.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Big } from 'big.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { SEED } from '../../support/extent.js';
import { PASSWORD } from '../../support/http/client.js';
import { replayJournal } from '../../support/journal-fixture.js';
import { Executions, judge, NO_PROBLEM } from '../../support/load/judge.js';
import { Load } from '../../support/load/load.js';
import { ChildServer, programLines } from '../../support/programs.js';
import { ofType } from '../../support/replay-tool.js';
import type { ApiClient } from '../../support/server.js';
import { Random } from '../../support/workload/random.js';
import { DAY_FILE, DAY_MS, DAY_START_MS, expectedMarkets, QUARTER_MS } from './day-prices.js';
import { expectDecimal, type ResolutionName } from './decimals.js';
import {
  type DecidedMarket,
  ExpectedStandings,
  type HttpTrade,
  METRICS,
  type Participant,
} from './expected-standings.js';

const CLIENTS = 40;
/** The day takes 144 s. A key is remembered for 6 s, longer than a client may repeat it. */
const SPEED = 600;
const GRANT = 10_000;
/** The market after the day has no price at its end, so nobody trades in it. */
const TRADE_UNTIL_MS = DAY_START_MS + DAY_MS - 10 * 60_000;
const RESOLVES_AFTER_MS = 2_000;
const VOID_AFTER_MS = 60_000;
const END_MS = DAY_START_MS + DAY_MS + QUARTER_MS + 2 * VOID_AFTER_MS;
const PAGE = 200;

interface PastMarket {
  id: string;
  endsAtMs: number;
  volume: number;
  startPrice: number;
  endPrice: number | null;
  resolution: ResolutionName;
}

interface Person {
  userId: string;
  username: string;
  token: string;
}

let folder: string;
let server: ChildServer;
let api: ApiClient;
let load: Load;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-day-'));
  server = ChildServer.spawn({
    DATA_FOLDER: folder,
    ASSETS: 'BTC',
    PRICE_FEED: `file:${DAY_FILE}`,
    FEED_SPEED: `${SPEED}`,
    STARTING_BALANCE: `${GRANT}`,
    HOUSE_FUNDS: '1000000',
    LOG_LEVEL: 'warn',
  });
  api = await server.listening();
  load = new Load({
    urls: () => [`${api.url}/api`],
    random: new Random(SEED),
    clients: CLIENTS,
    pauseMs: 40,
  });
  await load.start();
  await reached(TRADE_UNTIL_MS);
  await load.stop();
  await reached(END_MS);
}, 600_000);

afterAll(async () => {
  await api?.close();
  await server?.stop('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

async function reached(atMs: number): Promise<void> {
  const isThere = async () => (await api.get('/time')).json.nowMs >= atMs;
  await eventually(isThere, 600_000);
}

/** All entries of a list, page by page, and the last page. */
async function readList<Entry>(path: string, list: string, token?: string) {
  const entries: Entry[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await api.read(`${path}limit=${PAGE}${cursor}`, token);
    entries.push(...json[list]);
    if (json.nextCursor === null) return { entries, json };
    cursor = `&cursor=${json.nextCursor}`;
  }
}

async function people(): Promise<Person[]> {
  const signIn = async (i: number) => {
    const username = `client-${i}`;
    const { json } = await api.post('/auth/login', { username, password: PASSWORD });
    return { userId: json.userId, username, token: json.token };
  };
  return Promise.all(Array.from({ length: CLIENTS }, (_, i) => signIn(i)));
}

let standings: ExpectedStandings;

test('every market has the prices and the result that follow from the file', async ({
  annotate,
}) => {
  const path = '/markets/15m/history?asset=BTC&priceHistory=off&';
  const { entries } = await readList<PastMarket>(path, 'markets');
  const markets = entries.reverse();
  const told = markets.map(({ id, startPrice, endPrice, resolution }) => ({
    id,
    startPrice,
    endPrice,
    resolution,
  }));
  expect(told).toEqual(
    expectedMarkets().map(({ id, startPrice, endPrice, resolution }) => ({
      id,
      startPrice: startPrice.toNumber(),
      endPrice: endPrice?.toNumber() ?? null,
      resolution,
    })),
  );
  const count = (is: (market: PastMarket) => boolean) => markets.filter(is).length;
  const traded = count(({ volume }) => volume > 0);
  await annotate(`${markets.length} markets, ${traded} traded`);
  for (const name of ['UP', 'DOWN'])
    expect(count(({ resolution }) => resolution === name)).toBeGreaterThan(20);
  expect(traded).toBeGreaterThan(48);

  const decided = markets.map(({ id, endsAtMs, resolution }): [string, DecidedMarket] => {
    const settledAtMs = endsAtMs + (resolution === 'VOID' ? VOID_AFTER_MS : RESOLVES_AFTER_MS);
    return [id, { resolution, settledAtMs }];
  });
  const participants: Participant[] = [];
  const { json: house } = await api.read('/users/u1');
  for (const { userId, username } of [house, ...(await people())]) {
    const { entries: trades } = await readList<HttpTrade>(`/users/${userId}/trades?`, 'trades');
    participants.push({ userId, username, trades: trades.reverse() });
  }
  standings = new ExpectedStandings(participants, new Map(decided));
});

test('every balance follows from the trades', async ({ annotate }) => {
  const sums = { trades: 0, claimable: 0, staked: 0 };
  for (const { userId, token } of await people()) {
    // A market may be paid between two reads.
    await eventually(async () => {
      const own = `/users/${userId}`;
      const { json: balance } = await api.read(`${own}/balance`, token);
      const held = await readList<{ value: number }>(`${own}/positions?`, 'positions', token);
      const vault = await readList<{ amount: number }>(`${own}/vaults?`, 'deposits', token);
      const sum = (values: number[]) => values.reduce((all, each) => all.plus(each), new Big(0));
      const claimable = sum(held.entries.map(({ value }) => value));
      const staked = sum(vault.entries.map(({ amount }) => amount));
      const worth = claimable.plus(staked).plus(balance.total);
      expectDecimal(
        worth.toNumber(),
        new Big(GRANT).plus(standings.total(userId, 'profit')),
        userId,
      );
      sums.claimable += claimable.toNumber();
      sums.staked += staked.toNumber();
    }, 10_000);
    sums.trades += (await api.read(`/users/${userId}`)).json.trades;
  }
  expect(sums.trades).toBeGreaterThan(1_000);
  expect(sums.staked).toBeGreaterThan(10);
  await annotate(JSON.stringify(sums));
});

test('every leaderboard, profile and sum of points follows from the trades', async () => {
  // The house trades, but has no rank.
  expect((await api.read('/users/u1')).json).toMatchObject({ username: 'house', rank: null });
  for (const metric of METRICS) {
    for (const period of ['all', 'day', 'week']) {
      const path = `/leaderboard?metric=${metric}&period=${period}&`;
      const { entries, json } = await readList(path, 'entries');
      const fromMs = startOf(period, json.atMs);
      expect(entries, `${metric}, ${period}`).toEqual(standings.board(metric, fromMs));
      if (period === 'all') expect(entries.length, metric).toBe(CLIENTS);
    }
  }
  const ranks = new Map(standings.board('profit', 0).map(({ userId, rank }) => [userId, rank]));
  for (const { userId, token } of await people()) {
    expect((await api.read(`/users/${userId}`)).json).toMatchObject({
      volume: standings.total(userId, 'volume'),
      realizedProfit: standings.total(userId, 'profit'),
      rank: ranks.get(userId),
    });
    const { json } = await api.read(`/users/${userId}/points`, token);
    expect(json.balance).toBe(standings.total(userId, 'points'));
  }
});

function startOf(period: string, atMs: number): number {
  const dayMs = atMs - (atMs % DAY_MS);
  const weekday = (new Date(atMs).getUTCDay() + 6) % 7;
  return { all: 0, day: dayMs, week: dayMs - weekday * DAY_MS }[period]!;
}

test('every answer is what the journal gives, and its tools find no problem', async ({
  annotate,
}) => {
  expect(await server.stop()).toBe(0);
  expect(server.stderr).not.toMatch(/"level":"(error|fatal)"/);
  const executions = new Executions();
  await replayJournal(folder, (engine, command) => executions.take(engine, command));
  expect(judge(executions, load)).toEqual(NO_PROBLEM);
  const { acknowledged, refused } = load;
  await annotate(JSON.stringify([acknowledged.length, Object.fromEntries(refused)]));
  const verified = await programLines(folder, 'verify');
  expect(verified.at(-1)).toMatchObject({ good: true, findings: 0 });
  expect(ofType(verified, 'history')[0]!.good).toBe(true);
  expect(ofType(verified, 'snapshot').map(({ compared }) => compared)).toContain(true);
  const audited = await programLines(folder, 'audit');
  expect(audited.at(-1)).toMatchObject({ good: true, findings: 0 });
  expect(ofType(audited, 'market').length).toBe(97);
});
