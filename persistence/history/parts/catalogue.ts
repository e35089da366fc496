/**
 * catalogue.db: what startup and a read must know of the parts of the history that are over.
 *
 *   part          a row per part that is over, as JSON: where it ends, the number of entries up to
 *                 there, the SHA-256 of its file, once it is sealed (sealing.ts), and whether it is
 *                 pruned
 *   place         for each list that has entries in a sealed part, their ordinals: a read finds
 *                 the parts of a list without opening the others
 *   listLength    the lengths of the lists when the open part began (../runs/lengths.ts)
 *   market        the markets, as of the end of that part
 *   keyedResult   the results of commands with a new idempotency key, until the engine forgets the
 *                 key: several consecutive results a row, as 32-bit words, little-endian
 *                 (../runs/keyed-results.ts), by the sequence of the first. Its division into rows
 *                 depends on the transactions
 *
 * Invariant: a part that is over has a row, written in one synced transaction with the lengths
 * and the markets of its end. The parts are numbered from 1, and each begins where the one before
 * it ends. The part after the last one that is over is open: it is being written (../store.ts). The
 * results of its commands are synced before its transaction, and written again after a crash.
 * Without a catalogue there are no parts.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type sqlite3 from 'sqlite3';
import { createPrivateFolder } from '../../storage/files.js';
import { closeDatabase, execute, query } from '../../storage/sqlite.js';
import type { HistoryChanges } from '../projection.js';
import {
  asDamage,
  checkedValue,
  HistoryDamage,
  putValue,
  selectValues,
  type ValueRow,
} from '../rows.js';
import {
  type CountedName,
  checksumOf,
  LIST_LENGTH,
  LISTS,
  type ListLayout,
  MARKET,
  ORDER_END,
  valuesSql,
} from '../runs/format.js';
import { KEYED_RESULT } from '../runs/keyed-results.js';
import { readLengths, writeLengths } from '../runs/lengths.js';
import {
  checkTotal,
  countsOf,
  NOTHING,
  type Progress,
  progressIn,
  progressText,
} from './progress.js';
import { openTables } from './tables.js';

const PART = { name: 'part', key: 'part', type: 'TEXT' } as const;
const SCHEMA: readonly string[] = [
  'CREATE TABLE place (list INTEGER NOT NULL, id INTEGER NOT NULL, firstOrdinal INTEGER NOT NULL, lastOrdinal INTEGER NOT NULL, part INTEGER NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (list, id, firstOrdinal)) STRICT, WITHOUT ROWID',
  ...[PART, MARKET, LIST_LENGTH, KEYED_RESULT].map(valuesSql),
];
/** A few rows at a time, though the rows of a whole hour may have become useless together. */
const REMOVE_RESULTS = `DELETE FROM keyedResult WHERE sequence IN (
  SELECT sequence FROM keyedResult
  WHERE sequence < (SELECT max(sequence) FROM keyedResult WHERE sequence <= ?)
  ORDER BY sequence LIMIT 5000)`;
/** Removes only the places of order ends. Other lists' places stay: reads must see the pruning. */
const REMOVE_ORDER_ENDS = 'DELETE FROM place WHERE list = ? AND part = ?';
/** Maximum of places that one transaction writes, because other transactions wait for it. */
const PLACES_AT_ONCE = 10_000;
const PRAGMAS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL';

/** A finished part. */
export interface PartRecord {
  part: number;
  end: Progress;
  /** The SHA-256 of its file, in hex; null if it is not sealed yet. */
  sha256: string | null;
  /** Whether its file has only the lists that are kept. */
  pruned: boolean;
}

/** Entries of one list in one part. */
export interface Place {
  part: number;
  firstOrdinal: number;
  lastOrdinal: number;
}

export interface PlaceRow extends Place {
  list: number;
  id: number;
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

export function prunedPath(folder: string, part: number): string {
  return join(partsFolder(folder), `${nameOf(part)}.pruned.db`);
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
    /** The finished parts. Part n is at index n - 1. */
    readonly over: PartRecord[],
  ) {}

  /** The end of a part that is over; of part 0, the beginning of the first. */
  endOf(part: number): Progress {
    return this.over[part - 1]?.end ?? NOTHING;
  }

