/**
 * A day of real prices through the built program at high speed. 200 users trade, claim, refer each
 * other, stake and unstake, and keep their own books over HTTP. In the end every market matches the
 * price file, every balance the books, every leaderboard and yield the trades that HTTP reported,
 * and the journal has exactly those trades. The replay tool is then run on that folder, intact and
 * damaged.
 *
 * REAL_DAY_SEED repeats the users' choices. How much is traded depends on the machine; what must
 * hold does not.
 */
import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Writable } from 'node:stream';
import { Big } from 'big.js';
import sqlite3 from 'sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Random } from '../../bench/workload/random.js';
import type { Engine } from '../../engine/engine.js';
import { decodeEvents } from '../../engine/interface/events.js';
import { marketIdText } from '../../engine/interface/notation.js';
import type { BatchContent } from '../../persistence/journal/format.js';
import { ExplainedAccount } from '../../persistence/replay/commands/explain.js';
import {
  replayJournal as replayForVerb,
  type Visitor,
} from '../../persistence/replay/input/replay-journal.js';
import { Output } from '../../persistence/replay/output/output.js';
import { changesOf } from '../../persistence/replay/proofs/money-changes.js';
import { listSnapshots } from '../../persistence/snapshot/folder.js';
import { closeDatabase, openDatabase, query } from '../../persistence/storage/sqlite.js';
import { eventually } from '../support/eventually.js';
import { readAll, tamper } from '../support/journal-fixture.js';
import { replayJournal } from '../support/journal-replay.js';
import { programJson, replayProgram } from '../support/replay-tool.js';
import { seedOf } from '../support/seed.js';
import { type ApiClient, ChildServer } from '../support/server.js';
import {
  DAY_FILE,
  DAY_MS,
  DAY_START_MS,
  type ExpectedMarket,
  expectedMarkets,
  QUARTER_MS,
} from './real-day/day-prices.js';
import {
  checkBeyond,
  checkYields,
  floorToMicros,
  type Income,
  type SharedMarket,
} from './real-day/expected-income.js';
import {
  type DecidedMarket,
  ExpectedStandings,
  HOUSE,
  type HttpTrade,
  METRICS,
  type Participant,
} from './real-day/expected-standings.js';
import { MarketWatch } from './real-day/market-watch.js';
import { type Neighbourhood, SideBusiness } from './real-day/side-business.js';
import { TradingClient } from './real-day/trading-client.js';
import { expectDecimal } from './real-day/user-ledger.js';

const SEED = seedOf('REAL_DAY_SEED');
const USERS = 200;
/** Users register in groups; from the second group on, most of them with an earlier user's code. */
const GROUP = 20;
const STARTING_BALANCE = 10_000;
const HOUSE_FUNDS = 1_000_000;
/** The day takes 72 s, a market 0.75 s. */
const SPEED = 1_200;
/**
 * Every second user does not claim in this many first markets, so winnings are paid automatically a
 * day later.
 */
const PATIENT_MARKETS = 4;
/** The last of them is paid 24 h and 2 s after its end. */
const WATCH_UNTIL_MS = DAY_START_MS + DAY_MS + PATIENT_MARKETS * QUARTER_MS + 60_000;
const RESOLVES_AFTER_MS = 2_000;
const VOID_AFTER_MS = 60_000;
const LIMIT_MS = 300_000;
const PAGE = 200;

interface Status {
  sequence: number;
  digest: string;
}

