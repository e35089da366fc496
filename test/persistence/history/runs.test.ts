import { afterEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../engine/engine.js';
import { runToEnd } from '../../../engine/storage/incremental-task.js';
import { PendingLists } from '../../../persistence/history/lists.js';
import { openHistory } from '../../../persistence/history/opening.js';
import { openPath } from '../../../persistence/history/parts/catalogue.js';
import { HistoryFiles } from '../../../persistence/history/parts/files.js';
import {
  emptyHistoryState,
  type HistoryChanges,
  Projection,
} from '../../../persistence/history/projection.js';
import { HistoryReads } from '../../../persistence/history/reads.js';
import type { Page, PointsCredit } from '../../../persistence/history/requests.js';
import { HistoryDamage } from '../../../persistence/history/rows.js';
import {
  type ListLayout,
  POINTS_CREDIT,
  RUN_ENTRIES,
} from '../../../persistence/history/runs/format.js';
import { readLengths, writeLengths } from '../../../persistence/history/runs/lengths.js';
import { type RunRow, selectRuns } from '../../../persistence/history/runs/reader.js';
import { Pieces } from '../../../persistence/history/runs/writer.js';
import { HistoryStore } from '../../../persistence/history/store.js';
import { createPrivateFolder } from '../../../persistence/storage/files.js';
import { query } from '../../../persistence/storage/sqlite.js';
import { Folders, withDatabase } from '../../support/journal-fixture.js';

const folders = new Folders();
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  folders.removeAll();
});

const OF_5 = `list = ${POINTS_CREDIT.list} AND id = 5`;

/** The n-th entry of the paged list. */
function credit(ordinal: number): PointsCredit {
  const microPoints = (ordinal * 7_919) % 1_000_003;
  const sequence = ordinal * 3;
  return {
    userId: 5,
    ordinal,
    marketId: 64 * ordinal,
    reason: ordinal % 2,
    microPoints,
    atMs: 1e12,
    sequence,
  };
}

function changesOf(entries: readonly PointsCredit[]): HistoryChanges {
  const pending = new PendingLists(POINTS_CREDIT);
  for (const entry of entries) {
    const at = pending.add(entry.userId, entry.ordinal);
    for (const [i, column] of POINTS_CREDIT.columns.entries())
      pending.values[at + i] = entry[column];
  }
  const pieces = new Pieces();
  const pointsCredit = runToEnd(pending.drainInPieces(pieces));
  const nothing = new Projection(new Engine(), emptyHistoryState(), () => {}).drain();
  return { ...nothing, pieces: pieces.drain(), added: { ...nothing.added, pointsCredit } };
}

interface Credits {
  folder: string;
  /** Prepares and reads one page of the written entries. */
  page(limit: number, cursor: number | null): Promise<Page<PointsCredit>>;
  close(): Promise<void>;
}

function commit(
  store: HistoryStore,
  sequence: number,
  entries: readonly PointsCredit[],
): Promise<void> {
  const end = { sequence, hash: Buffer.alloc(32, 7), atMs: 1e12 };
  return store.commit(changesOf(entries), end);
}

/**
 * A history with one list, written in transactions of the given sizes; two other users also have
 * lists.
 */
async function historyOf(transactions: readonly number[]): Promise<Credits> {
  const folder = folders.make();
  await createPrivateFolder(folder);
  const store = await HistoryStore.open(folder);
  let ordinal = 1;
  for (const [i, size] of transactions.entries()) {
    const entries = Array.from({ length: size }, () => credit(ordinal++));
    const others = [4, 6].map((userId) => ({ ...credit(1), userId, ordinal: i + 1 }));
    await commit(store, i + 1, [...entries, ...others]);
  }
  const { lists } = await openHistory(store);
  await store.close();
  const files = await HistoryFiles.open(folder, store.parts);
  let isOpen = true;
  const close = async () => {
    if (isOpen) await files.close();
    isOpen = false;
  };
  closers.push(close);
  const reads = new HistoryReads(files, { lists, openMarket: () => null });
  const page = (limit: number, cursor: number | null) =>
    reads.listOfUser(POINTS_CREDIT, { userId: 5, limit, cursor })();
  return { folder, page, close };
}

