/**
 * Seals a part that is over: copies it into one file, which never changes. Pruning replaces that
 * file by another.
 *
 * The entries of each list are copied in the order of their ordinals, into runs that are as long as
 * RUN_ENTRIES allows, and deflated. The entries of many small transactions then take half of the
 * space, and are read in fewer steps.
 *
 * Invariant: every copied run is unchanged since it was written, and follows the one before it;
 * otherwise a {@link HistoryDamage} ends the copy. The file gets its name when it is durable.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type sqlite3 from 'sqlite3';
import { syncPath } from '../../storage/files.js';
import { freeBytesAt } from '../../storage/room.js';
import { called, closeDatabase, execute, finalize, prepare, query } from '../../storage/sqlite.js';
import { asDamage, HistoryDamage } from '../rows.js';
import { KEPT, LISTS, type ListLayout, ORDER_END, RUN_ENTRIES, RUN_SQL } from '../runs/format.js';
import { missingEntry, type RunRow, selectRuns, valuesOf } from '../runs/reader.js';
import { INSERT_RUNS, Pieces, RunWriter } from '../runs/writer.js';
import { type Catalogue, openPath, prunedPath, removeDatabase, sealedPath } from './catalogue.js';
import type { HistoryFiles } from './files.js';
import { readProgress } from './progress.js';
import { openTables } from './tables.js';

const PAGE_RUNS = 1_000;
/** Entries that are copied in one turn of the thread. */
const TURN_ENTRIES = 1_024;
const HASH_BYTES = 1024 * 1024;
const PRAGMAS = 'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536';
/** The free space that sealing and pruning leave to the journal. */
const FREE_BYTES_MIN = 1024 ** 3;

interface SealOptions {
  folder: string;
  part: number;
  catalogue: Catalogue;
  files: HistoryFiles;
  signal: AbortSignal;
}

/** @throws HistoryDamage, another error of SQLite, AbortError, or an error if there is no room. */
export async function sealPart(options: SealOptions): Promise<void> {
  const { folder, part, catalogue, files } = options;
  const to = sealedPath(folder, part);
  const sha256 = await makeFile(options, openPath(folder, part), to, copyPart);
  await catalogue.sealPart(part, to, sha256);
  await files.closeFile(part);
  removeDatabase(openPath(folder, part));
}

/** Leaves only the lists of a sealed part that are kept. @throws as {@link sealPart}. */
export async function prunePart(options: SealOptions): Promise<void> {
  const { folder, part, catalogue, files } = options;
  const [from, to] = [sealedPath(folder, part), prunedPath(folder, part)];
  const sha256 = await makeFile(options, from, to, async (database) => {
    const kept = KEPT.map(({ list }) => list).join();
    const sql = `INSERT INTO run SELECT * FROM part.run WHERE list IN (${kept}) ORDER BY list, id, firstOrdinal`;
    await execute(database, sql);
  });
  await catalogue.setFile(part, { sha256, pruned: true });
  await files.closeFile(part);
  removeDatabase(from);
}

/** Makes the file `to` of a part from its file `from`, and returns the SHA-256 in hex. */
async function makeFile(
  options: SealOptions,
  from: string,
  to: string,
  copy: (database: sqlite3.Database, options: SealOptions) => Promise<void>,
): Promise<string> {
  const { folder, part, signal } = options;
  const temporary = `${to}.tmp`;
  removeDatabase(temporary);
  if (!existsSync(from)) throw new HistoryDamage('(all)', '(all)', `${from} is missing`).in(part);
  const needed = FREE_BYTES_MIN + statSync(from).size;
  if ((freeBytesAt(folder) ?? needed) < needed)
    throw new Error(`${folder} has less than ${Math.ceil(needed / 2 ** 20)} MiB free`);
  try {
    const database = await openTables(temporary, { schema: [RUN_SQL], part, pragmas: PRAGMAS });
    try {
      await query(database, 'ATTACH ? AS part', [from]);
      await execute(database, 'BEGIN');
      await copy(database, options);
      await execute(database, 'COMMIT');
    } catch (error) {
      throw asDamage(error, part);
    } finally {
      await closeDatabase(database);
    }
    await syncPath(temporary);
    const sha256 = await fileHash(temporary, { pauseMs: 0, signal });
    await rename(temporary, to);
    await syncPath(dirname(to));
    return sha256;
  } catch (error) {
    // The journal needs the room on a full disk.
    removeDatabase(temporary);
    throw error;
  }
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
  database: sqlite3.Database,
  { part, catalogue, signal }: SealOptions,
): Promise<void> {
  const { sequence } = await readProgress(database);
  if (sequence !== catalogue.parts.endOf(part).sequence)
    throw new HistoryDamage('progress', 'id 1', `the part ends at sequence ${sequence}`);
  const insert = await prepare(database, INSERT_RUNS);
  try {
    for (const layout of LISTS) await new ListCopy(layout, database, insert).run(signal);
  } finally {
    await finalize(insert);
  }
}

/** The lists of a kind. */
class ListCopy {
  private readonly writer: RunWriter;
  private readonly pieces = new Pieces();
  /** Of the entry that was copied last. */
  private id = -1;
  private ordinal = 0;
  /** The run that is being made. */
  private count = 0;
  private start = 0;

  constructor(
    private readonly layout: ListLayout,
    private readonly database: sqlite3.Database,
    private readonly insert: sqlite3.Statement,
  ) {
    this.writer = new RunWriter(layout);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { layout, database, insert } = this;
    const sql = `${selectRuns('part.run')} WHERE list = ? AND (id, firstOrdinal) > (?, ?)
      ORDER BY list, id, firstOrdinal LIMIT ${PAGE_RUNS}`;
    for (let after = [-1, 0], isLast = false; !isLast; ) {
      const rows = await query<RunRow>(database, sql, [layout.list, ...after]);
      await this.copy(rows, signal);
      this.endRun();
      isLast = rows.length < PAGE_RUNS;
      if (!isLast) after = [rows.at(-1)!.id, rows.at(-1)!.firstOrdinal];
      for (const { rows: runs, entries } of this.pieces.drain())
        await called((done) => insert.run([runs, entries], done));
    }
  }

  private async copy(rows: readonly RunRow[], signal: AbortSignal): Promise<void> {
    const { layout } = this;
    let entries = 0;
    for (const row of rows) {
      this.follow(row);
      const values = valuesOf(layout, row);
      for (let at = 0; at < values.length; at += layout.columns.length) this.add(values, at);
      entries += row.count;
      if (entries < TURN_ENTRIES) continue;
      entries = 0;
      await nextTurn();
      signal.throwIfAborted();
    }
  }

  /** The next run, which is of another list or continues this one. */
  private follow({ id, firstOrdinal }: RunRow): void {
    const { layout, ordinal } = this;
    if (id === this.id && (firstOrdinal === ordinal + 1 || layout.list === ORDER_END.list)) return;
    if (id === this.id) throw missingEntry(layout, id, ordinal + 1);
    this.endRun();
    this.id = id;
    this.ordinal = firstOrdinal - 1;
  }

  private add(values: Float64Array, at: number): void {
    if (this.count === RUN_ENTRIES) this.endRun();
    this.ordinal++;
    const { bytes } = this.pieces;
    if (this.count++ === 0) {
      this.start = bytes.length;
      this.writer.begin();
    }
    this.writer.append(bytes, values, at);
  }

  private endRun(): void {
    const { pieces, id, count, start } = this;
    const first = this.ordinal - count + 1;
    if (count > 0) pieces.addDeflated(this.layout.list, id, first, count, start);
    this.count = 0;
  }
}