let folder: string;
const copies: string[] = [];
let server: ChildServer;
let api: ApiClient;
let watch: MarketWatch;
let status: Status;
/** The sequence of the last leaderboard read. */
let told = 0;
const clients: TradingClient[] = [];
const random = new Random(`${SEED}:registration`);
const others: Neighbourhood = { depositIds: [], ownerOfCode: new Map() };
/** Each user's referrer. */
const referrers = new Map<string, string | null>();
/** Each user's automatic income: parts of other users' fees, and unclaimed winnings. */
const incomes = new Map<string, Income[]>();
/** What HTTP reports about each user at the end. */
const participants: Participant[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-day-'));
  server = ChildServer.spawn({
    DATA_FOLDER: folder,
    ASSETS: 'BTC',
    PRICE_FEED: `file:${DAY_FILE}`,
    FEED_SPEED: `${SPEED}`,
    STARTING_BALANCE: `${STARTING_BALANCE}`,
    HOUSE_FUNDS: `${HOUSE_FUNDS}`,
    LOG_LEVEL: 'warn',
  });
  api = await server.listening();
  watch = new MarketWatch(api);
  watch.start();
  for (let first = 0; first < USERS; first += GROUP) await registerGroup(first);
});

afterAll(async () => {
  await api?.close();
  await server?.stop('SIGKILL');
  for (const each of [folder, ...copies]) await rm(each, { recursive: true, force: true });
});

/** Registers some users, most with a referral code, and some of them change their own code. */
async function registerGroup(first: number): Promise<void> {
  const codes = [...others.ownerOfCode.keys()];
  const registering = Array.from({ length: GROUP }, async (_, i) => {
    const name = `trader-${first + i}`;
    // In random case, because codes ignore it.
    const code =
      codes.length > 0 && random.chance(0.8) ? random.pick(codes).toLowerCase() : undefined;
    const client = await TradingClient.register(api, name, new Random(SEED + name), code);
    referrers.set(
      client.userId,
      code === undefined ? null : others.ownerOfCode.get(code.toUpperCase())!,
    );
    others.ownerOfCode.set(client.codes[0]!, client.userId);
    return client;
  });
  const group = await Promise.all(registering);
  clients.push(...group);
  await Promise.all(
    group
      .slice(0, GROUP / 4)
      .map((client) => new SideBusiness(api, client, random, others).changeCode()),
  );
}

/** Trades each new market and claims what was resolved, until the watch is over. */
async function live(client: TradingClient, random: Random, isPatient: boolean): Promise<void> {
  const claimed = new Set<string>();
  const side = new SideBusiness(api, client, random, others);
  while (watch.nowMs < WATCH_UNTIL_MS) {
    watch.check();
    const { active } = watch;
    if (active !== null) await trade(client, active.id, random);
    if (random.chance(0.1)) await side.act();
    await claimResolved(client, claimed, isPatient);
    await new Promise((resolve) => setTimeout(resolve, random.whole(100, 1_900)));
  }
  await claimResolved(client, claimed, isPatient);
  await client.endResting();
}

/** Once or several times. */
async function trade(client: TradingClient, marketId: string, random: Random): Promise<void> {
  while ((await client.act(marketId)) && random.chance(0.4));
}

async function claimResolved(
  client: TradingClient,
  claimed: Set<string>,
  isPatient: boolean,
): Promise<void> {
  for (const { id, startsAtMs, resolution } of watch.resolved.values()) {
    if (claimed.has(id) || (isPatient && isLeft(startsAtMs))) continue;
    claimed.add(id);
    await client.claim(id, resolution!);
  }
}

const isLeft = (startsAtMs: number) => startsAtMs < DAY_START_MS + PATIENT_MARKETS * QUARTER_MS;

/** Enters the automatic payments, of markets that the exchange has since forgotten. */
async function enterPayments({ ledger }: TradingClient): Promise<number> {
  let payments = 0;
  for (const id of ledger.marketIds()) {
    const { resolution, endsAtMs } = watch.resolved.get(id)!;
    await eventually(async () => (await api.get(`/markets/15m/${id}/orderbook`)).status === 404);
    const { payout } = ledger.owed(id, resolution!);
    if (payout.gt(0)) payments++;
    incomes.get(ledger.userId)!.push({ endsAtMs: endsAtMs + DAY_MS, amount: payout });
    ledger.paid(id, resolution!);
  }
  return payments;
}

