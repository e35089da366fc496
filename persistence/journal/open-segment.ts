/**
 * The segment that is being written: its file, created if there is none, and its connection.
 *
 * Always holds: the tables and the head are there in one transaction, and the file's name is on
 * disk, before anything is committed to it.
 */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import sqlite3 from 'sqlite3';
import { createPrivateFile, syncPath } from '../storage/files.js';
import { closeDatabase, execute, openDatabase, prepare, query } from '../storage/sqlite.js';
import { APPLICATION_ID, FORMAT_VERSION, type JournalPosition, TABLE_SQL } from './format.js';
import { HEAD_TABLE_SQL, segmentAt } from './segments.js';

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
/** What a long reader has let the log grow to is given back, down to this, once it has gone. */
const LOG_BYTES_KEPT = 16 * 1024 * 1024;
/** How long a commit waits for another program's lock; then it fails, and the exchange stops. */
const BUSY_TIMEOUT_MS = 5_000;

export interface OpenSegment {
  number: number;
  database: sqlite3.Database;
  insert: sqlite3.Statement;
  /** About the size of the file. */
  bytes: number;
}

/** Opens a segment to write to it. @param previous where the one before it ends, if it is new. */
export async function openSegment(
  { folder, durability }: { folder: string; durability: Durability },
  number: number,
  previous: JournalPosition,
): Promise<OpenSegment> {
  const { path } = segmentAt(folder, number);
  await createPrivateFile(path);
  const database = await openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
  try {
    await configure(database, durability);
    const tables = await query(database, 'SELECT 1 FROM sqlite_schema');
    if (tables.length === 0) await createTables(database, number, previous);
    // The names of the files, too, must be on disk before anything is acknowledged.
    await syncPath(dirname(path));
    const insert = await prepare(database, INSERT_SQL);
    return { number, database, insert, bytes: sizeOf(path) + sizeOf(`${path}-wal`) };
  } catch (error) {
    await closeDatabase(database);
    throw error;
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
  await execute(database, `PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`);
}

/**
 * In one transaction, so that a segment has all of it or nothing; then moved into the file itself,
 * so that a journal whose log was deleted still differs from a folder without a journal.
 */
async function createTables(
  database: sqlite3.Database,
  number: number,
  { sequence, hash, digest }: JournalPosition,
): Promise<void> {
  const head =
    number === 1
      ? ''
      : `${HEAD_TABLE_SQL};
    INSERT INTO head VALUES (${number}, ${sequence}, x'${hash.toString('hex')}', '${digest}', NULL);`;
  await execute(
    database,
    `BEGIN; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION};
    ${TABLE_SQL}; ${head} COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`,
  );
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
