/**
 * The history against its slow twin: every list, every market, every price point; across restarts,
 * after a deletion, and with rows changed in the file. The follower runs in this thread.
 */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import sqlite3 from 'sqlite3';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import {
  assetOfMarket,
  MarketStatus,
  marketIdOf,
  Resolution,
  TimeInForce,
  WINDOW_MS,
} from '../../../engine/interface/domain.js';
import { runToEnd } from '../../../engine/storage/incremental-task.js';
import { INTERVALS_MS } from '../../../persistence/history/candles.js';
import { PendingLists } from '../../../persistence/history/lists.js';
import type { EventCursor } from '../../../persistence/history/market-events.js';
import { openHistory } from '../../../persistence/history/opening.js';
import {
  openPath,
  partsFolder,
  removeHistory,
} from '../../../persistence/history/parts/catalogue.js';
import {
  emptyHistoryState,
  type HistoryChanges,
  Projection,
} from '../../../persistence/history/projection.js';
import {
  type HistoryAnswers,
  PAGE_END_BYTES,
  type RequestOf,
} from '../../../persistence/history/requests.js';
import { HistoryDamage } from '../../../persistence/history/rows.js';
import {
  type CountedName,
  HISTORY_VERSION,
  LISTS,
  POINTS_CREDIT,
  USER_TRADE,
} from '../../../persistence/history/runs/format.js';
import { Pieces } from '../../../persistence/history/runs/writer.js';
import { HistoryStore } from '../../../persistence/history/store.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { createPrivateFolder } from '../../../persistence/storage/files.js';
import { execute, query } from '../../../persistence/storage/sqlite.js';
import { extent, SEED } from '../../support/extent.js';
import {
  all,
  journalOf,
  jsonOf,
  startFollower,
  type TestFollower,
  writeCommands,
} from '../../support/follower-fixture.js';
import {
  dayOfCommands,
  type ExpectedHistory,
  expectedCandles,
  expectedHistory,
  shownMarket,
  type TimedCommand,
} from '../../support/history-oracle.js';
import { Folders, START_MS, withDatabase } from '../../support/journal-fixture.js';
import { buyOrder, registration, WINDOW_START_MS } from '../../support/workload/open-market.js';
import { Random } from '../../support/workload/random.js';

const folders = new Folders();
const followers: TestFollower[] = [];
let commands: TimedCommand[];
let expected: ExpectedHistory;
/**
 * Folders with the journal of `commands`, one without and one with its history. Tests copy them.
 */
let original: string;
let complete: string;

const originals = new Folders();
beforeAll(async () => {
  commands = dayOfCommands();
  expected = expectedHistory(commands);
  original = originals.make();
  await journalOf(original, commands);
  complete = originals.copy(original);
  const follower = startFollower(complete, commands.length);
  await follower.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
  await follower.close();
  return () => originals.removeAll();
});

afterEach(async () => {
  for (const follower of followers.splice(0)) await follower.close();
  folders.removeAll();
});

function start(folder: string, durable = commands.length, snapshotEvery = 1_000_000): TestFollower {
  const follower = startFollower(folder, durable, { everyCommands: snapshotEvery, everyMs: 1e15 });
  followers.push(follower);
  return follower;
}

function shown(market: ExpectedHistory['markets'][number]): object {
  return shownMarket(market, expected.points.get(market.marketId)!);
}

type Of = { asset: number; marketId: number | null };

async function expectCandles(follower: TestFollower, of: Of, intervalMs: number): Promise<void> {
  const wanted = expectedCandles(expected, of, intervalMs);
  const [fromMs, toMs] = [wanted.at(-1)!.atMs, wanted[0]!.atMs];
  const read = async (filter: { fromMs: number | null; toMs: number | null }, limit: number) =>
    all(async (cursor) => {
      const request = { kind: 'candles', ...of, intervalMs, ...filter, limit, cursor } as const;
      return (await follower.read(request))!;
    });
  const what = `candles of ${JSON.stringify(of)}, ${intervalMs} ms`;
  const found = await read({ fromMs: null, toMs: null }, 200);
  expect(found.length, what).toBe(wanted.length);
  // Vitest would take minutes to show the difference between long lists.
  for (const [i, candle] of wanted.entries()) expect(found[i], what).toEqual(candle);
  const inside = { fromMs: fromMs + 1, toMs: toMs - 1 };
  expect(await read(inside, 199), what).toHaveLength(Math.max(0, wanted.length - 2));
}

