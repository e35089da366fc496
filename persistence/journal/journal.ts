/**
 * The journal that an exchange writes: one SQLite transaction per batch, on one connection, one at a time. The format
 * and its rules are in journal-format.ts.
 *
 * Always holds:
 * - a batch is reported as committed only when SQLite has synced it to disk (durability `full`) and the head mark
 *   names it;
 * - after the first failure nothing is ever written again, and every later call fails with that failure;
 * - opening changes nothing in a folder that is refused: it is judged first, on connections that leave no trace
 *   (judgement.ts), because closing one that can write would fold journal.db-wal into journal.db and drop what is torn in it;
 * - nothing that is not on disk is taken for committed: what a killed process had written but not synced is synced
 *   first.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { judgeFolder, type Verdict } from '../judgement.js';
import { createPrivateFile, createPrivateFolder, syncPath } from '../storage/files.js';
import { closeDatabase, execute, finalize, openDatabase, prepare } from '../storage/sqlite.js';
import { JournalError } from './errors.js';
import { type FolderLock, hasLock, lockFolder } from './folder-lock.js';
import {
  APPLICATION_ID,
  type BatchContent,
  FORMAT_VERSION,
  HEAD_FILE,
  hashOf,
  JOURNAL_FILE,
  MAX_ROW_BYTES,
  TABLE_SQL,
} from './format.js';
import { HeadMark, type Mark } from './head-mark.js';
import type { JournalPosition } from './reader.js';

/**
 * When a commit counts. `full`: it is on disk. `normal`: the operating system has it; a power cut can take the last
 * ones back. `off`: as normal, and a power cut can damage the file. Only `full` keeps the product's promise; the others
 * are there to measure what it costs.
 */
export type Durability = 'full' | 'normal' | 'off';
const SYNCHRONOUS: Record<Durability, string> = { full: 'FULL', normal: 'NORMAL', off: 'OFF' };

/** Pages (4 KiB) in the write-ahead log before they are folded into journal.db. More would not be faster, only stall longer. */
const CHECKPOINT_PAGES = 1_000;
/** How long a commit waits for someone else who has locked journal.db, before it fails and the exchange stops. */
const BUSY_TIMEOUT_MS = 5_000;

export interface JournalOptions {
  /** The data folder; made (mode 0700) if there is none. */
  folder: string;
  /** Default `full`. */
  durability?: Durability;
  /**
   * Take a journal without journal.head as complete. Default false: without it nobody can tell whether the end is
   * missing, and a copy of journal.db made without journal.db-wal looks just like that.
   */
  acceptMissingMark?: boolean;
}

/**
 * Opens the journal of a folder, and holds the folder's lock until it is closed. Makes a new one where there is none.
 * @throws JournalError when the folder is in use or the journal is not as it was left; then nothing has been changed.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const folder = await DataFolder.take(options);
  try {
    return await folder.openJournal();
  } catch (error) {
    await folder.release();
    throw error;
  }
}

/**
 * A data folder that this process alone has, and that an exchange may go on with: locked and judged, and not changed yet.
 * Whatever else may keep an exchange from starting is found out now; then the journal is opened.
 */
export class DataFolder {
  private isTaken = true;

  private constructor(
    private readonly options: JournalOptions,
    private readonly lock: FolderLock,
    readonly verdict: Verdict,
  ) {}

