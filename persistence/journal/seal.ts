/**
 * Seals a full segment: moves its write-ahead log into the file, syncs it, makes it read-only, and
 * writes the SHA-256 of the whole file into the head of the next segment.
 *
 * Always holds: every step can be repeated, so a segment whose sealing a crash or an error has
 * interrupted is sealed after the next start. Until then it is read like any other.
 */
import { chmodSync, existsSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import sqlite3 from 'sqlite3';
import { syncPath } from '../storage/files.js';
import { openReadOnly } from '../storage/read-only.js';
import { closeDatabase, openDatabase, query } from '../storage/sqlite.js';
import { listSegments, segmentAt } from './segments.js';

const SEALED_MODE = 0o400;
/** A reader delays the checkpoint while it reads a page of rows. */
const RETRY_MS = 100;

interface SealRequest {
  folder: string;
  /** Of the full segment. */
  number: number;
  /** The connection that has written it; it is closed here. */
  writer: sqlite3.Database | null;
  /** The connection of the next segment. */
  next: sqlite3.Database;
  hashFile: (path: string) => Promise<Buffer>;
  /** The exchange is stopping: leave it to the next start. */
  isClosing: () => boolean;
}

/** Never rejects: a segment that is not sealed is only slower to check. */
export async function sealSegment(request: SealRequest): Promise<void> {
  try {
    await seal(request);
  } catch {
    // The next start tries again, and `verify` reads the segment row by row.
  }
}

/**
 * Moves the logs that a kill has left beside full segments into their files, before anything reads
 * them: a log without an index can only be read while nobody writes to it.
 */
export async function emptyLogsLeft(folder: string, last: number): Promise<void> {
  for (const { number, path } of listSegments(folder)) {
    const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (number >= last || logBytes === 0) continue;
    // What cannot be moved is read from the log.
    await moveLog(path).catch(() => {});
  }
}

async function moveLog(path: string): Promise<void> {
  const database = await openToSeal(path);
  try {
    await query(database, 'PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    await closeDatabase(database);
  }
}

/** Seals what a stop or a kill has left, up to the segment before the last one. */
export async function sealLeft(
  request: Omit<SealRequest, 'number' | 'writer'> & { last: number },
): Promise<void> {
  const { folder, last, isClosing } = request;
  for (const { number } of listSegments(folder)) {
    if (isClosing()) return;
    if (number + 1 === last) await sealSegment({ ...request, number, writer: null });
    if (number + 1 >= last) return;
    const { path } = segmentAt(folder, number + 1);
    // What is after one that is missing or damaged is sealed all the same.
    if (await isSealedIn(path).catch(() => true)) continue;
    const next = await openToSeal(path);
    try {
      await sealSegment({ ...request, number, writer: null, next });
    } finally {
      await closeDatabase(next);
    }
  }
}

/** Whether the head of a segment has the hash of the file before it. */
async function isSealedIn(path: string): Promise<boolean> {
  const { database } = await openReadOnly(path);
  try {
    return (await query(database, 'SELECT 1 FROM head WHERE previousFile IS NOT NULL')).length > 0;
  } finally {
    await closeDatabase(database);
  }
}

async function seal({
  folder,
  number,
  writer,
  next,
  hashFile,
  isClosing,
}: SealRequest): Promise<void> {
  const { path } = segmentAt(folder, number);
  const [head] = await query<{ isSealed: number }>(
    next,
    'SELECT previousFile IS NOT NULL AS isSealed FROM head',
  );
  const isDone = head!.isSealed === 1 || !existsSync(path);
  const database = writer ?? (isDone ? null : await openToSeal(path));
  if (database !== null) {
    const isWhole = await emptyLog(database, isClosing);
    await closeDatabase(database);
    if (!isWhole) return;
  }
  if (isDone || isClosing()) return;
  await syncPath(path);
  chmodSync(path, SEALED_MODE);
  await query(next, 'UPDATE head SET previousFile = ?', [await hashFile(path)]);
}

function openToSeal(path: string): Promise<sqlite3.Database> {
  chmodSync(path, 0o600);
  return openDatabase(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX);
}

/** Moves the log into the file. false: the exchange is stopping before that was possible. */
async function emptyLog(database: sqlite3.Database, isClosing: () => boolean): Promise<boolean> {
  for (;;) {
    const [result] = await query<{ busy: number }>(database, 'PRAGMA wal_checkpoint(TRUNCATE)');
    if (result!.busy === 0) return true;
    if (isClosing()) return false;
    await delay(RETRY_MS);
  }
}
