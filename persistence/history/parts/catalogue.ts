/**
 * catalogue.db: what a start and a read must know of the parts of the history that are over.
 *
 *   part          a row per part that is over: where it ends, the number of entries up to there,
 *                 and the SHA-256 of its file, once it is sealed (sealing.ts)
 *   place         for each list that has entries in a sealed part, their ordinals: a read finds
 *                 the parts of a list without opening the others
 *   listLength    the lengths of the lists when the open part began (../runs/lengths.ts)
 *   market, marketPrices   the markets, as of the end of that part
 *   keyedResult   the results of commands with a new idempotency key, until the engine forgets the
 *                 key: several consecutive results a row, as 32-bit words, little-endian
 *                 (../runs/keyed-results.ts). Its division into rows depends on the transactions
 *
 * Always holds: a part that is over has a row, written in one synced transaction with the lengths
 * and the markets of its end. The parts are numbered from 1, and each begins where the one before
 * it ends. The part after the last one that is over is open: it is being written (../store.ts). The
 * results of its commands are synced before its transaction, and written again after a crash.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type sqlite3 from 'sqlite3';
import { createPrivateFolder } from '../../storage/files.js';
import { closeDatabase, execute, query } from '../../storage/sqlite.js';
import type { HistoryChanges } from '../projection.js';
import { asDamage, HistoryDamage } from '../rows.js';
import {
  KEYED_RESULT_SQL,
  keyedResultChecksum,
  LIST_LENGTH_SQL,
  LISTS,
  type ListLayout,
  MARKET,
  MARKET_PRICES_SQL,
  tableSql,
} from '../runs/format.js';
import { NOTHING, type Progress } from './progress.js';
import { openTables } from './tables.js';

const SCHEMA: readonly string[] = [
  'CREATE TABLE part (part INTEGER PRIMARY KEY, end TEXT NOT NULL, sha256 TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT',
  'CREATE TABLE place (tag INTEGER NOT NULL, id INTEGER NOT NULL, firstOrdinal INTEGER NOT NULL, lastOrdinal INTEGER NOT NULL, part INTEGER NOT NULL, PRIMARY KEY (tag, id, firstOrdinal)) STRICT, WITHOUT ROWID',
  tableSql(MARKET),
  MARKET_PRICES_SQL,
  LIST_LENGTH_SQL,
  KEYED_RESULT_SQL,
];
/** A few rows at a time, though the rows of a whole hour may have become useless together. */
const REMOVE_RESULTS = `DELETE FROM keyedResult WHERE sequence IN (
  SELECT sequence FROM keyedResult
  WHERE sequence < (SELECT max(sequence) FROM keyedResult WHERE sequence <= ?)
  ORDER BY sequence LIMIT 5000)`;
const PRAGMAS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL';

/** A part that is over. */
export interface PartRecord {
  part: number;
  end: Progress;
  /** The SHA-256 of its file, in hex; null: it is not sealed yet. */
  sha256: string | null;
}

/** Entries of one list in one part. */
export interface Place {
  part: number;
  firstOrdinal: number;
  lastOrdinal: number;
}

interface PartRow {
  part: number;
  /** A {@link Progress}, its hash in hex. */
  end: string;
  sha256: string;
  checksum: number;
}

export function partsFolder(folder: string): string {
  return join(folder, 'history');
}

export function cataloguePath(folder: string): string {
  return join(partsFolder(folder), 'catalogue.db');
}

function nameOf(part: number): string {
  return String(part).padStart(8, '0');
}

/** The file of a part that is not sealed. */
export function openPath(folder: string, part: number): string {
  return join(partsFolder(folder), `${nameOf(part)}.open.db`);
}

export function sealedPath(folder: string, part: number): string {
  return join(partsFolder(folder), `${nameOf(part)}.db`);
}

export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/** Removes the history, which is then rebuilt from the journal. Nothing may have it open. */
export function removeHistory(folder: string): void {
  rmSync(partsFolder(folder), { recursive: true, force: true });
}

