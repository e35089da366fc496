/**
 * Remembered answers: by user and idempotency key, the fingerprint of the command and the integers of its result.
 *
 * Entries stand in a ring in order of arrival, their keys and results as bytes in a second ring, so that two million of
 * them cost typed arrays and no objects. An entry is numbered 1, 2, …; its place is the number modulo the capacity.
 * Always true: entries `oldest` to `next - 1` are in the ring; one that was put out before its turn (by its user's
 * own later keys) has user id 0 there and is in no chain.
 */
import type { Archive } from './archive.js';
import type { Digest } from './digest.js';
import { IDEMPOTENCY_KEPT_IN_ALL, IDEMPOTENCY_KEPT_MS, IDEMPOTENCY_KEPT_PER_USER } from './limits.js';
import type { Tape } from './tape.js';

const SMALLEST_ENTRIES = 1 << 10;
const MOST_ENTRIES = 1 << 21;
const SMALLEST_BYTES = 1 << 16;
/** Beyond this many bytes of keys and results the oldest go, whatever their number. */
const MOST_BYTES = 1 << 28;
/** How many expired entries go per new one: expiry is paid for in small coins. */
const EXPIRED_PER_ENTRY = 4;

/** What a look-up found. */
export const Found = { NOTHING: 0, SAME: 1, OTHER: 2 } as const;
export type Found = (typeof Found)[keyof typeof Found];

export class Idempotency {
  private entryMask = SMALLEST_ENTRIES - 1;
  private userIds = new Int32Array(SMALLEST_ENTRIES);
  private hashes = new Int32Array(SMALLEST_ENTRIES);
  private prints = new Int32Array(SMALLEST_ENTRIES * 2);
  private atMs = new Float64Array(SMALLEST_ENTRIES);
  private byteStart = new Float64Array(SMALLEST_ENTRIES);
  private keyLength = new Int32Array(SMALLEST_ENTRIES);
  /** Number of the same user's next entry, 0: none yet. */
  private nextOfUser = new Float64Array(SMALLEST_ENTRIES);
  /** Number of the next entry in the same chain, 0: the end. */
  private nextInChain = new Float64Array(SMALLEST_ENTRIES);
  private chains = new Float64Array(SMALLEST_ENTRIES);
  private oldest = 1;
  private next = 1;

  private bytes = new Uint8Array(SMALLEST_BYTES);
  private byteEnd = 0;

  /** By user id: numbers of the user's oldest and newest entry (0: none), and how many there are. */
  private oldestOfUser = new Float64Array(16);
  private newestOfUser = new Float64Array(16);
  private countOfUser = new Int32Array(16);

  /** Looks a key up; when the same command is found, its result is put on the tape. */
  look(userId: number, key: string, print: Digest, nowMs: number, result: Tape): Found {
    const entry = this.find(userId, key);
    if (entry === 0) return Found.NOTHING;
    const at = entry & this.entryMask;
    if (this.atMs[at]! + IDEMPOTENCY_KEPT_MS <= nowMs) return Found.NOTHING;
    if (this.prints[at * 2] !== print.a || this.prints[at * 2 + 1] !== print.b) return Found.OTHER;
    this.readResult(entry, result);
    return Found.SAME;
  }

  /** Remembers a result; the key is not remembered, or has expired. */
  remember(userId: number, key: string, print: Digest, nowMs: number, result: Tape): void {
    const old = this.find(userId, key);
    if (old !== 0) this.putOut(old);
    this.makeRoom(userId, nowMs);
    this.writeKeyAndResult(key, result);
    const at = this.next & this.entryMask;
    this.userIds[at] = userId;
    this.hashes[at] = hashOf(userId, key);
    this.prints[at * 2] = print.a;
    this.prints[at * 2 + 1] = print.b;
    this.atMs[at] = nowMs;
    this.keyLength[at] = key.length;
    this.addToChain(this.next);
    this.addToUser(userId, this.next);
    this.next++;
  }

  /** Makes rows for users 1 to `userRows` - 1 exist. */
  ensureUsers(userRows: number): void {
    if (userRows <= this.countOfUser.length) return;
    const rows = Math.max(userRows, this.countOfUser.length * 2);
    const { oldestOfUser, newestOfUser, countOfUser } = this;
    this.oldestOfUser = new Float64Array(rows);
    this.newestOfUser = new Float64Array(rows);
    this.countOfUser = new Int32Array(rows);
    this.oldestOfUser.set(oldestOfUser);
    this.newestOfUser.set(newestOfUser);
    this.countOfUser.set(countOfUser);
  }

  /** Makes room for that many entries, and for 128 bytes of each, ahead. */
  reserve(entries: number): void {
    const most = Math.min(entries, IDEMPOTENCY_KEPT_IN_ALL);
    while (this.entryMask < most) this.growEntries();
    while (this.bytes.length < Math.min(most * 128, MOST_BYTES)) this.growBytes();
  }

