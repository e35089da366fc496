/**
 * Remembered results: by user and idempotency key, the fingerprint of the command and its result.
 *
 * An entry is a row of columns, and its key and result are a run of blocks (byte-blocks.ts). A user
 * has at most 10,000 of the 2,000,000 entries and 16 MiB of the 1 GiB of blocks, so a user who
 * sends more evicts only their own entries.
 *
 * Each entry is in the list of all entries and in its user's, both oldest first, and in the index.
 */

import type { Fingerprint } from '../interface/fingerprint.js';
import {
  IDEMPOTENCY_BLOCKS_IN_ALL,
  IDEMPOTENCY_BLOCKS_PER_USER,
  IDEMPOTENCY_KEPT_IN_ALL,
  IDEMPOTENCY_KEPT_MS,
  IDEMPOTENCY_KEPT_PER_USER,
} from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { ByteBlocks, blocksFor } from '../storage/byte-blocks.js';
import { Int32Chunks, Int53Chunks } from '../storage/chunks.js';
import { HashIndex } from '../storage/hash-index.js';
import { Links, ListEnds } from '../storage/linked-lists.js';
import type { NumberBuffer } from '../storage/number-buffer.js';
import { RowPool } from '../storage/row-pool.js';
import type { TextHash } from '../storage/text-hash.js';

/** Each insert expires at most this many entries, so that no command pays for many. */
const EXPIRED_PER_ENTRY = 4;
/** A safe integer has at most this many groups of 7 bits. */
const INTEGER_BYTES_MAX = 8;
const INT32_MAX = 2 ** 31 - 1;

/** The owner of the one list of all entries. */
const ALL = 0;

/** What a look-up found. */
export const Found = { NOTHING: 0, SAME: 1, OTHER: 2 } as const;
export type Found = (typeof Found)[keyof typeof Found];

/** The two lanes of a fingerprint. */
type Print = Pick<Fingerprint, 'a' | 'b'>;

/** How much is remembered. */
export interface IdempotencyBounds {
  entriesPerUser: number;
  entriesInAll: number;
  blocksPerUser: number;
  blocksInAll: number;
}

export const IDEMPOTENCY_BOUNDS: IdempotencyBounds = {
  entriesPerUser: IDEMPOTENCY_KEPT_PER_USER,
  entriesInAll: IDEMPOTENCY_KEPT_IN_ALL,
  blocksPerUser: IDEMPOTENCY_BLOCKS_PER_USER,
  blocksInAll: IDEMPOTENCY_BLOCKS_IN_ALL,
};

interface EntryFields {
  userId: number;
  /** Of user and key. */
  hash: number;
  /** The fingerprint. */
  a: number;
  b: number;
  atMs: number;
  byteLength: number;
}

export class Idempotency {
  private readonly blocks = new ByteBlocks();
  private readonly index = new HashIndex();
  /** By entry. */
  private readonly userIds = new Int32Chunks();
  private readonly fingerprintA = new Int32Chunks();
  private readonly fingerprintB = new Int32Chunks();
  private readonly atMs = new Int53Chunks();
  private readonly firstBlock = new Int32Chunks();
  private readonly byteLength = new Int32Chunks();
  private readonly links = new Links(new Int32Chunks(), new Int32Chunks());
  private readonly userLinks = new Links(new Int32Chunks(), new Int32Chunks());
  private readonly pool = new RowPool(this.links.afters, (rows) => {
    for (const column of this.columns()) column.ensure(rows);
  });
  /** The list of all entries and that of each user, oldest first. */
  private readonly all = new ListEnds(new Int32Chunks(), new Int32Chunks());
  private readonly ofUser = new ListEnds(new Int32Chunks(), new Int32Chunks());
  /** By user id: how many entries, and how many blocks they take. */
  private readonly countOfUser = new Int32Chunks();
  private readonly blocksOfUser = new Int32Chunks();

  /** The run of bytes of one entry, while it is written or read. */
  private bytes = new Uint8Array(1_024);

  /** The last look-up, which is usually what is remembered next. User 0: none. */
  private lookedUpOf = 0;
  private lookedUpKey = '';
  private lookedUpHash = 0;
  private lookedUpEntry = 0;

  constructor(
    private readonly hash: TextHash,
    private readonly bounds: IdempotencyBounds = IDEMPOTENCY_BOUNDS,
  ) {
    this.all.ensure(ALL + 1);
  }

