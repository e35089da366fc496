/**
 * Seals a part that is over: copies it into one file, which never changes. Pruning copies what is
 * kept from that file into another, which replaces it. The copy is made in a thread (thread.ts).
 *
 * The entries of each list are copied in the order of their ordinals, into runs that are as long as
 * RUN_ENTRIES allows, and deflated. The entries of many small transactions then take half of the
 * space, and are read in fewer steps.
 *
 * Invariant: every copied run is unchanged since it was written, and follows the one before it. The
 * lists of each kind have as many entries as the catalogue says. Otherwise a {@link HistoryDamage}
 * ends the copy. The file gets its name when it is durable.
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
import {
  type CountedName,
  KEPT,
  LISTS,
  type ListLayout,
  ORDER_END,
  RUN_ENTRIES,
  RUN_SQL,
} from '../runs/format.js';
import { missingEntry, type RunRow, selectRuns, valuesOf } from '../runs/reader.js';
import { INSERT_RUNS, Pieces, RunWriter } from '../runs/writer.js';
import {
  type Catalogue,
  openPath,
  type PartList,
  prunedPath,
  removeDatabase,
  sealedPath,
} from './catalogue.js';
import type { HistoryFiles } from './files.js';
import { checkTotal, type Progress, readProgress } from './progress.js';
import { openTables } from './tables.js';

const PAGE_RUNS = 1_000;
/** Entries that are copied in one turn of the thread. */
const TURN_ENTRIES = 1_024;
const HASH_BYTES = 1024 * 1024;
const PRAGMAS = 'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536';
/** The free space that sealing leaves to the journal; pruning leaves less, as it makes room. */
const FREE_BYTES_MIN = 1024 ** 3;
const PRUNING_BYTES_MIN = FREE_BYTES_MIN / 8;

/** The file to make for a part. */
export interface PartFile {
  folder: string;
  part: number;
  /** Where the part ends. */
  sequence: number;
  /** The number of entries that the part adds to the lists of each kind. */
  counts: Progress['counts'];
  /** Hash of the sealed file to prune; `null` if the part is to be sealed. */
  sealed: string | null;
}

/** Makes the file, and returns its SHA-256 in hex. @throws as {@link sealPart}. */
export type MakePart = (file: PartFile, signal: AbortSignal) => Promise<string>;

interface SealOptions {
  folder: string;
  part: number;
  catalogue: Catalogue;
  files: HistoryFiles;
  make: MakePart;
  signal: AbortSignal;
}

/** @throws HistoryDamage, another error of SQLite, AbortError, or an error if there is no room. */
export async function sealPart(options: SealOptions): Promise<void> {
  const { folder, part, catalogue, files, make, signal } = options;
  const file = { folder, part, ...contentsOf(catalogue.parts, part), sealed: null };
  const sha256 = await make(file, signal);
  await catalogue.sealPart(part, sealedPath(folder, part), sha256);
  await files.closeFile(part);
  removeDatabase(openPath(folder, part));
}

/** Leaves only the lists of a sealed part that are kept. @throws as {@link sealPart}. */
export async function prunePart(options: SealOptions): Promise<void> {
  const { folder, part, catalogue, files, make, signal } = options;
  const { sha256: sealed } = catalogue.parts.over[part - 1]!;
  const file = { folder, part, ...contentsOf(catalogue.parts, part), sealed };
  const sha256 = await make(file, signal);
  await catalogue.setFile(part, { sha256, pruned: true });
  await files.closeFile(part);
  removeDatabase(sealedPath(folder, part));
}

function contentsOf(parts: PartList, part: number): Pick<PartFile, 'sequence' | 'counts'> {
  return { sequence: parts.endOf(part).sequence, counts: parts.countsIn(part) };
}

