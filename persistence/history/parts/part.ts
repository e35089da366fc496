/**
 * The writer of one part that is not sealed.
 *
 * Invariant: a transaction adds whole journal batches and records where they end, or changes
 * nothing.
 */
import type sqlite3 from 'sqlite3';
import { called, closeDatabase, execute, finalize, prepare } from '../../storage/sqlite.js';
import type { HistoryChanges } from '../projection.js';
import { asDamage, HistoryDamage, putValue } from '../rows.js';
import { MARKET, SCHEMA } from '../runs/format.js';
import { INSERT_RUNS } from '../runs/writer.js';
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
  /**
   * Runs written since the list lengths were last stored. The code that opens the part sets the
   * initial value.
   */
  runs = 0;

  private constructor(
    readonly part: number,
    readonly database: sqlite3.Database,
    private readonly insert: sqlite3.Statement,
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
      return new PartWriter(part, database, await prepare(database, INSERT_RUNS), progress);
    } catch (error) {
      await closeDatabase(database);
      throw asDamage(error, part);
    }
  }

  async commit(changes: HistoryChanges, end: BatchEnd): Promise<void> {
    const { database } = this;
    const old = this.progress.counts;
    const progress = { ...end, counts: countsOf((name) => old[name] + changes.added[name]) };
    await this.transaction(async () => {
      for (const { rows, runs, entries } of changes.pieces) {
        await called((done) => this.insert.run([rows, entries], done));
        this.runs += runs;
      }
      for (const market of changes.markets)
        await putValue(database, MARKET, market.marketId, JSON.stringify(market));
      await writeProgress(database, progress);
    });
    this.progress = progress;
  }

  /** Closing the connection rolls back a failed transaction. */
  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      await execute(this.database, 'BEGIN IMMEDIATE');
      const result = await work();
      await execute(this.database, 'COMMIT');
      return result;
    } catch (error) {
      throw asDamage(error, this.part);
    }
  }

  /**
   * Checkpoints: syncs committed transactions into the file, except those that a reader holds
   * back. Never waits for readers. Must not run during a transaction.
   */
  async sync(): Promise<void> {
    await execute(this.database, 'PRAGMA wal_checkpoint(PASSIVE)').catch((error: unknown) => {
      throw asDamage(error, this.part);
    });
  }

  async close(): Promise<void> {
    await finalize(this.insert);
    await closeDatabase(this.database);
  }
}
