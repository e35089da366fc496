/**
 * A history in many parts gives the same answers as a history in one part, also across restarts and
 * while a damaged or lost part is rebuilt.
 */
import fs, {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { assetOfMarket } from '../../../engine/interface/domain.js';
import { openHistory } from '../../../persistence/history/opening.js';
import {
  cataloguePath,
  openPath,
  partsFolder,
  prunedPath,
  sealedPath,
} from '../../../persistence/history/parts/catalogue.js';
import { HistoryFiles } from '../../../persistence/history/parts/files.js';
import { countsOf } from '../../../persistence/history/parts/progress.js';
import { makePart, sealPart } from '../../../persistence/history/parts/sealing.js';
import { HistoryReads } from '../../../persistence/history/reads.js';
import type { HistoryRequest } from '../../../persistence/history/requests.js';
import { HistoryDamage } from '../../../persistence/history/rows.js';
import { LISTS, USER_TRADE } from '../../../persistence/history/runs/format.js';
import { HistoryStore } from '../../../persistence/history/store.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { query } from '../../../persistence/storage/sqlite.js';
import { findHistory } from '../../../persistence/tools/operations/history-parts.js';
import { eventually } from '../../support/eventually.js';
import { operate } from '../../support/folders/operations.js';
import {
  finishHere,
  journalOf,
  startFollower,
  type TestFollower,
  writeCommands,
} from '../../support/follower-fixture.js';
import { dayOfCommands, expectedHistory, type TimedCommand } from '../../support/history-oracle.js';
import { Folders, withDatabase } from '../../support/journal-fixture.js';

/**
 * Changes the imported object rather than mocking the module, because files that ran earlier in
 * this thread have imported the module.
 */
function leaveFree(bytes: number): void {
  const disk = { ...fs.statfsSync('/'), bavail: bytes, bsize: 1 };
  vi.spyOn(fs, 'statfsSync').mockReturnValue(disk);
  syncBuiltinESMExports();
}

/** After the first failure or rebuild of a part. */
function retryAfter(shortMs: number): void {
  const wait = globalThis.setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms: number) =>
    wait(done, ms === 10_000 ? shortMs : ms)) as typeof setTimeout);
}

const PART_COMMANDS = 400;
const folders = new Folders();
const originals = new Folders();
const followers: TestFollower[] = [];
let commands: TimedCommand[];
let requests: HistoryRequest[];
/** The folder of a journal whose history has many parts. */
let inParts: string;
/** The answers to `requests` from a history of one part. */
let answers: unknown[];

beforeAll(async () => {
  commands = dayOfCommands();
  const original = originals.make();
  await journalOf(original, commands);
  requests = requestsOf(expectedHistory(commands));
  const one = startFollower(originals.copy(original), commands.length);
  answers = await answersOf(one);
  await one.close();
  inParts = originals.make();
  const journal = await openJournal({ folder: inParts });
  const engine = new Engine();
  const follower = start(inParts, 0);
  const sealed = () => follower.log.of('info').filter(({ message }) => /sealed/.test(message));
  for (let from = 0; from < commands.length; from += 500) {
    await writeCommands(journal, engine, commands.slice(from, from + 500));
    follower.committed(engine.sequence);
    await follower.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
    await eventually(() => expect(sealed().length).toBeGreaterThanOrEqual(from / 500 - 1));
  }
  await journal.close();
  await follower.close();
  return () => originals.removeAll();
});
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  for (const follower of followers.splice(0)) await follower.close();
  folders.removeAll();
});

function start(folder: string, durable = commands.length, historyDays = 0): TestFollower {
  const schedule = { everyCommands: 1_000_000, everyMs: 1e15 };
  const place = { folder };
  const follower = startFollower(
    folder,
    durable,
    schedule,
    finishHere,
    place,
    0,
    PART_COMMANDS,
    historyDays,
  );
  followers.push(follower);
  return follower;
}