async function expectEverything(follower: TestFollower, limit = 200): Promise<void> {
  for (const kind of ['userTrades', 'pointsCredits'] as const) {
    for (let userId = 1; userId <= expected.engine.userCount; userId++) {
      const rows = await all<object>((cursor) => follower.read({ kind, userId, limit, cursor }));
      expect(rows, `${kind} of ${userId}`).toEqual((expected[kind].get(userId) ?? []).toReversed());
    }
  }
  for (const market of expected.markets) {
    const marketId = market.marketId;
    const trades = await all(async (cursor) => {
      return (await follower.read({ kind: 'marketTrades', marketId, limit, cursor }))!;
    });
    expect(trades).toEqual((expected.marketTrades.get(marketId) ?? []).toReversed());
    const of = { marketId, asset: assetOfMarket(marketId) };
    for (const intervalMs of Object.values(INTERVALS_MS))
      await expectCandles(follower, of, intervalMs);
    const text = await follower.read({ kind: 'marketText', marketId, withPrices: true });
    expect(jsonOf(text!.bytes), `market ${marketId}`).toMatchObject(shown(market));
  }
  for (const asset of [0, 1])
    await expectCandles(follower, { asset, marketId: null }, INTERVALS_MS['1m']);
  const past = expected.markets
    .filter((market) => market.status !== MarketStatus.ACTIVE)
    .toReversed();
  for (const asset of [null, 0, 1]) {
    const wanted = past.filter((market) => asset === null || market.marketId % 64 === asset);
    const rows = await all((cursor) =>
      follower.read({ kind: 'pastMarkets', asset, limit: 2, cursor }),
    );
    expect(rows).toEqual(wanted);
    const texts = await all(async (cursor) => {
      const page = await follower.read({
        kind: 'pastMarketTexts',
        asset,
        withPrices: true,
        limit: 2,
        cursor,
      });
      return { entries: jsonOf(page.bytes, PAGE_END_BYTES).markets, nextCursor: page.nextCursor };
    });
    expect(texts).toMatchObject(wanted.map(shown));
    expect(texts).toHaveLength(wanted.length);
  }
}