/** Enters a tenth of the fees that each user paid in each market into the referrer's books. */
function enterReferrals(): Map<string, Big> {
  const earned = new Map(clients.map(({ userId }) => [userId, new Big(0)]));
  for (const { userId, ledger } of clients) {
    const referrer = clients.find((client) => client.userId === referrers.get(userId));
    if (referrer === undefined) continue;
    for (const [id, fees] of ledger.feesByMarket) {
      const { resolution, endsAtMs } = watch.resolved.get(id)!;
      const amount = resolution === 'VOID' ? new Big(0) : floorToMicros(fees.times('0.1'));
      incomes.get(referrer.userId)!.push({ endsAtMs, amount });
      referrer.ledger.total = referrer.ledger.total.plus(amount);
      earned.set(referrer.userId, earned.get(referrer.userId)!.plus(amount));
    }
  }
  return earned;
}

async function checkReferral({ userId, token, codes }: TradingClient, earned: Big): Promise<void> {
  const { json } = await api.get(`/users/${userId}/referral`, token);
  const referredUsers = [...referrers.values()].filter((referrer) => referrer === userId).length;
  const referredBy = referrers.get(userId)!;
  expect(json).toMatchObject({ code: codes.at(-1)!, referredUsers, referredBy, pending: 0 });
  expectDecimal(json.earned, earned, `earned by ${userId}`);
}

/** All entries of a list, page by page, and the last page. */
async function readList<Entry>(path: string, list: string, token?: string) {
  const entries: Entry[] = [];
  for (let cursor: string | null = ''; ; ) {
    const { json } = await api.read(`${path}limit=${PAGE}${cursor}`, token);
    entries.push(...json[list]);
    if (json.nextCursor === null) return { entries, json };
    cursor = `&cursor=${json.nextCursor}`;
  }
}

/**
 * When markets settled: with the first price after their resolution was due, at most seconds later.
 */
function decidedMarkets(): Map<string, DecidedMarket> {
  const decided = [...watch.resolved.values()].map(({ id, endsAtMs, resolution }) => {
    const settledAtMs = endsAtMs + (resolution === 'VOID' ? VOID_AFTER_MS : RESOLVES_AFTER_MS);
    return [id, { resolution: resolution!, settledAtMs }] as const;
  });
  return new Map(decided);
}

/** Every leaderboard, profile and list of points follows from the trades that HTTP reported. */
async function checkStandings(): Promise<void> {
  // The house is the first account. It trades, but is not ranked.
  const { json: house } = await api.read('/users/u1');
  expect(house).toMatchObject({ username: HOUSE, rank: null });
  for (const { userId, username } of [house, ...clients]) {
    const { entries } = await readList<HttpTrade>(`/users/${userId}/trades?`, 'trades');
    const referredBy = referrers.get(userId) ?? null;
    participants.push({ userId, username, referredBy, trades: entries.reverse() });
  }
  const expected = new ExpectedStandings(participants, decidedMarkets());
  for (const metric of METRICS) {
    for (const period of ['all', 'day', 'week']) {
      const path = `/leaderboard?metric=${metric}&period=${period}&`;
      const { entries, json } = await readList(path, 'entries');
      told = json.sequence;
      expect(entries, `${metric}, ${period}`).toEqual(
        expected.board(metric, startOf(period, json.atMs)),
      );
      // It is already the next day, on which little was traded.
      expect(entries.length).toBeGreaterThan(period === 'day' ? USERS / 10 : USERS - 20);
    }
  }
  await checkProfiles(expected);
}

async function checkProfiles(expected: ExpectedStandings): Promise<void> {
  const ranks = new Map(expected.board('profit', 0).map(({ userId, rank }) => [userId, rank]));
  for (const { userId, trades } of participants) {
    const { json } = await api.read(`/users/${userId}`);
    expect(json).toMatchObject({
      volume: expected.total(userId, 'volume'),
      realizedProfit: expected.total(userId, 'profit'),
      trades: trades.length,
      rank: ranks.get(userId) ?? null,
    });
  }
  for (const { userId, token } of clients) {
    const { entries, json } = await readList<{ points: number }>(
      `/users/${userId}/points?`,
      'history',
      token,
    );
    const sum = entries.reduce((points, entry) => points.plus(entry.points), new Big(0));
    expectDecimal(json.balance, sum, `points of ${userId}`);
    expect(json.balance).toBe(expected.total(userId, 'points'));
  }
}

