/**
 * `verify` on the history: either the history matches the replay up to its stated end, or each
 * difference is named.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine } from '../../../../engine/engine.js';
import { openPath } from '../../../../persistence/history/parts/catalogue.js';
import { emptyHistoryState, Projection } from '../../../../persistence/history/projection.js';
import {
  LISTS,
  type ListLayout,
  type ListName,
  runChecksum,
} from '../../../../persistence/history/runs/format.js';
import { type RunRow, readRun, selectRuns } from '../../../../persistence/history/runs/reader.js';
import { HistoryStore } from '../../../../persistence/history/store.js';
import type { JournalBatch } from '../../../../persistence/journal/store.js';
import { JournalFollower } from '../../../../persistence/recovery/recovery.js';
import { execute, query } from '../../../../persistence/storage/sqlite.js';
import { Folders, flip, readAll, withDatabase } from '../../../support/journal-fixture.js';
import { ReplayExchange } from '../../../support/replay-exchange.js';
import { linesOf, ofType, replayLines, replayTool, traceOf } from '../../../support/replay-tool.js';
import { runOf, type Values } from '../../history/run-fixture.js';

const folders = new Folders();
/** A folder with a history up to the end of the journal. Tests work on copies. */
let whole: string;
/** The same folder without a history. */
let without: string;
let batches: JournalBatch[];

beforeAll(async () => {
  without = folders.make();
  const exchange = await ReplayExchange.open(without, 'history');
  await exchange.run(900);
  await exchange.sequencer.close();
  batches = await readAll(without);
  whole = folders.copy(without);
  await writeHistory(whole, batches.length);
});
afterAll(() => folders.removeAll());

/**
 * Projects the first batches into a history, in transactions of the given size, as the exchange
 * does.
 */
async function writeHistory(
  folder: string,
  batchCount: number,
  batchesAtOnce = 7,
  partCommands: number | null = null,
): Promise<void> {
  const engine = new Engine();
  const state = emptyHistoryState();
  const projection = new Projection(engine, state, () => {});
  const follower = new JournalFollower(engine, undefined, {
    applied: () => projection.applied(),
    applying: (atMs) => projection.applying(atMs),
  });
  const store = await HistoryStore.open(folder, partCommands);
  for (const [i, batch] of batches.slice(0, batchCount).entries()) {
    follower.apply(batch);
    const isLast = i === batchCount - 1;
    if (i % batchesAtOnce === 0 || isLast) {
      const end = { sequence: batch.lastSequence, hash: batch.hash, atMs: engine.nowMs };
      await store.commit(projection.drain(), end);
    }
  }
  await store.close();
}

const change = (folder: string, sql: string) =>
  withDatabase(openPath(folder, 1), (database) => execute(database, sql));

const ask = <Row>(folder: string, sql: string, parameters: readonly (number | Buffer)[] = []) =>
  withDatabase(openPath(folder, 1), (database) => query<Row>(database, sql, parameters));

/** The number of list entries and of rows of the other tables. */
async function countEntries(folder: string): Promise<number> {
  let count = 0;
  const counted = [
    ['run', 'coalesce(sum(count), 0)'],
    ...['market', 'progress'].map((name) => [name, 'count(*)']),
  ];
  await withDatabase(openPath(folder, 1), async (database) => {
    for (const [name, sum] of counted) {
      const [row] = await query<{ n: number }>(database, `SELECT ${sum} AS n FROM ${name}`);
      expect(row!.n, name).toBeGreaterThanOrEqual(0);
      count += row!.n;
    }
  });
  return count;
}

/** Overwrites an entry and rewrites the run around it as the exchange would. */
async function changeEntry(
  folder: string,
  layout: ListLayout & { name: ListName },
  column: string,
): Promise<{ id: number; ordinal: number }> {
  const [run] = await ask<RunRow>(
    folder,
    `${selectRuns()} WHERE list = ${layout.list} AND count > 1 LIMIT 1`,
  );
  const { id, firstOrdinal } = run!;
  const changed: Values[] = readRun<ListLayout>(layout, run!);
  changed[1]![column]! += 1;
  const { entries, checksum } = runOf(layout, id, firstOrdinal, changed);
  await ask(
    folder,
    'UPDATE run SET entries = ?, checksum = ? WHERE list = ? AND id = ? AND firstOrdinal = ?',
    [entries, checksum, layout.list, id, firstOrdinal],
  );
  return { id, ordinal: firstOrdinal + 1 };
}

