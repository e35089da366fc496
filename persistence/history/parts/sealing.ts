/**
 * Sealing: a part that is over becomes one file that never changes.
 *
 * Each list's runs are copied in the order of their ordinals, as many entries in each as a run may
 * have, and deflated: what many small transactions have written takes a fraction of the room, and
 * is read in fewer steps.
 *
 * Always holds: every run was as written, and followed the one before it; otherwise a
 * {@link HistoryDamage} ends the copy. The file gets its name when it is durable.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type sqlite3 from 'sqlite3';
import { syncPath } from '../../storage/files.js';
import { called, closeDatabase, execute, finalize, prepare, query } from '../../storage/sqlite.js';
import { asDamage, HistoryDamage } from '../rows.js';
import {
  AMENDED_ORDER,
  LISTS,
  type ListLayout,
  RUN_ENTRIES,
  SEALED_SCHEMA,
} from '../runs/format.js';
import { type RunRow, valuesOf } from '../runs/reader.js';
import { insertRuns, Pieces, RunWriter } from '../runs/writer.js';
import { type Catalogue, openPath, removeDatabase, sealedPath } from './catalogue.js';
import type { HistoryFiles } from './files.js';
import { readProgress } from './progress.js';
import { openTables } from './tables.js';

const PAGE_RUNS = 1_000;
/** Entries that are copied in one turn of the thread. */
const TURN_ENTRIES = 1_024;
const HASH_BYTES = 1024 * 1024;

interface SealOptions {
  folder: string;
  part: number;
  catalogue: Catalogue;
  files: HistoryFiles;
  signal: AbortSignal;
}

/** @throws HistoryDamage, another error of SQLite, or AbortError. */
export async function sealPart(options: SealOptions): Promise<void> {
  const { folder, part, catalogue, files, signal } = options;
  const [from, to] = [openPath(folder, part), sealedPath(folder, part)];
  const temporary = `${to}.tmp`;
  removeDatabase(temporary);
  let sha256: string;
  try {
    await copyPart(from, temporary, options);
    await syncPath(temporary);
    sha256 = await fileHash(temporary, { pauseMs: 0, signal });
    await rename(temporary, to);
  } catch (error) {
    // The journal needs the room on a full disk.
    removeDatabase(temporary);
    throw error;
  }
  await syncPath(dirname(to));
  await catalogue.sealPart(part, to, sha256);
  await files.closeFile(part);
  removeDatabase(from);
}

/** SHA-256 of a file, in hex. @param pauseMs after each MiB. */
export async function fileHash(
  path: string,
  { pauseMs, signal }: { pauseMs: number; signal: AbortSignal },
): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: HASH_BYTES, signal })) {
    hash.update(piece);
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal });
  }
  return hash.digest('hex');
}

async function copyPart(
  from: string,
  to: string,
  { part, catalogue, signal }: SealOptions,
): Promise<void> {
  const pragmas = 'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536';
  const database = await openTables(to, { schema: SEALED_SCHEMA, part, pragmas });
  try {
    if (!existsSync(from)) throw new HistoryDamage('(all)', '(all)', `${from} is missing`);
    await query(database, 'ATTACH ? AS part', [from]);
    const { sequence } = await readProgress(database);
    if (sequence !== catalogue.parts.endOf(part).sequence)
      throw new HistoryDamage('progress', 'id 1', `the part ends at sequence ${sequence}`);
    await execute(database, 'BEGIN');
    for (const layout of LISTS) await new ListCopy(layout, database).run(signal);
    const { name, key } = AMENDED_ORDER;
    await execute(database, `INSERT INTO ${name} SELECT * FROM part.${name} ORDER BY ${key}`);
    await execute(database, 'COMMIT');
  } catch (error) {
    throw asDamage(error, part);
  } finally {
    await closeDatabase(database);
  }
}

class ListCopy {
  private readonly writer: RunWriter;
  private readonly pieces: Pieces;
  /** Of the entry that was copied last. */
  private id = -1;
  private ordinal = 0;
  /** The run that is being made. */
  private firstOrdinal = 0;
  private count = 0;
  private start = 0;

  constructor(
    private readonly layout: ListLayout,
    private readonly database: sqlite3.Database,
  ) {
    this.writer = new RunWriter(layout);
    this.pieces = new Pieces(layout.tag);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { layout, database } = this;
    const { name, key } = layout;
    const sql = `SELECT ${key} AS id, firstOrdinal, count, checksum, entries FROM part.${name}
      WHERE (${key}, firstOrdinal) > (?, ?) ORDER BY ${key}, firstOrdinal LIMIT ${PAGE_RUNS}`;
    const insert = await prepare(database, insertRuns(layout));
    try {
      for (let after = [-1, 0], isLast = false; !isLast; ) {
        const rows = await query<RunRow>(database, sql, after);
        await this.copy(rows, signal);
        this.endRun();
        isLast = rows.length < PAGE_RUNS;
        if (!isLast) after = [rows.at(-1)!.id, rows.at(-1)!.firstOrdinal];
        for (const { records, entries } of this.pieces.drain())
          await called((done) => insert.run([records, entries], done));
      }
    } finally {
      await finalize(insert);
    }
  }

  private async copy(rows: readonly RunRow[], signal: AbortSignal): Promise<void> {
    let entries = 0;
    for (const row of rows) {
      this.follow(row);
      const values = valuesOf(this.layout, row);
      for (let at = 0; at < values.length; at += this.layout.columns.length) this.add(values, at);
      entries += row.count;
      if (entries < TURN_ENTRIES) continue;
      entries = 0;
      await nextTurn();
      signal.throwIfAborted();
    }
  }

  /** The next run, which is of another list or continues this one. */
  private follow({ id, firstOrdinal }: RunRow): void {
    if (id === this.id && firstOrdinal === this.ordinal + 1) return;
    const { name, key } = this.layout;
    const place = `${key} ${id}, ordinal ${this.ordinal + 1}`;
    if (id === this.id) throw new HistoryDamage(name, place, 'it is missing');
    this.endRun();
    this.id = id;
    this.ordinal = firstOrdinal - 1;
  }

  private add(values: Float64Array, at: number): void {
    if (this.count === RUN_ENTRIES) this.endRun();
    this.ordinal++;
    const { bytes } = this.pieces;
    if (this.count++ === 0) {
      this.firstOrdinal = this.ordinal;
      this.start = bytes.length;
      this.writer.begin();
    }
    this.writer.append(bytes, values, at);
  }

  private endRun(): void {
    if (this.count > 0) this.pieces.addDeflated(this.id, this.firstOrdinal, this.count, this.start);
    this.count = 0;
  }
}
