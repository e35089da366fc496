/**
 * Reads one segment of a journal on a connection that cannot write, even while an exchange writes
 * it. SQLite shows a commit to other connections only when it is synced.
 *
 * Invariant: a batch is returned only if it continues the hash chain; the first that does not is
 * named by a {@link JournalError}. Nothing is skipped.
 */
import { basename } from 'node:path';
import type sqlite3 from 'sqlite3';
import { closeDatabase, query } from '../storage/sqlite.js';
import {
  damageOf,
  damageTold,
  JournalError,
  MixedSegments,
  UNCHANGED,
  unreadable,
} from './errors.js';
import {
  APPLICATION_ID,
  DIGEST_FORM,
  FORMAT_VERSION,
  GENESIS,
  HASH_BYTES,
  type JournalPosition,
  MAX_ROW_BYTES,
  TABLE_SQL,
} from './format.js';
import type { Mark } from './head-mark.js';
import { type RowBefore, readAhead, rowProblem } from './row.js';
import { HEAD_TABLE_SQL, type Segment } from './segments.js';
import { type JournalBatch, positionAfter } from './store.js';

interface HeadRow {
  segment: number;
  previousSequence: number;
  previousHash: Buffer;
  previousDigest: string;
}

const PAGE_ROWS = 256;
const PAGE_BYTES = 2 * 1024 * 1024;

export class SegmentReader {
  /** The connection; null if it is closed, and the next read opens it. */
  private database: Promise<sqlite3.Database> | null = null;
  start = GENESIS;

  constructor(
    private readonly connect: () => Promise<sqlite3.Database>,
    readonly segment: Segment,
    private readonly mark: Mark | null,
    private readonly version = FORMAT_VERSION,
  ) {}

  private get path(): string {
    return this.segment.path;
  }

  /** Reads the head. Returns false for a file without tables: it is not a segment yet. */
  async open(): Promise<boolean> {
    try {
      // Read first: the tables and the rest may be committed between two of these reads.
      const schema = await this.query<{ sql: string }>(
        'SELECT sql FROM sqlite_schema ORDER BY name',
      );
      if (schema.length === 0 && this.segment.number > 1) return false;
      const [application] = await this.query<{ application_id: number }>('PRAGMA application_id');
      const [version] = await this.query<{ user_version: number }>('PRAGMA user_version');
      const { application_id: applicationId } = application!;
      const { user_version: userVersion } = version!;
      if (applicationId !== APPLICATION_ID)
        throw damageOf(this.path, ' is not a journal of this exchange', 1);
      if (userVersion !== this.version) throw this.otherVersion(userVersion);
      const tables = String(schema.map(({ sql }) => sql));
      const isFirst = tables === String([TABLE_SQL]);
      if (!isFirst && tables !== String([TABLE_SQL, HEAD_TABLE_SQL]))
        throw damageOf(this.path, " does not have a journal's tables", 1);
      if (isFirst !== (this.segment.number === 1)) throw this.otherNumber();
      if (!isFirst) this.start = await this.readHead();
      return true;
    } catch (error) {
      throw this.named(error, 1);
    }
  }

  private async readHead(): Promise<JournalPosition> {
    const rows = await this.query<HeadRow>('SELECT * FROM head');
    const [row] = rows;
    const isWellFormed =
      rows.length === 1 &&
      Number.isSafeInteger(row!.segment) &&
      Number.isSafeInteger(row!.previousSequence) &&
      Buffer.isBuffer(row!.previousHash) &&
      row!.previousHash.length === HASH_BYTES &&
      typeof row!.previousDigest === 'string' &&
      DIGEST_FORM.test(row!.previousDigest);
    if (!isWellFormed) throw damageOf(this.path, ' has a damaged head', 1);
    if (row!.segment !== this.segment.number) throw this.otherNumber();
    const { previousSequence: sequence, previousHash: hash, previousDigest: digest } = row!;
    return { sequence, hash, digest };
  }

  /**
   * The batches of this segment after `after`, which is in it or its head, oldest first.
   * @throws JournalError at the first batch that is missing, unreadable or changed;
   *   JournalUnavailable if it cannot be read now.
   */
  batches(after: JournalPosition): AsyncGenerator<JournalBatch, void, void> {
    return readAhead(
      after,
      (from) => this.page(from),
      (batch, before) => this.checkBatch(batch, before),
    );
  }

