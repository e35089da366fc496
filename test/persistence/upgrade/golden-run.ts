/**
 * A small run of a whole exchange over HTTP, whose data folder and answers are kept in the
 * repository: trading in two markets with idempotency keys, a resolved market, stakes, deposits, a
 * referral, resting orders at the end, and snapshots whose hashes are in the journal.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { closeDatabase, openDatabase, query } from '../../../persistence/storage/sqlite.js';
import { eventually } from '../../support/eventually.js';
import { isVouchedFor } from '../../support/folders/vouched.js';
import { readAll } from '../../support/journal-fixture.js';
import {
  MARKET,
  PARTNER_KEY,
  PARTNER_KEYS,
  TestServer,
  type Trader,
  WINDOW_MS,
  WINDOW_START_MS,
} from '../../support/server.js';

/** A request with an idempotency key, and the hash of its answer. */
export interface KeyedRequest {
  path: string;
  user: string;
  key: string;
  body: object;
  status: number;
  hash: string;
}

/**
 * A read and the hash of its answer; for a few reads also the answer, for people who open the file.
 */
export interface Read {
  path: string;
  user: string | null;
  hash: string;
  json?: unknown;
}

export interface Answers {
  /** The exchange's time when it was stopped. */
  atMs: number;
  sequence: number;
  digest: string;
  /** Tokens by username. */
  tokens: Record<string, string>;
  reads: Read[];
  keyed: KeyedRequest[];
}

const NEXT_MARKET = 'btc-15m-1763701200';

/** Fills `folder` with `data`, as a stopped exchange leaves it, and `answers.json`. */
export async function makeGolden(folder: string): Promise<Answers> {
  const config = { snapshotEveryCommands: 60, partnerKeys: PARTNER_KEYS };
  const server = await TestServer.withMarket(config);
  const run = new GoldenRun(server);
  await run.trade(MARKET);
  await server.passTime(WINDOW_START_MS + WINDOW_MS + 2_000, 101_250.5);
  await run.afterTheEnd();
  await run.trade(NEXT_MARKET);
  await server.followed();
  // The oldest snapshot is kept.
  await eventually(() => isVouchedFor(server.folder, listSnapshots(server.folder).length || 1));
  await run.rest(NEXT_MARKET);
  await server.followed();
  const given = await run.answers();
  await server.close();
  // Read from the closed journal, because a stop may journal the hash of one more snapshot.
  const { lastSequence: sequence, digest } = (await readAll(server.folder)).at(-1)!;
  const answers = { ...given, sequence, digest };
  rmSync(folder, { recursive: true, force: true });
  const data = join(folder, 'data');
  mkdirSync(join(data, 'snapshots'), { recursive: true });
  const isKept = (name: string) =>
    /^(journal.*\.db(-wal)?|journal\.head|session-secret)$/.test(name);
  for (const name of readdirSync(server.folder).filter(isKept))
    copyFileSync(join(server.folder, name), join(data, name));
  await emptyLog(join(data, 'journal.db'));
  // Keeps the oldest snapshot, so that a start has commands to replay.
  const [oldest] = readdirSync(join(server.folder, 'snapshots')).sort();
  cpSync(join(server.folder, 'snapshots', oldest!), join(data, 'snapshots', oldest!));
  rmSync(server.folder, { recursive: true });
  writeFileSync(join(folder, 'answers.json'), `${linesOf(answers)}\n`);
  return answers;
}

/** JSON with one line per entry of a list. */
function linesOf(answers: Answers): string {
  const textOf = (value: unknown) =>
    Array.isArray(value)
      ? `[\n${value.map((one) => JSON.stringify(one)).join(',\n')}\n]`
      : JSON.stringify(value);
  const fields = Object.entries(answers).map(([name, value]) => `"${name}": ${textOf(value)}`);
  return `{\n${fields.join(',\n')}\n}`;
}

/**
 * The hash of an answer without its sequence, which grows with the commands of an upgrade and of a
 * start.
 */
