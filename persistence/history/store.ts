/**
 * The one writer of history.db: opens or creates it, then writes transactions.
 *
 * Always holds: a transaction adds whole journal batches and records where they end, or changes
 * nothing. A start reads little of the file, however large it is (opening.ts): check.ts reads all
 * of it in the background, and rows.ts and runs/reader.ts check each row that is read.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { GENESIS } from '../journal/format.js';
import { createPrivateFile } from '../storage/files.js';
import {
  called,
  closeDatabase,
  execute,
  finalize,
  openDatabase,
  prepare,
  query,
} from '../storage/sqlite.js';
import { takesWrites } from '../storage/write-version.js';
import type { ListLengths } from './lists.js';
import type { HistoryChanges } from './projection.js';
import { asDamage, HistoryDamage } from './rows.js';
import {
  AMENDED_ORDER,
  COUNTED,
  type CountedName,
  checksumOf,
  HISTORY_APPLICATION_ID,
  HISTORY_FILE,
  HISTORY_VERSION,
  keyedResultChecksum,
  LISTS,
  type ListName,
  MARKET,
  PROGRESS_TAG,
  pricesChecksum,
  SCHEMA,
} from './runs/format.js';
import { areLengthsDue, writeLengths } from './runs/lengths.js';
import { insertRuns, RUN_RECORD_BYTES, replaceRows } from './runs/writer.js';

/** Pages (16 KiB) in the write-ahead log before a checkpoint; and the size of SQLite's cache. */
const CHECKPOINT_PAGES = 1_000;
const CACHE_KIBIBYTES = 65_536;
/** Runs of 256 entries have some 2,400 bytes, of which few would fit into a page of 4 KiB. */
const PAGE_BYTES = 16_384;
const BUSY_TIMEOUT_MS = 5_000;

/** A few at a time, though an hour's may have become useless together. */
const REMOVE_RESULTS = `DELETE FROM keyedResult WHERE sequence IN (
  SELECT sequence FROM keyedResult
  WHERE sequence < (SELECT max(sequence) FROM keyedResult WHERE sequence <= ?)
  ORDER BY sequence LIMIT 2000)`;

/** The end of the last journal batch in the history, and the number of entries of each kind. */
export interface Progress {
  sequence: number;
  hash: Buffer;
  counts: Record<CountedName, number>;
}

type ProgressRow = { id: number; sequence: number; hash: Buffer; checksum: number } & Record<
  `${CountedName}Count`,
  number
>;

export function historyPath(folder: string): string {
  return join(folder, HISTORY_FILE);
}

/** Removes the history, which is then rebuilt from the journal. Nothing may have it open. */
export function removeHistory(folder: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(historyPath(folder) + suffix, { force: true });
}

/** The lists as of the last transaction: what a reader must find. */
export interface CommittedLists {
  lengths: ListLengths;
  /** Markets that have ended, in the order of their ids ({@link addPastMarket}). */
  pastMarketIds: number[];
  knownMarketIds: Set<number>;
}

/** A market that an operator declares VOID ends before those of its window with smaller ids. */
export function addPastMarket(ids: number[], marketId: number): void {
  let place = ids.length;
  while (place > 0 && ids[place - 1]! > marketId) place--;
  ids.splice(place, 0, marketId);
}

export class HistoryStore {
  /** Runs that were written since the lengths of the lists were stored; the opener's to set. */
  runs = 0;

  private constructor(
    readonly database: sqlite3.Database,
    private readonly inserts: Record<ListName, sqlite3.Statement>,
    private readonly replaceMarkets: sqlite3.Statement,
    private readonly replaceAmended: sqlite3.Statement,
    private readonly insertResults: sqlite3.Statement,
    private readonly removeResults: sqlite3.Statement,
    public progress: Progress,
  ) {}