  /** Finds the journal's end with the same checks as {@link batches}, from `after` on. */
  async provenEnd(after = this.start): Promise<JournalPosition> {
    let end = after;
    for await (const batch of this.batches(after)) end = positionAfter(batch);
    return end;
  }

  /**
   * The segment's end, read from the last two rows alone. @throws JournalError if they are not
   * chained
   */
  async end(): Promise<JournalPosition> {
    const last = await this.lastRow(Number.MAX_SAFE_INTEGER, 1);
    return last === null ? this.start : positionAfter(last);
  }

  /**
   * The position after the batch that ends at `sequence`; null if there is none. Reads two rows.
   * @throws JournalError if the rows are not chained
   */
  async positionAt(sequence: number): Promise<JournalPosition | null> {
    const before = this.start;
    if (sequence === before.sequence) return before;
    const row = await this.lastRow(sequence);
    return row?.lastSequence === sequence ? positionAfter(row) : null;
  }

  /**
   * The batch with this command; null if there is none. Reads two rows. @throws JournalError if the
   * rows are not chained
   */
  async batchWith(sequence: number): Promise<JournalBatch | null> {
    const row = await this.lastRow(sequence);
    return row !== null && row.lastSequence >= sequence ? row : null;
  }

  /**
   * Checks SQLite's structure around the rows. A page that is both free and in use, say, does not
   * affect reads, but a write to it would damage rows. Reads the whole file, faster than
   * {@link batches}.
   * @throws JournalError naming the sequence after `end`, up to which the rows are proven.
   */
  async checkStructure(end: number): Promise<void> {
    let problem: string | undefined;
    try {
      const [first] = await this.query<{ quick_check: string }>('PRAGMA quick_check(1)');
      problem = first?.quick_check;
    } catch (error) {
      throw this.named(error, end + 1);
    }
    if (problem === 'ok') return;
    throw damageOf(
      this.path,
      ` has all rows up to sequence ${end} as they were written, but its structure as a file of ` +
        `SQLite is damaged (${problem}), and writing to it could damage the rows`,
      end + 1,
    );
  }

  /** Closes the connection until the next read. Not during a read. */
  async release(): Promise<void> {
    const database = await this.database?.catch(() => null);
    this.database = null;
    if (database) await closeDatabase(database);
  }

  private async page(from: number): Promise<JournalBatch[]> {
    try {
      // Read row by row, if that fails, to return the good rows before the unreadable one.
      return await this.rowsFrom(from, PAGE_ROWS).catch((error) => {
        if (error instanceof JournalError) throw error;
        return this.rowsFrom(from, 1);
      });
    } catch (error) {
      throw this.named(error, from);
    }
  }

  private async rowsFrom(from: number, rowLimit: number): Promise<JournalBatch[]> {
    const sizes = await this.query<{ firstSequence: number; bytes: number }>(
      'SELECT firstSequence, length(records) AS bytes FROM batch WHERE firstSequence >= ? ' +
        'ORDER BY firstSequence LIMIT ?',
      [from, rowLimit],
    );
    let rowCount = 0;
    let bytes = 0;
    for (const size of sizes) {
      if (size.bytes > MAX_ROW_BYTES) {
        if (rowCount === 0)
          throw this.bad(from, 'is larger than any batch that an exchange writes');
        break;
      }
      bytes += size.bytes;
      if (rowCount > 0 && bytes > PAGE_BYTES) break;
      rowCount++;
    }
    return this.rows('WHERE firstSequence >= ? ORDER BY firstSequence LIMIT ?', [from, rowCount]);
  }

  private rows(condition: string, parameters: readonly number[]): Promise<JournalBatch[]> {
    const columns = 'firstSequence, lastSequence, records, digest, hash';
    return this.query<JournalBatch>(`SELECT ${columns} FROM batch ${condition}`, parameters);
  }

  /** Checked with the row before it; null if none. @throws JournalError that names `named`. */
  private async lastRow(sequence: number, named = sequence): Promise<JournalBatch | null> {
    const condition = 'WHERE firstSequence <= ? ORDER BY firstSequence DESC LIMIT 2';
    try {
      const [row, previous] = await this.rows(condition, [sequence]);
      if (row === undefined) return null;
      const after = previous === undefined ? this.start : positionAfter(previous);
      this.checkBatch(row, after);
      return row;
    } catch (error) {
      throw this.named(error, named);
    }
  }

