/**
 * Used idempotency keys: for each user and key, the fingerprint of the command and the sequence at
 * which it was executed. recent-results.ts has the latest results; the history has the results of
 * all keys.
 *
 * Invariant: a key is not forgotten within IDEMPOTENCY_KEPT_MS of its command. Keys take room
 * (room.ts) until they are forgotten; a command with a new key for which its user has no room is
 * refused before it is executed. Each command first forgets expired keys, oldest first: at most
 * FORGOTTEN_PER_COMMAND, far more than can expire between two commands.
 *
 * Keys are in one queue, in order of time, 20 bytes each. A second queue counts the keys of each
 * millisecond. The text of a key is not stored. A key is identified by user and a keyed 64-bit
 * hash. A new key has the hash of one of a user's 8,000,000 others with probability 4e-13, and
 * then counts as a reuse of that key. The fingerprint has 32 bits: under a used key, one of four
 * billion other commands is taken for the first one.
 */

import { FORGOTTEN_PER_COMMAND, IDEMPOTENCY_KEPT_MS } from '../interface/limits.js';
import { type Archive, ROWS_IN_PIECE } from '../storage/archive.js';
import type { IncrementalTask } from '../storage/incremental-task.js';
import { HashIndex } from '../storage/indexes/hash-index.js';
import type { NumberBuffer } from '../storage/number-buffer.js';
import { WordQueue } from '../storage/word-queue.js';
import { Pool, type Room } from './access/room.js';
import type { RecentResults } from './recent-results.js';

const TIME_HALF = 2 ** 32;

/** The words of a key. `sequence`: the low 32 bits, enough because an hour has fewer commands. */
const Entry = { hashLow: 0, hashHigh: 1, print: 2, userId: 3, sequence: 4 } as const;
const ENTRY_WORDS = 5;

/** A millisecond in which there were new keys. */
const Moment = { atLow: 0, atHigh: 1, count: 2 } as const;
const MOMENT_WORDS = 3;

/** The result of a look-up. */
export const KeyLookup = { ABSENT: 0, SAME_REQUEST: 1, DIFFERENT_REQUEST: 2 } as const;
export type KeyLookup = (typeof KeyLookup)[keyof typeof KeyLookup];

/** A key is named by its position in the queue plus 1; 0 if none. */
export class Idempotency {
  private readonly queue = new WordQueue();
  /** The moments of the keys that have not expired. */
  private readonly moments = new WordQueue();
  private readonly index = new HashIndex();
  /** The number of each user's keys. */
  private counts = new Int32Array(16);
  /** The position of the first key that has not expired; earlier keys wait to be forgotten. */
  private unexpired = 0;
  /** The time of the last moment; -1 if there is no moment. */
  private newestMs = -1;
  /** The key that the last look-up found. */
  private found = 0;

  constructor(
    private readonly room: Room,
    private readonly recent: RecentResults,
  ) {}

  keysOf(userId: number): number {
    return this.counts[userId]!;
  }

  /** The sequence of the oldest key's command; 0 if there is no key. `now`: the last sequence. */
  oldestSequence(now: number): number {
    const { queue } = this;
    return queue.length === 0 ? 0 : this.sequenceOf(queue.start + 1, now);
  }

  /** Forgets expired keys. */
  forgetExpired(nowMs: number): void {
    const { queue, moments } = this;
    while (moments.length !== 0 && this.oldestMs() + IDEMPOTENCY_KEPT_MS <= nowMs) {
      const count = moments.get(moments.start + Moment.count);
      this.unexpired = queue.after(this.unexpired, count * ENTRY_WORDS);
      moments.drop(MOMENT_WORDS);
    }
    for (let i = 0; i < FORGOTTEN_PER_COMMAND && queue.start !== this.unexpired; i++)
      this.forgetOldest();
  }

  /** Whether another key of the user can be remembered. */
  hasRoomFor(userId: number, isCancel: boolean): boolean {
    return this.room.mayTake(Pool.keys, userId, this.keysOf(userId), isCancel);
  }

  /** Milliseconds until the oldest key of all is forgotten. */
  fullForMs(nowMs: number): number {
    const isNow = this.queue.start !== this.unexpired || this.moments.length === 0;
    return isNow ? 1 : this.oldestMs() + IDEMPOTENCY_KEPT_MS - nowMs;
  }

  /**
   * Looks up a key of an existing user. An expired key that is not forgotten yet is not found.
   * {@link foundSequence} and {@link readFound} read the key that the last look-up found.
   */
  lookUp(userId: number, hashLow: number, hashHigh: number, print: number): KeyLookup {
    this.found = this.find(userId, hashLow, hashHigh);
    if (this.found === 0) return KeyLookup.ABSENT;
    return this.word(this.found, Entry.print) === print
      ? KeyLookup.SAME_REQUEST
      : KeyLookup.DIFFERENT_REQUEST;
  }