  /**
   * Opens the history of a data folder, or creates an empty one.
   * @throws HistoryDamage when it is damaged or of another version; or another error of SQLite.
   */
  static async open(folder: string): Promise<HistoryStore> {
    const path = historyPath(folder);
    await createPrivateFile(path);
    if (!takesWrites(path))
      throw new HistoryDamage('(unknown)', '(unknown)', 'SQLite would not write to the file');
    const database = await openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
    try {
      await configure(database);
      if (await isEmpty(database)) await createTables(database);
      await checkFormat(database);
      const progress = await readProgress(database);
      const inserts: Partial<Record<ListName, sqlite3.Statement>> = {};
      for (const layout of LISTS)
        inserts[layout.name] = await prepare(database, insertRuns(layout));
      const replaceMarkets = await prepare(database, replaceRows(MARKET));
      const replaceAmended = await prepare(database, replaceRows(AMENDED_ORDER));
      const insertResults = await prepare(database, 'INSERT INTO keyedResult VALUES (?, ?, ?)');
      const removeResults = await prepare(database, REMOVE_RESULTS);
      const all = inserts as Record<ListName, sqlite3.Statement>;
      return new HistoryStore(
        database,
        all,
        replaceMarkets,
        replaceAmended,
        insertResults,
        removeResults,
        progress,
      );
    } catch (error) {
      await closeDatabase(database);
      throw asDamage(error);
    }
  }

  get entryCount(): number {
    return Object.values(this.progress.counts).reduce((sum, count) => sum + count, 0);
  }

  async commit(changes: HistoryChanges, end: { sequence: number; hash: Buffer }): Promise<void> {
    const { database, inserts } = this;
    const progress = { sequence: end.sequence, hash: end.hash, counts: this.countsAfter(changes) };
    try {
      await execute(database, 'BEGIN IMMEDIATE');
      for (const { name } of LISTS) {
        for (const { records, entries } of changes.lists[name].pieces) {
          await called((done) => inserts[name].run([records, entries], done));
          this.runs += records.length / RUN_RECORD_BYTES;
        }
      }
      if (changes.markets.length > 0)
        await called((done) => this.replaceMarkets.run([changes.markets], done));
      if (changes.amendedOrders.length > 0)
        await called((done) => this.replaceAmended.run([changes.amendedOrders], done));
      for (const { marketId, points, sequence } of changes.prices) {
        const bytes = Buffer.from(points.buffer, points.byteOffset, points.byteLength);
        const row = [marketId, bytes, sequence, pricesChecksum(marketId, points, sequence)];
        await query(database, 'REPLACE INTO marketPrices VALUES (?, ?, ?, ?)', row);
      }
      for (const { sequence, results } of changes.keyedResults) {
        const row = [sequence, results, keyedResultChecksum(sequence, results)];
        await called((done) => this.insertResults.run(row, done));
      }
      await called((done) => this.removeResults.run([changes.keyedFrom], done));
      await writeProgress(database, progress);
      await execute(database, 'COMMIT');
    } catch (error) {
      // Closing the connection rolls back a failed transaction.
      throw asDamage(error);
    }
    this.progress = progress;
  }

  /** Between two commits. @param lengths those of the lists in the database. */
  async storeLengths(lengths: ListLengths): Promise<void> {
    if (!areLengthsDue(this.runs, lengths)) return;
    try {
      await writeLengths(this.database, lengths);
    } catch (error) {
      throw asDamage(error);
    }
    this.runs = 0;
  }

  /**
   * Checkpoints: syncs committed transactions into history.db, except those that a reader holds
   * back. Never waits for readers. Must not run during a transaction.
   */
  async sync(): Promise<void> {
    try {
      await query(this.database, 'PRAGMA wal_checkpoint(PASSIVE)');
    } catch (error) {
      throw asDamage(error);
    }
  }

  async close(): Promise<void> {
    for (const statement of Object.values(this.inserts)) await finalize(statement);
    await finalize(this.replaceMarkets);
    await finalize(this.replaceAmended);
    await finalize(this.insertResults);
    await finalize(this.removeResults);
    await closeDatabase(this.database);
  }

