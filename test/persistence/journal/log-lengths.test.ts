/**
 * Reads a database whose log ends anywhere, as after a kill or a power cut, with an index of any
 * length. The read is immediate and reaches the last whole commit.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { afterAll, expect, test } from 'vitest';
import { openReadOnly } from '../../../persistence/storage/read-only.js';
import {
  closeDatabase,
  execute,
  openDatabase,
  query,
} from '../../../persistence/storage/sqlite.js';

const folder = mkdtempSync(join(tmpdir(), 'exchange-log-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const HEADER_BYTES = 32;
const FRAME_BYTES = 4_120;

test.each([0, 4_096, 28_672, 32_768, 65_536])('an index of %d bytes', async (indexBytes) => {
  const source = join(folder, `source-${indexBytes}.db`);
  const mode = sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE | sqlite3.OPEN_FULLMUTEX;
  const writer = await openDatabase(source, mode);
  await execute(writer, 'PRAGMA journal_mode = WAL; CREATE TABLE written (one)');
  const file = readFileSync(source);
  const log = readFileSync(`${source}-wal`);
  await closeDatabase(writer);
  const frames = [HEADER_BYTES, HEADER_BYTES + 24, HEADER_BYTES + FRAME_BYTES, log.length - 1];
  for (const logBytes of [0, ...frames, log.length]) {
    const path = join(folder, `cut-${indexBytes}-${logBytes}.db`);
    writeFileSync(path, file);
    writeFileSync(`${path}-wal`, log.subarray(0, logBytes));
    writeFileSync(`${path}-shm`, Buffer.alloc(indexBytes));
    const { database } = await openReadOnly(path);
    const tables = await query(database, 'SELECT 1 FROM sqlite_schema');
    await closeDatabase(database);
    expect(tables.length, `a log of ${logBytes} bytes`).toBe(logBytes === log.length ? 1 : 0);
  }
});
