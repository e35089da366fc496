/**
 * Hands out the row numbers of a table, from 1, and takes them back. The row that was given back
 * last is handed out first.
 */
import type { Archive } from './archive.js';
import { type RowColumn, Scalar } from './columns.js';
import type { UndoLog } from './undo.js';

export class RowPool {
  private readonly firstFree: Scalar;
  /** Rows ever handed out, plus one: the number of rows that columns must have. */
  readonly rows: Scalar;
  /** Rows in use. */
  readonly used: Scalar;

  /** `nextFree` links the free rows. It may be a column that the table uses for rows in use. */
  constructor(
    undo: UndoLog,
    private readonly nextFree: RowColumn,
    private readonly ensureColumns: (rows: number) => void,
  ) {
    this.firstFree = new Scalar(undo);
    this.rows = new Scalar(undo);
    this.used = new Scalar(undo);
    this.rows.value = 1;
  }

  /** Makes room for that many rows in advance, so that `take` does not have to. */
  reserve(rows: number): void {
    this.nextFree.ensure(rows);
    this.ensureColumns(rows);
  }

  take(): number {
    this.used.add(1);
    const free = this.firstFree.value;
    if (free !== 0) {
      this.firstFree.set(this.nextFree.get(free));
      return free;
    }
    const row = this.rows.value;
    this.rows.set(row + 1);
    this.reserve(row + 1);
    return row;
  }

  giveBack(row: number): void {
    this.used.add(-1);
    this.nextFree.set(row, this.firstFree.value);
    this.firstFree.set(row);
  }

  archive(archive: Archive): void {
    this.firstFree.archive(archive);
    this.rows.archive(archive);
    this.used.archive(archive);
    this.nextFree.archive(archive, this.rows.value);
  }
}
