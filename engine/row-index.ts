/**
 * An index from a positive integer key (up to 2^53) to a row number: open addressing with linear probing in two typed
 * arrays, at most half full, deletion by shifting back. It is only ever looked up, never iterated, so its layout is
 * not part of the state.
 */
import type { Undoable, UndoLog } from './undo.js';

const SMALLEST = 1024;

export class RowIndex implements Undoable {
  private keys = new Float64Array(SMALLEST);
  private rows = new Int32Array(SMALLEST);
  private mask = SMALLEST - 1;
  private count = 0;

  constructor(private readonly undo: UndoLog) {}

  /** The row of a key, 0 if there is none. */
  get(key: number): number {
    let slot = this.slotOf(key);
    for (;;) {
      const found = this.keys[slot]!;
      // Before the comparison: 0 marks an empty slot, whose row is stale, and is no key.
      if (found === 0) return 0;
      if (found === key) return this.rows[slot]!;
      slot = (slot + 1) & this.mask;
    }
  }

  /** Adds a key that is not there. */
  insert(key: number, row: number): void {
    if (this.undo.recording) this.undo.record(this, key, 0);
    this.place(key, row);
  }

  /** Removes a key that is there. */
  remove(key: number): void {
    if (this.undo.recording) this.undo.record(this, key, this.get(key));
    this.erase(key);
  }

  restore(key: number, oldRow: number): void {
    if (oldRow === 0) this.erase(key);
    else this.place(key, oldRow);
  }

  /** Makes room for that many keys ahead. */
  reserve(count: number): void {
    while (this.keys.length < count * 2) this.grow();
  }

  clear(): void {
    this.keys.fill(0);
    this.count = 0;
  }

  private place(key: number, row: number): void {
    if ((this.count + 1) * 2 > this.keys.length) this.grow();
    let slot = this.slotOf(key);
    while (this.keys[slot] !== 0) slot = (slot + 1) & this.mask;
    this.keys[slot] = key;
    this.rows[slot] = row;
    this.count++;
  }

  private erase(key: number): void {
    let hole = this.slotOf(key);
    while (this.keys[hole] !== key) {
      if (this.keys[hole] === 0) throw new Error(`the index has no key ${key}`);
      hole = (hole + 1) & this.mask;
    }
    // Later entries of the same run move up, unless that would put them before their own slot.
    let next = hole;
    for (;;) {
      next = (next + 1) & this.mask;
      const key = this.keys[next]!;
      if (key === 0) break;
      const home = this.slotOf(key);
      if (((next - home) & this.mask) >= ((next - hole) & this.mask)) {
        this.keys[hole] = key;
        this.rows[hole] = this.rows[next]!;
        hole = next;
      }
    }
    this.keys[hole] = 0;
    this.count--;
  }

  /** Mixes both halves of the key (the finalizer of MurmurHash3). */
  private slotOf(key: number): number {
    let hash = (key | 0) ^ Math.imul((key / 4_294_967_296) | 0, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) & this.mask;
  }

  private grow(): void {
    const { keys, rows } = this;
    this.keys = new Float64Array(keys.length * 2);
    this.rows = new Int32Array(keys.length * 2);
    this.mask = this.keys.length - 1;
    this.count = 0;
    for (let slot = 0; slot < keys.length; slot++) {
      if (keys[slot] !== 0) this.place(keys[slot]!, rows[slot]!);
    }
  }
}