describe('the history', () => {
  it('the test day has every kind of entry', () => {
    const resolutions = new Set(expected.markets.map((market) => market.resolution));
    expect(resolutions).toContain(Resolution.VOID);
    expect(resolutions).toContain(Resolution.NONE);
    expect(resolutions.size).toBeGreaterThanOrEqual(3);
    expect(expected.markets.filter((market) => market.isClosed === 1).length).toBeGreaterThan(5);
    expect([...expected.points.values()].some(([atMs = 0]) => atMs % 900_000 !== 0)).toBe(true);
    expect(
      Math.max(...[...expected.userTrades.values()].map((list) => list.length)),
    ).toBeGreaterThan(60);
    expect(expected.pointsCredits.size).toBeGreaterThan(10);
    const whole = expected.markets.filter((market) => market.tradeCount > 100);
    expect(whole.length).toBeGreaterThan(3);
    expect(
      new Set(expected.points.get(whole[1]!.marketId!)!.filter((_, i) => i % 3 === 1)).size,
    ).toBeGreaterThan(20);
  });

  it("equals the slow twin's, page by page", async () => {
    const follower = start(folders.copy(original));
    await expectEverything(follower, 7);
    expect(follower.log.of('error')).toEqual([]);
  });

  it('has pages that do not shift when entries are added, and no duplicates', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const engine = new Engine();
    const middle = Math.floor(commands.length * 0.6);
    await writeCommands(journal, engine, commands.slice(0, middle));
    const follower = start(folder, middle);
    const userId = [...expected.userTrades].sort((a, b) => b[1].length - a[1].length)[0]![0];
    const first = await follower.read({ kind: 'userTrades', userId, limit: 5, cursor: null });
    await writeCommands(journal, engine, commands.slice(middle));
    follower.committed(commands.length);
    const second = await follower.read({
      kind: 'userTrades',
      userId,
      limit: 5,
      cursor: first.nextCursor,
    });
    const newest = first.entries[0]!.ordinal;
    const ordinals = [...first.entries, ...second.entries].map(({ ordinal }) => ordinal);
    expect(ordinals).toEqual(Array.from({ length: 10 }, (_, i) => newest - i));
    expect(expected.userTrades.get(userId)!.length).toBeGreaterThan(newest);
    await journal.close();
  });

  it('has nothing of unknown users and markets', async () => {
    const follower = start(folders.copy(original));
    const page = { limit: 3, cursor: null };
    const none = await follower.read({ kind: 'userTrades', userId: 99_999, ...page });
    expect(none).toEqual({ entries: [], nextCursor: null });
    const marketId = 64_000;
    expect(await follower.read({ kind: 'marketText', marketId, withPrices: true })).toBeNull();
    expect(await follower.read({ kind: 'marketTrades', marketId, ...page })).toBeNull();
  });

  it('continues after restarts at any point, with nothing missing and nothing duplicated', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const engine = new Engine();
    for (let from = 0; from < commands.length; from += 2_331) {
      await writeCommands(journal, engine, commands.slice(from, from + 2_331));
      const follower = startFollower(folder, engine.sequence, {
        everyCommands: 700,
        everyMs: 1e15,
      });
      await follower.read({ kind: 'rank', userId: 1, metric: 'profit', period: 'all' });
      await follower.close();
      expect(follower.log.of('error')).toEqual([]);
    }
    expect(listSnapshots(folder).length).toBe(3);
    const follower = start(folder);
    await expectEverything(follower);
    await journal.close();
  });

  it("is on disk up to a snapshot's sequence before the snapshot is written", async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const engine = new Engine();
    const reached: [snapshot: number, history: number][] = [];
    const follower = startFollower(folder, 0, { everyCommands: 300, everyMs: 1e15 }, (path) => {
      // The files after a power cut: the write-ahead log, which was not synced, is missing.
      const copy = folders.make();
      const bytes = readFileSync(openPath(folder, 1));
      const copied = async () => {
        await (await HistoryStore.open(copy)).close();
        writeFileSync(openPath(copy, 1), bytes);
        const store = await HistoryStore.open(copy);
        reached.push([Number(/(\d+)\.bin$/.exec(path)![1]), store.progress.sequence]);
        await store.close();
        return 'no hash: nothing was written';
      };
      return { done: copied(), cancel: async () => {} };
    });
    followers.push(follower);
    for (let from = 0; reached.length < 3; from += 100) {
      await writeCommands(journal, engine, commands.slice(from, from + 100));
      follower.committed(engine.sequence);
      await follower.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
    }
    await journal.close();
    for (const [snapshot, history] of reached) expect(history).toBe(snapshot);
  });

  it('catches up when it is behind all snapshots, as a power cut can leave it', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const engine = new Engine();
    await writeCommands(journal, engine, commands.slice(0, 1_000));
    const first = startFollower(folder, engine.sequence);
    await first.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
    await first.close();
    const older = folders.copy(partsFolder(folder));
    await writeCommands(journal, engine, commands.slice(1_000));
    await journal.close();
    const second = startFollower(folder, engine.sequence, { everyCommands: 1_000, everyMs: 1e15 });
    await second.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
    await second.close();
    expect(listSnapshots(folder).at(-1)!.sequence).toBeGreaterThan(1_000);
    removeHistory(folder);
    cpSync(older, partsFolder(folder), { recursive: true });
    const follower = start(folder);
    await expectEverything(follower);
    expect(follower.log.of('error')).toEqual([]);
    expect(follower.log.of('info')[1]!.fields).toMatchObject({
      historySequence: 1_000,
      snapshotSequence: 0,
    });
  });

  it('a read waits until the follower has reached its sequence', async () => {
    const folder = folders.make();
    const journal = await openJournal({ folder });
    const engine = new Engine();
    await writeCommands(journal, engine, commands.slice(0, 2_000));
    const follower = start(folder, 2_000);
    await follower.reply({ kind: 'rank', userId: 1, metric: 'volume', period: 'all' }, 2_000);
    const early = follower.reply(
      { kind: 'userTrades', userId: 2, limit: 200, cursor: null },
      commands.length,
    );
    let isAnswered = false;
    void early.then(() => (isAnswered = true));
    await follower.reply({ kind: 'userTrades', userId: 3, limit: 1, cursor: null }, 2_000);
    expect(isAnswered).toBe(false);
    await writeCommands(journal, engine, commands.slice(2_000));
    follower.committed(commands.length);
    const answer = await early;
    expect(answer.status === 'ok' && answer.sequence).toBe(commands.length);
    expect(answer.status === 'ok' && answer.answer.entries[0]).toEqual(
      expected.userTrades.get(2)!.at(-1),
    );
    await journal.close();
  });
});

