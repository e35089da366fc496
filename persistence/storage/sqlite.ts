/**
 * The sqlite3 package with promises instead of callbacks. Calls on one connection run in order, on
 * libuv's thread pool.
 *
 * Invariant: a query's statement is finalized when its promise settles. An open read would keep
 * the write-ahead log from being reused, and it would grow without bound.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sqlite3 from 'sqlite3';
import { named } from './files.js';

/** A promise of what `start` passes to its callback. */
export function called<Value = void>(
  start: (done: (error: Error | null, value?: Value) => void) => void,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error ? reject(error) : resolve(value as Value)));
  });
}

export async function openDatabase(path: string, mode: number): Promise<sqlite3.Database> {
  let database: sqlite3.Database;
  await called((done) => (database = new sqlite3.Database(path, mode, done))).catch((error) => {
    throw named(error, path);
  });
  return database!;
}

/** The path of a database, even if it was opened by a URI. */
function fileOf(database: sqlite3.Database): string {
  const { filename } = database as unknown as { filename: string };
  return filename.startsWith('file:') ? fileURLToPath(filename.split('?', 1)[0]!) : filename;
}

export function execute(database: sqlite3.Database, sql: string): Promise<void> {
  return called<void>((done) => database.exec(sql, done)).catch((error) => {
    throw named(error, fileOf(database));
  });
}

/** Attempts of a read refused with READONLY, and the pause between them. */
const READ_ATTEMPTS_MAX = 50;
const READ_RETRY_MS = 10;

/**
 * All rows of one query. A reader that may not write to the index of the write-ahead log gets
 * READONLY while a writer changes it (walIndexReadHdr in SQLite's wal.c); a retry succeeds.
 */
export async function query<Row>(
  database: sqlite3.Database,
  sql: string,
  parameters: readonly (number | string | Buffer)[] = [],
): Promise<Row[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await called<Row[]>((done) => database.all<Row>(sql, parameters, done));
    } catch (error) {
      const isRefused = (error as { errno?: number }).errno === sqlite3.READONLY;
      if (!isRefused || attempt === READ_ATTEMPTS_MAX) throw named(error, fileOf(database));
      await sleep(READ_RETRY_MS);
    }
  }
}

export async function prepare(database: sqlite3.Database, sql: string): Promise<sqlite3.Statement> {
  let statement: sqlite3.Statement;
  await called((done) => (statement = database.prepare(sql, done)));
  return statement!;
}

export function finalize(statement: sqlite3.Statement): Promise<void> {
  return new Promise((resolve) => {
    statement.finalize(() => resolve());
  });
}

export function closeDatabase(database: sqlite3.Database): Promise<void> {
  return called((done) => database.close(done));
}
