/**
 * Referral codes, stored in upper case. A code always refers to the same user, in any case. A
 * user's current code is the last one set; the first one is generated.
 */
import type { Archive } from '../storage/archive.js';
import { Chunks } from '../storage/chunks.js';
import { HashIndex } from '../storage/indexes/hash-index.js';
import type { TextHash } from '../storage/text-hash.js';
import { ShortTexts } from '../storage/texts.js';

export class ReferralCodes {
  /** The number of codes ever taken: rows 1 to `count`. */
  count = 0;
  private readonly texts = new ShortTexts();
  private readonly owners = new Chunks(Int32Array);
  private readonly index = new HashIndex();
  /** The row of each user's current code, and the number of the user's codes. */
  private readonly current = new Chunks(Int32Array);
  private readonly countOfUser = new Chunks(Int32Array);

  constructor(private readonly hash: TextHash) {}

  ensureUsers(rows: number): void {
    this.current.ensure(rows);
    this.countOfUser.ensure(rows);
  }

  /** The owner of a code, in any case; 0 if none. */
  ownerOf(code: string): number {
    const row = this.find(code.toUpperCase());
    return row === 0 ? 0 : this.owners.get(row);
  }

  of(userId: number): string {
    return this.texts.get(this.current.get(userId));
  }

  countOf(userId: number): number {
    return this.countOfUser.get(userId);
  }

  /** Generates the first code of a new user. */
  addFirst(userId: number): void {
    let code = `Q${userId.toString(36).toUpperCase().padStart(6, '0')}`;
    while (this.find(code) !== 0) code = `Q${code}`;
    this.set(userId, code);
  }

  /** Sets the current code. The code must be free or the user's own. */
  set(userId: number, code: string): void {
    const canonical = code.toUpperCase();
    const known = this.find(canonical);
    this.current.set(userId, known === 0 ? this.add(userId, canonical) : known);
  }

  rebuildIndex(expectedCodes: number): void {
    this.index.clear(Math.max(expectedCodes, this.count));
    for (let row = 1; row <= this.count; row++)
      this.index.add(this.texts.hashOf(row, this.hash), row);
  }

  /** Everything except the index, which the caller rebuilds. */
  archive(archive: Archive, userRows: number): void {
    this.count = archive.number(this.count);
    this.texts.archive(archive, this.count + 1);
    this.owners.archive(archive, this.count + 1);
    this.current.archive(archive, userRows);
    this.countOfUser.archive(archive, userRows);
  }

  private find(canonical: string): number {
    const hash = this.hash.of(canonical);
    let row = this.index.first(hash);
    while (row !== 0 && this.texts.get(row) !== canonical) row = this.index.next(hash, row);
    return row;
  }

  private add(userId: number, canonical: string): number {
    this.count++;
    this.texts.ensure(this.count + 1);
    this.owners.ensure(this.count + 1);
    this.texts.set(this.count, canonical);
    this.owners.set(this.count, userId);
    this.countOfUser.set(userId, this.countOfUser.get(userId) + 1);
    this.index.add(this.hash.of(canonical), this.count);
    return this.count;
  }
}
