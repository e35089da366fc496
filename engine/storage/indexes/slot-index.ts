/**
 * An index from 32-bit hashes to positive 32-bit numbers: open addressing with linear probing in
 * one typed array, at most three quarters full, deletion by shifting back. The index is never
 * iterated, so its layout is not part of the state.
 *
 * The index grows without a stall, like RowIndex: each addition moves a few numbers from the old
 * table to one of twice the size. The table is never much larger than its contents, so a look-up
 * touches few pages of memory. For the same reason it is filled beyond a half: a run of
 * neighbouring slots costs less than another page.
 *
 * The hashes must be keyed (text-hash.ts), because their low bits are used directly.
 */

const SMALLEST = 1_024;
/** A slot of the old table whose number was moved or removed. */
const MOVED = -1;
/** Enough to empty the old table long before the next growth. */
const MOVED_PER_ADDITION = 8;
const NO_TABLE = new Int32Array(0);

export class SlotIndex {
  /** At slot × 2: the hash, then, in the same cache line, the number; 0: the slot is empty. */
  private slots = new Int32Array(SMALLEST * 2);
  private mask = SMALLEST - 1;
  private used = 0;
  /** The table being emptied, and its next slot to empty. */
  private old = NO_TABLE;
  private oldAt = 0;

  /** Makes an empty index as large as so many numbers need, so that it does not grow by them. */
  reserve(count: number): void {
    let slots = this.mask + 1;
    while (count * 4 >= (slots - 1) * 3) slots *= 2;
    this.slots = new Int32Array(slots * 2);
    this.mask = slots - 1;
  }

  /** The first number with the hash, 0: none. Hashes collide: compare, and continue with `next`. */
  first(hash: number): number {
    return this.search(hash, 0);
  }

  /** The number with the hash that follows this one, 0: none. */
  next(hash: number, number: number): number {
    return this.search(hash, number);
  }

  add(hash: number, number: number): void {
    if (this.old !== NO_TABLE) this.moveSome();
    this.used++;
    if (this.used * 4 >= this.mask * 3) this.grow();
    this.put(hash, number);
  }

  /** Removes a number, if present. */
  remove(hash: number, number: number): void {
    const { slots, mask } = this;
    let hole = hash & mask;
    while (slots[hole * 2 + 1] !== number) {
      if (slots[hole * 2 + 1] === 0) {
        this.removeOld(hash, number);
        return;
      }
      hole = (hole + 1) & mask;
    }
    this.used--;
    // Later numbers of the run move up, unless that would put them before their first slot.
    for (let from = (hole + 1) & mask; slots[from * 2 + 1] !== 0; from = (from + 1) & mask) {
      if (((from - slots[from * 2]!) & mask) < ((from - hole) & mask)) continue;
      slots[hole * 2] = slots[from * 2]!;
      slots[hole * 2 + 1] = slots[from * 2 + 1]!;
      hole = from;
    }
    slots[hole * 2 + 1] = 0;
  }

  private search(hash: number, after: number): number {
    const { slots, mask } = this;
    let isPast = after === 0;
    for (let slot = hash & mask; slots[slot * 2 + 1] !== 0; slot = (slot + 1) & mask) {
      if (slots[slot * 2] !== hash) continue;
      if (isPast) return slots[slot * 2 + 1]!;
      isPast = slots[slot * 2 + 1] === after;
    }
    return this.old === NO_TABLE ? 0 : this.searchOld(hash, isPast ? 0 : after);
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

  private removeOld(hash: number, number: number): void {
    const { old } = this;
    if (old === NO_TABLE) return;
    const mask = old.length / 2 - 1;
    for (let slot = hash & mask; old[slot * 2 + 1] !== 0; slot = (slot + 1) & mask) {
      if (old[slot * 2 + 1] !== number) continue;
      old[slot * 2 + 1] = MOVED;
      this.used--;
      return;
    }
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

  private put(hash: number, number: number): void {
    const { slots, mask } = this;
    let slot = hash & mask;
    while (slots[slot * 2 + 1] !== 0) slot = (slot + 1) & mask;
    slots[slot * 2] = hash;
    slots[slot * 2 + 1] = number;
  }
}