  /** Looks up a key. If the command is the same, its result is appended to `result`. */
  lookUp(userId: number, key: string, print: Print, nowMs: number, result: NumberBuffer): Found {
    const entry = this.find(userId, key);
    this.lookedUpOf = userId;
    this.lookedUpKey = key;
    this.lookedUpEntry = entry;
    if (entry === 0 || this.atMs.get(entry) + IDEMPOTENCY_KEPT_MS <= nowMs) return Found.NOTHING;
    if (this.fingerprintA.get(entry) !== print.a || this.fingerprintB.get(entry) !== print.b)
      return Found.OTHER;
    this.decode(entry, key.length, result);
    return Found.SAME;
  }

  /** Remembers a result. The key must be unknown or expired. */
  remember(userId: number, key: string, print: Print, nowMs: number, result: NumberBuffer): void {
    const isLookedUp = this.lookedUpOf === userId && this.lookedUpKey === key;
    const expired = isLookedUp ? this.lookedUpEntry : this.find(userId, key);
    const hash = this.lookedUpHash;
    this.lookedUpOf = 0;
    if (expired !== 0) this.forget(expired);
    const byteLength = this.encode(key, result);
    this.makeRoom(userId, blocksFor(byteLength), nowMs);
    this.add({ userId, hash, a: print.a, b: print.b, atMs: nowMs, byteLength });
  }

  /** Makes rows for users 1 to `userRows` - 1 exist. */
  ensureUsers(userRows: number): void {
    this.ofUser.ensure(userRows);
    this.countOfUser.ensure(userRows);
    this.blocksOfUser.ensure(userRows);
  }

  /** Makes room in the index for as many entries as there can be. */
  reserve(): void {
    const { entriesInAll } = this.bounds;
    if (!this.index.hasRoomFor(entriesInAll)) this.rebuildIndex(entriesInAll);
  }

  /** Rebuilds the index, for a new key of the hash or for that many entries. */
  rebuildIndex(expectedEntries = 0): void {
    this.index.clear(expectedEntries);
    this.lookedUpOf = 0;
    for (let entry = this.oldest; entry !== 0; entry = this.links.next(entry)) {
      this.index.add(this.keyHash(entry), entry);
    }
  }

  /** All entries, the oldest first; the lists of users and the index follow from it. */
  archive(archive: Archive): void {
    const count = archive.number(this.pool.used);
    if (!archive.reading) {
      for (let entry = this.oldest; entry !== 0; entry = this.links.next(entry))
        this.archiveEntry(archive, entry);
      return;
    }
    for (let i = 0; i < count; i++) {
      const entry = this.pool.take();
      this.archiveEntry(archive, entry);
      this.link(entry);
    }
    this.rebuildIndex(count);
  }

  private archiveEntry(archive: Archive, entry: number): void {
    this.userIds.set(entry, archive.number(this.userIds.get(entry)));
    this.fingerprintA.set(entry, archive.number(this.fingerprintA.get(entry)));
    this.fingerprintB.set(entry, archive.number(this.fingerprintB.get(entry)));
    this.atMs.set(entry, archive.number(this.atMs.get(entry)));
    const byteLength = archive.number(this.byteLength.get(entry));
    this.byteLength.set(entry, byteLength);
    this.firstBlock.set(
      entry,
      this.blocks.archive(archive, this.firstBlock.get(entry), byteLength),
    );
  }

  private get oldest(): number {
    return this.all.first(ALL);
  }

  private find(userId: number, key: string): number {
    this.lookedUpHash = this.hash.of(userId, key);
    let entry = this.index.first(this.lookedUpHash);
    while (entry !== 0 && !(this.userIds.get(entry) === userId && this.hasKey(entry, key))) {
      entry = this.index.next(entry);
    }
    return entry;
  }

  private hasKey(entry: number, key: string): boolean {
    this.load(entry);
    return this.loadedKey() === key;
  }

  private makeRoom(userId: number, blocks: number, nowMs: number): void {
    for (let i = 0; i < EXPIRED_PER_ENTRY && this.oldest !== 0; i++) {
      if (this.atMs.get(this.oldest) + IDEMPOTENCY_KEPT_MS > nowMs) break;
      this.forget(this.oldest);
    }
    const { entriesPerUser, entriesInAll, blocksPerUser, blocksInAll } = this.bounds;
    const isTooMuch = () =>
      this.countOfUser.get(userId) >= entriesPerUser ||
      this.blocksOfUser.get(userId) + blocks > blocksPerUser;
    while (this.ofUser.first(userId) !== 0 && isTooMuch()) this.forget(this.ofUser.first(userId));
    const isFull = () => this.pool.used >= entriesInAll || this.blocks.used + blocks > blocksInAll;
    while (this.oldest !== 0 && isFull()) this.forget(this.oldest);
  }