function requestsOf({ engine, markets }: ReturnType<typeof expectedHistory>): HistoryRequest[] {
  const page = { limit: 40, cursor: null };
  const all = { fromMs: null, toMs: null, marketId: null };
  const found: HistoryRequest[] = [];
  for (let userId = 1; userId <= engine.userCount; userId += 12) {
    for (const kind of ['userTrades', 'pointsCredits'] as const)
      found.push({ kind, userId, ...page });
    found.push({ kind: 'ledger', userId, ...page, ...all, cause: null });
    const order = { kind: 'userOrders', userId, ...page, clientOrderId: null, ...all } as const;
    found.push({ ...order, status: 'all' }, { ...order, status: 'closed' });
  }
  for (const { marketId } of markets) {
    found.push({ kind: 'marketTrades', marketId, ...page });
    found.push({ kind: 'marketEvents', marketId, limit: 200, cursor: null });
    const of = { marketId, asset: assetOfMarket(marketId), intervalMs: 60_000 };
    found.push({ kind: 'candles', ...of, ...page, fromMs: null, toMs: null });
    found.push(
      { kind: 'marketTicks', marketId },
      { kind: 'marketText', marketId, withPrices: true },
    );
  }
  return [...found, { kind: 'pastMarkets', asset: null, ...page }];
}

/** The entries of all lists, from all pages. */
async function answersOf(follower: TestFollower): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const request of requests) {
    for (let cursor: unknown = null; ; ) {
      const asked = 'cursor' in request ? { ...request, cursor } : request;
      const answer = (await follower.read(asked as HistoryRequest)) as { nextCursor?: unknown };
      found.push(answer);
      cursor = answer?.nextCursor ?? null;
      if (cursor === null) break;
    }
  }
  return found;
}

function isPartOf(folder: string, descriptor: string): boolean {
  try {
    const path = readlinkSync(`/proc/self/fd/${descriptor}`);
    return path.startsWith(folder) && /\/\d{8}\.db$/.test(path);
  } catch {
    // The descriptor with which the list was read is closed by now.
    return false;
  }
}

describe('a history in parts', () => {
  it('answers as one in one part, to the byte, also after a restart', async () => {
    const folder = folders.copy(inParts);
    expect(readdirSync(partsFolder(folder)).length).toBeGreaterThan(10);
    expect(await answersOf(start(folder))).toEqual(answers);
  });

  it('has at most 16 parts open, and opens none for a list that is not in it', async () => {
    const folder = folders.copy(inParts);
    const opened = () =>
      readdirSync('/proc/self/fd').filter((name) => isPartOf(folder, name)).length;
    const follower = start(folder);
    await follower.read({ kind: 'userTrades', userId: 9_999, limit: 200, cursor: null });
    expect(opened()).toBeLessThanOrEqual(1);
    await answersOf(follower);
    expect(opened()).toBeLessThanOrEqual(17);
  });
});