function expectedPage(count: number, limit: number, cursor: number | null): Page<PointsCredit> {
  const all = Array.from({ length: count }, (_, i) => credit(count - i));
  const entries = all.filter(({ ordinal }) => cursor === null || ordinal < cursor).slice(0, limit);
  const last = entries.at(-1)?.ordinal ?? 0;
  return { entries, nextCursor: last > 1 ? last : null };
}

async function runsIn(folder: string, layout: ListLayout): Promise<RunRow[]> {
  const sql = `${selectRuns()} WHERE list = ${layout.list} ORDER BY id, firstOrdinal`;
  return withDatabase(openPath(folder, 1), (database) => query<RunRow>(database, sql));
}

async function change(
  folder: string,
  sql: string,
  parameters: readonly (number | Buffer)[] = [],
): Promise<void> {
  await withDatabase(openPath(folder, 1), (database) => query(database, sql, parameters));
}

describe('pages', () => {
  const shapes = [[1], [2, 1, 5, 1, 1, 3, 4], [12, 7], [1, 1, 1, 1, 1, 1]];

  it.each(shapes.map((shape) => [shape.join(' + '), shape] as const))(
    'of a list in runs of %s are the same for every limit and cursor',
    async (_name, shape) => {
      const { folder, page } = await historyOf(shape);
      const count = shape.reduce((sum, size) => sum + size, 0);
      expect((await runsIn(folder, POINTS_CREDIT)).filter(({ id }) => id === 5).length).toBe(
        shape.length,
      );
      for (let limit = 1; limit <= count + 1; limit++) {
        for (const cursor of [null, ...Array.from({ length: count + 2 }, (_, i) => i + 1)]) {
          expect(await page(limit, cursor), `limit ${limit}, cursor ${cursor}`).toEqual(
            expectedPage(count, limit, cursor),
          );
        }
      }
    },
  );

  it('work when one transaction adds more than a run holds', async () => {
    const shape = [3, 2 * RUN_ENTRIES + 5, RUN_ENTRIES, RUN_ENTRIES + 1];
    const { folder, page } = await historyOf(shape);
    const runs = (await runsIn(folder, POINTS_CREDIT)).filter(({ id }) => id === 5);
    expect(runs.map(({ count }) => count)).toEqual([
      3,
      RUN_ENTRIES,
      RUN_ENTRIES,
      5,
      RUN_ENTRIES,
      RUN_ENTRIES,
      1,
    ]);
    const count = shape.reduce((sum, size) => sum + size, 0);
    const ends = runs.flatMap(({ firstOrdinal }) => [
      firstOrdinal - 1,
      firstOrdinal,
      firstOrdinal + 1,
    ]);
    for (const limit of [1, 2, 200, RUN_ENTRIES, RUN_ENTRIES + 1, count, 10_000]) {
      for (const cursor of [null, ...ends, count, count + 1, 1e9]) {
        expect(await page(limit, cursor), `limit ${limit}, cursor ${cursor}`).toEqual(
          expectedPage(count, limit, cursor),
        );
      }
    }
  });

  it('with a missing run are refused and name the missing entry; others are not', async () => {
    const shape = [2, 3, 1, 4];
    const count = 10;
    for (const [i, size] of shape.entries()) {
      const { folder, page, close } = await historyOf(shape);
      const first = 1 + shape.slice(0, i).reduce((sum, each) => sum + each, 0);
      const last = first + size - 1;
      await change(folder, `DELETE FROM run WHERE ${OF_5} AND firstOrdinal = ?`, [first]);
      for (let limit = 1; limit <= count; limit++) {
        for (let cursor = 2; cursor <= count + 1; cursor++) {
          const [from, to] = [cursor - 1, Math.max(1, cursor - limit)];
          if (from < first || to > last) {
            expect(await page(limit, cursor)).toEqual(expectedPage(count, limit, cursor));
            continue;
          }
          const error = await page(limit, cursor).catch((error: unknown) => error);
          expect(error).toBeInstanceOf(HistoryDamage);
          const row = `userId 5, ordinal ${Math.min(from, last)}`;
          expect(error).toMatchObject({ table: 'pointsCredit', row, problem: 'it is missing' });
        }
      }
      await close();
    }
  });
});