  archive(archive: Archive): void {
    const count = archive.number(this.next - this.oldest);
    const first = archive.number(this.oldest);
    const byteLength = archive.number(
      count === 0 ? 0 : this.byteEnd - this.byteStart[first & this.entryMask]!,
    );
    if (archive.reading) this.resize(count, byteLength, first);
    for (let entry = first; entry < first + count; entry++) this.archiveEntry(archive, entry);
    this.archiveBytes(archive, byteLength);
    this.next = first + count;
    if (archive.reading) this.relink();
  }

  private find(userId: number, key: string): number {
    const hash = hashOf(userId, key);
    let entry = this.chains[hash & this.entryMask]!;
    while (entry !== 0) {
      const at = entry & this.entryMask;
      if (this.hashes[at] === hash && this.userIds[at] === userId && this.hasKey(at, key)) return entry;
      entry = this.nextInChain[at]!;
    }
    return 0;
  }

  private hasKey(at: number, key: string): boolean {
    if (this.keyLength[at] !== key.length) return false;
    const start = this.byteStart[at]!;
    const mask = this.bytes.length - 1;
    for (let i = 0; i < key.length; i++) {
      if (this.bytes[(start + i) & mask] !== key.charCodeAt(i)) return false;
    }
    return true;
  }

  private makeRoom(userId: number, nowMs: number): void {
    if (this.countOfUser[userId]! >= IDEMPOTENCY_KEPT_PER_USER) this.putOut(this.oldestOfUser[userId]!);
    for (let i = 0; i < EXPIRED_PER_ENTRY && this.oldest < this.next; i++) {
      const at = this.oldest & this.entryMask;
      if (this.userIds[at] !== 0 && this.atMs[at]! + IDEMPOTENCY_KEPT_MS > nowMs) break;
      this.dropOldest();
    }
    if (this.next - this.oldest >= IDEMPOTENCY_KEPT_IN_ALL) this.dropOldest();
    if (this.next - this.oldest > this.entryMask && this.entryMask < MOST_ENTRIES - 1) this.growEntries();
  }

  private dropOldest(): void {
    if (this.userIds[this.oldest & this.entryMask] !== 0) this.putOut(this.oldest);
    this.oldest++;
  }

  /** Takes an entry out of its chain and its user's list; its place is used again when its turn comes. */
  private putOut(entry: number): void {
    const at = entry & this.entryMask;
    this.removeFromChain(entry);
    const userId = this.userIds[at]!;
    if (this.oldestOfUser[userId] === entry) this.oldestOfUser[userId] = this.nextOfUser[at]!;
    else this.unlinkOfUser(userId, entry);
    this.countOfUser[userId]!--;
    this.userIds[at] = 0;
  }

  /** Only an expired entry that is used again is not its user's oldest; entries before it have expired too. */
  private unlinkOfUser(userId: number, entry: number): void {
    let before = this.oldestOfUser[userId]!;
    while (this.nextOfUser[before & this.entryMask] !== entry) {
      before = this.nextOfUser[before & this.entryMask]!;
    }
    this.nextOfUser[before & this.entryMask] = this.nextOfUser[entry & this.entryMask]!;
    if (this.newestOfUser[userId] === entry) this.newestOfUser[userId] = before;
  }

  private addToChain(entry: number): void {
    const at = entry & this.entryMask;
    const chain = this.hashes[at]! & this.entryMask;
    this.nextInChain[at] = this.chains[chain]!;
    this.chains[chain] = entry;
  }

  private removeFromChain(entry: number): void {
    const at = entry & this.entryMask;
    const chain = this.hashes[at]! & this.entryMask;
    if (this.chains[chain] === entry) {
      this.chains[chain] = this.nextInChain[at]!;
      return;
    }
    let before = this.chains[chain]!;
    while (this.nextInChain[before & this.entryMask] !== entry) {
      before = this.nextInChain[before & this.entryMask]!;
    }
    this.nextInChain[before & this.entryMask] = this.nextInChain[at]!;
  }

  private addToUser(userId: number, entry: number): void {
    this.nextOfUser[entry & this.entryMask] = 0;
    if (this.countOfUser[userId] === 0) this.oldestOfUser[userId] = entry;
    else this.nextOfUser[this.newestOfUser[userId]! & this.entryMask] = entry;
    this.newestOfUser[userId] = entry;
    this.countOfUser[userId]!++;
  }

  /** Key, number of integers, integers; each integer in groups of 7 bits, lowest first. */
  private writeKeyAndResult(key: string, result: Tape): void {
    const most = key.length + 8 * (result.length + 1);
    while (this.byteEnd + most - this.usedFrom() > this.bytes.length) {
      if (this.bytes.length < MOST_BYTES) this.growBytes();
      else this.dropOldest();
    }
    this.byteStart[this.next & this.entryMask] = this.byteEnd;
    const mask = this.bytes.length - 1;
    for (let i = 0; i < key.length; i++) this.bytes[this.byteEnd++ & mask] = key.charCodeAt(i);
    this.writeInteger(result.length);
    for (let i = 0; i < result.length; i++) this.writeInteger(result.values[i]!);
  }

