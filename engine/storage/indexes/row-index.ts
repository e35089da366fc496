/**
 * An index from keys of two integers to row numbers: open addressing with linear probing in one
 * typed array, at most three quarters full, deletion by shifting back. An entry is 8 bytes: the low
 * word of the key, then the row with the high part of the key. The index is never iterated, so its
 * layout is not part of the state.
 *
 * The index grows without a stall: each insertion moves a few entries from the old table to one of
 * twice the size. The old table is empty long before the new one is full. Meanwhile a key is in
 * exactly one of the two. An emptied place in the old table is marked MOVED, so that probe
 * sequences stay whole.
 */
import type { Undoable, UndoLog } from '../undo.js';

/** Rows are below 2^23 - 1 and high parts below 2^9, so that both fit into a word. */
const ROW_BITS = 23;
const ROW_MASK = (1 << ROW_BITS) - 1;
export const INDEX_ROWS_MAX = ROW_MASK - 1;

const SMALLEST = 1024;
/** The entry was moved or removed. */
const MOVED = -1;
/** Places of the old table that one insertion empties: it is empty before the next growth. */
const MOVED_PER_INSERTION = 8;

export class RowIndex implements Undoable {
  private entries = new Int32Array(SMALLEST * 2);
  private mask = SMALLEST - 1;
  private count = 0;
  /** The table being emptied, and its next place to empty; null: none. */
  private old: Int32Array | null = null;
  private oldAt = 0;

  constructor(private readonly undo: UndoLog) {}

  /** The row of a key; 0: none. */
  get(low: number, high: number): number {
    const { entries, mask } = this;
    let at = hashOf(low, high) & mask;
    for (;;) {
      const tagged = entries[at * 2 + 1]!;
      if (tagged === 0) return this.old === null ? 0 : this.getOld(this.old, low, high);
      if (entries[at * 2] === low && tagged >>> ROW_BITS === high) return tagged & ROW_MASK;
      at = (at + 1) & mask;
    }
  }

  /** The key must not be in the index. */
  insert(low: number, high: number, row: number): void {
    const tagged = (high << ROW_BITS) | row;
    if (this.undo.recording) this.undo.record(this.removal, low, tagged);
    this.place(low, tagged);
  }

  /** The key must be in the index. */
  remove(low: number, high: number): void {
    if (this.undo.recording) this.undo.record(this, low, (high << ROW_BITS) | this.get(low, high));
    this.erase(low, high);
  }

  /** Undoes a removal. */
  restore(low: number, tagged: number): void {
    this.place(low, tagged);
  }

  /** Undoes an insertion. */
  private readonly removal: Undoable = {
    restore: (low, tagged) => this.erase(low, tagged >>> ROW_BITS),
  };

  /** Empties the index, and makes room for this many keys. */
  clear(expectedKeys: number): void {
    let size = this.mask + 1;
    while (size * 3 <= expectedKeys * 4) size *= 2;
    this.begin(size);
    this.count = 0;
    this.old = null;
  }

  private place(low: number, tagged: number): void {
    if (this.old !== null) this.moveSome(this.old);
    if (this.count * 4 >= this.mask * 3) this.grow();
    this.count++;
    this.put(low, tagged);
  }

  private put(low: number, tagged: number): void {
    const { entries, mask } = this;
    let at = hashOf(low, tagged >>> ROW_BITS) & mask;
    while (entries[at * 2 + 1] !== 0) at = (at + 1) & mask;
    entries[at * 2] = low;
    entries[at * 2 + 1] = tagged;
  }

  private erase(low: number, high: number): void {
    const { entries, mask } = this;
    this.count--;
    let hole = hashOf(low, high) & mask;
    for (;;) {
      const tagged = entries[hole * 2 + 1]!;
      if (tagged === 0) {
        this.eraseOld(low, high);
        return;
      }
      if (entries[hole * 2] === low && tagged >>> ROW_BITS === high) break;
      hole = (hole + 1) & mask;
    }
    // Later entries of the run move up, unless that would put them before their own place.
    let next = hole;
    for (;;) {
      next = (next + 1) & mask;
      const tagged = entries[next * 2 + 1]!;
      if (tagged === 0) break;
      const key = entries[next * 2]!;
      const home = hashOf(key, tagged >>> ROW_BITS) & mask;
      if (((next - home) & mask) >= ((next - hole) & mask)) {
        entries[hole * 2] = key;
        entries[hole * 2 + 1] = tagged;
        hole = next;
      }
    }
    entries[hole * 2 + 1] = 0;
  }

  private getOld(old: Int32Array, low: number, high: number): number {
    const at = this.placeInOld(old, low, high);
    return at === -1 ? 0 : old[at * 2 + 1]! & ROW_MASK;
  }

  private eraseOld(low: number, high: number): void {
    const at = this.old === null ? -1 : this.placeInOld(this.old, low, high);
    if (at === -1) throw new Error(`the index has no key ${low}, ${high}`);
    this.old![at * 2 + 1] = MOVED;
  }

  /** -1: absent. */
  private placeInOld(old: Int32Array, low: number, high: number): number {
    const mask = old.length / 2 - 1;
    let at = hashOf(low, high) & mask;
    for (;;) {
      const tagged = old[at * 2 + 1]!;
      if (tagged === 0) return -1;
      if (tagged !== MOVED && old[at * 2] === low && tagged >>> ROW_BITS === high) return at;
      at = (at + 1) & mask;
    }
  }

  private moveSome(old: Int32Array): void {
    const places = old.length / 2;
    const to = Math.min(places, this.oldAt + MOVED_PER_INSERTION);
    for (; this.oldAt < to; this.oldAt++) {
      const tagged = old[this.oldAt * 2 + 1]!;
      if (tagged === 0 || tagged === MOVED) continue;
      old[this.oldAt * 2 + 1] = MOVED;
      this.put(old[this.oldAt * 2]!, tagged);
    }
    if (this.oldAt === places) this.old = null;
  }

  private grow(): void {
    if (this.old !== null) throw new Error('the index is to grow before it has grown');
    this.old = this.entries;
    this.oldAt = 0;
    this.begin((this.mask + 1) * 2);
  }

  private begin(size: number): void {
    this.entries = new Int32Array(size * 2);
    this.mask = size - 1;
  }
}

/** The finalizer of MurmurHash3 over both words. */
function hashOf(low: number, high: number): number {
  let hash = low ^ Math.imul(high + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
