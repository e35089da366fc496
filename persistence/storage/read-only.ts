/**
 * Opens the databases of a data folder without changing any file: for the judgement before startup,
 * and for the replay tool. SQLite's read-only mode is not enough: in write-ahead mode it creates
 * missing -wal and -shm files, and writes locks and marks to -shm. The mode depends on the files:
 *
 *   no -wal, or an empty one    complete, and not open elsewhere: `immutable`, without locks
 *   -wal and -shm               an exchange has it open, or was killed: `readonly_shm`, which does
 *                               not change -shm, and indexes -wal in memory if there is no writer
 *   -wal without -shm           a copy, or left by a killed exchange: `unix-none`, no locks, with
 *                               an index in memory; a read-only file is not checkpointed on closing
 *
 * A -wal with only its header, as after a kill or a power cut, counts as empty: with
 * `readonly_shm`, SQLite would try to read it for ten seconds and then fail (SQLITE_PROTOCOL).
 *
 * Invariant: no file of the folder is created, changed or deleted, and no mtime changes. A read
 * without locks is valid only if nothing wrote the file during the read; each handle can tell.
 */
import { constants, existsSync, statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import { mayUse } from './files.js';
import { closeDatabase, execute, openDatabase, query } from './sqlite.js';

const BUSY_TIMEOUT_MS = 5_000;
/** Attempts to open a database that another program is closing. */
const OPEN_ATTEMPTS_MAX = 10;
/** The size of the header of -wal (WAL_HDRSIZE in SQLite's wal.c). */
const LOG_HEADER_BYTES = 32;

export interface ReadOnlyDatabase {
  readonly database: sqlite3.Database;
  /** Whether the database was written to since opening, so that the read is not valid. */
  wasDisturbed(): boolean;
}

/** @throws the system's error if the files may not be read, or SQLite's. */
export async function openReadOnly(path: string): Promise<ReadOnlyDatabase> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openAsItIs(path);
    } catch (error) {
      // Another program has closed the database, which removed -wal and -shm.
      const isGone = (error as { errno?: number }).errno === sqlite3.CANTOPEN;
      if (!isGone || attempt === OPEN_ATTEMPTS_MAX) throw error;
    }
  }
}

async function openAsItIs(path: string): Promise<ReadOnlyDatabase> {
  for (const suffix of ['', '-wal', '-shm']) {
    mayUse(path + suffix, constants.R_OK);
  }
  const hasLog = existsSync(`${path}-wal`);
  const hasIndex = existsSync(`${path}-shm`);
  const logBytes = hasLog ? statSync(`${path}-wal`).size : 0;
  if (hasLog && hasIndex && logBytes !== LOG_HEADER_BYTES) {
    return { database: await openWithIndex(path), wasDisturbed: () => false };
  }
  const before = stampOf(path);
  const wasDisturbed = () => existsSync(`${path}-shm`) !== hasIndex || stampOf(path) !== before;
  if (logBytes <= LOG_HEADER_BYTES) {
    return { database: await open(path, 'mode=ro&immutable=1'), wasDisturbed };
  }
  const database = await open(path, 'mode=ro&vfs=unix-none');
  await execute(database, 'PRAGMA locking_mode = EXCLUSIVE');
  return { database, wasDisturbed };
}

/** SQLite opens -wal and -shm at the first read. They then stay until this connection is closed. */
async function openWithIndex(path: string): Promise<sqlite3.Database> {
  const database = await open(path, 'mode=ro&readonly_shm=1');
  try {
    await query(database, 'SELECT 1 FROM sqlite_schema LIMIT 1');
    return database;
  } catch (error) {
    await closeDatabase(database);
    throw error;
  }
}

async function open(path: string, parameters: string): Promise<sqlite3.Database> {
  const mode = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI | sqlite3.OPEN_FULLMUTEX;
  const database = await openDatabase(`${pathToFileURL(path).href}?${parameters}`, mode);
  // A starting exchange locks the database for a moment.
  database.configure('busyTimeout', BUSY_TIMEOUT_MS);
  return database;
}

function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? 'gone' : `${stats.mtimeMs} ${stats.size}`;
}