function startOf(period: string, atMs: number): number {
  const dayMs = atMs - (atMs % DAY_MS);
  const weekday = (new Date(atMs).getUTCDay() + 6) % 7;
  return { all: 0, day: dayMs, week: dayMs - weekday * DAY_MS }[period]!;
}

/** All money adds up to what was paid in. */
function checkMoney(engine: Engine): void {
  engine.checkInvariants();
  let users = 0;
  for (let userId = 1; userId <= engine.userCount; userId++) {
    const { availableMicros, heldMicros } = engine.account(userId)!;
    users += availableMicros + heldMicros;
  }
  const { collateralMicros, feeEscrowMicros, stakedMicros, yieldDueMicros, treasuryMicros } =
    engine.funds();
  const pots = collateralMicros + feeEscrowMicros + stakedMicros + yieldDueMicros + treasuryMicros;
  const hasHouse = engine.findUser('house') === 0 ? 0 : 1;
  const paidIn = hasHouse * HOUSE_FUNDS + (engine.userCount - hasHouse) * STARTING_BALANCE;
  expect(users + pots).toBe(paidIn * 1_000_000);
}

function asSeen(market: ExpectedMarket): object {
  const { id, startPrice, endPrice, resolution } = market;
  return {
    id,
    startPrice: startPrice.toNumber(),
    endPrice: endPrice?.toNumber() ?? null,
    resolution,
  };
}

/** What must happen often, or the day proves little. */
const OFTEN = [
  'buy plain filled',
  'sell plain filled',
  'buy GTC resting',
  'sell GTC resting',
  'resting orders cancelled',
  'resting orders gone',
  'claimed UP',
  'claimed DOWN',
  'nothing to claim',
  'staked',
  'unstaked',
  'yield claimed',
  'nothing_to_claim',
  'deposit_closed',
  'deposit_not_found',
  'codes changed',
  'referral_code_taken',
];

function counted(): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const client of clients) {
    for (const [what, count] of client.counts) sums[what] = (sums[what] ?? 0) + count;
  }
  const rested = clients.reduce((sum, { ledger }) => sum + ledger.makerShares.toNumber(), 0);
  sums['shares filled while resting'] = Math.round(rested);
  return Object.fromEntries(Object.entries(sums).sort());
}

