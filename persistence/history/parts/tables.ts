/** The databases of the history: opened with the tables of this version, or with none and empty. */
import sqlite3 from 'sqlite3';
import { createPrivateFile } from '../../storage/files.js';
import { closeDatabase, execute, openDatabase, query } from '../../storage/sqlite.js';
import { takesWrites } from '../../storage/write-version.js';
import { asDamage, HistoryDamage } from '../rows.js';
import { HISTORY_APPLICATION_ID, HISTORY_VERSION } from '../runs/format.js';

const BUSY_TIMEOUT_MS = 5_000;
/** Runs of 256 entries have some 2,400 bytes, of which few would fit into a page of 4 KiB. */
const PAGE_BYTES = 16_384;

interface TablesOptions {
  schema: readonly string[];
  /** The part's number; null for the catalogue. */
  part: number | null;
  pragmas: string;
  /** Fills the tables that were created, in the same transaction. */
  fill?: (database: sqlite3.Database) => Promise<void>;
}

/**
 * Opens a database for writing; creates it if it is not there.
 * @throws HistoryDamage when it is damaged or of another version; or another error of SQLite.
 */
export async function openTables(
  path: string,
  { schema, part, pragmas, fill }: TablesOptions,
): Promise<sqlite3.Database> {
  await createPrivateFile(path);
  if (!takesWrites(path)) {
    const what = 'SQLite would not write to the file';
    throw new HistoryDamage('(unknown)', '(unknown)', what).in(part);
  }
  const database = await openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
  try {
    database.configure('busyTimeout', BUSY_TIMEOUT_MS);
    await execute(database, `PRAGMA page_size = ${PAGE_BYTES}; ${pragmas}`);
    if (await isEmpty(database)) {
      await execute(database, `BEGIN; PRAGMA application_id = ${HISTORY_APPLICATION_ID}`);
      await execute(database, `PRAGMA user_version = ${HISTORY_VERSION}; ${schema.join(';')}`);
      await fill?.(database);
      await execute(database, 'COMMIT');
    }
    await checkFormat(database, schema);
    return database;
  } catch (error) {
    await closeDatabase(database);
    throw asDamage(error, part);
  }
}

/** New, or left by a crash before the transaction that creates its tables. */
async function isEmpty(database: sqlite3.Database): Promise<boolean> {
  return (await query(database, 'SELECT 1 FROM sqlite_schema')).length === 0;
}

async function checkFormat(database: sqlite3.Database, schema: readonly string[]): Promise<void> {
  const [application] = await query<{ application_id: number }>(database, 'PRAGMA application_id');
  const [version] = await query<{ user_version: number }>(database, 'PRAGMA user_version');
  const texts = 'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL';
  const found = await query<{ sql: string }>(database, texts);
  const isOurs =
    application?.application_id === HISTORY_APPLICATION_ID &&
    version?.user_version === HISTORY_VERSION &&
    found.length === schema.length &&
    found.every(({ sql }, i) => sql === schema[i]);
  const other = 'the tables are not those of this version';
  if (!isOurs) throw new HistoryDamage('sqlite_schema', 'all rows', other);
}
