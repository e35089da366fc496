/**
 * Seals a full segment: moves its write-ahead log into the file, syncs it, and makes it read-only.
 *
 * Always holds: every step can be repeated, so what a crash or an error has interrupted is done by
 * the next start. Until then the segment is read like any other.
 */
import { chmodSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import sqlite3 from 'sqlite3';
import { syncPath } from '../storage/files.js';
import { closeDatabase, openDatabase, query } from '../storage/sqlite.js';
import { listSegments } from './segments.js';

const SEALED_MODE = 0o400;
/** A reader delays the checkpoint while it reads a page of rows. */
const RETRY_MS = 100;

export function isSealed(path: string): boolean {
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return logBytes === 0 && (statSync(path).mode & 0o777) === SEALED_MODE;
}

/**
 * @param writer the connection that has written it; it is closed here.
 * @param isClosing the exchange is stopping: what cannot be done at once is left to the next start.
 */
export async function seal(
  path: string,
  writer: sqlite3.Database,
  isClosing: () => boolean,
): Promise<void> {
  try {
    if (!(await emptyLog(writer, isClosing))) return;
  } finally {
    await closeDatabase(writer);
  }
  await syncPath(path);
  chmodSync(path, SEALED_MODE);
}

/**
 * Seals what a stop or a kill has left before the last segment, before anything reads it: a log
 * without an index can only be read while nobody writes to it. What cannot be sealed is read as it
 * is.
 */
export async function sealLeft(folder: string, last: number): Promise<void> {
  for (const { number, path } of listSegments(folder)) {
    if (number >= last || isSealed(path)) continue;
    try {
      chmodSync(path, 0o600);
      const mode = sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX;
      await seal(path, await openDatabase(path, mode), () => true);
    } catch {
      // The next start tries again.
    }
  }
}

/** false: the exchange is stopping before that was possible. */
async function emptyLog(database: sqlite3.Database, isClosing: () => boolean): Promise<boolean> {
  for (;;) {
    const [result] = await query<{ busy: number }>(database, 'PRAGMA wal_checkpoint(TRUNCATE)');
    if (result!.busy === 0) return true;
    if (isClosing()) return false;
    await delay(RETRY_MS);
  }
}

/** A segment that is brought back. */
export function markSealed(path: string): void {
  chmodSync(path, SEALED_MODE);
}
