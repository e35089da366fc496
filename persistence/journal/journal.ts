/**
 * The journal that an exchange writes: one SQLite transaction per batch, one at a time (format.ts).
 *
 * Always holds: a batch is reported as committed only when SQLite has synced it to disk (durability
 * `full`) and the head mark names it. After the first failure nothing is written again, and every
 * later call fails with that failure.
 */
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { createPrivateFile, syncPath } from '../storage/files.js';
import { closeDatabase, execute, finalize, openDatabase, prepare } from '../storage/sqlite.js';
import { JournalError } from './errors.js';
import type { FolderLock } from './folder-lock.js';
import {
  APPLICATION_ID,
  type BatchContent,
  FORMAT_VERSION,
  HEAD_FILE,
  hashOf,
  JOURNAL_FILE,
  type JournalPosition,
  MAX_ROW_BYTES,
  TABLE_SQL,
} from './format.js';
import { HeadMark, type Mark } from './head-mark.js';
import type { CommitDone, CommitLog } from './store.js';

/**
 * When a commit counts. `full`: it is on disk. `normal`: the operating system has it; a power cut
 * can undo the last commits. `off`: a power cut can also damage the file. Only `full` keeps
 * acknowledged commands safe; the others measure its cost.
 */
export type Durability = 'full' | 'normal' | 'off';
const SYNCHRONOUS: Record<Durability, string> = { full: 'FULL', normal: 'NORMAL', off: 'OFF' };

const INSERT_SQL =
  'INSERT INTO batch (firstSequence, lastSequence, records, digest, hash) VALUES (?, ?, ?, ?, ?)';
/** Pages (4 KiB) in the log before a checkpoint. More is not faster, and stalls longer. */
const CHECKPOINT_PAGES = 1_000;
/** How long a commit waits for another program's lock; then it fails, and the exchange stops. */
const BUSY_TIMEOUT_MS = 5_000;

/** A folder on which an exchange may start (judgement.ts). */
export interface FoundJournal {
  /** There is no journal, and there never was one. */
  isNew: boolean;
  end: JournalPosition;
  /** What the operator should know about the folder; null: it was as the exchange left it. */
  notice: string | null;
}

export class Journal implements CommitLog {
  private position: JournalPosition;
  private failure: JournalError | null = null;
  private writing = false;

  private constructor(
    readonly folder: string,
    readonly notice: string | null,
    end: JournalPosition,
    private readonly database: sqlite3.Database,
    private readonly insert: sqlite3.Statement,
    private readonly mark: HeadMark,
    private readonly lock: FolderLock,
  ) {
    this.position = end;
  }

  /** Called by DataFolder. The journal releases `lock` when it is closed. */
  static async open(
    folder: string,
    durability: Durability,
    found: FoundJournal,
    lock: FolderLock,
  ): Promise<Journal> {
    const path = join(folder, JOURNAL_FILE);
    const mark = new HeadMark(join(folder, HEAD_FILE), markAt(found.end));
    try {
      await createPrivateFile(path);
      const database = await openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
      try {
        await configure(database, durability);
        if (found.isNew) await createTable(database);
        // The names of the files, too, must be on disk before anything is acknowledged.
        await syncPath(folder);
        const insert = await prepare(database, INSERT_SQL);
        return new Journal(folder, found.notice, found.end, database, insert, mark, lock);
      } catch (error) {
        await closeDatabase(database);
        throw error;
      }
    } catch (error) {
      mark.close();
      throw error;
    }
  }

  get end(): JournalPosition {
    return this.position;
  }

  /**
   * Commits the next batch, which must follow the journal's end, after the previous one is done.
   * `records` may be changed when this returns. `done` is always called later, never from within.
   */
  append(batch: BatchContent, done: CommitDone): void {
    this.checkNext(batch);
    const { firstSequence, lastSequence, records, digest } = batch;
    const hash = hashOf(batch, this.position.hash);
    this.writing = true;
    this.insert.run([firstSequence, lastSequence, records, digest, hash], (error: Error | null) => {
      this.writing = false;
      this.failure =
        error === null ? this.committed({ sequence: lastSequence, hash, digest }) : failed(error);
      done(this.failure);
    });
  }

  /** Closes the journal and releases the folder. Not while a batch is being written. */
  async close(): Promise<void> {
    if (this.writing)
      throw new Error('the journal cannot be closed while a batch is being written');
    this.failure ??= new JournalError('the journal is closed', null);
    await finalize(this.insert);
    this.mark.close();
    try {
      await closeDatabase(this.database);
    } finally {
      await this.lock.release();
    }
  }

  private checkNext(batch: BatchContent): void {
    if (this.failure !== null) throw this.failure;
    if (this.writing) throw new Error('a batch is still being written');
    const { firstSequence, lastSequence, records } = batch;
    const isNext = firstSequence === this.position.sequence + 1 && lastSequence >= firstSequence;
    if (!isNext || !Number.isSafeInteger(lastSequence)) {
      throw new RangeError(
        `${firstSequence} to ${lastSequence} does not follow ${this.position.sequence}`,
      );
    }
    if (records.length > MAX_ROW_BYTES) throw new RangeError(`a batch of ${records.length} bytes`);
  }

  private committed(end: JournalPosition): JournalError | null {
    try {
      this.mark.write(markAt(end));
    } catch (error) {
      return failed(error as Error);
    }
    this.position = end;
    return null;
  }
}

export async function configure(database: sqlite3.Database, durability: Durability): Promise<void> {
  database.configure('busyTimeout', BUSY_TIMEOUT_MS);
  await execute(database, 'PRAGMA journal_mode = WAL');
  await execute(database, `PRAGMA synchronous = ${SYNCHRONOUS[durability]}`);
  // On macOS fsync leaves bytes in the disk's cache, which a power cut empties. Elsewhere no
  // effect.
  const isFull = durability === 'full' ? 'ON' : 'OFF';
  await execute(database, `PRAGMA fullfsync = ${isFull}; PRAGMA checkpoint_fullfsync = ${isFull}`);
  await execute(database, `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

/**
 * In one transaction, so that a journal has all of it or nothing; then moved into journal.db, so
 * that a journal whose log was deleted still differs from a folder without a journal.
 */
async function createTable(database: sqlite3.Database): Promise<void> {
  await execute(
    database,
    `BEGIN; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION}; ${TABLE_SQL}; COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);`,
  );
}

function markAt(end: JournalPosition): Mark {
  return { sequence: end.sequence, hash: end.hash };
}

function failed(error: Error): JournalError {
  return new JournalError(
    `the journal could not be written: ${error.message}. Commands that were not ` +
      'acknowledged may be lost; no other is. Free or repair the disk, and start again.',
    null,
    error,
  );
}