async function historyOf(folder: string) {
  return ofType(await replayLines(folder, 'verify'), 'history')[0];
}

describe('a history that matches the journal', () => {
  it('is good up to its end, entry by entry, and is not changed', async () => {
    const folder = folders.copy(whole);
    const entries = await countEntries(folder);
    const before = traceOf(folder);
    const { lastSequence: sequence } = batches.at(-1)!;
    expect(await historyOf(folder)).toEqual({ sequence, good: true, entries });
    expect(entries).toBeGreaterThan(300);
    expect(traceOf(folder)).toEqual(before);
  });

  it('is good when it is behind the journal or almost empty', async () => {
    for (const count of [1, 20]) {
      const folder = folders.copy(without);
      await writeHistory(folder, count);
      const history = await historyOf(folder);
      expect(history).toMatchObject({ sequence: batches[count - 1]!.lastSequence, good: true });
      expect(history.entries).toBeGreaterThan(0);
    }
    const folder = folders.copy(without);
    await (await HistoryStore.open(folder)).close();
    expect(await historyOf(folder)).toEqual({ sequence: 0, good: true, entries: 1 });
  });

  it('may be missing', async () => {
    expect(await historyOf(without)).toBeUndefined();
  });
});

describe('a history that does not match', () => {
  const progressWith = (name: string, value: string) =>
    `UPDATE progress SET value = json_set(value, '$.${name}', ${value})`;

  async function expectFinding(folder: string, ...words: string[]): Promise<void> {
    const before = traceOf(folder);
    const run = await replayTool(folder, 'verify', '--json');
    expect(run.status).toBe(1);
    const lines = linesOf(run.out);
    expect(lines.at(-1)).toMatchObject({ good: false, whole: true });
    expect(ofType(lines, 'history')[0].good).toBe(false);
    for (const word of ['DAMAGE in history/', 'Nothing is lost', ...words])
      expect(run.err).toContain(word);
    expect(run.err).not.toContain('    at ');
    expect(traceOf(folder)).toEqual(before);
  }

  it.each([
    ['userTrade', 'sizeLots'],
    ['marketTrade', 'sizeLots'],
    ['pointsCredit', 'microPoints'],
    ['closedPosition', 'profitMicros'],
  ] as const)('a changed entry of %s in a valid run', async (name, column) => {
    const folder = folders.copy(whole);
    const layout = LISTS.find((list) => list.name === name)!;
    const { id, ordinal } = await changeEntry(folder, layout, column);
    const entry = `"${layout.key}":${id},"ordinal":${ordinal},`;
    await expectFinding(folder, `table ${name}: has {${entry}`, `the journal leads to {${entry}`);
  });

  it.each([
    [
      'a changed number in market',
      `UPDATE market SET value = json_set(value, '$.volumeMicros', (value ->> '$.volumeMicros') + 1)
        WHERE marketId IN (SELECT marketId FROM market LIMIT 1 OFFSET 3)`,
      ['table market: has {"marketId":', 'where the journal leads to {"marketId":'],
    ],
    [
      'a table without entries',
      'DELETE FROM run WHERE list = 10',
      ['table assetPrice: has no further row where the journal leads to {"asset":0,"ordinal":1'],
    ],
    [
      'one of another version',
      'PRAGMA user_version = 77',
      ['sqlite_schema: its tables are not those of this version'],
    ],
    [
      'one ahead of the journal',
      progressWith('sequence', "value ->> '$.sequence' + 1000000"),
      () => [
        `but the journal ends at ${batches.at(-1)!.lastSequence}`,
        'An exchange does not use it',
      ],
    ],
    [
      'one that is not at the end of a batch',
      progressWith('sequence', '20'),
      ['where no batch ends'],
    ],
    [
      'one of another journal',
      progressWith('hash', "'00'"),
      ['table progress: has {"id":1,', '"hash":"00"'],
    ],
  ])('%s', async (_what, sql, words) => {
    const folder = folders.copy(whole);
    await change(folder, sql);
    await expectFinding(folder, ...(typeof words === 'function' ? words() : words));
  });

  it('a changed run is reported once, and its entries are not reported missing', async () => {
    const folder = folders.copy(whole);
    await change(
      folder,
      `UPDATE run SET entries = zeroblob(length(entries))
        WHERE rowid = (SELECT rowid FROM run WHERE list = 1 AND count > 2 LIMIT 1)`,
    );
    await expectFinding(folder, 'table userTrade, userId ', 'are not what was written');
    const lines = linesOf((await replayTool(folder, 'verify', '--json')).out);
    expect(lines.at(-1).findings).toBe(1);
    expect(ofType(lines, 'history')[0].entries).toBeLessThan(await countEntries(folder));
  });

  it('is good in parts; damage of a part that is over is found', async () => {
    const folder = folders.copy(without);
    await writeHistory(folder, batches.length, 7, 200);
    const { lastSequence: sequence } = batches.at(-1)!;
    expect(await historyOf(folder)).toMatchObject({ sequence, good: true });
    await change(
      folder,
      'DELETE FROM run WHERE rowid = (SELECT min(rowid) FROM run WHERE list = 1)',
    );
    await expectFinding(folder, 'table userTrade: has ', ' (part 1)');
  });

  it('a file that is no database', async () => {
    const folder = folders.copy(whole);
    writeFileSync(openPath(folder, 1), Buffer.alloc(8_192, 'x'));
    await expectFinding(folder, 'as a whole', 'it cannot be read');
  });

  it('a missing run and an extra run; of many differences in a table, the first', async () => {
    const folder = folders.copy(whole);
    const last = (list: number) => `SELECT max(firstOrdinal) FROM run WHERE list = ${list}`;
    const second = `${selectRuns()} WHERE list = 1 AND id = 2 LIMIT 1 OFFSET 1`;
    const [lost] = await ask<RunRow>(folder, second);
    const credits = LISTS[2];
    const [copied] = await ask<RunRow>(
      folder,
      `${selectRuns()} WHERE list = ${credits.list} AND id = 1 LIMIT 1`,
    );
    const { count, entries } = copied!;
    const head = { id: 1, firstOrdinal: 9_999, count, deflated: 0 };
    const checksum = runChecksum(credits.list, head, entries);
    const extra = 'INSERT INTO run VALUES (?, 1, 9999, ?, 0, ?, ?)';
    await ask(folder, extra, [credits.list, count, checksum, entries]);
    await change(
      folder,
      `DELETE FROM run WHERE list = 1 AND id = 2 AND firstOrdinal = ${lost!.firstOrdinal};
        DELETE FROM run WHERE list = 4 AND firstOrdinal < (${last(4)})`,
    );
    await expectFinding(
      folder,
      `the journal leads to {"userId":2,"ordinal":${lost!.firstOrdinal},`,
      'table pointsCredit: has {"userId":1,"ordinal":9999,',
      'table closedPosition: has ',
    );
  });

  it('the key of a run in its table, when only its index is read', async () => {
    const folder = folders.copy(whole);
    const path = openPath(folder, 1);
    // Each of the three numbers then takes one byte, the checksum four bytes, and 0 and 1 no byte.
    const small = 'BETWEEN 2 AND 127';
    const [run] = await ask<RunRow>(
      folder,
      `${selectRuns()} WHERE list = 1 AND id ${small} AND firstOrdinal ${small} AND count ${small}
        AND checksum BETWEEN 1 << 24 AND (1 << 31) - 1 LIMIT 1`,
    );
    const { id, firstOrdinal, count, entries } = run!;
    const bytes = readFileSync(path);
    // SQLite may have left a copy in the row's old place.
    for (let at = bytes.indexOf(entries); at !== -1; at = bytes.indexOf(entries, at + 1)) {
      expect([...bytes.subarray(at - 7, at - 4)]).toEqual([id, firstOrdinal, count]);
      bytes[at - 7] = id ^ 1;
    }
    writeFileSync(path, bytes);
    await expectFinding(
      folder,
      'the structure of SQLite: row ',
      'missing from index sqlite_autoindex_run_1',
    );
  });
});

it('one beyond the damage of a journal is called neither good nor bad', async () => {
  const folder = folders.copy(whole);
  await flip(folder, batches[14]!.firstSequence, 'records');
  const run = await replayTool(folder, 'verify', '--json');
  expect(run.status).toBe(1);
  const lines = linesOf(run.out);
  expect(lines.at(-1).findings).toBe(1);
  expect(ofType(lines, 'history')[0]).toMatchObject({ good: true, entries: null });
});