  /** Adds the newest entry; its key and result are in `bytes`. */
  private add(fields: EntryFields): void {
    const { userId, byteLength } = fields;
    const entry = this.pool.take();
    this.userIds.set(entry, userId);
    this.fingerprintA.set(entry, fields.a);
    this.fingerprintB.set(entry, fields.b);
    this.atMs.set(entry, fields.atMs);
    this.byteLength.set(entry, byteLength);
    this.firstBlock.set(entry, this.blocks.write(this.bytes, byteLength));
    this.link(entry);
    this.index.add(fields.hash, entry);
  }

  /** Puts an entry at the end of the lists, and counts it. */
  private link(entry: number): void {
    const userId = this.userIds.get(entry);
    this.links.append(this.all, ALL, entry);
    this.userLinks.append(this.ofUser, userId, entry);
    this.countOfUser.set(userId, this.countOfUser.get(userId) + 1);
    this.blocksOfUser.set(
      userId,
      this.blocksOfUser.get(userId) + blocksFor(this.byteLength.get(entry)),
    );
  }

  private forget(entry: number): void {
    const userId = this.userIds.get(entry);
    this.index.remove(entry);
    this.blocks.free(this.firstBlock.get(entry));
    this.countOfUser.set(userId, this.countOfUser.get(userId) - 1);
    this.blocksOfUser.set(
      userId,
      this.blocksOfUser.get(userId) - blocksFor(this.byteLength.get(entry)),
    );
    this.userLinks.remove(this.ofUser, userId, entry);
    this.links.remove(this.all, ALL, entry);
    this.pool.giveBack(entry);
  }

  /**
   * Length of the key, key, number of integers, integers; each integer in groups of 7 bits, lowest
   * first.
   */
  private encode(key: string, result: NumberBuffer): number {
    this.reserveBytes(1 + key.length + INTEGER_BYTES_MAX * (result.length + 1));
    const { bytes } = this;
    let at = 0;
    bytes[at++] = key.length;
    for (let i = 0; i < key.length; i++) bytes[at++] = key.charCodeAt(i);
    for (let i = -1; i < result.length; i++) {
      let rest = i === -1 ? result.length : result.values[i]!;
      for (; rest > INT32_MAX; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
      let word = rest | 0;
      for (; word >= 128; word >>>= 7) bytes[at++] = (word & 127) | 128;
      bytes[at++] = word;
    }
    return at;
  }

  private decode(entry: number, keyLength: number, result: NumberBuffer): void {
    const byteLength = this.load(entry);
    let isCount = true;
    for (let at = 1 + keyLength; at < byteLength; ) {
      let value = 0;
      let factor = 1;
      for (; this.bytes[at]! >= 128; at++) {
        value += (this.bytes[at]! - 128) * factor;
        factor *= 128;
      }
      value += this.bytes[at++]! * factor;
      if (!isCount) result.push(value);
      isCount = false;
    }
  }

  /** Puts an entry's key and result into `bytes`; returns how many bytes they are. */
  private load(entry: number): number {
    const byteLength = this.byteLength.get(entry);
    this.reserveBytes(byteLength);
    this.blocks.read(this.firstBlock.get(entry), this.bytes, byteLength);
    return byteLength;
  }

  /** Of user and key, from the bytes of the entry. */
  private keyHash(entry: number): number {
    this.load(entry);
    return this.hash.ofBytes(this.userIds.get(entry), this.bytes, 1, this.bytes[0]!);
  }

  /** The key of the entry whose bytes were loaded. */
  private loadedKey(): string {
    return String.fromCharCode(...this.bytes.subarray(1, 1 + this.bytes[0]!));
  }

  private reserveBytes(byteLength: number): void {
    if (byteLength > this.bytes.length) this.bytes = new Uint8Array(byteLength * 2);
  }

  private columns(): (Int32Chunks | Int53Chunks | Links)[] {
    return [
      this.userIds,
      this.fingerprintA,
      this.fingerprintB,
      this.atMs,
      this.firstBlock,
      this.byteLength,
      this.links,
      this.userLinks,
    ];
  }
}
