/**
 * Rows of a table by the time at which they are due, the earliest first: a binary heap. Of equal
 * times, the lower id comes first, so the order does not depend on the layout of the heap, which is
 * not part of the state. Atomic batches do not change it.
 */
import { Int32Chunks, Int53Chunks } from './chunks.js';

export class DeadlineHeap {
  private count = 0;
  /** By place, from 1: the row. */
  private readonly rows = new Int32Chunks();
  /** By row: its place, 0: it has no deadline; and when it is due. */
  private readonly places = new Int32Chunks();
  private readonly times = new Int53Chunks();

  /** `idOf`: what rows that are due at the same time are ordered by. */
  constructor(private readonly idOf: (row: number) => number) {}

  /** Makes room for rows 0 to `rows` - 1. */
  ensure(rows: number): void {
    this.places.ensure(rows);
    this.times.ensure(rows);
  }

  /** When the first row is due; Infinity: there is none. */
  get firstAtMs(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : this.times.get(this.rows.get(1));
  }

  /** The row that is due first. There must be one. */
  get first(): number {
    return this.rows.get(1);
  }

  /** When the row is due; 0: it has no deadline. */
  atMs(row: number): number {
    return this.places.get(row) === 0 ? 0 : this.times.get(row);
  }

  /** Gives a row a deadline, or another one. */
  set(row: number, atMs: number): void {
    this.remove(row);
    this.count++;
    this.rows.ensure(this.count + 1);
    this.times.set(row, atMs);
    this.rise(this.count, row);
  }

  /** Takes a row's deadline away, if it has one. */
  remove(row: number): void {
    const place = this.places.get(row);
    if (place === 0) return;
    this.places.set(row, 0);
    const last = this.rows.get(this.count);
    this.count--;
    if (last === row) return;
    this.rise(place, last);
    this.sink(this.places.get(last), last);
  }

  clear(): void {
    for (let place = 1; place <= this.count; place++) this.places.set(this.rows.get(place), 0);
    this.count = 0;
  }

  private rise(from: number, row: number): void {
    let place = from;
    for (let parent = place >>> 1; parent > 0; parent = place >>> 1) {
      const other = this.rows.get(parent);
      if (this.isBefore(other, row)) break;
      this.put(place, other);
      place = parent;
    }
    this.put(place, row);
  }

  private sink(from: number, row: number): void {
    let place = from;
    for (let child = place * 2; child <= this.count; child = place * 2) {
      let least = this.rows.get(child);
      if (child < this.count && this.isBefore(this.rows.get(child + 1), least)) {
        child++;
        least = this.rows.get(child);
      }
      if (this.isBefore(row, least)) break;
      this.put(place, least);
      place = child;
    }
    this.put(place, row);
  }

  private put(place: number, row: number): void {
    this.rows.set(place, row);
    this.places.set(row, place);
  }

  private isBefore(a: number, b: number): boolean {
    const difference = this.times.get(a) - this.times.get(b);
    return difference === 0 ? this.idOf(a) < this.idOf(b) : difference < 0;
  }
}
