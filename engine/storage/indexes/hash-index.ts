/**
 * An index from hashes to the rows of a table: linear hashing (W. Litwin, 1980). Each row added
 * splits one chain, so no command pays for rehashing a whole table.
 *
 * There are `level` to 2 × `level` - 1 chains. A hash belongs to chain `hash mod 2 × level` if that
 * chain exists, else to `hash mod level`; the next chain to split is the first of the latter. The
 * index is never iterated, so its layout is not part of the state.
 */
import { Int32Chunks } from '../chunks.js';

const FIRST_LEVEL = 1_024;

export class HashIndex {
  private level = FIRST_LEVEL;
  private chainCount = FIRST_LEVEL;
  private rowCount = 0;
  /** By chain: its first row, 0: none. */
  private heads = new Int32Chunks();
  /** At row × 2: its hash, then, in the same cache line, the next row in its chain. */
  private readonly links = new Int32Chunks();

  constructor() {
    this.heads.ensure(FIRST_LEVEL);
  }

  /** The first row with the hash, 0: none. Hashes collide: compare, and continue with `next`. */
  first(hash: number): number {
    return this.matching(this.heads.get(this.chainOf(hash)), hash);
  }

  /** The next row with the hash of this one, 0: none. */
  next(row: number): number {
    return this.matching(this.links.get(row * 2 + 1), this.links.get(row * 2));
  }

  add(hash: number, row: number): void {
    this.rowCount++;
    if (this.rowCount > this.chainCount) this.split();
    this.links.ensure(row * 2 + 2);
    this.links.set(row * 2, hash);
    this.push(this.chainOf(hash), row);
  }

  /** The row must be in the index. */
  remove(row: number): void {
    const chain = this.chainOf(this.links.get(row * 2));
    const following = this.links.get(row * 2 + 1);
    let before = this.heads.get(chain);
    this.rowCount--;
    if (before === row) {
      this.heads.set(chain, following);
      return;
    }
    for (let at = this.links.get(before * 2 + 1); at !== row; at = this.links.get(before * 2 + 1))
      before = at;
    this.links.set(before * 2 + 1, following);
  }

  /** Whether the index has the chains for this many rows. */
  hasRoomFor(rows: number): boolean {
    return this.chainCount >= rows;
  }

  /** Removes all rows, and makes the chains for this many rows, so that adding them splits none. */
  clear(expectedRows: number): void {
    while (this.level < expectedRows) this.level *= 2;
    this.chainCount = this.level;
    this.rowCount = 0;
    this.heads = new Int32Chunks();
    this.heads.ensure(this.level);
  }

  private matching(from: number, hash: number): number {
    let row = from;
    while (row !== 0 && this.links.get(row * 2) !== hash) row = this.links.get(row * 2 + 1);
    return row;
  }

  private chainOf(hash: number): number {
    const chain = hash & (this.level * 2 - 1);
    return chain < this.chainCount ? chain : hash & (this.level - 1);
  }

  private push(chain: number, row: number): void {
    this.links.set(row * 2 + 1, this.heads.get(chain));
    this.heads.set(chain, row);
  }

  /** Adds a chain and moves its rows there. */
  private split(): void {
    const from = this.chainCount - this.level;
    this.chainCount++;
    this.heads.ensure(this.chainCount);
    let row = this.heads.get(from);
    this.heads.set(from, 0);
    while (row !== 0) {
      const following = this.links.get(row * 2 + 1);
      this.push(this.chainOf(this.links.get(row * 2)), row);
      row = following;
    }
    if (this.chainCount === this.level * 2) this.level = this.chainCount;
  }
}