  private countsAfter({ lists, addedIds }: HistoryChanges): Progress['counts'] {
    const old = this.progress.counts;
    const added = (name: CountedName) => (name === 'market' ? addedIds.length : lists[name].count);
    return countsOf((name) => old[name] + added(name));
  }
}

async function configure(database: sqlite3.Database): Promise<void> {
  database.configure('busyTimeout', BUSY_TIMEOUT_MS);
  await execute(database, `PRAGMA page_size = ${PAGE_BYTES}`);
  await execute(database, 'PRAGMA journal_mode = WAL');
  // A power cut can undo whole transactions, which are rebuilt from the journal. Only checkpoints
  // sync.
  await execute(database, 'PRAGMA synchronous = NORMAL; PRAGMA checkpoint_fullfsync = ON');
  await execute(database, `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  await execute(database, `PRAGMA cache_size = -${CACHE_KIBIBYTES}`);
}

/** New, or left by a crash before the transaction that creates its tables. */
async function isEmpty(database: sqlite3.Database): Promise<boolean> {
  return (await query(database, 'SELECT 1 FROM sqlite_schema')).length === 0;
}

async function createTables(database: sqlite3.Database): Promise<void> {
  await execute(database, 'BEGIN');
  await execute(database, `PRAGMA application_id = ${HISTORY_APPLICATION_ID}`);
  await execute(database, `PRAGMA user_version = ${HISTORY_VERSION}; ${SCHEMA.join(';')}`);
  const counts = countsOf(() => 0);
  await writeProgress(database, { sequence: 0, hash: GENESIS.hash, counts });
  await execute(database, 'COMMIT');
}

async function checkFormat(database: sqlite3.Database): Promise<void> {
  const [application] = await query<{ application_id: number }>(database, 'PRAGMA application_id');
  const [version] = await query<{ user_version: number }>(database, 'PRAGMA user_version');
  const texts = 'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL';
  const schema = await query<{ sql: string }>(database, texts);
  const isOurs =
    application?.application_id === HISTORY_APPLICATION_ID &&
    version?.user_version === HISTORY_VERSION &&
    schema.length === SCHEMA.length &&
    schema.every(({ sql }, i) => sql === SCHEMA[i]);
  const other = 'the tables are not those of this version';
  if (!isOurs) throw new HistoryDamage('sqlite_schema', 'all rows', other);
}

/** @throws HistoryDamage when it is not what was written. */
export async function readProgress(database: sqlite3.Database): Promise<Progress> {
  const rows = await query<ProgressRow>(database, 'SELECT * FROM progress');
  const row = rows[0];
  if (rows.length !== 1 || row === undefined)
    throw new HistoryDamage('progress', 'id 1', 'it is missing');
  const counts = countsOf((name) => row[`${name}Count`]);
  const progress = { sequence: row.sequence, hash: row.hash, counts };
  if (row.id !== 1 || progressChecksum(progress) !== row.checksum) {
    throw new HistoryDamage('progress', 'id 1', 'it is not what was written');
  }
  return progress;
}

async function writeProgress(database: sqlite3.Database, progress: Progress): Promise<void> {
  const counts = COUNTED.map(({ name }) => progress.counts[name]);
  const row = [1, progress.sequence, progress.hash, ...counts, progressChecksum(progress)];
  const marks = row.map(() => '?').join(', ');
  await query(database, `REPLACE INTO progress VALUES (${marks})`, row);
}

function countsOf(count: (name: CountedName) => number): Record<CountedName, number> {
  return Object.fromEntries(COUNTED.map(({ name }) => [name, count(name)])) as Record<
    CountedName,
    number
  >;
}

function progressChecksum({ sequence, hash, counts }: Progress): number {
  return checksumOf(PROGRESS_TAG, [sequence, ...hash, ...COUNTED.map(({ name }) => counts[name])]);
}