describe(`a real day, REAL_DAY_SEED=${SEED}`, () => {
  test('markets, balances and leaderboards match the price file, the books and the trades', {
    timeout: LIMIT_MS,
  }, async () => {
    const expected = expectedMarkets();
    for (const { userId } of clients) incomes.set(userId, []);
    await Promise.all(
      clients.map((client, i) => live(client, new Random(`${SEED}:${i}`), i % 2 === 1)),
    );
    await watch.stop();
    let payments = 0;
    for (const client of clients) payments += await enterPayments(client);
    const earned = enterReferrals();

    const seen = [...watch.resolved.values()].sort((a, b) => a.startsAtMs - b.startsAtMs);
    const brief = seen.map(({ id, startPrice, endPrice, resolution }) => ({
      id,
      startPrice,
      endPrice,
      resolution,
    }));
    expect(brief).toEqual(expected.map(asSeen));
    for (const client of clients) {
      await client.checkBalance();
      await checkReferral(client, earned.get(client.userId)!);
    }
    await checkStandings();
    status = (await api.get('/status')).json;
    expect(await server.stop()).toBe(0);
    expect(server.stderr).not.toMatch(/"level":[56]0/);

    const outcomes = (name: string) => seen.filter((market) => market.resolution === name).length;
    const traded = seen.filter((market) => market.volume > 0).length;
    const counts = counted();
    process.stdout.write(
      `the real day: ${seen.length - 1} markets and the one after it: ${outcomes('UP')} UP, ${outcomes('DOWN')} DOWN, ` +
        `${outcomes('VOID')} VOID; ${traded} traded; ${payments} paid automatically; ${JSON.stringify(counts)}\n`,
    );
    expect([seen.length, outcomes('VOID')]).toEqual([97, 1]);
    expect(outcomes('UP')).toBeGreaterThan(20);
    expect(outcomes('DOWN')).toBeGreaterThan(20);
    expect(traded).toBeGreaterThan(48);
    for (const what of OFTEN) expect(counts[what], what).toBeGreaterThan(10);
    expect(counts['shares filled while resting'], 'shares filled while resting').toBeGreaterThan(
      100,
    );
    expect(
      [...earned.values()].filter((sum) => sum.gt(0)).length,
      'referrers who earned',
    ).toBeGreaterThan(20);
  });

  test('the journal has every trade, every yield and every micro-dollar', {
    timeout: LIMIT_MS,
  }, async () => {
    const { engine, settled, resolvedAt } = await replayDay();
    expect(settled).toBe(97);
    for (const { userId, ledger } of clients) {
      const staked = [...ledger.deposits.values()].filter(
        ({ closedSequence }) => closedSequence === null,
      );
      const { availableMicros, heldMicros } = engine.account(Number(userId.slice(1)))!;
      expectDecimal(availableMicros, ledger.total.times(1_000_000), `micros of ${userId}`);
      expect([heldMicros, engine.vaultDeposits(Number(userId.slice(1))).length]).toEqual([
        0,
        staked.length,
      ]);
      const own = incomes.get(userId)!.sort((a, b) => a.endsAtMs - b.endsAtMs);
      checkBeyond(userId, ledger.beyond, own);
    }
    const deposits = clients.flatMap(({ ledger }) => [...ledger.deposits.values()]);
    const { given, paid } = checkYields(deposits, sharedMarkets(resolvedAt));
    process.stdout.write(`the vault received ${given.toFixed()} and has paid ${paid.toFixed()}\n`);
    expect(paid.gt(1)).toBe(true);
  });

  test('explain adds up to the balance over HTTP for every user', {
    timeout: LIMIT_MS,
  }, async () => {
    const accounts = await explainAll();
    expect(accounts.length).toBe(USERS);
    for (const { client, lines, exitStatus } of accounts) {
      const { ledger } = client;
      const balance = { available: ledger.total.toNumber(), held: 0 };
      const summary = lines.at(-1);
      expect(exitStatus).toBe(0);
      expect(summary).toMatchObject({ userId: client.userId, sum: balance, balance, addsUp: true });
      const available = lines
        .slice(0, -1)
        .reduce((sum: Big, change) => sum.plus(change.available), new Big(0));
      expectDecimal(balance.available, available, `changes of ${client.userId}`);
    }
    // The built program prints the same.
    for (const { client, text } of accounts.filter((_, i) => i % 50 === 0)) {
      const run = await replayProgram(folder, 'explain', '--user', client.userId, '--json');
      expect(run).toEqual({ status: 0, out: text, err: '' });
    }
  });

  test('verify and audit find no problem', { timeout: LIMIT_MS }, async () => {
    const { journal, snapshots, history, findings } = await programJson(folder, 'verify');
    expect(findings).toEqual([]);
    expect(journal).toMatchObject({ whole: true });
    expect(journal.sequence).toBeGreaterThanOrEqual(status.sequence);
    expect(snapshots.map(({ compared }: { compared: boolean }) => compared)).toEqual([
      true,
      true,
      true,
    ]);
    const trades = participants.reduce((sum, { trades }) => sum + trades.length, 0);
    expect(history.good).toBe(true);
    expect(history.sequence).toBeGreaterThanOrEqual(told);
    // One entry for each side of a trade, and one for the public trades.
    expect(history.entries).toBeGreaterThan(trades * 1.5);
    const audited = await programJson(folder, 'audit');
    expect(audited).toMatchObject({ good: true, findings: [], sequence: journal.sequence });
    expect(audited.markets.length).toBe(97);
  });

  test('a flipped byte of the journal is found by every command', {
    timeout: LIMIT_MS,
  }, async () => {
    const copy = copyOfFolder();
    const path = join(copy, 'journal.db');
    const rows = await readAll(folder);
    // A row with several commands, so that its first sequence cannot become that of another row.
    const isLong = (row: BatchContent) =>
      row.firstSequence % 2 === 0 && row.lastSequence > row.firstSequence;
    const row = rows.slice(rows.length / 10).find(isLong)!;
    const { firstSequence, records, digest, hash } = row;
    const user = clients[0]!.userId;
    const verbs = [['verify'], ['state'], ['events'], ['explain', '--user', user], ['audit']];
    const place = `DAMAGE in journal.db, sequence ${firstSequence}:`;
    // Every part of a row with one command, and one part with every command.
    const parts = [
      { flip: () => flipIn(path, records), verbs },
      { flip: () => flipIn(path, Buffer.from(digest)), verbs: verbs.slice(1, 2) },
      { flip: () => flipIn(path, hash), verbs: verbs.slice(2, 3) },
      { flip: () => flipSequence(copy, 'lastSequence', firstSequence), verbs: verbs.slice(3, 4) },
      { flip: () => flipSequence(copy, 'firstSequence', firstSequence), verbs: verbs.slice(4) },
    ];
    for (const part of parts) {
      await part.flip();
      for (const verb of part.verbs) {
        const { status, err } = await replayProgram(copy, ...verb);
        expect({ status, err }, verb[0]!).toEqual({
          status: 1,
          err: expect.stringContaining(place),
        });
      }
      cpSync(join(folder, 'journal.db'), path);
    }
  });

  test('a flipped byte of a snapshot or the history is found by verify, and other commands ignore it', {
    timeout: LIMIT_MS,
  }, async () => {
    const copy = copyOfFolder();
    const snapshot = listSnapshots(copy)[1]!;
    flipByte(snapshot.path, Math.floor(statSync(snapshot.path).size / 2));
    flipIn(join(copy, 'history.db'), await somePrices());
    const { status, err } = await replayProgram(copy, 'verify');
    expect(status).toBe(1);
    expect(err).toContain(`DAMAGE in snapshots/${snapshot.name}, sequence ${snapshot.sequence}:`);
    expect(err).toContain('DAMAGE in history.db, table marketPrices, marketId ');
    const user = clients[0]!.userId;
    for (const verb of [
      ['state'],
      ['events', '--user', user],
      ['explain', '--user', user],
      ['audit'],
    ]) {
      const [damaged, whole] = await Promise.all([
        replayProgram(copy, ...verb),
        replayProgram(folder, ...verb),
      ]);
      expect(whole.status).toBe(0);
      expect(damaged).toEqual(whole);
    }
  });
});

