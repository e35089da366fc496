/**
 * Rows of a table in a binary heap, by deadline, then by id. So their order does not depend on the
 * layout of the heap, which is not part of the state. Atomic batches do not change the heap.
 */
import { Int32Chunks, Int53Chunks } from './chunks.js';

export class DeadlineHeap {
  private count = 0;
  /** By place, from 1: the row. */
  private readonly rows = new Int32Chunks();
  /** By row: its place (0: no deadline), and its deadline. */
  private readonly places = new Int32Chunks();
  private readonly times = new Int53Chunks();

  /** `idOf` orders rows with the same deadline. */
  constructor(private readonly idOf: (row: number) => number) {}

  /** Makes room for rows 0 to `rows` - 1. */
  ensure(rows: number): void {
    this.places.ensure(rows);
    this.times.ensure(rows);
  }

  /** The earliest deadline; Infinity: the heap is empty. */
  get firstAtMs(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : this.times.get(this.rows.get(1));
  }

  /** The row that is due first. The heap must not be empty. */
  get first(): number {
    return this.rows.get(1);
  }

  /** The row's deadline; 0: none. */
  atMs(row: number): number {
    return this.places.get(row) === 0 ? 0 : this.times.get(row);
  }

  set(row: number, atMs: number): void {
    this.remove(row);
    this.count++;
    this.rows.ensure(this.count + 1);
    this.times.set(row, atMs);
    this.rise(this.count, row);
  }

  /** Removes a row's deadline, if it has one. */
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
