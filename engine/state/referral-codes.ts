/**
 * Referral codes. A code refers to one user for ever, regardless of case. A user's current code is
 * the last one set; the first one is generated. Codes are stored in upper case.
 */
import type { Archive } from '../storage/archive.js';
import { Int32Chunks } from '../storage/chunks.js';
import { HashIndex } from '../storage/indexes/hash-index.js';
import type { TextHash } from '../storage/text-hash.js';
import { ShortTexts } from '../storage/texts.js';

export class ReferralCodes {
  /** Codes ever taken: rows 1 to it. */
  count = 0;
  private readonly texts = new ShortTexts();
  private readonly owners = new Int32Chunks();
  private readonly index = new HashIndex();
  /** By user id: the row of the current code, and how many codes lead to the user. */
  private readonly current = new Int32Chunks();
  private readonly countOfUser = new Int32Chunks();

  constructor(private readonly hash: TextHash) {}

  ensureUsers(rows: number): void {
    this.current.ensure(rows);
    this.countOfUser.ensure(rows);
  }

  /** The owner of a code, in any case; 0: nobody. */
  ownerOf(code: string): number {
    const row = this.find(code.toUpperCase());
    return row === 0 ? 0 : this.owners.get(row);
  }

  /** The user's current code. */
  of(userId: number): string {
    return this.texts.get(this.current.get(userId));
  }

  countOf(userId: number): number {
    return this.countOfUser.get(userId);
  }

  /** Gives a new user a first code. */
  addFirst(userId: number): void {
    let code = `Q${userId.toString(36).toUpperCase().padStart(6, '0')}`;
    while (this.find(code) !== 0) code = `Q${code}`;
    this.set(userId, code);
  }

  /** Makes a code that is free, or the user's own already, the current one. */
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

  /** All but the index, which is the caller's to build. */
  archive(archive: Archive, userRows: number): void {
    this.count = archive.number(this.count);
    this.texts.archive(archive, this.count + 1);
    this.owners.archive(archive, this.count + 1);
    this.current.archive(archive, userRows);
    this.countOfUser.archive(archive, userRows);
  }

  private find(canonical: string): number {
    let row = this.index.first(this.hash.of(canonical));
    while (row !== 0 && this.texts.get(row) !== canonical) row = this.index.next(row);
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
