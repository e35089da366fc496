/**
 * Columns for large tables that orders do not use, and the pool of such a table's rows. A column is
 * typed arrays in chunks of one size. Growing adds a chunk and moves nothing, so no command pays
 * for a resize. Atomic batches do not change these columns, so they need no undo log.
 */
import type { Archive } from './archive.js';

const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;
const IN_CHUNK = CHUNK - 1;

export class Chunks {
  private readonly chunks: (Int32Array | Float64Array)[] = [];

  /** @param Column the type of the numbers: 32-bit or safe integers */
  constructor(private readonly Column: Int32ArrayConstructor | Float64ArrayConstructor) {}

  get(row: number): number {
    return this.chunks[row >>> CHUNK_BITS]![row & IN_CHUNK]!;
  }

  set(row: number, value: number): void {
    this.chunks[row >>> CHUNK_BITS]![row & IN_CHUNK] = value;
  }

  /** Makes rows 0 to `rows` - 1 exist; new ones are 0. */
  ensure(rows: number): void {
    while (this.chunks.length * CHUNK < rows) this.chunks.push(new this.Column(CHUNK));
  }

  /** Archives the first `rows` rows. */
  archive(archive: Archive, rows: number): void {
    const bytes = this.Column.BYTES_PER_ELEMENT;
    for (let from = 0; from < rows; from += CHUNK) {
      const to = Math.min(rows, from + CHUNK);
      this.ensure(to);
      const { buffer } = this.chunks[from >>> CHUNK_BITS]!;
      archive.span(new Uint8Array(buffer), 0, (to - from) * bytes);
    }
  }
}

/** Allocates row numbers, from 1. The row freed last is reused first. */
export class RowPool {
  private firstFree = 0;
  /** Rows ever allocated, plus one: the number of rows that columns must have. */
  private rows = 1;
  used = 0;

  /** `nextFree` links the free rows. Rows in use may have another use for the column. */
  constructor(
    private readonly nextFree: Chunks,
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
