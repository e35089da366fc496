/**
 * sqlite3's callbacks as promises. Its work runs on libuv's thread pool; calls on one connection run in order.
 *
 * Always holds: a statement made here is finalized when its promise settles, so no read is left open behind it (an
 * open read would keep the write-ahead log from being reused, and the log would grow without end).
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

/** How often a read that was refused with READONLY is tried again, and after how long. */
const READ_AGAIN = 50;
const READ_AGAIN_MS = 10;

/**
 * All rows of one query. A reader that may not write to the index of the write-ahead log, and looks at it at the very moment at which a
 * writer changes it, is told that the index has to be recovered (walIndexReadHdr in SQLite's wal.c); a moment later nothing
 * is wrong, so it looks again.
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
      if (!isRefused || attempt === READ_AGAIN) throw error;
      await sleep(READ_AGAIN_MS);
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
