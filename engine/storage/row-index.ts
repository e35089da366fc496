/**
 * An index from a positive integer key (up to 2^53) to a row number: open addressing with linear
 * probing in two typed arrays, at most half full, deletion by shifting back. It is never iterated,
 * so its layout is not part of the state.
 *
 * It grows without a stall: each insertion moves a few entries from the old table to one of twice
 * the size. The old table is empty long before the new one is full. Meanwhile a key is in exactly
 * one of them; a place emptied in the old table is marked MOVED, so that probe sequences stay
 * whole.
 */
import type { Undoable, UndoLog } from './undo.js';

const SMALLEST = 1024;
/** No key: the entry has moved on, or was removed. */
const MOVED = -1;
/**
 * Places of the old table that one insertion empties; more than two, to be done before the new one
 * is half full.
 */
const MOVED_PER_INSERTION = 8;

export class RowIndex implements Undoable {
  private keys = new Float64Array(SMALLEST);
  private rows = new Int32Array(SMALLEST);
  private mask = SMALLEST - 1;
  private count = 0;
  /** The table that is being left, and its next place to empty; null: none is. */
  private oldKeys: Float64Array | null = null;
  private oldRows = new Int32Array(0);
  private oldAt = 0;

  constructor(private readonly undo: UndoLog) {}

  /** The row of a key, 0 if there is none. */
  get(key: number): number {
    let slot = this.slotOf(key);
    for (;;) {
      const found = this.keys[slot]!;
      // Before the comparison: 0 marks an empty slot, whose row is stale, and is not a key.
      if (found === 0) return this.oldKeys === null ? 0 : this.getOld(this.oldKeys, key);
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

  /** Empties the index, and makes room for that many keys. */
  clear(expectedKeys: number): void {
    let size = this.keys.length;
    while (size < expectedKeys * 2) size *= 2;
    this.begin(size);
    this.count = 0;
    this.oldKeys = null;
  }

  private place(key: number, row: number): void {
    if (this.oldKeys !== null) this.moveSome(this.oldKeys);
    if ((this.count + 1) * 2 > this.keys.length) this.grow();
    this.count++;
    this.put(key, row);
  }

  private put(key: number, row: number): void {
    let slot = this.slotOf(key);
    while (this.keys[slot] !== 0) slot = (slot + 1) & this.mask;
    this.keys[slot] = key;
    this.rows[slot] = row;
  }

  private erase(key: number): void {
    this.count--;
    let hole = this.slotOf(key);
    while (this.keys[hole] !== key) {
      if (this.keys[hole] === 0) {
        this.eraseOld(key);
        return;
      }
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
  }

  private getOld(oldKeys: Float64Array, key: number): number {
    const place = this.placeInOld(oldKeys, key);
    // A number that is not a key must not be taken for a mark.
    return place === -1 || !(key > 0) ? 0 : this.oldRows[place]!;
  }

  private eraseOld(key: number): void {
    const place = this.oldKeys === null ? -1 : this.placeInOld(this.oldKeys, key);
    if (place === -1) throw new Error(`the index has no key ${key}`);
    this.oldKeys![place] = MOVED;
  }

  /** -1: it is not there. */
  private placeInOld(oldKeys: Float64Array, key: number): number {
    const mask = oldKeys.length - 1;
    let place = this.hashOf(key) & mask;
    while (oldKeys[place] !== key) {
      if (oldKeys[place] === 0) return -1;
      place = (place + 1) & mask;
    }
    return place;
  }

  private moveSome(oldKeys: Float64Array): void {
    const to = Math.min(oldKeys.length, this.oldAt + MOVED_PER_INSERTION);
    for (; this.oldAt < to; this.oldAt++) {
      const key = oldKeys[this.oldAt]!;
      if (key === 0 || key === MOVED) continue;
      oldKeys[this.oldAt] = MOVED;
      this.put(key, this.oldRows[this.oldAt]!);
    }
    if (this.oldAt === oldKeys.length) this.oldKeys = null;
  }

  private slotOf(key: number): number {
    return this.hashOf(key) & this.mask;
  }

  /** Mixes both halves of the key (the finalizer of MurmurHash3). */
  private hashOf(key: number): number {
    let hash = (key | 0) ^ Math.imul((key / 4_294_967_296) | 0, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }

  private grow(): void {
    if (this.oldKeys !== null) throw new Error('the index is to grow before it has grown');
    this.oldKeys = this.keys;
    this.oldRows = this.rows;
    this.oldAt = 0;
    this.begin(this.keys.length * 2);
  }

  private begin(size: number): void {
    this.keys = new Float64Array(size);
    this.rows = new Int32Array(size);
    this.mask = size - 1;
  }
}
