/**
 * The resting orders that expire before their market ends, in a binary heap by time, then by order
 * id. Adding and removing an order costs O(log n). The heap holds rows of order-details.ts, and
 * each row holds its place in the heap.
 */
import type { Archive } from '../../storage/archive.js';
import type { Undoable, UndoLog } from '../../storage/undo.js';
import type { OrderDetails } from './order-details.js';

export class Expiries implements Undoable {
  private heap: Int32Array = new Int32Array(16);
  private readonly counts: Float64Array;

  constructor(
    private readonly undo: UndoLog,
    private readonly details: OrderDetails,
  ) {
    this.counts = undo.block(1);
  }

  get count(): number {
    return this.counts[0]!;
  }

  /** The row of the order that expires next. The heap must not be empty. */
  get first(): number {
    return this.heap[1]!;
  }

  /** Infinity: no order expires. */
  get nextAtMs(): number {
    return this.count === 0 ? Number.POSITIVE_INFINITY : this.details.expiresAtMs(this.heap[1]!);
  }

  /** The row's expiry must be set. */
  add(row: number): void {
    const place = this.count + 1;
    this.counts[0] = place;
    if (place === this.heap.length) {
      const heap = new Int32Array(this.heap.length * 2);
      heap.set(this.heap);
      this.heap = heap;
    }
    this.rise(row, place);
  }

  /** The row must be in the heap. */
  remove(row: number): void {
    const place = this.details.heapPlace(row);
    this.details.touch(row);
    this.details.setHeapPlace(row, 0);
    const last = this.heap[this.count]!;
    this.counts[0]! -= 1;
    if (last === row) return;
    if (place > 1 && this.isBefore(last, this.heap[place >> 1]!)) this.rise(last, place);
    else this.sink(last, place);
  }

  restore(place: number, row: number): void {
    this.heap[place] = row;
  }

  archive(archive: Archive): void {
    this.counts[0] = archive.number(this.count);
    this.heap = archive.ints(this.heap, this.count + 1);
    if (!archive.reading) return;
    const heap = new Int32Array(Math.max(16, this.heap.length * 2));
    heap.set(this.heap);
    this.heap = heap;
  }

  private rise(row: number, from: number): void {
    let place = from;
    while (place > 1 && this.isBefore(row, this.heap[place >> 1]!)) {
      this.put(this.heap[place >> 1]!, place);
      place >>= 1;
    }
    this.put(row, place);
  }

  private sink(row: number, from: number): void {
    const { heap, count } = this;
    let place = from;
    for (;;) {
      let child = place * 2;
      if (child > count) break;
      if (child < count && this.isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!this.isBefore(heap[child]!, row)) break;
      this.put(heap[child]!, place);
      place = child;
    }
    this.put(row, place);
  }

  private put(row: number, place: number): void {
    if (this.undo.recording) this.undo.record(this, place, this.heap[place]!);
    this.heap[place] = row;
    this.details.touch(row);
    this.details.setHeapPlace(row, place);
  }

  private isBefore(a: number, b: number): boolean {
    const { details } = this;
    const atA = details.expiresAtMs(a);
    const atB = details.expiresAtMs(b);
    return atA === atB ? details.orderId(a) < details.orderId(b) : atA < atB;
  }
}