/** A copy of the day's data folder, to be damaged. */
function copyOfFolder(): string {
  const copy = join(folder, '..', `${basename(folder)}-copy-${copies.length}`);
  copies.push(copy);
  cpSync(folder, copy, { recursive: true });
  return copy;
}

function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = bytes[at]! ^ 0x10;
  writeFileSync(path, bytes);
}

/** Flips a bit in every copy of these bytes in the file, because unused pages have some, too. */
function flipIn(path: string, value: Buffer): void {
  const file = readFileSync(path);
  // The end of a long value is on other pages.
  const start = value.subarray(0, 64);
  const places: number[] = [];
  for (let at = file.indexOf(start); at >= 0; at = file.indexOf(start, at + 1)) places.push(at);
  expect(places.length).toBeGreaterThan(0);
  for (const at of places) flipByte(path, at + 8);
}

function flipSequence(folder: string, column: string, firstSequence: number): Promise<void> {
  const flipped = `(${column} | 1) - (${column} & 1)`;
  return tamper(
    folder,
    `UPDATE batch SET ${column} = ${flipped} WHERE firstSequence = ${firstSequence}`,
  );
}

/** The price history of the third market, as stored in history.db. */
async function somePrices(): Promise<Buffer> {
  const database = await openDatabase(join(folder, 'history.db'), sqlite3.OPEN_READONLY);
  const sql = 'SELECT points FROM marketPrices ORDER BY marketId LIMIT 1 OFFSET 2';
  const [row] = await query<{ points: Buffer }>(database, sql);
  await closeDatabase(database);
  return row!.points;
}