describe('a part', () => {
  it('is closed after the queries that were asked before', async () => {
    const folder = folders.copy(inParts);
    const store = await HistoryStore.open(folder, null);
    const files = await HistoryFiles.open(folder, store.parts);
    for (let i = 0; i < 3; i++) {
      const asked = files.query<{ found: number }>(2, 'SELECT 1 AS found', []);
      const closed = files.closeFile(2);
      expect(await asked).toEqual([{ found: 1 }]);
      await files.query(2, 'SELECT 1', []);
      await closed;
    }
    await files.close();
    await store.close();
  });

  it.each([
    ['lost', (path: string) => rmSync(path)],
    ['cut', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 40_000))],
    [
      'changed',
      (path: string) => {
        const bytes = readFileSync(path);
        bytes.fill(0x55, bytes.length / 2, bytes.length / 2 + 4_096);
        writeFileSync(path, bytes);
      },
    ],
  ])('that is %s is rebuilt alone, byte for byte', async (_how, damage) => {
    const folder = folders.copy(inParts);
    const path = sealedPath(folder, 4);
    const before = readFileSync(path);
    damage(path);
    const { status, out } = await operate('doctor', '--data', folder);
    expect([status, out]).toEqual([1, expect.stringContaining(`problem: ${path} `)]);
    const others = [3, 5].map((part) => readFileSync(sealedPath(folder, part)));
    const follower = start(folder);
    await eventually(() => expect(follower.log.of('error')).toHaveLength(1));
    expect(follower.log.of('error')[0]!.fields).toMatchObject({ historyPart: 4 });
    await eventually(() => expect(follower.troubles.at(-1)).toEqual(['history', null]));
    expect(await answersOf(follower)).toEqual(answers);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect([3, 5].map((part) => readFileSync(sealedPath(folder, part)))).toEqual(others);
    expect(follower.disagreements).toEqual([]);
  });

  it('that is damaged a second time is rebuilt a second time, later', async () => {
    retryAfter(1_500);
    const folder = folders.copy(inParts);
    const path = sealedPath(folder, 4);
    const before = readFileSync(path);
    const follower = start(folder);
    const sealed = () => follower.log.of('info').filter(({ message }) => /sealed/.test(message));
    rmSync(path);
    expect(await answersOf(follower)).toEqual(answers);
    const times = sealed().length;
    writeFileSync(path, Buffer.alloc(before.length));
    const again = answersOf(follower);
    await eventually(() => expect(follower.log.of('error')).toHaveLength(2));
    expect(sealed()).toHaveLength(times);
    expect(await again).toEqual(answers);
    expect(sealed()).toHaveLength(times + 1);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('is sealed only where room is left for the journal; older ones are checked all the same', async () => {
    const folder = folders.copy(inParts);
    for (const part of [2, 4]) rmSync(sealedPath(folder, part));
    leaveFree(2 ** 30);
    const follower = start(folder);
    const problems = () => follower.log.of('error').map(({ fields }) => fields.problem);
    const refused = expect.stringMatching(/less than 10\d\d MiB free/);
    await eventually(() => expect(problems()).toContainEqual(refused));
    const missing = expect.stringContaining(`${sealedPath(folder, 2)} is missing`);
    await eventually(() => expect(problems()).toContainEqual(missing));
    expect(existsSync(sealedPath(folder, 4))).toBe(false);
    expect(existsSync(`${sealedPath(folder, 4)}.tmp`)).toBe(false);
  });

  it('that ends and is sealed while a read waits for its turn is read all the same', async () => {
    const folder = folders.copy(inParts);
    const store = await HistoryStore.open(folder, null);
    const { lists } = await openHistory(store);
    const files = await HistoryFiles.open(folder, store.parts);
    const { catalogue } = store;
    const { signal } = new AbortController();
    let isSealed = false;
    const seal = async () => {
      if (isSealed) return;
      isSealed = true;
      for (const part of store.parts.unsealed.slice(1))
        await sealPart({ folder, part, catalogue, files, make: makePart, signal });
      const part = store.parts.open;
      await store.beginPart();
      await sealPart({ folder, part, catalogue, files, make: makePart, signal });
    };
    const reads = new HistoryReads(files, { lists, openMarket: () => null }, async (query) => {
      await seal();
      return query();
    });
    const past = { kind: 'pastMarkets', asset: null, limit: 100, cursor: null } as const;
    const found = await reads.pastMarkets(past)();
    expect(found.entries.map(({ marketId }) => marketId)).toEqual(
      lists.pastMarketIds.toReversed().slice(0, 100),
    );
    await files.close();
    await store.close();
  });

  /** Ends the open part, changes its file, and seals it; returns the error. */
  async function sealChanged(sql: string, signal: AbortSignal): Promise<unknown> {
    const folder = folders.copy(inParts);
    const store = await HistoryStore.open(folder, null);
    const { catalogue, parts } = store;
    const part = parts.open;
    await store.beginPart();
    const files = await HistoryFiles.open(folder, parts);
    await withDatabase(openPath(folder, part), (database) => query(database, sql));
    const sealed = sealPart({ folder, part, catalogue, files, make: makePart, signal });
    const error = await sealed.catch((thrown: unknown) => thrown);
    expect(existsSync(sealedPath(folder, part))).toBe(false);
    await files.close();
    await store.close();
    return error;
  }

  it('is not copied to its end when sealing stops', async () => {
    const sql = 'UPDATE run SET checksum = checksum + 1 WHERE list = (SELECT max(list) FROM run)';
    const { signal } = new AbortController();
    expect(await sealChanged(sql, signal)).toMatchObject({ table: LISTS.at(-1)!.name });
    expect(await sealChanged(sql, AbortSignal.abort())).toMatchObject({ name: 'AbortError' });
  });

  it('is not sealed if a list lacks its last entries', async () => {
    const sql = 'DELETE FROM run WHERE rowid = (SELECT max(rowid) FROM run WHERE list = 1)';
    const error = await sealChanged(sql, new AbortController().signal);
    expect(error).toBeInstanceOf(HistoryDamage);
    expect(error).toMatchObject({ table: USER_TRADE.name });
  });

  it('opens with the markets that have not changed in it, and counts their lists', async () => {
    const folder = folders.copy(inParts);
    const store = await HistoryStore.open(folder, null);
    const { state } = await openHistory(store);
    expect(state.markets.some(({ pointCount }) => pointCount > 0)).toBe(true);
    await store.beginPart();
    const { markets } = state;
    const none = { pieces: [], keyedResults: [], addedIds: [], endedIds: [], keyedFrom: 0 };
    await store.commit({ ...none, markets: [], added: countsOf(() => 0) }, store.progress);
    expect((await openHistory(store)).state.markets).toEqual(markets);
    markets[0]!.candleCount++;
    await store.commit({ ...none, markets, added: countsOf(() => 0) }, store.progress);
    await expect(openHistory(store)).rejects.toMatchObject({ table: 'marketCandle' });
    await store.close();
  });

  it('that is lost needs its segments: archive keeps all after the part before it', async () => {
    const folder = folders.copy(inParts);
    const store = await HistoryStore.open(folder, null);
    const { sequence } = store.parts.endOf(3);
    await store.close();
    const path = sealedPath(folder, 4);
    rmSync(path);
    const found = await findHistory(folder, false);
    expect(found).toMatchObject({ sequence, problems: [`${path} is missing`] });
  });

  it('that is open and lost is rebuilt from its beginning', async () => {
    const folder = folders.copy(inParts);
    const open = readdirSync(partsFolder(folder)).find((name) => name.endsWith('.open.db'))!;
    const part = Number.parseInt(open, 10);
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(openPath(folder, part) + suffix, { force: true });
    const follower = start(folder);
    expect(await answersOf(follower)).toEqual(answers);
    expect(existsSync(openPath(folder, part))).toBe(true);
    expect(follower.log.of('error')).toEqual([]);
  });
});

