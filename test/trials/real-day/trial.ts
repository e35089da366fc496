/**
 * A day of real prices through the built program at high speed. 200 users trade, claim, refer each
 * other, stake and unstake, and keep their own books over HTTP. In the end every market matches the
 * price file, every balance the books, every leaderboard and yield the trades that HTTP reported,
 * and the journal has exactly those trades. The replay tool is then run on that folder, intact and
 * damaged.
 *
 * SEED repeats the users' choices. How much is traded depends on the machine; what must
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
import type { Engine } from '../../../engine/engine.js';
import { decodeEvents } from '../../../engine/interface/events.js';
import { changesOf } from '../../../persistence/history/account/changes.js';
import type { BatchContent } from '../../../persistence/journal/format.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { closeDatabase, openDatabase, query } from '../../../persistence/storage/sqlite.js';
import { ExplainedAccount } from '../../../persistence/tools/replay/commands/explain.js';
import {
  replayJournal as replayForVerb,
  type Visitor,
} from '../../../persistence/tools/replay/input/replay-journal.js';
import { Output } from '../../../persistence/tools/replay/output/output.js';
import { SEED } from '../../support/extent.js';
import { readAll, tamper } from '../../support/journal-fixture.js';
import { ChildServer, programJson, replayProgram } from '../../support/programs.js';
import type { ApiClient } from '../../support/server.js';
import { HOUSE_FUNDS, RealDay, STARTING_BALANCE } from './day.js';
import { checkBalances, checkMarkets, checkStandings } from './day-checks.js';
import { checkJournal, type Status } from './day-journal.js';
import { DAY_FILE, DAY_MS, DAY_START_MS, expectedMarkets, QUARTER_MS } from './day-prices.js';
import { expectDecimal } from './user-ledger.js';

const USERS = 200;
/** The day takes 72 s, a market 0.75 s. */
const SPEED = 1_200;
const PATIENT_MARKETS = 4;
/** The last of them is paid 24 h and 2 s after its end. */
const WATCH_UNTIL_MS = DAY_START_MS + DAY_MS + PATIENT_MARKETS * QUARTER_MS + 60_000;
const LIMIT_MS = 300_000;

let folder: string;
const copies: string[] = [];
let server: ChildServer;
let api: ApiClient;
let day: RealDay;
let status: Status;
/** The sequence of the last leaderboard read. */
let told = 0;

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
  day = new RealDay({
    api,
    watchApi: api,
    seed: SEED,
    users: USERS,
    patientMarkets: PATIENT_MARKETS,
  });
  await day.open();
});

afterAll(async () => {
  await api?.close();
  await server?.stop('SIGKILL');
  for (const each of [folder, ...copies]) await rm(each, { recursive: true, force: true });
});

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

describe('a real day', () => {
  test('markets, balances and leaderboards match the price file, the books and the trades', {
    timeout: LIMIT_MS,
  }, async () => {
    await day.live({
      fromMs: DAY_START_MS,
      tradeUntilMs: Number.POSITIVE_INFINITY,
      watchUntilMs: WATCH_UNTIL_MS,
    });
    const payments = await day.enterPayments();
    const earned = day.enterReferrals();
    const seen = checkMarkets(day, expectedMarkets());
    await checkBalances(day, earned);
    // It is already the next day, on which little was traded.
    told = await checkStandings(day, (period) => (period === 'day' ? 0 : USERS - 20));
    status = (await api.get('/status')).json;
    expect(await server.stop()).toBe(0);
    expect(server.stderr).not.toMatch(/"level":"(error|fatal)"/);

    const outcomes = (name: string) => seen.filter((market) => market.resolution === name).length;
    const traded = seen.filter((market) => market.volume > 0).length;
    const counts = day.counted();
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
    const { settled, given, paid } = await checkJournal(day, folder, status);
    expect(settled).toBe(97);
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
    const trades = day.participants.reduce((sum, { trades }) => sum + trades.length, 0);
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
    const user = day.clients[0]!.userId;
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
    const user = day.clients[0]!.userId;
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
  const accounts = day.clients.map((client) => ({ client, text: '', exitStatus: -1 }));
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
      applied(records, at) {
        const changes = [...decodeEvents(engine.events)].flatMap((event) => changesOf(event));
        for (const userId of new Set(changes.map(({ userId }) => userId))) {
          explained.get(userId)?.applied(records, at);
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