  /** The sequence of the found key's command. `now`: the last sequence. */
  foundSequence(now: number): number {
    return this.sequenceOf(this.found, now);
  }

  /** Appends the result of the key that was found; false means memory no longer has it. */
  readFound(result: NumberBuffer): boolean {
    const age = this.queue.distance(this.found - 1, this.queue.end) / ENTRY_WORDS - 1;
    return this.recent.read(age, result);
  }

  /** Remembers a key, after a look-up of the same key found NOTHING. */
  remember(
    userId: number,
    hashLow: number,
    hashHigh: number,
    print: number,
    sequence: number,
    nowMs: number,
    result: NumberBuffer,
  ): void {
    const { queue } = this;
    const entry = queue.end + 1;
    // In the order of Entry.
    queue.push(hashLow);
    queue.push(hashHigh);
    queue.push(print);
    queue.push(userId);
    queue.push(sequence);
    this.countAt(nowMs);
    this.counts[userId]! += 1;
    this.index.add(hashLow, entry);
    this.room.count(Pool.keys, userId, 1);
    this.recent.add(result);
  }

  /** Makes room for users 1 to `userRows` - 1. */
  ensureUsers(userRows: number): void {
    if (userRows <= this.counts.length) return;
    const counts = new Int32Array(Math.max(userRows, this.counts.length * 2));
    counts.set(this.counts);
    this.counts = counts;
  }

  /** The keys, oldest first, and their times. Everything else is derived from them. */
  *archive(archive: Archive): IncrementalTask<void> {
    const { queue, moments } = this;
    const expired = archive.number(queue.distance(queue.start, this.unexpired));
    yield* queue.archive(archive);
    yield* moments.archive(archive);
    if (!archive.reading) return;
    this.recent.clear();
    this.unexpired = queue.after(queue.start, expired);
    this.newestMs = moments.length === 0 ? -1 : this.momentMs(moments.end - MOMENT_WORDS);
    yield* this.checkMoments();
    yield* this.linkAll();
  }

  private *checkMoments(): IncrementalTask<void> {
    const { queue, moments } = this;
    let left = queue.distance(this.unexpired, queue.end) / ENTRY_WORDS;
    for (let n = 0; n < moments.length; n += MOMENT_WORDS) {
      const count = moments.get(moments.start + n + Moment.count);
      left = count > 0 ? left - count : -1;
      if (n % ROWS_IN_PIECE === 0) yield;
    }
    if (left !== 0) throw new Error('the archive is damaged');
  }

  private *linkAll(): IncrementalTask<void> {
    const { queue, counts, index } = this;
    index.clear(queue.length / ENTRY_WORDS);
    for (let n = 0, at = queue.start; at !== queue.end; n++, at = queue.after(at, ENTRY_WORDS)) {
      const userId = queue.get(at + Entry.userId);
      if (userId < 1 || userId >= counts.length) throw new Error('the archive is damaged');
      counts[userId]! += 1;
      index.add(queue.get(at + Entry.hashLow), at + 1);
      if (n % ROWS_IN_PIECE === ROWS_IN_PIECE - 1) yield;
    }
  }

  private find(userId: number, hashLow: number, hashHigh: number): number {
    let entry = this.index.first(hashLow);
    while (
      entry !== 0 &&
      (this.word(entry, Entry.hashHigh) !== hashHigh ||
        this.word(entry, Entry.userId) !== userId ||
        this.hasExpired(entry))
    )
      entry = this.index.next(hashLow, entry);
    return entry;
  }

  private hasExpired(entry: number): boolean {
    const { queue } = this;
    return queue.distance(queue.start, entry - 1) < queue.distance(queue.start, this.unexpired);
  }

  /** Counts a new key in this millisecond. */
  private countAt(nowMs: number): void {
    const { moments } = this;
    if (nowMs === this.newestMs) {
      const last = moments.end - MOMENT_WORDS + Moment.count;
      moments.set(last, moments.get(last) + 1);
      return;
    }
    this.newestMs = nowMs;
    moments.push(nowMs);
    moments.push(Math.floor(nowMs / TIME_HALF));
    moments.push(1);
  }

  private forgetOldest(): void {
    const entry = this.queue.start + 1;
    const userId = this.word(entry, Entry.userId);
    this.index.remove(this.word(entry, Entry.hashLow), entry);
    this.queue.drop(ENTRY_WORDS);
    this.counts[userId]! -= 1;
    this.room.count(Pool.keys, userId, -1);
  }

  private oldestMs(): number {
    return this.momentMs(this.moments.start);
  }

  private momentMs(at: number): number {
    const { moments } = this;
    return moments.get(at + Moment.atHigh) * TIME_HALF + (moments.get(at + Moment.atLow) >>> 0);
  }

  private sequenceOf(entry: number, now: number): number {
    return now - ((now - this.word(entry, Entry.sequence)) >>> 0);
  }

  private word(entry: number, field: number): number {
    return this.queue.get(entry - 1 + field);
  }
}