describe('a catalogue', () => {
  const DAMAGES = [
    ['lacks', 'DELETE FROM place WHERE list = 1 AND part = 3'],
    ['has other', 'UPDATE place SET lastOrdinal = lastOrdinal + 1 WHERE list = 1 AND part = 3'],
  ] as const;

  it.each(DAMAGES)('that %s places of lists is rebuilt, with all parts, once', async (_, sql) => {
    const folder = folders.copy(inParts);
    await withDatabase(cataloguePath(folder), (database) => query(database, sql));
    const follower = start(folder);
    expect(await answersOf(follower)).toEqual(answers);
    const errors = follower.log.of('error').length;
    expect(errors).toBeLessThanOrEqual(2);
    expect(await answersOf(follower)).toEqual(answers);
    expect(follower.log.of('error')).toHaveLength(errors);
  });

  it.each(DAMAGES)('that %s places of lists does not number a lost part', async (_how, sql) => {
    const folder = folders.copy(inParts);
    await withDatabase(cataloguePath(folder), (database) => query(database, sql));
    rmSync(sealedPath(folder, 4));
    const store = await HistoryStore.open(folder, null);
    const lengths = store.catalogue.lengthsBefore(4, USER_TRADE, new Map());
    await expect(lengths).rejects.toThrow(HistoryDamage);
    await store.close();
    const follower = start(folder);
    const what = 'the history is damaged and will be rebuilt from the journal';
    await eventually(() =>
      expect(follower.log.of('error').map(({ message }) => message)).toContain(what),
    );
    expect(await answersOf(follower)).toEqual(answers);
  });

  it('that has other places of lists does not say what was pruned', async () => {
    const folder = folders.copy(inParts);
    const store = await HistoryStore.open(folder, null);
    const { catalogue, parts } = store;
    await catalogue.setFile(3, { sha256: parts.over[2]!.sha256, pruned: true });
    const files = await HistoryFiles.open(folder, parts);
    const { list } = USER_TRADE;
    const sql = 'SELECT id, lastOrdinal FROM place WHERE list = ? AND part = 3';
    const places = await query<{ id: number; lastOrdinal: number }>(catalogue.database, sql, [
      list,
    ]);
    const { id, lastOrdinal } = places[0]!;
    expect(await files.lastPruned(list, id)).toBe(lastOrdinal);
    await query(catalogue.database, DAMAGES[1][1]);
    await expect(files.lastPruned(list, id)).rejects.toThrow(HistoryDamage);
    await files.close();
    await store.close();
  });
});

