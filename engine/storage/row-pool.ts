/**
 * Allocates row numbers, from 1, of a table in chunks (chunks.ts). The row freed last is reused
 * first. Atomic batches do not change such tables.
 */
import type { Int32Chunks } from './chunks.js';

export class RowPool {
  private firstFree = 0;
  /** Rows ever allocated, plus one: the number of rows that columns must have. */
  private rows = 1;
  used = 0;

  /** `nextFree` links the free rows. It may be a column that rows in use need otherwise. */
  constructor(
    private readonly nextFree: Int32Chunks,
    private readonly ensureColumns: (rows: number) => void,
  ) {}

  take(): number {
    this.used++;
    const free = this.firstFree;
    if (free !== 0) {
      this.firstFree = this.nextFree.get(free);
      return free;
    }
    const row = this.rows++;
    this.nextFree.ensure(row + 1);
    this.ensureColumns(row + 1);
    return row;
  }

  giveBack(row: number): void {
    this.used--;
    this.nextFree.set(row, this.firstFree);
    this.firstFree = row;
  }
}
