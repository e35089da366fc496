/**
 * An index from 32-bit hashes to positive 31-bit numbers, mostly rows: open addressing with linear
 * probing in one typed array, at most three quarters full, deletion by shifting back. The index is
 * never iterated, so its layout is not part of the state.
 *
 * The index grows without a stall: each addition moves a few numbers from the old table to one of
 * twice the size. The old table is empty long before the new one is full. Until then a number is in
 * exactly one of the two. An emptied slot of the old table is marked MOVED, so that runs of slots
 * stay whole. The table is never much larger than its contents, so a look-up touches few pages of
 * memory. For the same reason it is filled beyond a half: a run of neighbouring slots costs less
 * than another page.
 *
 * The low bits of a hash are used directly: texts have keyed hashes (text-hash.ts), and numbers
 * are {@link mix32}.
 */
import type { Undoable, UndoLog } from '../undo.js';

const SMALLEST = 1_024;
/** A slot of the old table whose number was moved or removed. */
const MOVED = -1;
/** Enough to empty the old table long before the next growth. */
const MOVED_PER_ADDITION = 8;
const NO_TABLE = new Int32Array(0);

export class HashIndex {
  /** At slot × 2: the hash, then, in the same cache line, the number; 0 if the slot is empty. */
  private slots = new Int32Array(SMALLEST * 2);
  private mask = SMALLEST - 1;
  private used = 0;
  /** The table being emptied, and its next slot to empty. */
  private old = NO_TABLE;
  private oldAt = 0;

  /** @param undo null if no atomic batch changes the index */
  constructor(private readonly undo: UndoLog | null = null) {}

  /** Empties the index, and makes room for this many numbers. */
  clear(expected: number): void {
    let slots = this.mask + 1;
    while (expected * 4 >= (slots - 1) * 3) slots *= 2;
    this.slots = new Int32Array(slots * 2);
    this.mask = slots - 1;
    this.used = 0;
    this.old = NO_TABLE;
  }

  /**
   * The first number with the hash; 0 if there is none. Hashes collide: compare, and continue with
   * `next`.
   */
  first(hash: number): number {
    const { slots, mask } = this;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = slots[slot * 2 + 1]!;
      if (number === 0) return this.old === NO_TABLE ? 0 : this.searchOld(hash, 0);
      if (slots[slot * 2] === hash) return number;
    }
  }

  /** The number with the hash that follows this one; 0 if there is none. */
  next(hash: number, number: number): number {
    const { slots, mask } = this;
    let isPast = false;
    for (let slot = hash & mask; slots[slot * 2 + 1] !== 0; slot = (slot + 1) & mask) {
      if (slots[slot * 2] !== hash) continue;
      if (isPast) return slots[slot * 2 + 1]!;
      isPast = slots[slot * 2 + 1] === number;
    }
    return this.old === NO_TABLE ? 0 : this.searchOld(hash, isPast ? 0 : number);
  }

  add(hash: number, number: number): void {
    if (this.undo?.recording) this.undo.record(this.addition, hash, number);
    this.place(hash, number);
  }

  /** Removes a number that is in the index. */
  remove(hash: number, number: number): void {
    if (this.undo?.recording) this.undo.record(this.removal, hash, number);
    this.erase(hash, number);
  }

  private readonly addition: Undoable = { restore: (hash, number) => this.erase(hash, number) };
  private readonly removal: Undoable = { restore: (hash, number) => this.place(hash, number) };

  private place(hash: number, number: number): void {
    if (this.old !== NO_TABLE) this.moveSome();
    this.used++;
    if (this.used * 4 >= this.mask * 3) this.grow();
    this.put(hash, number);
  }

  private put(hash: number, number: number): void {
    const { slots, mask } = this;
    let slot = hash & mask;
    while (slots[slot * 2 + 1] !== 0) slot = (slot + 1) & mask;
    slots[slot * 2] = hash;
    slots[slot * 2 + 1] = number;
  }

  private erase(hash: number, number: number): void {
    const { slots, mask } = this;
    this.used--;
    let hole = hash & mask;
    while (slots[hole * 2 + 1] !== number) {
      if (slots[hole * 2 + 1] === 0) {
        this.eraseOld(hash, number);
        return;
      }
      hole = (hole + 1) & mask;
    }
    // Later numbers of the run move up, unless that would put them before their first slot.
    for (let from = (hole + 1) & mask; slots[from * 2 + 1] !== 0; from = (from + 1) & mask) {
      if (((from - slots[from * 2]!) & mask) < ((from - hole) & mask)) continue;
      slots[hole * 2] = slots[from * 2]!;
      slots[hole * 2 + 1] = slots[from * 2 + 1]!;
      hole = from;
    }
    slots[hole * 2 + 1] = 0;
  }

  private searchOld(hash: number, after: number): number {
    const { old } = this;
    const mask = old.length / 2 - 1;
    let isPast = after === 0;
    for (let slot = hash & mask; old[slot * 2 + 1] !== 0; slot = (slot + 1) & mask) {
      if (old[slot * 2] !== hash || old[slot * 2 + 1] === MOVED) continue;
      if (isPast) return old[slot * 2 + 1]!;
      isPast = old[slot * 2 + 1] === after;
    }
    return 0;
  }

  private eraseOld(hash: number, number: number): void {
    const { old } = this;
    const mask = old.length / 2 - 1;
    let slot = hash & mask;
    while (old[slot * 2 + 1] !== number) {
      // Undefined without an old table.
      if (!old[slot * 2 + 1]) throw new Error(`the index does not have ${number}`);
      slot = (slot + 1) & mask;
    }
    old[slot * 2 + 1] = MOVED;
  }

  private grow(): void {
    if (this.old !== NO_TABLE) throw new Error('the index is to grow before it has grown');
    this.old = this.slots;
    this.oldAt = 0;
    this.slots = new Int32Array(this.old.length * 2);
    this.mask = this.slots.length / 2 - 1;
  }

  private moveSome(): void {
    const { old } = this;
    const to = Math.min(old.length, this.oldAt + MOVED_PER_ADDITION * 2);
    for (let at = this.oldAt; at < to; at += 2) {
      const number = old[at + 1]!;
      if (number > 0) this.put(old[at]!, number);
      if (number !== 0) old[at + 1] = MOVED;
    }
    this.oldAt = to;
    if (to === old.length) this.old = NO_TABLE;
  }
}

/** A hash of two words, one-to-one in the low one: the finalizer of MurmurHash3. */
export function mix32(low: number, high = 0): number {
  let hash = low ^ Math.imul(high + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