describe('a full disk', () => {
  it('is not damage: the transaction is written once there is room', async () => {
    const folder = folders.make();
    await createPrivateFolder(folder);
    const credits = new PendingLists(POINTS_CREDIT);
    const count = 5_000;
    for (let userId = 1; userId <= count; userId++) {
      const at = credits.add(userId, 1);
      credits.values.set([64, 0, 1_000_000, START_MS, userId], at);
    }
    const nothing = new Projection(new Engine(), emptyHistoryState(), () => {}).drain();
    const pieces = new Pieces();
    const pointsCredit = runToEnd(credits.drainInPieces(pieces));
    const added = { ...nothing.added, pointsCredit };
    const changes: HistoryChanges = { ...nothing, pieces: pieces.drain(), added };
    const end = { sequence: count, hash: Buffer.alloc(32, 7), atMs: START_MS };
    const store = await HistoryStore.open(folder);
    await execute(store.open.database, 'PRAGMA max_page_count = 20');
    const error = await store.commit(changes, end).catch((error: unknown) => error);
    expect(error).toMatchObject({ errno: sqlite3.FULL });
    expect(error).not.toBeInstanceOf(HistoryDamage);
    expect(store.progress.sequence).toBe(0);
    await store.close();

    const again = await HistoryStore.open(folder);
    const checked = await openHistory(again);
    expect([again.progress.sequence, checked.state.lengths.pointsCredit.of(1)]).toEqual([0, 0]);
    await again.commit(changes, end);
    await again.close();
    const last = await HistoryStore.open(folder);
    expect([last.progress.sequence, last.progress.counts.pointsCredit]).toEqual([count, count]);
    await last.close();
  });
});

it('finds the trades of a market that were made before its window', async () => {
  const marketId = marketIdOf(0, WINDOW_START_MS + WINDOW_MS);
  const terms = { marketId, sizeLots: 10_000, priceTicks: 500 };
  const early = [
    { kind: 'listAsset', symbol: 'BTC' } as const,
    { kind: 'listMarkets', asset: 0, ahead: true } as const,
    registration(1, 1e9),
    registration(2, 1e9),
    buyOrder({ userId: 1, ...terms, timeInForce: TimeInForce.GTC }),
    buyOrder({ userId: 2, ...terms, outcome: 1 }),
  ].map((command) => ({ command, atMs: WINDOW_START_MS }));
  const folder = folders.make();
  await journalOf(folder, early);
  const follower = start(folder, early.length);
  const request = { kind: 'userTrades', userId: 1, limit: 9, cursor: null, marketId } as const;
  expect((await follower.read(request)).entries).toMatchObject([{ marketId, sizeLots: 10_000 }]);
});

