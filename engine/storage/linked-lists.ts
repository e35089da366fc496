/**
 * Doubly linked lists of the rows of a table in chunks. The links are columns of the table; the
 * ends are columns by owner (a user). A row is in at most one list per `Links`, and every operation
 * is O(1). Row 0 means none.
 */
import type { Archive } from './archive.js';
import type { Int32Chunks } from './chunks.js';

/** By owner: the first and the last row of the owner's list. */
export class ListEnds {
  constructor(
    readonly firsts: Int32Chunks,
    readonly lasts: Int32Chunks,
  ) {}

  /** The first row of the owner's list; 0: the list is empty. */
  first(owner: number): number {
    return this.firsts.get(owner);
  }

  ensure(owners: number): void {
    this.firsts.ensure(owners);
    this.lasts.ensure(owners);
  }

  archive(archive: Archive, owners: number): void {
    this.firsts.archive(archive, owners);
    this.lasts.archive(archive, owners);
  }
}

/** By row: the rows before and after it in its list. */
export class Links {
  constructor(
    readonly befores: Int32Chunks,
    readonly afters: Int32Chunks,
  ) {}

  /** The row after this one; 0: none. */
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

  archive(archive: Archive, rows: number): void {
    this.befores.archive(archive, rows);
    this.afters.archive(archive, rows);
  }
}