describe('waiting entries', () => {
  it('are of lists with ids of 32 bits, and are put in order in pieces', () => {
    const pending = new PendingLists(POINTS_CREDIT);
    expect(() => pending.add(2 ** 32, 1)).toThrow(RangeError);
    const lists = 2 ** 17;
    for (let n = 0; n < lists; n++) pending.add(2 ** 32 - 1 - n, 1);
    const into = new Pieces();
    const work = pending.drainInPieces(into);
    for (let piece = 0; piece < 4; piece++) {
      expect(work.next().done).toBe(false);
      expect(into.bytes.length).toBe(0);
    }
    expect(runToEnd(work)).toBe(lists);
    const rows = into.drain().flatMap((piece) => JSON.parse(piece.rows) as number[][]);
    expect(rows.map(([, id]) => id)).toEqual(rows.map((_, i) => 2 ** 32 - lists + i));
  });
});

describe('a history', () => {
  it.each([
    ['a run is missing', `DELETE FROM run WHERE ${OF_5} AND firstOrdinal = 3`],
    ['the first run is missing', `DELETE FROM run WHERE ${OF_5} AND firstOrdinal = 1`],
    ['the last run is missing', `DELETE FROM run WHERE ${OF_5} AND firstOrdinal = 6`],
    ['a run claims more entries', `UPDATE run SET count = 4 WHERE ${OF_5} AND firstOrdinal = 3`],
    ['a run belongs to another user', `UPDATE run SET id = 9 WHERE ${OF_5} AND firstOrdinal = 6`],
  ])('is damaged when %s: a start finds it in the last runs', async (_, sql) => {
    const { folder, close } = await historyOf([2, 3, 2]);
    await close();
    await change(folder, sql);
    expect(await opened(folder, openHistory)).toMatchObject({ table: 'pointsCredit' });
  });

  it('adds the runs after the stored lengths', async () => {
    const { folder, close } = await historyOf([2, 3]);
    await close();
    await opened(folder, async (store) => {
      const { database } = store.open;
      const { lengths, lastRow } = await readLengths(store.catalogue.database, database);
      expect(lastRow).toBeGreaterThan(0);
      await writeLengths(database, lengths, lastRow);
    });
    await change(
      folder,
      `UPDATE listLength SET checksum = checksum + 1 WHERE list = ${POINTS_CREDIT.list}`,
    );
    expect(await opened(folder, openHistory)).toMatchObject({ table: 'listLength' });
    await change(
      folder,
      `UPDATE listLength SET checksum = checksum - 1 WHERE list = ${POINTS_CREDIT.list}`,
    );
    const store = await HistoryStore.open(folder);
    await commit(store, 3, [credit(6), credit(7)]);
    await store.close();
    const { lists } = await opened(folder, openHistory);
    const { pointsCredit: lengths } = lists.lengths;
    expect([4, 5, 6].map((userId) => lengths.of(userId))).toEqual([2, 7, 2]);
  });

  /** The result of `read` on the opened history, or the damage that it found. */
  async function opened<Result>(
    folder: string,
    read: (store: HistoryStore) => Promise<Result>,
  ): Promise<Result> {
    const store = await HistoryStore.open(folder);
    try {
      return await read(store).catch((error) => {
        if (error instanceof HistoryDamage) return error as Result;
        throw error;
      });
    } finally {
      await store.close();
    }
  }
});
