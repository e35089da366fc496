/**
 * The sqlite3 package with promises instead of callbacks. Calls on one connection run in order, on
 * libuv's thread pool.
 *
 * Always holds: a query's statement is finalized when its promise settles. An open read would keep
 * the write-ahead log from being reused, and it would grow without bound.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import sqlite3 from 'sqlite3';

/** @param mode sqlite3.OPEN_… flags. */
export function openDatabase(path: string, mode: number): Promise<sqlite3.Database> {
  return new Promise((resolve, reject) => {
    const database: sqlite3.Database = new sqlite3.Database(path, mode, (error) => {
      if (error) reject(error);
      else resolve(database);
    });
  });
}

/** Runs statements that return nothing. */
export function execute(database: sqlite3.Database, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    database.exec(sql, (error) => (error ? reject(error) : resolve()));
  });
}

/** Attempts of a read that is refused with READONLY, and the pause between them. */
const READ_ATTEMPTS_MAX = 50;
const READ_RETRY_MS = 10;

/**
 * All rows of one query. A reader that may not write to the index of the write-ahead log gets
 * READONLY when a writer is just changing it (walIndexReadHdr in SQLite's wal.c); a retry succeeds.
 */
export async function query<Row>(
  database: sqlite3.Database,
  sql: string,
  parameters: readonly (number | string | Buffer)[] = [],
): Promise<Row[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await queryOnce<Row>(database, sql, parameters);
    } catch (error) {
      const isRefused = (error as { errno?: number }).errno === sqlite3.READONLY;
      if (!isRefused || attempt === READ_ATTEMPTS_MAX) throw error;
      await sleep(READ_RETRY_MS);
    }
  }
}

function queryOnce<Row>(
  database: sqlite3.Database,
  sql: string,
  parameters: readonly (number | string | Buffer)[],
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    database.all<Row>(sql, parameters, (error, rows) => (error ? reject(error) : resolve(rows)));
  });
}

export function prepare(database: sqlite3.Database, sql: string): Promise<sqlite3.Statement> {
  return new Promise((resolve, reject) => {
    const statement: sqlite3.Statement = database.prepare(sql, (error) => {
      if (error) reject(error);
      else resolve(statement);
    });
  });
}

export function finalize(statement: sqlite3.Statement): Promise<void> {
  return new Promise((resolve) => {
    statement.finalize(() => resolve());
  });
}

export function closeDatabase(database: sqlite3.Database): Promise<void> {
  return new Promise((resolve, reject) => {
    database.close((error) => (error ? reject(error) : resolve()));
  });
}