  /** @throws JournalError when the folder is in use or its journal is refused; then nothing in it has been changed. */
  static async take(options: JournalOptions): Promise<DataFolder> {
    const { folder, acceptMissingMark = false } = options;
    await createPrivateFolder(folder);
    // Whoever has a folder has made its lock. Where there is none, it is not made either in a folder that is refused.
    if (!hasLock(folder)) await judgeFolder(folder, { acceptMissingMark });
    const lock = await lockFolder(folder);
    try {
      const log = join(folder, `${JOURNAL_FILE}-wal`);
      if (existsSync(log)) await syncPath(log);
      return new DataFolder(options, lock, await judgeFolder(folder, { acceptMissingMark }));
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  get path(): string {
    return this.options.folder;
  }

  /** The journal, which has the lock from now on. Called once. */
  async openJournal(): Promise<Journal> {
    const { folder, durability = 'full' } = this.options;
    const journal = await Journal.open(folder, durability, this.verdict, this.lock);
    this.isTaken = false;
    return journal;
  }

  /** Lets go of the folder, unless the journal has it. */
  async release(): Promise<void> {
    if (!this.isTaken) return;
    this.isTaken = false;
    await this.lock.release();
  }
}

/** Called once, when the batch is committed, or with what went wrong. */
export type CommitDone = (error: JournalError | null) => void;

export class Journal {
  /** Sequence, hash and digest of the last committed batch. */
  private position: JournalPosition;
  private failure: JournalError | null = null;
  private writing = false;

  private constructor(
    readonly folder: string,
    /** What the operator should know about how the journal was found; null when all was as it was left. */
    readonly notice: string | null,
    end: JournalPosition,
    private readonly database: sqlite3.Database,
    private readonly insert: sqlite3.Statement,
    private readonly mark: HeadMark,
    private readonly lock: FolderLock,
  ) {
    this.position = end;
  }

  /** Called by {@link DataFolder}, with what was found. */
  static async open(
    folder: string,
    durability: Durability,
    found: Verdict,
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
        const insert = await prepare(
          database,
          'INSERT INTO batch (firstSequence, lastSequence, frames, digest, hash) VALUES (?, ?, ?, ?, ?)',
        );
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

  /** Where the journal ends: the last committed batch. */
  get end(): JournalPosition {
    return this.position;
  }

  /**
   * Commits the next batch: its first sequence must be the one after the journal's end, and the batch before must have
   * been reported as done. `frames` may be changed again when this returns. `done` is always called later, never from
   * within.
   */
  append(batch: BatchContent, done: CommitDone): void {
    this.checkNext(batch);
    const { firstSequence, lastSequence, frames, digest } = batch;
    const hash = hashOf(batch, this.position.hash);
    this.writing = true;
    this.insert.run([firstSequence, lastSequence, frames, digest, hash], (error: Error | null) => {
      this.writing = false;
      this.failure =
        error === null ? this.committed({ sequence: lastSequence, hash, digest }) : failed(error);
      done(this.failure);
    });
  }

  /** Closes the journal and lets go of the folder. Not while a batch is being written. */
  async close(): Promise<void> {
    if (this.writing) throw new Error('the journal cannot be closed while a batch is being written');
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
    const { firstSequence, lastSequence, frames } = batch;
    const isNext = firstSequence === this.position.sequence + 1 && lastSequence >= firstSequence;
    if (!isNext || !Number.isSafeInteger(lastSequence)) {
      throw new RangeError(`${firstSequence} to ${lastSequence} does not follow ${this.position.sequence}`);
    }
    if (frames.length > MAX_ROW_BYTES) throw new RangeError(`a batch of ${frames.length} bytes`);
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

/** How a connection that commits is set up. */
export async function configure(database: sqlite3.Database, durability: Durability): Promise<void> {
  database.configure('busyTimeout', BUSY_TIMEOUT_MS);
  await execute(database, 'PRAGMA journal_mode = WAL');
  await execute(database, `PRAGMA synchronous = ${SYNCHRONOUS[durability]}`);
  // On macOS fsync leaves the bytes in the disk's own cache, which a power cut empties. Elsewhere these change nothing.
  const isFull = durability === 'full' ? 'ON' : 'OFF';
  await execute(database, `PRAGMA fullfsync = ${isFull}; PRAGMA checkpoint_fullfsync = ${isFull}`);
  await execute(database, `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

/**
 * In one transaction, so that a journal has all of it or nothing; then out of the write-ahead log into journal.db, so
 * that a journal without its log can still be told from a folder without a journal.
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
    `the journal could not be written: ${error.message}. What was not acknowledged may be lost; nothing that was is. ` +
      'Free the disk or repair it, and start again.',
    null,
    error,
  );
}
