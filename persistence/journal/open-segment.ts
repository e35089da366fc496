/**
 * The segment being written: its file, created if missing, and its connection.
 *
 * Invariant: a file gets a segment's name only when its tables and head are on disk, so no crash
 * leaves a segment without them.
 */
import { renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import sqlite3 from 'sqlite3';
import { createPrivateFile, syncPath } from '../storage/files.js';
import { closeDatabase, execute, openDatabase, prepare } from '../storage/sqlite.js';
import { APPLICATION_ID, FORMAT_VERSION, type JournalPosition, TABLE_SQL } from './format.js';
import { HEAD_TABLE_SQL, segmentAt } from './segments.js';

/**
 * When a commit counts. `full`: it is on disk. `normal`: the operating system has it; a power cut
 * can undo the last commits. `off`: a power cut can also damage the file. Only `full` keeps
 * acknowledged commands safe; the others exist to measure its cost.
 */
export type Durability = 'full' | 'normal' | 'off';
const SYNCHRONOUS: Record<Durability, string> = { full: 'FULL', normal: 'NORMAL', off: 'OFF' };

const INSERT_SQL =
  'INSERT INTO batch (firstSequence, lastSequence, records, digest, hash) VALUES (?, ?, ?, ?, ?)';
/**
 * Pages of 4 KiB in the log before a checkpoint. A larger value is not faster, and stalls longer.
 */
const CHECKPOINT_PAGES = 1_000;
/** After a long reader has let the log grow, it shrinks to this size. */
const LOG_BYTES_KEPT = 16 * 1024 * 1024;
/** How long a commit waits for another program's lock before it fails and the exchange stops. */
const BUSY_TIMEOUT_MS = 5_000;

export interface OpenSegment {
  number: number;
  database: sqlite3.Database;
  insert: sqlite3.Statement;
  bytes: number;
}

/** Opens a segment for writing. @param previous the end of the segment before a new one. */
export async function openSegment(
  { folder, durability }: { folder: string; durability: Durability },
  number: number,
  previous: JournalPosition,
): Promise<OpenSegment> {
  const { path } = segmentAt(folder, number);
  if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) === 0)
    await createSegment(path, number, previous);
  // Also makes the name durable if a killed process created the file.
  await syncPath(dirname(path));
  return opened(path, async (database) => {
    await configure(database, durability);
    const insert = await prepare(database, INSERT_SQL);
    return { number, database, insert, bytes: sizeOf(path) + sizeOf(`${path}-wal`) };
  });
}

async function opened<Result>(
  path: string,
  work: (database: sqlite3.Database) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
  try {
    return await work(database);
  } catch (error) {
    await closeDatabase(database).catch(() => {});
    throw error;
  }
}

export async function configure(database: sqlite3.Database, durability: Durability): Promise<void> {
  database.configure('busyTimeout', BUSY_TIMEOUT_MS);
  await execute(database, 'PRAGMA journal_mode = WAL');
  await execute(database, `PRAGMA synchronous = ${SYNCHRONOUS[durability]}`);
  // On macOS fsync leaves bytes in the disk's cache, which a power cut loses. No effect elsewhere.
  const isFull = durability === 'full' ? 'ON' : 'OFF';
  await execute(database, `PRAGMA fullfsync = ${isFull}; PRAGMA checkpoint_fullfsync = ${isFull}`);
  await execute(database, `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  await execute(database, `PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`);
}

async function createSegment(
  path: string,
  number: number,
  { sequence, hash, digest }: JournalPosition,
): Promise<void> {
  const unfinished = `${path}.new`;
  for (const each of [unfinished, path])
    for (const suffix of ['-wal', '-shm']) rmSync(each + suffix, { force: true });
  rmSync(unfinished, { force: true });
  await createPrivateFile(unfinished);
  const head =
    number === 1
      ? ''
      : `${HEAD_TABLE_SQL};
    INSERT INTO head VALUES (${number}, ${sequence}, x'${hash.toString('hex')}', '${digest}');`;
  await opened(unfinished, async (database) => {
    await configure(database, 'full');
    // Checkpoint explicitly: closing a database does not report a failed one.
    await execute(
      database,
      `BEGIN; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION};
      ${TABLE_SQL}; ${head} COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`,
    );
    await closeDatabase(database);
  });
  renameSync(unfinished, path);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