  /** The number of entries that a part that is over adds to the lists of each kind. */
  countsIn(part: number): Progress['counts'] {
    const [{ counts: before }, { counts }] = [this.endOf(part - 1), this.endOf(part)];
    return countsOf((name) => counts[name] - before[name]);
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

  isSealed(part: number): boolean {
    return (this.over[part - 1]?.sha256 ?? null) !== null;
  }

  /** The last part that was pruned: of those before it, only what is kept is read. 0: none. */
  get prunedTo(): number {
    return this.over.findLast(({ pruned }) => pruned)?.part ?? 0;
  }

  pathOf(part: number): string {
    if (!this.isSealed(part)) return openPath(this.folder, part);
    return (this.over[part - 1]!.pruned ? prunedPath : sealedPath)(this.folder, part);
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
   * not belong to its parts: all, if there was none.
   */
  static async open(folder: string): Promise<Catalogue> {
    await createPrivateFolder(partsFolder(folder));
    const fill = async () => removeFiles(folder, () => false);
    const options = { schema: SCHEMA, part: null, pragmas: PRAGMAS, fill };
    const database = await openTables(cataloguePath(folder), options);
    try {
      const parts = new PartList(folder, await readParts(database));
      removeFiles(folder, (part, path) => part <= parts.open && path === parts.pathOf(part));
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
      for (const { sequence, results } of keyedResults)
        await putValue(database, KEYED_RESULT, sequence, results);
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

  /** Notes that the open part, a database, is over. */
  async endPart(folder: string, open: sqlite3.Database, end: Progress): Promise<void> {
    const { parts } = this;
    const part = parts.open;
    const over = { part, end, sha256: null, pruned: false };
    const { lengths } = await readLengths(this.database, open);
    await this.transaction(openPath(folder, part), async (database) => {
      await execute(database, 'REPLACE INTO main.market SELECT * FROM part.market');
      await writeLengths(database, lengths, 0);
      await writePart(database, over);
    });
    parts.over.push(over);
  }

  /** Notes that the database at `path` has become the file of a part. */
  async sealPart(part: number, path: string, sha256: string): Promise<void> {
    const counts = this.parts.countsIn(part);
    try {
      for (const { list, name } of LISTS)
        checkTotal(name, { counts }, await this.addPlaces(list, part, path));
    } catch (error) {
      throw asDamage(error, part);
    }
    await this.setFile(part, { sha256, pruned: false });
    this.parts.lost.delete(part);
  }

  /** Notes which file a sealed part has. */
  async setFile(part: number, file: Pick<PartRecord, 'sha256' | 'pruned'>): Promise<void> {
    const record = { ...this.parts.over[part - 1]!, ...file };
    await this.transaction(null, async (database) => {
      await writePart(database, record);
      if (record.pruned) await query(database, REMOVE_ORDER_ENDS, [ORDER_END.list, part]);
    });
    this.parts.over[part - 1] = record;
  }

  /** Returns the number of entries. Until its part is sealed, no read needs a place. */
  private async addPlaces(list: number, part: number, path: string): Promise<number> {
    let entries = 0;
    const sql = `SELECT list, id, min(firstOrdinal) AS firstOrdinal, max(firstOrdinal + count - 1) AS lastOrdinal
      FROM part.run WHERE list = ? AND id > ? GROUP BY id LIMIT ${PLACES_AT_ONCE}`;
    for (let after = -1, isLast = false; !isLast; )
      await this.transaction(path, async (database) => {
        const rows = await query<PlaceRow>(database, sql, [list, after]);
        const places = rows.map((row) => Object.values(withChecksum({ ...row, part })));
        for (const row of rows) entries += row.lastOrdinal - row.firstOrdinal + 1;
        await query(
          database,
          `REPLACE INTO place SELECT ${[0, 1, 2, 3, 4, 5].map((i) => `value ->> ${i}`).join(', ')} FROM json_each(?)`,
          [JSON.stringify(places)],
        );
        isLast = rows.length < PLACES_AT_ONCE;
        after = rows.at(-1)?.id ?? after;
      });
    return entries;
  }

  /**
   * The lengths of the lists of a kind when a part began.
   * @throws HistoryDamage when they are not what was written.
   */
  async lengthsBefore(
    part: number,
    { list, name }: ListLayout,
    lengths: { set(id: number, length: number): unknown },
  ): Promise<void> {
    // The other columns come from the row with the highest ordinal.
    const sql = `SELECT list, id, firstOrdinal, max(lastOrdinal) AS lastOrdinal, part, checksum
      FROM place WHERE list = ? AND part < ? GROUP BY id`;
    let total = 0;
    for (const row of await query<PlaceRow>(this.database, sql, [list, part])) {
      const { lastOrdinal } = checkPlace(row);
      lengths.set(row.id, lastOrdinal);
      total += lastOrdinal;
    }
    checkTotal(name as CountedName, this.parts.endOf(part - 1), total);
  }

  /**
   * Transactions are not nested: each waits for the one before it. @param path of the database that
   * is attached as `part`; null if none.
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

function withChecksum(place: Omit<PlaceRow, 'checksum'>): PlaceRow {
  const { list, id, firstOrdinal, lastOrdinal, part } = place;
  const checksum = checksumOf('place', `${list} ${id} ${firstOrdinal} ${lastOrdinal} ${part}`);
  return { list, id, firstOrdinal, lastOrdinal, part, checksum };
}

/** @throws HistoryDamage when it is not what was written. */
export function checkPlace(row: PlaceRow): Place {
  if (withChecksum(row).checksum === row.checksum) return row;
  const place = `list ${row.list}, id ${row.id}, ordinal ${row.firstOrdinal}`;
  throw new HistoryDamage('place', place, 'the row does not match its checksum');
}

function writePart(database: sqlite3.Database, { part, end, ...file }: PartRecord): Promise<void> {
  return putValue(database, PART, part, progressText(end, file));
}

/** @throws HistoryDamage, or another error of SQLite. */
export async function readParts(database: sqlite3.Database): Promise<PartRecord[]> {
  const rows = await query<ValueRow<string>>(database, `${selectValues(PART)} ORDER BY part`);
  return rows.map((row, i) => {
    const text = checkedValue(PART, row.key === i + 1 ? row : undefined, i + 1);
    const { sha256, pruned } = JSON.parse(text);
    return { part: i + 1, end: progressIn(text), sha256, pruned };
  });
}

/** Removes files of parts, with those that a crash left. @param path of the database. */
function removeFiles(folder: string, isKept: (part: number, path: string) => boolean): void {
  for (const name of readdirSync(partsFolder(folder))) {
    const path = join(partsFolder(folder), name);
    const [, base, part] = /^(.*\/(\d{8})\..*?)(?:-wal|-shm)?$/.exec(path) ?? [];
    if (part !== undefined && !isKept(Number(part), base!)) rmSync(path, { force: true });
  }
}
