/**
 * The writer of one part that is not sealed.
 *
 * Always holds: a transaction adds whole journal batches and records where they end, or changes
 * nothing.
 */
import type sqlite3 from 'sqlite3';
import { called, closeDatabase, execute, finalize, prepare, query } from '../../storage/sqlite.js';
import type { HistoryChanges } from '../projection.js';
import { asDamage, HistoryDamage } from '../rows.js';
import {
  AMENDED_ORDER,
  type CountedName,
  LISTS,
  type ListName,
  MARKET,
  pricesChecksum,
  SCHEMA,
} from '../runs/format.js';
import { insertRuns, RUN_RECORD_BYTES, replaceRows } from '../runs/writer.js';
import { openPath } from './catalogue.js';
import { type BatchEnd, countsOf, type Progress, readProgress, writeProgress } from './progress.js';
import { openTables } from './tables.js';

/** Pages (16 KiB) in the write-ahead log before a checkpoint; and the size of SQLite's cache. */
const CHECKPOINT_PAGES = 1_000;
const CACHE_KIBIBYTES = 65_536;
/**
 * A power cut can undo whole transactions, which are rebuilt from the journal. Only checkpoints
 * sync.
 */
const PRAGMAS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA checkpoint_fullfsync = ON;
  PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA cache_size = -${CACHE_KIBIBYTES}`;

export class PartWriter {
  /** Runs that were written since the lengths of the lists were stored; the opener's to set. */
  runs = 0;

  private constructor(
    readonly part: number,
    readonly database: sqlite3.Database,
    private readonly inserts: Record<ListName, sqlite3.Statement>,
    private readonly replaceMarkets: sqlite3.Statement,
    private readonly replaceAmended: sqlite3.Statement,
    public progress: Progress,
  ) {}

  /**
   * Opens a part, or creates an empty one. @param begin where it begins.
   * @throws HistoryDamage when it is damaged or of another version; or another error of SQLite.
   */
  static async open(folder: string, part: number, begin: Progress): Promise<PartWriter> {
    const fill = (database: sqlite3.Database) => writeProgress(database, begin);
    const options = { schema: SCHEMA, part, pragmas: PRAGMAS, fill };
    const database = await openTables(openPath(folder, part), options);
    try {
      const progress = await readProgress(database);
      if (progress.sequence < begin.sequence)
        throw new HistoryDamage('progress', 'id 1', 'it is before the beginning of the part');
      const inserts: Partial<Record<ListName, sqlite3.Statement>> = {};
      for (const layout of LISTS)
        inserts[layout.name] = await prepare(database, insertRuns(layout));
      const replaceMarkets = await prepare(database, replaceRows(MARKET));
      const replaceAmended = await prepare(database, replaceRows(AMENDED_ORDER));
      const all = inserts as Record<ListName, sqlite3.Statement>;
      return new PartWriter(part, database, all, replaceMarkets, replaceAmended, progress);
    } catch (error) {
      await closeDatabase(database);
      throw asDamage(error, part);
    }
  }

  async commit(changes: HistoryChanges, end: BatchEnd): Promise<void> {
    const { database, inserts } = this;
    const progress = { ...end, counts: this.countsAfter(changes) };
    await this.orDamage(async () => {
      // Closing the connection rolls back a failed transaction.
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
      await writeProgress(database, progress);
      await execute(database, 'COMMIT');
    });
    this.progress = progress;
  }

  /**
   * Checkpoints: syncs committed transactions into the file, except those that a reader holds
   * back. Never waits for readers. Must not run during a transaction.
   */
  async sync(): Promise<void> {
    await this.orDamage(() => query(this.database, 'PRAGMA wal_checkpoint(PASSIVE)'));
  }

  async orDamage<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw asDamage(error, this.part);
    }
  }

  async close(): Promise<void> {
    for (const statement of Object.values(this.inserts)) await finalize(statement);
    await finalize(this.replaceMarkets);
    await finalize(this.replaceAmended);
    await closeDatabase(this.database);
  }

  private countsAfter({ lists, addedIds }: HistoryChanges): Progress['counts'] {
    const old = this.progress.counts;
    const added = (name: CountedName) => (name === 'market' ? addedIds.length : lists[name].count);
    return countsOf((name) => old[name] + added(name));
  }
}