describe('damage', () => {
  it('a bit anywhere in the file: the answers are right', async () => {
    const random = new Random(`${SEED}:bits`);
    for (let i = 0; i < extent(40, 3); i++) {
      const folder = folders.copy(complete);
      const bytes = readFileSync(openPath(folder, 1));
      // First the file version that a writer must know, and a page's type.
      const at = [18, 4096][i] ?? random.whole(0, bytes.length - 1);
      bytes[at]! ^= 1 << random.whole(0, 7);
      writeFileSync(openPath(folder, 1), bytes);
      const follower = start(folder);
      await expectEverything(follower);
      for (const { fields } of follower.log.of('error'))
        expect(fields.table, `byte ${at}`).toBeTypeOf('string');
      await follower.close();
    }
  });

  const change = (folder: string, sql: string) =>
    withDatabase(openPath(folder, 1), (database) => execute(database, sql));

  function changeOne(folder: string, sql: string): Promise<void> {
    return withDatabase(openPath(folder, 1), async (database) => {
      await execute(database, sql);
      expect(await query(database, 'SELECT changes() AS n')).toEqual([{ n: 1 }]);
    });
  }

  /** Changes to the run that contains a list's newest entry. */
  const changes = [
    ['firstOrdinal', 'firstOrdinal + 1'],
    ['count', 'count + 1'],
    ['checksum', 'checksum - 1'],
    ['entries', 'zeroblob(length(entries))'],
  ] as const;

  it.each(
    LISTS.map((list, index) => [list.name, ...changes[index % changes.length]!, list] as const),
  )(
    'a run of %s with a changed %s is named with its first ordinal, and the history is rebuilt',
    async (name, column, value, { key, list }) => {
      const folder = folders.copy(complete);
      const last = `SELECT id, firstOrdinal FROM run WHERE list = ${list} AND count > 1 ORDER BY 1 DESC, 2 DESC LIMIT 1`;
      const [run] = await rowsOf(folder, last);
      const { id, firstOrdinal } = run as { id: number; firstOrdinal: number };
      const follower = start(folder);
      await follower.read({ kind: 'rank', userId: 1, metric: 'profit', period: 'all' });
      // The change happens while the follower runs, so only a read of the run can detect it.
      await changeOne(
        folder,
        `UPDATE run SET ${column} = ${value} WHERE list = ${list} AND id = ${id} AND firstOrdinal = ${firstOrdinal}`,
      );
      await readNewest(follower, name, id);
      const [damage] = follower.log.of('error');
      expect(damage!.fields.table).toBe(name);
      const named = column === 'firstOrdinal' ? firstOrdinal + 1 : firstOrdinal;
      expect(damage!.fields.row).toBe(`${key} ${id}, ordinal ${named}`);
    },
  );

  it.each([
    "UPDATE market SET value = value || ' '",
    'UPDATE market SET checksum = checksum + 1',
    'DELETE FROM market',
  ])('after %s a market is named with its row, and the history is rebuilt', async (sql) => {
    const folder = folders.copy(complete);
    const [{ id }] = (await rowsOf(
      folder,
      "SELECT max(marketId) AS id FROM market WHERE value ->> '$.isClosed' = 1",
    )) as [{ id: number }];
    const follower = start(folder);
    await follower.read({ kind: 'rank', userId: 1, metric: 'profit', period: 'all' });
    await changeOne(folder, `${sql} WHERE marketId = ${id}`);
    await readNewest(follower, 'market', id);
    const [damage] = follower.log.of('error');
    expect(damage!.fields).toMatchObject({ table: 'market', row: `marketId ${id}` });
  });

  /** Reads the newest entry of a list, or the market. The final answer must be right. */
  async function readNewest(follower: TestFollower, name: CountedName, id: number): Promise<void> {
    const page = { limit: 1, cursor: null };
    switch (name) {
      case 'userTrade':
      case 'pointsCredit': {
        const kind = `${name}s` as const;
        const { entries } = await follower.read({ kind, userId: id, ...page });
        expect(entries).toEqual([expected[kind].get(id)!.at(-1)]);
        break;
      }
      case 'marketPoint':
      case 'marketCandle':
      case 'marketTrade': {
        const of = { marketId: id, asset: assetOfMarket(id) };
        await expectCandles(follower, of, INTERVALS_MS['5s']);
        const text = await follower.read({ kind: 'marketText', marketId: id, withPrices: true });
        const market = expected.markets.find(({ marketId }) => marketId === id)!;
        expect(jsonOf(text!.bytes)).toMatchObject(shown(market));
        const tape = await follower.read({ kind: 'marketTrades', marketId: id, ...page });
        expect(tape!.entries).toEqual((expected.marketTrades.get(id) ?? []).slice(-1));
        break;
      }
      case 'userHold':
      case 'closedPosition':
      case 'userPayment':
      case 'userBalance': {
        const filter = { fromMs: null, toMs: null, marketId: null, cause: null };
        const request = { kind: 'ledger', userId: id, limit: 200, ...filter } as const;
        const lines = await all((cursor) => follower.read({ ...request, cursor }));
        const { availableMicros, heldMicros } = expected.engine.account(id)!;
        expect(lines[0]!.balance).toEqual({ availableMicros, heldMicros });
        break;
      }
      case 'userOrder':
      case 'orderEnd': {
        const filter = { clientOrderId: null, marketId: null, fromMs: null, toMs: null };
        for (let userId = 1; userId <= expected.engine.userCount; userId++) {
          const request = { kind: 'userOrders', userId, status: 'closed', limit: 50, ...filter };
          const page = (cursor: number | null) =>
            follower.read({ ...(request as RequestOf<'userOrders'>), cursor });
          for (const { closedAtMs } of await all(page)) expect(closedAtMs).not.toBeNull();
        }
        break;
      }
      case 'marketBook':
      case 'assetPrice': {
        const isIt = ({ marketId }: { marketId: number }) =>
          id === (name === 'marketBook' ? marketId : assetOfMarket(marketId));
        const { marketId, bookCount, tradeCount } = expected.markets.findLast(isIt)!;
        const request = { kind: 'marketEvents', marketId, limit: 200 } as const;
        let cursor: EventCursor | null = null;
        let found = 0;
        do {
          const read: HistoryAnswers['marketEvents'] = await follower.read({ ...request, cursor });
          found += read!.entries.filter(({ type }) => type === 'book').length;
          cursor = read!.nextCursor;
        } while (cursor !== null);
        expect(found).toBe(bookCount + tradeCount);
        break;
      }
      case 'market': {
        const text = await follower.read({ kind: 'marketText', marketId: id, withPrices: true });
        expect(jsonOf(text!.bytes)).toMatchObject(
          shown(expected.markets.find(({ marketId }) => marketId === id)!),
        );
        break;
      }
    }
  }

  async function rowsOf(folder: string, sql: string): Promise<Record<string, number>[]> {
    return withDatabase(openPath(folder, 1), (database) => query(database, sql));
  }

  it.each<[what: string, damage: (folder: string) => unknown, problem: RegExp | null]>([
    [
      'lacks the last run of a list',
      losing('run', 'rowid', 'max', `WHERE list = ${USER_TRADE.list}`),
      /./,
    ],
    ['lacks a market', losing('market', 'marketId', 'min'), /./],
    ['does not say how far it is', losing('progress', 'id', 'max'), /./],
    [
      'is of another version',
      (folder) => change(folder, `PRAGMA user_version = ${HISTORY_VERSION - 1}`),
      /the tables are not those of this version/,
    ],
    ['is of another journal', ofAnother(7_000), /no such batch/],
    ['is of another journal, with other batches', ofAnother(5_000), /no such batch/],
    ['was left empty by a crash', (folder) => writeFileSync(openPath(folder, 1), ''), null],
  ])('one that %s is rebuilt when it is opened', async (_what, damage, problem) => {
    const folder = folders.copy(complete);
    await damage(folder);
    const follower = start(folder);
    await expectEverything(follower);
    const problems = follower.log.of('error').map(({ fields }) => fields.problem);
    expect(problems).toEqual(problem === null ? [] : [expect.stringMatching(problem)]);
  });

  function losing(table: string, key: string, end: string, where = '') {
    const row = `(SELECT ${end}(${key}) FROM ${table} ${where})`;
    return (folder: string) => changeOne(folder, `DELETE FROM ${table} WHERE ${key} = ${row}`);
  }

  function ofAnother(commands: number): (folder: string) => Promise<void> {
    return async (folder) => {
      const other = folders.make();
      const theirs = dayOfCommands('another', commands);
      await journalOf(other, theirs);
      const follower = startFollower(other, theirs.length);
      await follower.read({ kind: 'userTrades', userId: 1, limit: 1, cursor: null });
      await follower.close();
      copyFileSync(openPath(other, 1), openPath(folder, 1));
    };
  }
});