export function hashOf(answer: unknown): string {
  const text = JSON.stringify(answer, (name, value) =>
    name === 'sequence' || name === 'atSequence' ? undefined : value,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Moves the log into the database file, to keep the folder small. */
async function emptyLog(path: string): Promise<void> {
  const database = await openDatabase(path, sqlite3.OPEN_READWRITE);
  await query(database, 'PRAGMA wal_checkpoint(TRUNCATE)');
  await closeDatabase(database);
}

class GoldenRun {
  private readonly traders = new Map<string, Trader>();
  private readonly keyed: KeyedRequest[] = [];

  constructor(private readonly server: TestServer) {}

  private async trader(name: string): Promise<Trader> {
    const { server, traders } = this;
    const known = traders.get(name);
    if (known !== undefined) return known;
    const trader =
      name === 'bob' ? await server.registerByPartner(name) : await server.register(name);
    traders.set(name, trader);
    return trader;
  }

  /** Sends a change with a key. */
  private async send(user: string, path: string, body: object): Promise<string> {
    const { token } = await this.trader(user);
    const key = `golden-${this.keyed.length}`;
    const headers = { 'idempotency-key': key };
    const { status, text } = await this.server.api.send('POST', path, body, { token, headers });
    this.keyed.push({ path, user, key, body, status, hash: hashOf(text) });
    return text;
  }

  /** Trades: makers on both sides, takers of every kind, a batch, and refusals. */
  async trade(market: string): Promise<void> {
    const path = `/markets/15m/${market}`;
    for (const user of ['ada', 'bob', 'cleo']) await this.trader(user);
    const order = { op: 'buy', marketId: market, outcome: 'UP', shares: 2, price: 0.11 };
    const operations = [1, 2].map(() => ({ ...order, timeInForce: 'GTC' }));
    await this.send('cleo', '/batch', { operations, atomic: true });
    for (let i = 0; i < 12; i++) {
      const [maker, taker] = i % 2 === 0 ? ['ada', 'bob'] : ['cleo', 'ada'];
      const ticks = 400 + 20 * i;
      const terms = { shares: 20 + i, timeInForce: 'GTC' };
      await this.send(maker!, `${path}/buy`, {
        ...terms,
        outcome: 'DOWN',
        price: (1_000 - ticks) / 1_000,
      });
      await this.send(taker!, `${path}/buy`, { outcome: 'UP', amount: 3 + i / 4 });
      if (i % 3 === 2) await this.send(taker!, `${path}/sell`, { outcome: 'UP', shares: 1.5 });
      this.server.clock.set(this.server.clock.nowMs() + 5_000);
      this.server.feed.deliver('BTC', 100_000 + 37 * i);
    }
    await this.send('bob', `${path}/buy`, { outcome: 'UP', amount: 1_000_000 });
    await this.send('cleo', `${path}/split`, { shares: 30 });
    await this.send('cleo', `${path}/merge`, { shares: 12.5 });
    await this.send('ada', '/vaults/flex/stake', { amount: 25 });
    const { userId, token } = await this.trader('cleo');
    await this.server.api.put(`/users/${userId}/privacy`, { private: true }, token);
    await this.server.api.put(`/users/${userId}/auto-claim`, { enabled: true }, token);
    const username = `cleo-${market.slice(-4)}`;
    const sub = await this.send('cleo', `/users/${userId}/sub-accounts`, { username });
    const { userId: to } = JSON.parse(sub);
    await this.send('cleo', `/users/${userId}/transfers`, { from: userId, to, amount: 40 });
  }

  /** Acts after the first market is resolved: claims, and a deposit by a partner. */
  async afterTheEnd(): Promise<void> {
    for (const user of ['ada', 'bob']) await this.send(user, `/markets/15m/${MARKET}/claim`, {});
    const body = { userId: (await this.trader('bob')).userId, amount: 12.5, reference: 'wire-1' };
    const headers = { authorization: `Bearer ${PARTNER_KEY}` };
    await this.server.api.send('POST', '/partner/deposits', body, { headers });
  }

  async rest(market: string): Promise<void> {
    const order = { outcome: 'UP', price: 0.07, timeInForce: 'GTC', clientOrderId: 'golden' };
    const path = `/markets/15m/${market}/buy`;
    await this.send('ada', path, { ...order, shares: 5 });
    await this.send('bob', path, { ...order, shares: 7, postOnly: true });
  }

  async answers(): Promise<Omit<Answers, 'sequence' | 'digest'>> {
    const { server, traders, keyed } = this;
    const reads: Answers['reads'] = [];
    const read = async (path: string, user: string | null = null) => {
      const { status, json, text } = await server.api.read(path, traders.get(user ?? '')?.token);
      if (status !== 200) throw new Error(`${path}: ${text}`);
      reads.push({
        path,
        user,
        hash: hashOf(json),
        ...(/balance|book/.test(path) ? { json } : {}),
      });
    };
    for (const [user, { userId }] of traders) {
      for (const list of ['balance', 'positions', 'orders', 'trades', 'ledger', 'points'])
        await read(`/users/${userId}/${list}`, user);
    }
    for (const metric of ['profit', 'volume']) await read(`/leaderboard?metric=${metric}`);
    await read(`/markets/15m/${NEXT_MARKET}/orderbook`);
    await read(`/markets/15m/${MARKET}/trades`);
    const tokens = Object.fromEntries([...traders].map(([user, { token }]) => [user, token]));
    return { atMs: server.clock.nowMs(), tokens, reads, keyed };
  }
}