  private async query<Row>(
    sql: string,
    parameters: readonly (number | Buffer)[] = [],
  ): Promise<Row[]> {
    this.database ??= this.connect();
    let database: sqlite3.Database;
    try {
      database = await this.database;
    } catch (error) {
      this.database = null;
      throw error;
    }
    return query<Row>(database, sql, parameters);
  }

  /** Rules 1 to 4 of the format, for a batch that should follow `before`. */
  private checkBatch(batch: JournalBatch, before: RowBefore): void {
    const { sequence } = before;
    const problem = rowProblem(batch, before);
    if (problem !== null) throw this.bad(sequence + 1, problem);
    const { mark } = this;
    if (mark !== null && mark.sequence > sequence && mark.sequence <= batch.lastSequence)
      this.checkMark(batch, mark);
  }

  private checkMark(batch: JournalBatch, { sequence, hash }: Mark): void {
    if (batch.lastSequence === sequence && hash.equals(batch.hash)) return;
    throw this.bad(batch.firstSequence, `is not the one that journal.head marks at ${sequence}`);
  }

  /** Rule 4 for a mark beyond the last row. */
  checkEnd(sequence: number): void {
    const { mark } = this;
    if (mark === null || mark.sequence <= sequence) return;
    throw damageOf(
      this.path,
      ` ends at sequence ${sequence}, but ${mark.sequence} had been committed and acknowledged ` +
        `(journal.head): ${mark.sequence - sequence} commands are lost. Their rows were removed, ` +
        'the -wal file beside it was deleted or cut short, it was copied without that file, or a ' +
        'later segment was removed',
      sequence + 1,
    );
  }

  async countAfter(sequence: number): Promise<number> {
    const sql = 'SELECT count(*) AS batches FROM batch WHERE firstSequence > ?';
    return (await this.query<{ batches: number }>(sql, [sequence]))[0]!.batches;
  }

  /** Rule 4 for a mark older than the last row, as after a power cut. */
  async checkMarkedRow(): Promise<void> {
    const { mark } = this;
    if (mark === null || mark.sequence <= this.start.sequence) return;
    const row = await this.lastRow(mark.sequence, 1);
    if (row === null) throw this.bad(this.start.sequence + 1, 'is missing');
    this.checkMark(row, mark);
  }

  /** The error of a segment that does not follow the one before it, which ends at `end`. */
  otherHead(before: Segment, end: JournalPosition): JournalError {
    const { sequence } = this.start;
    const difference =
      sequence === end.sequence ? 'there with another hash or digest' : `at ${end.sequence}`;
    const [name, previous] = [this.path, before.path].map((path) => basename(path));
    return this.mixed(
      ` does not follow ${before.path}: ${name} says that ${previous} ends at ${sequence}, ` +
        `but ${previous} ends ${difference}. One of the two was cut short or is from another copy, so the folder has ` +
        'segments of two histories',
      end.sequence + 1,
    );
  }

  /** The error of a segment from another place in a journal. */
  private otherNumber(): JournalError {
    return this.mixed(
      ` is a segment of a journal, but not number ${this.segment.number}: it is from another place, so ` +
        'the folder has segments of two histories',
      1,
    );
  }

  private mixed(what: string, firstBad: number): JournalError {
    return new MixedSegments(damageTold(this.path, what), firstBad);
  }

  private otherVersion(found: number): JournalError {
    const what = `${this.path} is a journal of version ${found}`;
    const told =
      this.version === FORMAT_VERSION
        ? {
            problem:
              `${what}; this program reads and writes version ${FORMAT_VERSION}. The format or the ` +
              "engine's rules differ between versions, so a replay would not rebuild the same state",
            remedy:
              `${UNCHANGED} Use this folder with the program that wrote it; for this program, set ` +
              'DATA_FOLDER to a new folder.',
          }
        : { problem: `${what}; npm run upgrade reads version ${this.version}`, remedy: UNCHANGED };
    return new JournalError({ ...told, file: this.path }, null);
  }

  private bad(sequence: number, what: string): JournalError {
    return damageOf(this.path, `: the batch at sequence ${sequence} ${what}`, sequence);
  }

  private named(error: unknown, sequence: number): unknown {
    return unreadable(this.path, sequence, error);
  }
}
