/** Invents a version of the formats that differs from the current one only in its number. */
import { chmodSync, statSync } from 'node:fs';
import sqlite3 from 'sqlite3';
import { listSegments } from '../../../persistence/journal/segments.js';
import { closeDatabase, execute, openDatabase } from '../../../persistence/storage/sqlite.js';

export async function setVersion(folder: string, version: number): Promise<void> {
  for (const { path } of listSegments(folder)) {
    const { mode } = statSync(path);
    chmodSync(path, 0o600);
    const database = await openDatabase(path, sqlite3.OPEN_READWRITE);
    await execute(database, `PRAGMA user_version = ${version}`);
    await closeDatabase(database);
    chmodSync(path, mode);
  }
}