/** The parts of an open history, which its writer and its readers share. */
export class PartList {
  /** Parts that are damaged, or lost: nothing is read from them until they are rebuilt. */
  readonly lost = new Set<number>();

  constructor(
    private readonly folder: string,
    /** By number, from 1. */
    readonly over: PartRecord[],
  ) {}

  /** The end of a part that is over; of part 0, the beginning of the first. */
  endOf(part: number): Progress {
    return this.over[part - 1]?.end ?? NOTHING;
  }

  /** The number of the part that is being written. */
  get open(): number {
    return this.over.length + 1;
  }

  /** Parts without places, newest first: a part is not over before the last one is sealed. */
  get unsealed(): number[] {
    const last = this.over.at(-1);
    return last?.sha256 === null ? [this.open, last.part] : [this.open];
  }

  /** The parts with a command of that time, newest first. */
  within(fromMs: number, toMs: number): number[] {
    const parts: number[] = [];
    for (let part = this.open; part >= 1 && this.atMsOf(part) >= fromMs; part--)
      if (this.atMsOf(part - 1) <= toMs) parts.push(part);
    return parts;
  }

  isSealed(part: number): boolean {
    return (this.over[part - 1]?.sha256 ?? null) !== null;
  }

  pathOf(part: number): string {
    return this.isSealed(part) ? sealedPath(this.folder, part) : openPath(this.folder, part);
  }

  /** The time of the last command in a part. */
  private atMsOf(part: number): number {
    return part === this.open ? Number.POSITIVE_INFINITY : this.endOf(part).atMs;
  }
}

export class Catalogue {
  /** Settles when the last transaction is over. */
  private last: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly database: sqlite3.Database,
    readonly parts: PartList,
  ) {}

  /**
   * Opens the catalogue of a data folder, or creates an empty one, and removes the files that do
   * not belong to its parts.
   */
  static async open(folder: string): Promise<Catalogue> {
    await createPrivateFolder(partsFolder(folder));
    const options = { schema: SCHEMA, part: null, pragmas: PRAGMAS };
    const database = await openTables(cataloguePath(folder), options);
    try {
      const parts = new PartList(folder, await readParts(database));
      removeStrays(folder, parts);
      return new Catalogue(database, parts);
    } catch (error) {
      await closeDatabase(database);
      throw asDamage(error, null);
    }
  }

  close(): Promise<void> {
    return closeDatabase(this.database);
  }

  async storeResults({ keyedResults, keyedFrom }: HistoryChanges): Promise<void> {
    await this.transaction(null, async (database) => {
      for (const { sequence, results } of keyedResults) {
        const row = [sequence, results, keyedResultChecksum(sequence, results)];
        await query(database, 'REPLACE INTO keyedResult VALUES (?, ?, ?)', row);
      }
      await query(database, REMOVE_RESULTS, [keyedFrom]);
    });
  }

  /**
   * Removes results that the open part is not made from yet. A crash can lose the part's last
   * transactions and leave theirs, and the same results may come again in other rows.
   */
  async removeResultsAfter(sequence: number): Promise<void> {
    await this.transaction(null, async (database) => {
      await query(database, 'DELETE FROM keyedResult WHERE sequence > ?', [sequence]);
    });
  }

  /** Notes that the open part is over. */
  async endPart(folder: string, end: Progress): Promise<void> {
    const { parts } = this;
    const part = parts.open;
    await this.transaction(openPath(folder, part), async (database) => {
      for (const name of [MARKET.name, 'marketPrices'])
        await execute(database, `REPLACE INTO main.${name} SELECT * FROM part.${name}`);
      const lengths = 'REPLACE INTO main.listLength SELECT * FROM part.listLength WHERE chunk >= 0';
      await execute(database, lengths);
      await writePart(database, { part, end, sha256: null });
    });
    parts.over.push({ part, end, sha256: null });
  }

  /** Notes that the database at `path` has become the file of a part. */
  async sealPart(part: number, path: string, sha256: string): Promise<void> {
    await this.transaction(path, async (database) => {
      for (const { name, key, tag } of LISTS)
        await query(
          database,
          `REPLACE INTO place SELECT ${tag}, ${key}, min(firstOrdinal), max(firstOrdinal + count - 1), ${part}
            FROM part.${name} GROUP BY ${key}`,
        );
      await writePart(database, { ...this.parts.over[part - 1]!, sha256 });
    });
    this.parts.over[part - 1]!.sha256 = sha256;
    this.parts.lost.delete(part);
  }

  /** The lengths of the lists of a kind when a part began. */
  async lengthsBefore(
    part: number,
    { tag }: ListLayout,
    lengths: { set(id: number, length: number): unknown },
  ): Promise<void> {
    const sql =
      'SELECT id, max(lastOrdinal) AS length FROM place WHERE tag = ? AND part < ? GROUP BY id';
    const rows = await query<{ id: number; length: number }>(this.database, sql, [tag, part]);
    for (const { id, length } of rows) lengths.set(id, length);
  }

  /**
   * Transactions are not nested: each waits for the one before it. @param path of the database that
   * is attached as `part`; null: none.
   */
  private async transaction(
    path: string | null,
    work: (database: sqlite3.Database) => Promise<void>,
  ): Promise<void> {
    const all = this.last.catch(() => {}).then(() => this.transact(path, work));
    this.last = all;
    await all;
  }

  private async transact(
    path: string | null,
    work: (database: sqlite3.Database) => Promise<void>,
  ): Promise<void> {
    const { database } = this;
    if (path !== null) await query(database, 'ATTACH ? AS part', [path]);
    try {
      await execute(database, 'BEGIN IMMEDIATE');
      await work(database);
      await execute(database, 'COMMIT');
    } catch (error) {
      await execute(database, 'ROLLBACK').catch(() => {});
      throw asDamage(error, null);
    } finally {
      if (path !== null) await execute(database, 'DETACH part');
    }
  }
}