/** `explain` for every user, with the command's own code, in one replay. */
async function explainAll() {
  const accounts = clients.map((client) => ({ client, text: '', exitStatus: -1 }));
  const nobody = new Writable({ write: (_bytes, _encoding, done) => done() });
  const explained = new Map<number, ExplainedAccount>();
  const outputs: Output[] = [];
  const visit = (engine: Engine): Visitor => {
    for (const account of accounts) {
      const write = (bytes: Buffer, _encoding: string, done: () => void) => {
        account.text += bytes.toString();
        done();
      };
      const output = new Output(new Writable({ write }), nobody);
      outputs.push(output);
      const userId = Number(account.client.userId.slice(1));
      explained.set(userId, new ExplainedAccount(engine, { userId, json: true, output }));
    }
    return {
      applied(command, atMs) {
        const changes = [...decodeEvents(engine.events)].flatMap((event) => changesOf(event));
        for (const userId of new Set(changes.map(({ userId }) => userId))) {
          explained.get(userId)?.applied(command, atMs);
        }
      },
    };
  };
  const progress = { start() {}, reached() {}, stop() {} };
  const replayed = await replayForVerb({ folder, progress, visit });
  for (const account of accounts) {
    account.exitStatus = explained.get(Number(account.client.userId.slice(1)))!.conclude(replayed);
  }
  for (const output of outputs) {
    await output.release();
    await output.flush();
  }
  return accounts.map((account) => ({
    ...account,
    lines: account.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  }));
}

/**
 * Fees of the trades that HTTP reported, the house's included, in the journal's order of
 * resolution.
 */
function sharedMarkets(resolvedAt: ReadonlyMap<string, number>): SharedMarket[] {
  const fees = new Map<string, Big>();
  for (const { trades } of participants) {
    for (const { marketId, fee } of trades) {
      fees.set(marketId, (fees.get(marketId) ?? new Big(0)).plus(fee));
    }
  }
  return [...watch.resolved.values()].map(({ id, endsAtMs, resolution }) => ({
    id,
    endsAtMs,
    resolution: resolution!,
    sequence: resolvedAt.get(id)!,
    fees: fees.get(id) ?? new Big(0),
  }));
}

/**
 * Compares the journal with what HTTP reported; returns the number of settled markets and where
 * they were resolved.
 */
async function replayDay() {
  let settled = 0;
  let digest = '';
  const resolvedAt = new Map<string, number>();
  const trades = new Map<string, Map<string, { price: number; shares: number }>>();
  const engine = await replayJournal(folder, (engine) => {
    if (engine.sequence === status.sequence) digest = engine.digest();
    for (const event of decodeEvents(engine.events)) {
      if (event.type === 'trade') {
        const ticks = event.takerOutcome === 0 ? event.upTicks : 1_000 - event.upTicks;
        const userId = `u${event.takerId}`;
        const fills = trades.get(userId) ?? new Map();
        trades.set(
          userId,
          fills.set(`t${event.tradeId}`, { price: ticks / 1_000, shares: event.sizeLots / 1_000 }),
        );
      } else if (event.type === 'feesShared' || event.type === 'marketResolved') {
        checkMoney(engine);
        if (event.type === 'feesShared') settled++;
        else resolvedAt.set(marketIdText(engine, event.marketId), engine.sequence);
      }
    }
  });
  checkMoney(engine);
  expect(digest).toBe(status.digest);
  const taken = clients.filter((client) => client.ledger.taken.size > 0);
  expect([...trades.keys()].sort()).toEqual(taken.map((client) => client.userId).sort());
  for (const { ledger } of taken) expect(ledger.taken).toEqual(trades.get(ledger.userId));
  return { engine, settled, resolvedAt };
}
