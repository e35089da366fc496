/**
 * Rows of a table in a binary heap, by deadline, then by id, so their order does not depend on the
 * layout of the heap. Adding and removing a row costs O(log n).
 */
import type { Archive } from './archive.js';
import { Chunks } from './chunks.js';
import type { Undoable, UndoLog } from './undo.js';

/** The table's columns. */
export interface DueRows {
  /** Orders rows with the same deadline. */
  id(row: number): number;
  atMs(row: number): number;
  /** The row's place in the heap, from 1; 0 if it is not there. */
  place(row: number): number;
  setPlace(row: number, place: number): void;
}

export class DeadlineHeap implements Undoable {
  /** The row at each place. */
  private readonly heap = new Chunks(Int32Array);
  private readonly counts: Float64Array;

  /** @param undo null if no atomic batch changes the heap */
  constructor(
    private readonly rows: DueRows,
    private readonly undo: UndoLog | null = null,
  ) {
    this.counts = undo?.block(1) ?? new Float64Array(1);
    this.heap.ensure(1);
  }

  get count(): number {
    return this.counts[0]!;
  }

  /** The earliest deadline; Infinity if the heap is empty. */
  get firstAtMs(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : this.rows.atMs(this.heap.get(1));
  }

  /** The row that is due first. The heap must not be empty. */
  get first(): number {
    return this.rowAt(1);
  }

  /** The row at a place, from 1 to `count`. */
  rowAt(place: number): number {
    return this.heap.get(place);
  }

  /** Adds a row that has a deadline and is not in the heap. */
  add(row: number): void {
    const place = this.count + 1;
    this.counts[0] = place;
    this.heap.ensure(place + 1);
    this.rise(place, row);
  }

  /** Removes a row, if it is in the heap. */
  remove(row: number): void {
    const place = this.rows.place(row);
    if (place === 0) return;
    this.rows.setPlace(row, 0);
    const last = this.heap.get(this.count);
    this.counts[0]! -= 1;
    if (last === row) return;
    this.rise(place, last);
    this.sink(this.rows.place(last), last);
  }

  restore(place: number, row: number): void {
    this.heap.set(place, row);
  }

  /** Archives the heap without the table's columns. */
  archive(archive: Archive): void {
    this.counts[0] = archive.number(this.count);
    this.heap.archive(archive, archive.number(this.count + 1));
  }

  private rise(from: number, row: number): void {
    let place = from;
    for (let parent = place >>> 1; parent > 0; parent = place >>> 1) {
      const other = this.heap.get(parent);
      if (this.isBefore(other, row)) break;
      this.put(place, other);
      place = parent;
    }
    this.put(place, row);
  }

  private sink(from: number, row: number): void {
    let place = from;
    for (let child = place * 2; child <= this.count; child = place * 2) {
      let least = this.heap.get(child);
      if (child < this.count && this.isBefore(this.heap.get(child + 1), least)) {
        child++;
        least = this.heap.get(child);
      }
      if (this.isBefore(row, least)) break;
      this.put(place, least);
      place = child;
    }
    this.put(place, row);
  }

  private put(place: number, row: number): void {
    if (this.undo?.recording) this.undo.record(this, place, this.heap.get(place));
    this.heap.set(place, row);
    this.rows.setPlace(row, place);
  }

  private isBefore(a: number, b: number): boolean {
    const difference = this.rows.atMs(a) - this.rows.atMs(b);
    return difference === 0 ? this.rows.id(a) < this.rows.id(b) : difference < 0;
  }
}
