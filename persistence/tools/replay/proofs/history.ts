/**
 * Compares the history with the replay: history.db must be what the projection makes of the journal
 * up to the history's sequence. The exchange's own projection writes a second history into a
 * temporary folder, and the two are compared row by row, lists by entry, because their runs depend
 * on when the exchange wrote them.
 *
 * A running exchange goes on writing. So the history is read in one transaction, begun when the
 * replay has reached the history's first known sequence, and the replay goes on to that
 * transaction's.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type sqlite3 from 'sqlite3';
import type { Engine } from '../../../../engine/engine.js';
import { FAULT_REMEDY, HistoryFault } from '../../../history/fault.js';
import { emptyHistoryState, Projection } from '../../../history/projection.js';
import { HistoryDamage } from '../../../history/rows.js';
import { HISTORY_FILE } from '../../../history/runs/format.js';
import { HistoryStore, historyPath } from '../../../history/store.js';
import { GENESIS, type JournalPosition } from '../../../journal/format.js';
import { FolderDisturbed } from '../../../journal/read-only.js';
import { openReadOnly, type ReadOnlyDatabase } from '../../../storage/read-only.js';
import { closeDatabase, execute, query } from '../../../storage/sqlite.js';
import { troubleOf, troubleText } from '../../../storage/trouble.js';
import { UsageError } from '../input/arguments.js';
import { aheadFinding, type Finding } from '../output/findings.js';
import { COMPARED, type ComparedTable, type Row } from './history-rows.js';

/** Entries that the projection keeps in memory before it writes them. */
const PENDING_ENTRIES = 100_000;

export class HistoryComparison {
  readonly findings: Finding[] = [];
  entries: number | null = null;
  /** The sequence that the history has reached, by its own account. */
  sequence = 0;
  private readonly projection: Projection;
  /** null: it cannot be opened. */
  private history: ReadOnlyDatabase | null = null;
  /** Runs at the exit of the process, too. */
  private readonly removeTemporary = (): void =>
    rmSync(this.temporary, { recursive: true, force: true });
  private inTransaction = false;
  private isDone = false;

  private constructor(
    engine: Engine,
    private readonly temporary: string,
    private readonly store: HistoryStore,
  ) {
    this.projection = new Projection(engine, emptyHistoryState(), () => {});
    process.once('exit', this.removeTemporary);
  }

  /** null: there is no history, which is not damage. */
  static async of(folder: string, engine: Engine): Promise<HistoryComparison | null> {
    if (!existsSync(historyPath(folder))) return null;
    const temporary = mkdtempSync(join(tmpdir(), 'replayed-history-'));
    return new HistoryComparison(engine, temporary, await HistoryStore.open(temporary));
  }

  /** Before the first command. An unreadable history is a finding. */
  async open(folder: string): Promise<void> {
    try {
      this.history = await openReadOnly(historyPath(folder));
      await this.readSequence();
      if (this.sequence === 0) await this.compare(GENESIS);
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
      if (!this.inTransaction) await this.begin();
      if (position.sequence >= this.sequence) await this.compare(position);
    } catch (error) {
      if (this.history!.wasDisturbed())
        throw new FolderDisturbed('an exchange was started meanwhile: run the command again');
      this.isDone = true;
      this.findings.push(unreadable(error));
    }
  }

  /** At the end of the journal. */
  finish(endSequence: number, journalIsWhole: boolean): void {
    if (this.isDone || !journalIsWhole) return;
    const place = 'table progress, id 1';
    this.findings.push(aheadFinding(HISTORY_FILE, place, this.sequence, endSequence));
  }

  async close(): Promise<void> {
    await this.store.close();
    if (this.history !== null) await closeDatabase(this.database);
    process.off('exit', this.removeTemporary);
    this.removeTemporary();
  }

  private get database(): sqlite3.Database {
    return this.history!.database;
  }

  private async begin(): Promise<void> {
    await execute(this.database, 'BEGIN');
    this.inTransaction = true;
    await this.readSequence();
  }

  private async readSequence(): Promise<void> {
    const sql = 'SELECT sequence FROM progress';
    const rows = await query<{ sequence: number }>(this.database, sql);
    if (rows.length !== 1)
      throw new Error(`the table progress has ${rows.length} rows instead of one`);
    this.sequence = rows[0]!.sequence;
  }