export async function makePart(file: PartFile, signal: AbortSignal): Promise<string> {
  const { folder, part, sealed } = file;
  const [from, to] =
    sealed === null
      ? [openPath(folder, part), sealedPath(folder, part)]
      : [sealedPath(folder, part), prunedPath(folder, part)];
  const temporary = `${to}.tmp`;
  removeDatabase(temporary);
  if (sealed !== null) await checkFile(from, { part, sha256: sealed, pauseMs: 0, signal });
  else if (!existsSync(from)) throw isMissing(from, part);
  const needed = (sealed === null ? FREE_BYTES_MIN : PRUNING_BYTES_MIN) + statSync(from).size;
  if ((freeBytesAt(folder) ?? needed) < needed)
    throw new Error(`${folder} has less than ${Math.ceil(needed / 2 ** 20)} MiB free`);
  try {
    const database = await openTables(temporary, { schema: [RUN_SQL], part, pragmas: PRAGMAS });
    try {
      await query(database, 'ATTACH ? AS part', [from]);
      await execute(database, 'BEGIN');
      await copyPart(database, file, signal);
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

interface Check {
  part: number;
  sha256: string;
  /** After each MiB. */
  pauseMs: number;
  signal: AbortSignal;
}

/** @throws HistoryDamage if the file of a part is missing, or not what was written. */
export async function checkFile(path: string, check: Check): Promise<void> {
  const { part, sha256 } = check;
  if (!existsSync(path)) throw isMissing(path, part);
  if ((await fileHash(path, check)) === sha256) return;
  throw new HistoryDamage('(all)', '(all)', `${path} does not match its checksum`).in(part);
}

function isMissing(path: string, part: number): HistoryDamage {
  return new HistoryDamage('(all)', '(all)', `${path} is missing`).in(part);
}

/** SHA-256, in hex. */
async function fileHash(
  path: string,
  { pauseMs, signal }: Pick<Check, 'pauseMs' | 'signal'>,
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
  { sequence, counts, sealed }: PartFile,
  signal: AbortSignal,
): Promise<void> {
  // A sealed file has lists only.
  const end = sealed === null ? (await readProgress(database)).sequence : sequence;
  if (end !== sequence)
    throw new HistoryDamage('progress', 'id 1', `the part ends at sequence ${end}`);
  const insert = await prepare(database, INSERT_RUNS);
  try {
    for (const layout of sealed === null ? LISTS : KEPT) {
      const total = await new ListCopy(layout, database, insert).run(signal);
      checkTotal(layout.name as CountedName, { counts }, total);
    }
  } finally {
    await finalize(insert);
  }
}

/** The lists of a kind. */
class ListCopy {
  private readonly writer: RunWriter;
  private readonly pieces = new Pieces();
  /** The list id of the last copied entry. */
  private id = -1;
  /** The ordinal of the last copied entry. */
  private ordinal = 0;
  /** The run that is being made. */
  private count = 0;
  private start = 0;
  /** Entries that were copied. */
  private total = 0;

  constructor(
    private readonly layout: ListLayout,
    private readonly database: sqlite3.Database,
    private readonly insert: sqlite3.Statement,
  ) {
    this.writer = new RunWriter(layout);
  }

  /** Returns the number of entries. */
  async run(signal: AbortSignal): Promise<number> {
    const { layout, database, insert } = this;
    const sql = `${selectRuns('part.run')} WHERE list = ? AND (id, firstOrdinal) > (?, ?)
      ORDER BY list, id, firstOrdinal LIMIT ${PAGE_RUNS}`;
    for (let after = [-1, 0], isLast = false; !isLast; ) {
      const rows = await query<RunRow>(database, sql, [layout.list, ...after]);
      signal.throwIfAborted();
      await this.copy(rows, signal);
      this.endRun();
      isLast = rows.length < PAGE_RUNS;
      if (!isLast) after = [rows.at(-1)!.id, rows.at(-1)!.firstOrdinal];
      for (const { rows: runs, entries } of this.pieces.drain())
        await called((done) => insert.run([runs, entries], done));
    }
    return this.total;
  }

  private async copy(rows: readonly RunRow[], signal: AbortSignal): Promise<void> {
    const { layout } = this;
    let entries = 0;
    for (const row of rows) {
      this.follow(row);
      const values = valuesOf(layout, row);
      for (let at = 0; at < values.length; at += layout.columns.length) this.add(values, at);
      this.total += row.count;
      entries += row.count;
      if (entries < TURN_ENTRIES) continue;
      entries = 0;
      await nextTurn();
      signal.throwIfAborted();
    }
  }

  /** Prepares for the next run, which continues the current list or begins a new list. */
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
