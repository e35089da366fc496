/**
 * An index from sequential ids to rows: linear hashing (W. Litwin, 1980) with the low bits of an
 * id as its hash, so that recent ids are neighbours and rarely share a place. There are at most as
 * many places as there were rows at one time, because sequential ids use all places in turn, and
 * more places would not fit into the cache. Each row beyond that splits one place, so no command
 * pays for a larger table.
 *
 * There are `level` to 2 × `level` - 1 places. An id belongs to place `id mod 2 × level` if that
 * place exists, otherwise to `id mod level`. Places are split in order; the next is `places -
 * level`. Rows of one place are chained. The index is never iterated or archived, so its layout is
 * not part of the state.
 */
import type { Undoable, UndoLog } from '../undo.js';

const SMALLEST = 16;

export class IdIndex {
  /** The last row put at each place; 0 if none. */
  private heads = new Int32Array(SMALLEST);
  /** The next row of the same place, for each row. */
  private links = new Int32Array(SMALLEST);
  private level = SMALLEST;
  private places = SMALLEST;
  private rows = 0;

  constructor(
    private readonly undo: UndoLog,
    private readonly idOf: (row: number) => number,
  ) {}

  /** The first candidate row for the id; 0 if none. */
  first(id: number): number {
    return this.heads[this.placeOf(id)]!;
  }

  /** The next candidate row; 0 if none. */
  next(row: number): number {
    return this.links[row]!;
  }

  add(id: number, row: number): void {
    if (this.undo.recording) this.undo.record(this.addition, id, row);
    if (row >= this.links.length) this.ensure(row + 1);
    if (this.rows >= this.places) this.split();
    this.link(id, row);
  }

  remove(id: number, row: number): void {
    if (this.undo.recording) this.undo.record(this.removal, id, row);
    this.unlink(id, row);
  }

  /** Makes room for rows 0 to `rows` - 1. */
  ensure(rows: number): void {
    let size = this.links.length;
    while (size < rows) size *= 2;
    if (size === this.links.length) return;
    const { heads, links } = this;
    this.heads = new Int32Array(size);
    this.heads.set(heads);
    this.links = new Int32Array(size);
    this.links.set(links);
  }

  clear(): void {
    this.heads.fill(0, 0, this.places);
    this.level = SMALLEST;
    this.places = SMALLEST;
    this.rows = 0;
  }

  private placeOf(id: number): number {
    const { level } = this;
    const place = id & (level * 2 - 1);
    return place < this.places ? place : id & (level - 1);
  }

  /** Adds a place and moves its rows there. There must be as many rows as places. */
  private split(): void {
    const { heads, links } = this;
    const from = this.places - this.level;
    let row = heads[from]!;
    heads[from] = 0;
    this.places++;
    while (row !== 0) {
      const following = links[row]!;
      this.push(this.placeOf(this.idOf(row)), row);
      row = following;
    }
    if (this.places === this.level * 2) this.level = this.places;
  }

  private link(id: number, row: number): void {
    this.rows++;
    this.push(this.placeOf(id), row);
  }

  private push(place: number, row: number): void {
    this.links[row] = this.heads[place]!;
    this.heads[place] = row;
  }

  private unlink(id: number, row: number): void {
    this.rows--;
    const place = this.placeOf(id);
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