  private writeInteger(value: number): void {
    const mask = this.bytes.length - 1;
    let rest = value;
    while (rest >= 128) {
      this.bytes[this.byteEnd++ & mask] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.bytes[this.byteEnd++ & mask] = rest;
  }

  private readResult(entry: number, result: Tape): void {
    const mask = this.bytes.length - 1;
    const at = entry & this.entryMask;
    let position = this.byteStart[at]! + this.keyLength[at]!;
    let left = -1;
    do {
      let value = 0;
      let factor = 1;
      let byte = this.bytes[position++ & mask]!;
      for (; byte >= 128; byte = this.bytes[position++ & mask]!) {
        value += (byte - 128) * factor;
        factor *= 128;
      }
      value += byte * factor;
      if (left === -1) left = value;
      else {
        result.push(value);
        left--;
      }
    } while (left > 0);
  }

  /** Where the bytes that are in use begin. */
  private usedFrom(): number {
    return this.oldest < this.next ? this.byteStart[this.oldest & this.entryMask]! : this.byteEnd;
  }

  private growBytes(): void {
    const bytes = new Uint8Array(this.bytes.length * 2);
    const oldMask = this.bytes.length - 1;
    const mask = bytes.length - 1;
    for (let at = this.usedFrom(); at < this.byteEnd; at++) bytes[at & mask] = this.bytes[at & oldMask]!;
    this.bytes = bytes;
  }

  private growEntries(): void {
    const old = { ...this.columns(), mask: this.entryMask };
    this.allocate(old.userIds.length * 2);
    for (let entry = this.oldest; entry < this.next; entry++) {
      const from = entry & old.mask;
      const to = entry & this.entryMask;
      this.userIds[to] = old.userIds[from]!;
      this.hashes[to] = old.hashes[from]!;
      this.prints[to * 2] = old.prints[from * 2]!;
      this.prints[to * 2 + 1] = old.prints[from * 2 + 1]!;
      this.atMs[to] = old.atMs[from]!;
      this.byteStart[to] = old.byteStart[from]!;
      this.keyLength[to] = old.keyLength[from]!;
    }
    this.relink();
  }

  /** Builds chains and users' lists anew from the entries. */
  private relink(): void {
    this.countOfUser.fill(0);
    for (let entry = this.oldest; entry < this.next; entry++) {
      const userId = this.userIds[entry & this.entryMask]!;
      if (userId === 0) continue;
      this.addToChain(entry);
      this.addToUser(userId, entry);
    }
  }

  private allocate(capacity: number): void {
    this.entryMask = capacity - 1;
    this.userIds = new Int32Array(capacity);
    this.hashes = new Int32Array(capacity);
    this.prints = new Int32Array(capacity * 2);
    this.atMs = new Float64Array(capacity);
    this.byteStart = new Float64Array(capacity);
    this.keyLength = new Int32Array(capacity);
    this.nextOfUser = new Float64Array(capacity);
    this.nextInChain = new Float64Array(capacity);
    this.chains = new Float64Array(capacity);
  }

  private columns() {
    const { userIds, hashes, prints, atMs, byteStart, keyLength } = this;
    return { userIds, hashes, prints, atMs, byteStart, keyLength };
  }

  private resize(count: number, byteLength: number, first: number): void {
    let capacity = SMALLEST_ENTRIES;
    while (capacity <= count) capacity *= 2;
    this.allocate(Math.min(capacity, MOST_ENTRIES));
    let bytes = SMALLEST_BYTES;
    while (bytes < byteLength) bytes *= 2;
    this.bytes = new Uint8Array(bytes);
    this.oldest = first;
  }

  private archiveEntry(archive: Archive, entry: number): void {
    const at = entry & this.entryMask;
    this.userIds[at] = archive.number(this.userIds[at]!);
    this.hashes[at] = archive.number(this.hashes[at]!);
    this.prints[at * 2] = archive.number(this.prints[at * 2]!);
    this.prints[at * 2 + 1] = archive.number(this.prints[at * 2 + 1]!);
    this.atMs[at] = archive.number(this.atMs[at]!);
    this.byteStart[at] = archive.number(this.byteStart[at]!);
    this.keyLength[at] = archive.number(this.keyLength[at]!);
  }

  private archiveBytes(archive: Archive, byteLength: number): void {
    this.byteEnd = archive.number(this.byteEnd);
    const mask = this.bytes.length - 1;
    const straight = new Uint8Array(byteLength);
    const start = this.byteEnd - byteLength;
    if (!archive.reading) {
      for (let i = 0; i < byteLength; i++) straight[i] = this.bytes[(start + i) & mask]!;
    }
    const stored = archive.bytes(straight, byteLength);
    if (!archive.reading) return;
    for (let i = 0; i < byteLength; i++) this.bytes[(start + i) & mask] = stored[i]!;
  }
}

function hashOf(userId: number, key: string): number {
  let hash = Math.imul(userId, 0x9e3779b1);
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
