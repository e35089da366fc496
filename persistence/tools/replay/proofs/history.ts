/**
 * Compares the history with the replay: its files must equal the projection of the journal up to
 * the history's sequence. The exchange's projection writes a second history into a temporary
 * folder, in the same parts. The two are compared part by part and row by row, and lists by entry,
 * because their runs depend on when the exchange wrote them.
 *
 * A running exchange keeps writing. So the open part is read in one transaction, begun when the
 * replay has reached the part's first known sequence, and the replay continues to the transaction's
 * sequence.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type sqlite3 from 'sqlite3';
import type { Engine } from '../../../../engine/engine.js';
import { FAULT_REMEDY, HistoryFault } from '../../../history/fault.js';
import {
  cataloguePath,
  openPath,
  PartList,
  readParts,
  removeDatabase,
} from '../../../history/parts/catalogue.js';
import { emptyHistoryState, Projection } from '../../../history/projection.js';
import { HistoryDamage } from '../../../history/rows.js';
import { HistoryStore } from '../../../history/store.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { FolderDisturbed } from '../../../journal/read-only.js';
import { openReadOnly, type ReadOnlyDatabase } from '../../../storage/read-only.js';
import { closeDatabase, execute, query } from '../../../storage/sqlite.js';
import { troubleOf, troubleText } from '../../../storage/trouble.js';
import { UsageError } from '../input/arguments.js';
import { aheadFinding, type Finding } from '../output/findings.js';
import {
  type ComparedTable,
  OF_CATALOGUE,
  OF_OPEN,
  OF_PRUNED,
  OF_SEALED,
  type Row,
} from './history-rows.js';

/** Entries that the projection keeps in memory before it writes them. */
const PENDING_ENTRIES = 100_000;
const FILE = 'history/';

export class HistoryComparison {
  readonly findings: Finding[] = [];
  entries: number | null = null;
  /** The sequence that the part claims to have reached. */
  sequence = 0;
  private readonly projection: Projection;
  private parts: PartList;
  /** The part that is compared next. */
  private part = 1;
  /** null: it cannot be opened. */
  private history: ReadOnlyDatabase | null = null;
  /** Also runs when the process exits. */
  private readonly removeTemporary = (): void =>
    rmSync(this.temporary, { recursive: true, force: true });
  private inTransaction = false;
  private isDone = false;

  private constructor(
    private readonly engine: Engine,
    private readonly folder: string,
    private readonly temporary: string,
    private readonly store: HistoryStore,
  ) {
    this.parts = new PartList(folder, []);
    this.projection = new Projection(engine, emptyHistoryState(), () => {});
    process.once('exit', this.removeTemporary);
  }

  /** null: no history, which is not damage. */
  static async of(folder: string, engine: Engine): Promise<HistoryComparison | null> {
    if (!existsSync(cataloguePath(folder))) return null;
    const temporary = mkdtempSync(join(tmpdir(), 'replayed-history-'));
    const store = await HistoryStore.open(temporary, null);
    return new HistoryComparison(engine, folder, temporary, store);
  }

  /** Call before the first command. An unreadable history is a finding. */
  async open(): Promise<void> {
    try {
      const catalogue = await openReadOnly(cataloguePath(this.folder));
      this.parts = new PartList(this.folder, await readParts(catalogue.database));
      await closeDatabase(catalogue.database);
      await this.openPart(GENESIS);
    } catch (error) {
      this.isDone = true;
      this.findings.push(unreadable(error));
    }
  }

  applying(atMs: number): void {
    if (!this.isDone) this.orFault(() => this.projection.applying(atMs));
  }

  applied(): void {
    if (!this.isDone) this.orFault(() => this.projection.applied());
  }

  async proven(position: JournalPosition): Promise<void> {
    if (this.isDone) return;
    const isThere = position.sequence >= this.sequence;
    if (isThere || this.projection.pendingEntries >= PENDING_ENTRIES) await this.commit(position);
    if (this.isDone || !isThere) return;
    try {
      if (!this.isOver && !this.inTransaction) await this.begin();
      if (position.sequence >= this.sequence) await this.compare(position);
    } catch (error) {
      if (error instanceof FolderDisturbed) throw error;
      if (this.history?.wasDisturbed()) throw new FolderDisturbed(this.folder);
      this.isDone = true;
      this.findings.push(unreadable(error));
    }
  }

  /** Call at the end of the journal. */
  finish(endSequence: number, journalIsWhole: boolean): void {
    if (this.isDone || !journalIsWhole) return;
    const place = 'table progress, id 1';
    this.findings.push(aheadFinding(FILE, place, this.sequence, endSequence));
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.closePart();
    process.off('exit', this.removeTemporary);
    this.removeTemporary();
  }

  private get database(): sqlite3.Database {
    return this.history!.database;
  }

  /** Whether the exchange no longer writes to the part. */
  private get isOver(): boolean {
    return this.part < this.parts.open;
  }

  private async openPart(position: JournalPosition): Promise<void> {
    this.history = await openReadOnly(this.parts.pathOf(this.part));
    if (this.isOver) this.sequence = this.parts.endOf(this.part).sequence;
    else await this.readSequence();
    if (this.sequence === position.sequence) await this.compare(position);
  }

  private async closePart(): Promise<void> {
    if (this.history !== null) await closeDatabase(this.database);
    this.history = null;
    this.inTransaction = false;
  }

  private async begin(): Promise<void> {
    await execute(this.database, 'BEGIN');
    this.inTransaction = true;
    await this.readSequence();
  }

