/**
 * One exchange per data folder: an exclusive SQLite transaction on `journal.lock`, an empty file.
 *
 * Invariant: the lock is the operating system's (fcntl), so it ends with the process and never
 * goes stale. The folder must be on a local file system: some network file systems lack such locks.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { createPrivateFile } from '../storage/files.js';
import { closeDatabase, execute, openDatabase } from '../storage/sqlite.js';
import { JournalError } from './errors.js';

export interface FolderLock {
  release(): Promise<void>;
}

/** Another process, or another journal in this one, holds the folder. */
export class FolderInUse extends JournalError {
  override name = 'FolderInUse';
}

export const LOCK_FILE = 'journal.lock';

/** Whether the folder has ever been locked. If not, it is not in use. */
export function hasLock(folder: string): boolean {
  return existsSync(join(folder, LOCK_FILE));
}

export async function lockFolder(folder: string): Promise<FolderLock> {
  const path = join(folder, LOCK_FILE);
  await createPrivateFile(path);
  const database = await openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
  try {
    // The holder keeps the lock while it runs; to wait would only delay the message.
    database.configure('busyTimeout', 0);
    // Nothing is ever written, so no rollback journal is needed.
    await execute(database, 'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    await closeDatabase(database);
    if ((error as { errno?: number }).errno !== sqlite3.BUSY) throw error;
    const problem = `the data folder ${folder} is in use: another exchange has it open`;
    const remedy = 'Stop that exchange first, or use another folder.';
    throw new FolderInUse({ problem, file: folder, remedy }, null, error);
  }
  // Closing ends the transaction, and with it the lock.
  return { release: () => closeDatabase(database) };
}