describe('parts that are pruned', () => {
  /** In days; less than the time that the commands span. */
  const DAYS = 0.02;

  it('keep trades, statements and positions, and say what they no longer have', async () => {
    const folder = folders.copy(inParts);
    const pruned = () =>
      readdirSync(partsFolder(folder)).filter((name) => name.endsWith('.pruned.db'));
    const first = start(folder, commands.length, DAYS);
    await answersOf(first).catch(() => {});
    await eventually(() => {
      expect(first.log.of('error')).toEqual([]);
      expect(pruned().length).toBeGreaterThan(3);
    });
    const bytes = (path: string) => readFileSync(path).length;
    expect(bytes(prunedPath(folder, 2))).toBeLessThan(bytes(sealedPath(inParts, 2)));
    expect(existsSync(sealedPath(folder, 2))).toBe(false);
    await first.close();
    // Also after a restart.
    const follower = start(folder);
    const kinds = new Map<string, Set<string>>();
    let next = 0;
    for (const request of requests) {
      for (let cursor: unknown = null; ; ) {
        const asked = ('cursor' in request ? { ...request, cursor } : request) as HistoryRequest;
        const expected = answers[next] as { nextCursor?: unknown };
        const reply = await follower.reply(asked, commands.length);
        kinds.set(request.kind, (kinds.get(request.kind) ?? new Set()).add(reply.status));
        if (reply.status === 'ok' && request.kind !== 'userOrders')
          expect(reply.answer, JSON.stringify(asked)).toEqual(expected);
        next++;
        cursor = expected?.nextCursor ?? null;
        if (cursor === null) break;
      }
    }
    const both = new Set(['ok', 'pruned']);
    for (const [kind, statuses] of kinds)
      if (kind === 'userOrders' || kind === 'marketEvents') expect(statuses, kind).toEqual(both);
      else expect(statuses, kind).toEqual(new Set(['ok']));
    expect(follower.log.of('error')).toEqual([]);
  });

  it('are rebuilt first if they are damaged', async () => {
    retryAfter(0);
    const folder = folders.copy(inParts);
    const damage = 'UPDATE run SET entries = zeroblob(length(entries)) WHERE list = 1';
    await withDatabase(sealedPath(folder, 2), (database) => query(database, damage));
    const follower = start(folder, commands.length, DAYS);
    await eventually(() => expect(existsSync(prunedPath(folder, 2))).toBe(true));
    expect(follower.log.of('error').map(({ fields }) => fields)).toMatchObject([
      { historyPart: 2, problem: expect.stringContaining('does not match its checksum') },
    ]);
    await follower.close();
    expect((await findHistory(folder, true)).problems).toEqual([]);
  });

  it('give the orders that are left, page by page, then say that older ones were pruned', async () => {
    const folder = folders.copy(inParts);
    const whole = start(folder);
    const request = { kind: 'userOrders', userId: 1, limit: 7, status: 'all' } as const;
    const filter = { clientOrderId: null, marketId: null, fromMs: null, toMs: null };
    const page = (follower: TestFollower, cursor: number | null) =>
      follower.reply({ ...request, ...filter, cursor }, commands.length);
    const ordersOf = async (follower: TestFollower) => {
      const found: object[] = [];
      for (let cursor: number | null = null; ; ) {
        const reply = await page(follower, cursor);
        if (reply.status !== 'ok') return { found, status: reply.status };
        found.push(...reply.answer.entries);
        cursor = reply.answer.nextCursor;
        if (cursor === null) return { found, status: reply.status };
      }
    };
    const all = await ordersOf(whole);
    expect(all.status).toBe('ok');
    await whole.close();
    followers.splice(0);
    const follower = start(folder, commands.length, DAYS);
    const isPruned = ({ message }: { message: string }) => /were pruned/.test(message);
    await eventually(() =>
      expect(follower.log.of('info').filter(isPruned).length).toBeGreaterThan(3),
    );
    const left = await ordersOf(follower);
    expect(left.status).toBe('pruned');
    expect(left.found).toEqual(all.found.slice(0, left.found.length));
    expect(left.found.length).toBeLessThan(all.found.length);
    const oldest = (all.found.at(-1) as { orderId: number }).orderId;
    const one = { kind: 'userOrder', userId: 1, orderId: oldest } as const;
    expect(await follower.reply(one, commands.length)).toMatchObject({ status: 'pruned' });
  });
});
