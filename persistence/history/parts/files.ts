/**
 * The connections on which the history is read: to the catalogue and to its parts, each opened when
 * it is needed.
 *
 * Invariant: at most FILES_MAX parts are open. When a part is sealed or rebuilt, reads use its new
 * file.
 */
import { existsSync } from 'node:fs';
import sqlite3 from 'sqlite3';
import { closeDatabase, openDatabase, query } from '../../storage/sqlite.js';
import { MarketJsonCache } from '../market-json/cache.js';
import { asDamage, HistoryDamage } from '../rows.js';
import {
  cataloguePath,
  checkPlace,
  type PartList,
  type Place,
  type PlaceRow,
} from './catalogue.js';

const FILES_MAX = 16;

/** The entries that a read needs were pruned. The journal still has their commands. */
export class HistoryPruned extends Error {
  override name = 'HistoryPruned';
}

/** A read needs a part that is being rebuilt. */
export class PartUnavailable extends Error {
  override name = 'PartUnavailable';
}

export interface PlaceOf {
  list: number;
  id: number;
  /** Ordinals, both included. */
  first: number;
  last: number;
}

interface PartFile {
  path: string;
  database: Promise<sqlite3.Database>;
}

export class HistoryFiles {
  /** Texts of markets, which all reads share. */
  readonly texts = new MarketJsonCache();
  /** Open files by part, least recently used first. */
  private readonly files = new Map<number, PartFile>();

  private constructor(
    readonly parts: PartList,
    private readonly catalogue: sqlite3.Database,
  ) {}

  static async open(folder: string, parts: PartList): Promise<HistoryFiles> {
    const mode = sqlite3.OPEN_READONLY | sqlite3.OPEN_FULLMUTEX;
    return new HistoryFiles(parts, await openDatabase(cataloguePath(folder), mode));
  }

  /**
   * @param part null: the catalogue.
   * @throws PartUnavailable, HistoryDamage, or another error of SQLite.
   */
  async query<Row>(
    part: number | null,
    sql: string,
    parameters: readonly (number | string)[],
  ): Promise<Row[]> {
    if (part !== null && this.parts.lost.has(part))
      throw new PartUnavailable(`part ${part} of the history is being rebuilt`);
    try {
      const database = part === null ? this.catalogue : await this.fileOf(part).database;
      return await query<Row>(database, sql, parameters);
    } catch (error) {
      throw asDamage(error, part);
    }
  }

  /** The sealed parts in which entries of a list are, newest first. */
  async holding({ list, id, first, last }: PlaceOf): Promise<Place[]> {
    const sql = `SELECT * FROM place WHERE list = ?1 AND id = ?2 AND firstOrdinal <= ?3
      AND firstOrdinal >= coalesce((SELECT max(firstOrdinal) FROM place WHERE list = ?1 AND id = ?2 AND firstOrdinal <= ?4), 1)
      ORDER BY firstOrdinal DESC`;
    const rows = await this.query<PlaceRow>(null, sql, [list, id, last, first]);
    return rows.map(checkPlace);
  }

  /** The ordinal of the last entry of a list that was pruned; 0 if none was. */
  async lastPruned(list: number, id: number): Promise<number> {
    const { prunedTo } = this.parts;
    if (prunedTo === 0) return 0;
    const sql = `SELECT * FROM place WHERE list = ? AND id = ? AND part <= ?
      ORDER BY firstOrdinal DESC LIMIT 1`;
    const [row] = await this.query<PlaceRow>(null, sql, [list, id, prunedTo]);
    return row === undefined ? 0 : checkPlace(row).lastOrdinal;
  }

  /**
   * The next query opens the part again. Queries that have its file already come first: they wait
   * for `database`, and this for a promise that is settled after it.
   */
  async closeFile(part: number): Promise<void> {
    const file = this.files.get(part);
    this.files.delete(part);
    const database = await file?.database.catch(() => null);
    if (database != null) await closeDatabase(database);
  }

  /** Once the queries that are under way have ended. */
  async close(): Promise<void> {
    for (const part of [...this.files.keys()]) await this.closeFile(part);
    await closeDatabase(this.catalogue);
  }

  private fileOf(part: number): PartFile {
    const path = this.parts.pathOf(part);
    let file = this.files.get(part);
    if (file !== undefined && file.path !== path) void this.closeFile(part);
    file = this.files.get(part) ?? this.openFile(part, path);
    this.files.delete(part);
    this.files.set(part, file);
    const [oldest] = this.files.keys();
    if (this.files.size > FILES_MAX) void this.closeFile(oldest!);
    return file;
  }

  private openFile(part: number, path: string): PartFile {
    const file = { path, database: openPart(path, part) };
    file.database.catch(() => {
      if (this.files.get(part) === file) this.files.delete(part);
    });
    return file;
  }
}

async function openPart(path: string, part: number): Promise<sqlite3.Database> {
  if (!existsSync(path)) throw new HistoryDamage('(all)', '(all)', `${path} is missing`).in(part);
  return openDatabase(path, sqlite3.OPEN_READONLY | sqlite3.OPEN_FULLMUTEX);
}