  private async readSequence(): Promise<void> {
    const sql = `SELECT value ->> '$.sequence' AS sequence FROM progress`;
    const rows = await query<{ sequence: number }>(this.database, sql);
    if (rows.length !== 1)
      throw new Error(`the table progress has ${rows.length} rows instead of one`);
    this.sequence = rows[0]!.sequence;
  }

  /** If this program cannot make the history, that is a finding about the history. */
  private orFault<Result>(work: () => Result): Result | null {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof HistoryFault)) throw error;
      this.isDone = true;
      this.findings.push({
        file: FILE,
        place: `sequence ${error.sequence}`,
        problem: `${error.message}. This is a fault of this version of the program: the journal is intact`,
        remedy: FAULT_REMEDY,
      });
      return null;
    }
  }

  private async commit({ sequence, hash }: JournalPosition): Promise<void> {
    const changes = this.orFault(() => this.projection.drain());
    if (changes === null) return;
    try {
      const end = { sequence, hash, atMs: this.engine.nowMs };
      await this.store.commit(changes, end);
    } catch (error) {
      throw new UsageError(
        `the history for the comparison cannot be written to ${this.temporary}: ${troubleText(troubleOf(error))}`,
      );
    }
  }

  private async compare(position: JournalPosition): Promise<void> {
    this.isDone = true;
    if (position.sequence !== this.sequence) {
      this.find('table progress, id 1', `it claims sequence ${this.sequence}, where no batch ends`);
      return;
    }
    this.entries ??= 0;
    const isSealed = this.parts.isSealed(this.part);
    const isPruned = this.parts.over[this.part - 1]?.pruned === true;
    const expected = this.store.open.database;
    const tables = isPruned ? OF_PRUNED : isSealed ? OF_SEALED : OF_OPEN;
    await this.compareTables(tables, this.database, expected);
    if (this.findings.length === 0) await this.checkStructure();
    if (this.findings.length > 0 || !this.isOver) return;
    await this.closePart();
    const { part, temporary, store } = this;
    await store.beginPart();
    removeDatabase(openPath(temporary, part));
    this.part++;
    if (!this.isOver) await this.compareCatalogue();
    this.isDone = this.findings.length > 0;
    if (!this.isDone) await this.openPart(position);
  }

  private async compareCatalogue(): Promise<void> {
    const { database } = await openReadOnly(cataloguePath(this.folder));
    try {
      if ((await readParts(database)).length >= this.part)
        throw new FolderDisturbed(this.folder, 'a part of the history has ended');
      await this.compareTables(OF_CATALOGUE, database, this.store.catalogue.database);
    } finally {
      await closeDatabase(database);
    }
  }

  private async compareTables(
    tables: readonly ComparedTable[],
    found: sqlite3.Database,
    expected: sqlite3.Database,
  ): Promise<void> {
    if ((await schemaOf(tables, found)) !== (await schemaOf(tables, expected)))
      this.find('sqlite_schema', 'its tables are not those of this version');
    else for (const table of tables) await this.compareTable(table, found, expected);
  }

  /** Stops at the first difference: the remedy does not depend on their number. */
  private async compareTable(
    { name, rows }: ComparedTable,
    foundIn: sqlite3.Database,
    expectedIn: sqlite3.Database,
  ): Promise<void> {
    const found = rows(foundIn);
    const expected = rows(expectedIn);
    try {
      for (;;) {
        const left = (await found.next()).value ?? null;
        const right = (await expected.next()).value ?? null;
        if (left === null && right === null) return;
        if (!isDeepStrictEqual(left, right)) {
          const what = `has ${rowText(left)} where the journal leads to ${rowText(right)}`;
          return this.find(`table ${name}`, what);
        }
        this.entries!++;
      }
    } catch (error) {
      if (!(error instanceof HistoryDamage)) throw error;
      this.find(`table ${error.table}, ${error.row}`, error.problem);
    }
  }

  /**
   * SQLite reads the runs' keys from their index, so the comparison misses damage in the table's
   * keys.
   */
  private async checkStructure(): Promise<void> {
    const sql = `PRAGMA integrity_check(1)`;
    const problems = await query<{ integrity_check: string }>(this.database, sql);
    for (const { integrity_check: problem } of problems) {
      if (problem !== 'ok') this.find('the structure of SQLite', problem);
    }
  }

  private find(place: string, problem: string): void {
    this.findings.push(historyFinding(place, `${problem} (part ${this.part})`));
  }
}

async function schemaOf(
  tables: readonly ComparedTable[],
  database: sqlite3.Database,
): Promise<string> {
  const names = JSON.stringify(tables.map(({ table }) => table));
  const sql = `SELECT sql FROM sqlite_schema WHERE name IN (SELECT value FROM json_each(?)) ORDER BY name`;
  return JSON.stringify([
    await query(database, 'PRAGMA application_id'),
    await query(database, 'PRAGMA user_version'),
    await query(database, sql, [names]),
  ]);
}

function historyFinding(place: string, problem: string): Finding {
  const remedy =
    'Nothing is lost. Stop the exchange and remove the folder history. The next startup rebuilds the history from the ' +
    'journal.';
  return { problem, file: FILE, place, remedy };
}

/** Turns SQLite's error about a damaged database into a finding. Throws any other error. */
function unreadable(error: unknown): Finding {
  if (error instanceof UsageError || !(error instanceof Error) || 'syscall' in error) throw error;
  return historyFinding('as a whole', `it cannot be read: ${error.message}`);
}

function rowText(row: Row | null): string {
  return row === null ? 'no further row' : JSON.stringify(row);
}
