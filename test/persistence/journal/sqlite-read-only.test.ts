/**
 * A read-only reader, which may not write the index of the write-ahead log, and a writer in another
 * process that changes that index all the time. What cannot be read is named.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import { afterAll, expect, test } from 'vitest';
import { closeDatabase, openDatabase, query } from '../../../persistence/storage/sqlite.js';

const READS = 20_000;
const WRITER = `
  const { Database } = require('sqlite3');
  const database = new Database(process.argv[1]);
  const write = (error) => { if (error) throw error; database.exec('INSERT INTO written VALUES (1)', write); };
  const begin = (error) => { if (error) throw error; console.log('writing'); write(null); };
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE written (one)', begin);
`;

const folder = mkdtempSync(join(tmpdir(), 'exchange-sqlite-'));
let writer: ChildProcess | null = null;
afterAll(async () => {
  if (writer !== null && writer.exitCode === null) {
    writer.kill('SIGKILL');
    await once(writer, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
});

test('never fails', { timeout: 120_000 }, async () => {
  const path = join(folder, 'written.db');
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  writer = spawn(process.execPath, ['-e', WRITER, path], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(writer.stdout!, 'data');
  const mode = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI | sqlite3.OPEN_FULLMUTEX;
  const database = await openDatabase(`${pathToFileURL(path).href}?mode=ro&readonly_shm=1`, mode);
  database.configure('busyTimeout', 5_000);
  let refused = 0;
  for (let i = 0; i < READS; i++) {
    await query(database, 'PRAGMA user_version').catch(() => refused++);
  }
  expect(refused).toBe(0);
  const rows = await query<{ count: number }>(database, 'SELECT count(*) AS count FROM written');
  expect(rows[0]!.count).toBeGreaterThan(0);
  await closeDatabase(database);
});

test('a file that cannot be used is named', async () => {
  const path = join(folder, 'missing', 'journal.db');
  await expect(openDatabase(path, sqlite3.OPEN_READONLY)).rejects.toMatchObject({ path });
});
