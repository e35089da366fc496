/**
 * Doubly linked lists of the rows of a table in chunks. The links are columns of the table; the
 * ends are columns by owner (a user). A row is in at most one list per `Links`, and every operation
 * is O(1). Row 0 means none.
 */
import { Int32Chunks } from './chunks.js';

/** The first and the last row of each owner's list. */
export class ListEnds {
  readonly firsts = new Int32Chunks();
  readonly lasts = new Int32Chunks();

  /** The first row of the owner's list; 0 if the list is empty. */
  first(owner: number): number {
    return this.firsts.get(owner);
  }

  ensure(owners: number): void {
    this.firsts.ensure(owners);
    this.lasts.ensure(owners);
  }
}

/** The rows before and after each row in its list. */
export class Links {
  private readonly befores = new Int32Chunks();
  /** Also links the free rows. */
  readonly afters = new Int32Chunks();

  /** The row after this one; 0 if none. */
  next(row: number): number {
    return this.afters.get(row);
  }

  ensure(rows: number): void {
    this.befores.ensure(rows);
    this.afters.ensure(rows);
  }

  append(ends: ListEnds, owner: number, row: number): void {
    const last = ends.lasts.get(owner);
    this.befores.set(row, last);
    this.afters.set(row, 0);
    ends.lasts.set(owner, row);
    if (last !== 0) this.afters.set(last, row);
    else ends.firsts.set(owner, row);
  }

  remove(ends: ListEnds, owner: number, row: number): void {
    const before = this.befores.get(row);
    const after = this.afters.get(row);
    if (before !== 0) this.afters.set(before, after);
    else ends.firsts.set(owner, after);
    if (after !== 0) this.befores.set(after, before);
    else ends.lasts.set(owner, before);
  }
}