  /** That this program cannot make the history is a finding about the history. */
  private orFault<Result>(work: () => Result): Result | null {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof HistoryFault)) throw error;
      this.isDone = true;
      this.findings.push({
        file: HISTORY_FILE,
        place: `sequence ${error.sequence}`,
        what: `${error.message}. This is a fault of this version of the program: the journal is intact`,
        remedy: FAULT_REMEDY,
      });
      return null;
    }
  }

  private async commit({ sequence, hash }: JournalPosition): Promise<void> {
    const changes = this.orFault(() => this.projection.drain());
    if (changes === null) return;
    try {
      await this.store.commit(changes, { sequence, hash });
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
    await this.compareSchema();
    if (this.findings.length > 0) return;
    this.entries = 0;
    for (const table of COMPARED) await this.compareTable(table);
    if (this.findings.length === 0) await this.checkStructure();
  }

  private async compareSchema(): Promise<void> {
    const schemaOf = async (database: sqlite3.Database) =>
      JSON.stringify([
        await query(database, 'PRAGMA application_id'),
        await query(database, 'PRAGMA user_version'),
        await query(database, 'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL'),
      ]);
    const found = await schemaOf(this.database);
    if (found !== (await schemaOf(this.store.database)))
      this.find('sqlite_schema', 'its tables are not those of this version');
  }

  /** Up to the first difference: the remedy is the same for one and for many. */
  private async compareTable(table: ComparedTable): Promise<void> {
    const found = table.rows(this.database);
    const expected = table.rows(this.store.database);
    try {
      for (;;) {
        const left = (await found.next()).value ?? null;
        const right = (await expected.next()).value ?? null;
        if (left === null && right === null) return;
        const difference = differenceOf(table, left, right);
        if (difference !== null) return this.find(...difference);
        this.entries!++;
      }
    } catch (error) {
      if (!(error instanceof HistoryDamage)) throw error;
      this.find(`table ${error.table}, ${error.row}`, error.problem);
    }
  }

  /**
   * SQLite reads the keys of runs from their index, so the comparison misses damage to the table's.
   */
  private async checkStructure(): Promise<void> {
    const sql = `PRAGMA integrity_check(1)`;
    const problems = await query<{ integrity_check: string }>(this.database, sql);
    for (const { integrity_check: problem } of problems) {
      if (problem !== 'ok') this.find('the structure of SQLite', problem);
    }
  }

  private find(place: string, what: string): void {
    this.findings.push(historyFinding(place, what));
  }
}

function historyFinding(place: string, what: string): Finding {
  const remedy =
    'Nothing is lost. Stop the exchange and remove history.db, history.db-wal and history.db-shm. The next start rebuilds ' +
    'the history from the journal.';
  return { file: HISTORY_FILE, place, what, remedy };
}

/** Turns SQLite's error about a damaged database into a finding. Throws any other error. */
function unreadable(error: unknown): Finding {
  if (error instanceof UsageError || !(error instanceof Error) || 'syscall' in error) throw error;
  return historyFinding('as a whole', `it cannot be read: ${error.message}`);
}

/** Below 0: the left row comes first or is alone. */
function compareKeys({ keys }: ComparedTable, left: Row | null, right: Row | null): number {
  if (left === null) return 1;
  if (right === null) return -1;
  for (const key of keys) {
    const difference = Number(left[key]) - Number(right[key]);
    // A key that is not a number is damage in the history.
    if (difference !== 0) return Number.isNaN(difference) ? -1 : difference;
  }
  return 0;
}

/** Where a row differs from the one that the journal leads to, and how; null: it does not. */
function differenceOf(
  table: ComparedTable,
  found: Row | null,
  expected: Row | null,
): [place: string, what: string] | null {
  const order = compareKeys(table, found, expected);
  if (order < 0) return [placeOf(table, found!), `the journal does not lead to this ${table.of}`];
  if (order > 0) return [placeOf(table, expected!), `the ${table.of} is missing`];
  const place = () => placeOf(table, found!);
  for (const [column, value] of Object.entries(expected!)) {
    const other = found![column];
    if (Buffer.isBuffer(value)) {
      if (!Buffer.isBuffer(other) || !value.equals(other))
        return [place(), `${column} is not what the journal leads to`];
    } else if (other !== value) {
      return [place(), `${column} is ${String(other)}, but the journal leads to ${value}`];
    }
  }
  return null;
}

function placeOf({ name, keys }: ComparedTable, row: Row): string {
  return `table ${name}, ${keys.map((key) => `${key} ${String(row[key])}`).join(', ')}`;
}
