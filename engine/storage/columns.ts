/**
 * Columns: growing typed arrays for the state that orders touch. Row 0 is never used, so 0 means
 * "none" in a column of row numbers. Read `values` directly; write with `set` and `add`, which
 * record the old value in the undo log.
 */
import type { Archive } from './archive.js';
import type { Undoable, UndoLog } from './undo.js';

/** A column of row numbers, here or in chunks (chunks.ts). */
export interface RowColumn {
  get(row: number): number;
  set(row: number, value: number): void;
  ensure(rows: number): void;
  archive(archive: Archive, rows: number): void;
}

export class Int53Column implements Undoable {
  values: Float64Array;

  constructor(
    private readonly undo: UndoLog,
    capacity = 16,
  ) {
    this.values = new Float64Array(capacity);
  }

  set(row: number, value: number): void {
    if (this.undo.recording) this.undo.record(this, row, this.values[row]!);
    this.values[row] = value;
  }

  add(row: number, change: number): void {
    const old = this.values[row]!;
    if (this.undo.recording) this.undo.record(this, row, old);
    this.values[row] = old + change;
  }

  restore(row: number, old: number): void {
    this.values[row] = old;
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are 0. */
  ensure(rows: number): void {
    if (rows <= this.values.length) return;
    const values = new Float64Array(Math.max(rows, this.values.length * 2));
    values.set(this.values);
    this.values = values;
  }

  archive(archive: Archive, rows: number): void {
    this.values = archive.floats(this.values, rows);
  }
}

export class Int32Column implements Undoable {
  values: Int32Array;

  constructor(
    private readonly undo: UndoLog,
    capacity = 16,
  ) {
    this.values = new Int32Array(capacity);
  }

  get(row: number): number {
    return this.values[row]!;
  }

  set(row: number, value: number): void {
    if (this.undo.recording) this.undo.record(this, row, this.values[row]!);
    this.values[row] = value;
  }

  restore(row: number, old: number): void {
    this.values[row] = old;
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are 0. */
  ensure(rows: number): void {
    if (rows <= this.values.length) return;
    const values = new Int32Array(Math.max(rows, this.values.length * 2));
    values.set(this.values);
    this.values = values;
  }

  archive(archive: Archive, rows: number): void {
    this.values = archive.ints(this.values, rows);
  }
}

/** One number of state that an atomic batch may change. */
export class Scalar implements Undoable {
  value = 0;

  constructor(private readonly undo: UndoLog) {}

  set(value: number): void {
    if (this.undo.recording) this.undo.record(this, 0, this.value);
    this.value = value;
  }

  add(change: number): void {
    this.set(this.value + change);
  }

  restore(_index: number, old: number): void {
    this.value = old;
  }

  archive(archive: Archive): void {
    this.value = archive.number(this.value);
  }
}
