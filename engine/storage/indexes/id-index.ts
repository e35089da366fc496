/**
 * An index from sequential ids to rows. The low bits of an id are its place, so recent ids are
 * neighbors and rarely share a place; rows that do are chained. It is only looked up, never
 * iterated or archived: its layout is not part of the state.
 */
import type { Undoable, UndoLog } from '../undo.js';

const SMALLEST = 16;
/**
 * Ids wander through all places, so these are the memory that the index takes in the end. With
 * 4,000,000 rows a place has four of them.
 */
const PLACES_MAX = 1 << 20;

export class IdIndex {
  /** By place: the last row added there, 0: none. */
  private heads = new Int32Array(SMALLEST);
  /** By row: the next row of the same place. */
  private links = new Int32Array(SMALLEST);

  constructor(
    private readonly undo: UndoLog,
    private readonly idOf: (row: number) => number,
  ) {}

  /** The row to look at first; 0: there is none with that id. */
  first(id: number): number {
    return this.heads[id & (this.heads.length - 1)]!;
  }

  /** The row to look at next. */
  next(row: number): number {
    return this.links[row]!;
  }

  add(id: number, row: number): void {
    if (this.undo.recording) this.undo.record(this.addition, id, row);
    if (row >= this.links.length) this.ensure(row + 1);
    this.link(id, row);
  }

  remove(id: number, row: number): void {
    if (this.undo.recording) this.undo.record(this.removal, id, row);
    this.unlink(id, row);
  }

  /** Makes room for rows 0 to `rows` - 1, and as many places, up to a maximum. */
  ensure(rows: number): void {
    let size = this.links.length;
    while (size < rows) size *= 2;
    if (size === this.links.length) return;
    const { heads, links } = this;
    this.heads = new Int32Array(Math.min(size, PLACES_MAX));
    this.links = new Int32Array(size);
    for (const head of heads) {
      for (let row = head; row !== 0; row = links[row]!) this.link(this.idOf(row), row);
    }
  }

  /** Forgets all rows. */
  clear(): void {
    this.heads.fill(0);
  }

  private link(id: number, row: number): void {
    const place = id & (this.heads.length - 1);
    this.links[row] = this.heads[place]!;
    this.heads[place] = row;
  }

  private unlink(id: number, row: number): void {
    const place = id & (this.heads.length - 1);
    let at = this.heads[place]!;
    if (at === row) {
      this.heads[place] = this.links[row]!;
      return;
    }
    while (this.links[at] !== row) at = this.links[at]!;
    this.links[at] = this.links[row]!;
  }

  private readonly addition: Undoable = { restore: (id, row) => this.unlink(id, row) };
  private readonly removal: Undoable = { restore: (id, row) => this.link(id, row) };
}