async function writePart(
  database: sqlite3.Database,
  { part, end: { hash, ...rest }, sha256 }: PartRecord,
): Promise<void> {
  const end = JSON.stringify({ ...rest, hash: hash.toString('hex') });
  const row = [part, end, sha256 ?? ''];
  await query(database, 'REPLACE INTO part VALUES (?, ?, ?, ?)', [...row, crc32(row.join())]);
}

/** @throws HistoryDamage, or another error of SQLite. */
export async function readParts(database: sqlite3.Database): Promise<PartRecord[]> {
  const rows = await query<PartRow>(database, 'SELECT * FROM part ORDER BY part');
  return rows.map(({ part, end: text, sha256, checksum }, i) => {
    if (part !== i + 1 || crc32([part, text, sha256].join()) !== checksum)
      throw new HistoryDamage('part', `part ${i + 1}`, 'the row is not what was written');
    const end = JSON.parse(text);
    const hash = Buffer.from(end.hash, 'hex');
    return { part, end: { ...end, hash }, sha256: sha256 === '' ? null : sha256 };
  });
}

/**
 * Removes files that a crash left: temporary ones, all files of parts after the open one, the
 * `.open.db` of a sealed part, and the `.db` of a part that is not sealed.
 */
function removeStrays(folder: string, parts: PartList): void {
  for (const name of readdirSync(partsFolder(folder))) {
    const [, digits, kind] = /^(\d{8})\.(open\.db|db|db\.tmp)(?:-wal|-shm)?$/.exec(name) ?? [];
    const part = Number(digits);
    const isKept =
      kind === undefined ||
      (part <= parts.open && (kind === 'db') === parts.isSealed(part) && kind !== 'db.tmp');
    if (!isKept) rmSync(join(partsFolder(folder), name), { force: true });
  }
}
