/**
 * Remembered results: by user and idempotency key, the fingerprint of the command and its result.
 *
 * Always holds: a key is not forgotten within IDEMPOTENCY_KEPT_MS of its command. The number of
 * keys and their bytes are limited per user and in total; a command with a new key above a limit is
 * refused before it is executed. Expired keys never cause a refusal: they are dropped first.
 *
 * An entry is one run of words in one queue, in order of time: the head below, then the result. The
 * text of the key is not stored. An entry is identified by user and a keyed 64-bit hash of the key:
 * the probability that a new key has the hash of one of a user's 1,000,000 others is 5e-14. It
 * would count as a reuse of that key.
 */

import {
  IDEMPOTENCY_BYTES_IN_ALL,
  IDEMPOTENCY_BYTES_PER_USER,
  IDEMPOTENCY_KEPT_IN_ALL,
  IDEMPOTENCY_KEPT_MS,
  IDEMPOTENCY_KEPT_PER_USER,
} from '../interface/limits.js';
import { MAX_RESULT_WORDS } from '../interface/results.js';
import { type Archive, ROWS_IN_PIECE } from '../storage/archive.js';
import { SlotIndex } from '../storage/indexes/slot-index.js';
import type { NumberBuffer } from '../storage/number-buffer.js';
import type { Work } from '../storage/pieces.js';
import { WordQueue } from '../storage/word-queue.js';
import { KeysOfUsers } from './keys-of-users.js';

/** Each new key drops up to this many expired ones, so that they go faster than they came. */
const DROPPED_PER_KEY = 4;
const WORD_BYTES = 4;
const INT32_MAX = 2 ** 31 - 1;
const HALF = 2 ** 31;
const TIME_HALF = 2 ** 32;

/** The head of an entry. */
const Head = {
  /** Of the key. */
  hashLow: 0,
  hashHigh: 1,
  /** The fingerprint. */
  printLow: 2,
  printHigh: 3,
  atLow: 4,
  atHigh: 5,
  /** 0: dropped. */
  userId: 6,
  /**
   * Words from this entry to the same user's next one, 0: there is none. Only an archive needs it:
   * it is filled in when one is written.
   */
  toNext: 7,
  /** Words of the entry, head included. */
  length: 8,
} as const;
const HEAD_WORDS = 9;

const LONGEST_ENTRY_WORDS = HEAD_WORDS + MAX_RESULT_WORDS;

/** What a look-up found. FULL: nothing, and no room to remember the key. */
export const Found = { NOTHING: 0, SAME: 1, OTHER: 2, FULL: 3 } as const;
export type Found = (typeof Found)[keyof typeof Found];

/** How much is remembered. */
export interface IdempotencyBounds {
  keysPerUser: number;
  keysInAll: number;
  bytesPerUser: number;
  bytesInAll: number;
}

export const IDEMPOTENCY_BOUNDS: IdempotencyBounds = {
  keysPerUser: IDEMPOTENCY_KEPT_PER_USER,
  keysInAll: IDEMPOTENCY_KEPT_IN_ALL,
  bytesPerUser: IDEMPOTENCY_BYTES_PER_USER,
  bytesInAll: IDEMPOTENCY_BYTES_IN_ALL,
};

/** An entry is named by its position in the queue plus 1; 0: none. */
export class Idempotency {
  private readonly queue = new WordQueue();
  private readonly index = new SlotIndex();
  private readonly ofUsers = new KeysOfUsers();
  /** Of an entry that does not fit into one page. */
  private readonly head = new Int32Array(HEAD_WORDS);
  private count = 0;
  /** Above these, the longest entry does not fit. */
  private readonly wordsPerUser: number;
  private readonly wordsInAll: number;
  /** After FULL: milliseconds until the oldest key that counts towards the limit expires. */
  fullForMs = 0;

  constructor(private readonly bounds: IdempotencyBounds = IDEMPOTENCY_BOUNDS) {
    this.wordsPerUser = bounds.bytesPerUser / WORD_BYTES - LONGEST_ENTRY_WORDS;
    this.wordsInAll = bounds.bytesInAll / WORD_BYTES - LONGEST_ENTRY_WORDS;
  }

  /**
   * Looks up a key of a user that exists. If the command is the same, its result is appended to
   * `result`.
   */
  lookUp(
    userId: number,
    hashLow: number,
    hashHigh: number,
    printLow: number,
    printHigh: number,
    nowMs: number,
    result: NumberBuffer,
  ): Found {
    const entry = this.find(userId, hashLow, hashHigh);
    if (entry !== 0 && !this.hasExpired(entry, nowMs)) {
      const isSame =
        this.word(entry, Head.printLow) === printLow &&
        this.word(entry, Head.printHigh) === printHigh;
      if (!isSame) return Found.OTHER;
      this.readResult(entry, result);
      return Found.SAME;
    }
    // An expired entry stays in the queue, but its key is free.
    if (entry !== 0) this.index.remove(hashLow, entry);
    return this.makeRoom(userId, nowMs) ? Found.NOTHING : Found.FULL;
  }

  /** Remembers a result, after a look-up of the same key found NOTHING. */
  remember(
    userId: number,
    hashLow: number,
    hashHigh: number,
    printLow: number,
    printHigh: number,
    nowMs: number,
    result: NumberBuffer,
  ): void {
    const { queue } = this;
    const entry = queue.end + 1;
    const page = queue.roomInPage(HEAD_WORDS + 2 * result.length);
    if (page === null) {
      for (let i = 0; i < HEAD_WORDS; i++) queue.push(0);
      this.pushResult(result);
      this.writeHead(this.head, 0, userId, hashLow, hashHigh, printLow, printHigh, nowMs);
      for (let i = 0; i < HEAD_WORDS; i++) this.setWord(entry, i, this.head[i]!);
    } else {
      const at = queue.placeOfEnd;
      this.writeHead(page, at, userId, hashLow, hashHigh, printLow, printHigh, nowMs);
      queue.extend(writeResult(page, at + HEAD_WORDS, result));
    }
    const length = queue.distance(entry - 1, queue.end);
    if (length > LONGEST_ENTRY_WORDS) throw new Error(`an entry of ${length} words`);
    this.setWord(entry, Head.length, length);
    this.link(entry, userId, hashLow, length);
  }

  private writeHead(
    words: Int32Array,
    at: number,
    userId: number,
    hashLow: number,
    hashHigh: number,
    printLow: number,
    printHigh: number,
    nowMs: number,
  ): void {
    words[at + Head.hashLow] = hashLow;
    words[at + Head.hashHigh] = hashHigh;
    words[at + Head.printLow] = printLow;
    words[at + Head.printHigh] = printHigh;
    words[at + Head.atLow] = nowMs;
    words[at + Head.atHigh] = Math.floor(nowMs / TIME_HALF);
    words[at + Head.userId] = userId;
    words[at + Head.toNext] = 0;
  }

  /** Makes rows for users 1 to `userRows` - 1 exist. */
  ensureUsers(userRows: number): void {
    this.ofUsers.ensureUsers(userRows);
  }

  /** The keys that have not expired, the oldest first; all else follows from them. */
  *archive(archive: Archive, nowMs: number): Work<void> {
    if (archive.reading) {
      this.queue.archive(archive, 0);
      yield* this.linkAll();
    } else this.queue.archive(archive, yield* this.fillIn(nowMs));
  }

  /** Fills in the heads of the keys that have not expired. Returns where the first of them is. */
  private *fillIn(nowMs: number): Work<number> {
    const { queue, ofUsers } = this;
    let first = queue.end;
    let at = queue.start;
    for (let n = 0; at !== queue.end; n++) {
      const entry = at + 1;
      if (first === queue.end && !this.hasExpired(entry, nowMs)) first = at;
      if (first !== queue.end) {
        const next = ofUsers.nextAfter(n);
        this.setWord(entry, Head.toNext, next === 0 ? 0 : queue.distance(entry, next));
      }
      at = queue.after(at, this.word(entry, Head.length));
      if (n % ROWS_IN_PIECE === ROWS_IN_PIECE - 1) yield;
    }
    return first;
  }

  private *linkAll(): Work<void> {
    const { queue } = this;
    let at = queue.start;
    for (let n = 0; at !== queue.end; n++) {
      const entry = at + 1;
      const length = this.word(entry, Head.length);
      if (length <= HEAD_WORDS || length > queue.distance(at, queue.end))
        throw new Error('the archive is damaged');
      this.link(entry, this.word(entry, Head.userId), this.word(entry, Head.hashLow), length);
      at = queue.after(at, length);
      if (n % ROWS_IN_PIECE === ROWS_IN_PIECE - 1) yield;
    }
  }

  private find(userId: number, hashLow: number, hashHigh: number): number {
    let entry = this.index.first(hashLow);
    while (
      entry !== 0 &&
      (this.word(entry, Head.hashHigh) !== hashHigh || this.word(entry, Head.userId) !== userId)
    )
      entry = this.index.next(hashLow, entry);
    return entry;
  }

  /**
   * Drops expired entries: a few in any case, and as many as it takes to make room for the longest
   * entry. That is a bounded number: only the last result can have exceeded a limit.
   */
  private makeRoom(userId: number, nowMs: number): boolean {
    for (let i = 0; i < DROPPED_PER_KEY || this.isFull; i++) {
      if (this.queue.length === 0) break;
      if (!this.hasExpired(this.queue.start + 1, nowMs)) break;
      this.dropOldest();
    }
    while (this.isFullFor(userId)) {
      const oldest = this.ofUsers.oldestOf(userId);
      if (!this.hasExpired(oldest, nowMs)) return this.fullFor(oldest, nowMs);
      this.forgetOldestOf(userId);
    }
    return this.isFull ? this.fullFor(this.queue.start + 1, nowMs) : true;
  }

  /** Keys within their hour as of the last command with a key. */
  get size(): number {
    return this.count;
  }

  private get isFull(): boolean {
    return this.count >= this.bounds.keysInAll || this.queue.length > this.wordsInAll;
  }

  private isFullFor(userId: number): boolean {
    return (
      this.ofUsers.countOf(userId) >= this.bounds.keysPerUser ||
      this.ofUsers.wordsOf(userId) > this.wordsPerUser
    );
  }

  private fullFor(oldest: number, nowMs: number): false {
    this.fullForMs = this.atMs(oldest) + IDEMPOTENCY_KEPT_MS - nowMs;
    return false;
  }

  private hasExpired(entry: number, nowMs: number): boolean {
    return this.atMs(entry) + IDEMPOTENCY_KEPT_MS <= nowMs;
  }

  /** Adds the entry at the end of the queue to its user's list and to the index. */
  private link(entry: number, userId: number, hashLow: number, length: number): void {
    this.ofUsers.add(userId, entry, length);
    this.count++;
    this.index.add(hashLow, entry);
  }

  /** Takes the oldest entry out of the queue. If it was not forgotten before, it is now. */
  private dropOldest(): void {
    const entry = this.queue.start + 1;
    const userId = this.word(entry, Head.userId);
    if (userId !== 0) this.forgetOldestOf(userId);
    this.queue.drop(this.word(entry, Head.length));
    this.ofUsers.dropOldest();
  }

  /** The entry's words stay in the queue until they are the oldest. */
  private forgetOldestOf(userId: number): void {
    const entry = this.ofUsers.oldestOf(userId);
    this.ofUsers.removeOldestOf(userId, this.word(entry, Head.length));
    this.setWord(entry, Head.userId, 0);
    this.count--;
    this.index.remove(this.word(entry, Head.hashLow), entry);
  }

  /** Adds a result that may end in another page. */
  private pushResult(result: NumberBuffer): void {
    const words = new Int32Array(2 * result.length);
    const end = writeResult(words, 0, result);
    for (let i = 0; i < end; i++) this.queue.push(words[i]!);
  }

  private readResult(entry: number, result: NumberBuffer): void {
    const { queue } = this;
    const length = this.word(entry, Head.length);
    for (let i = HEAD_WORDS; i < length; i++) {
      const word = queue.get(entry - 1 + i);
      if (word >= 0) result.push(word);
      else {
        i++;
        result.push((-1 - word) * HALF + queue.get(entry - 1 + i));
      }
    }
  }

  private atMs(entry: number): number {
    return this.word(entry, Head.atHigh) * TIME_HALF + (this.word(entry, Head.atLow) >>> 0);
  }

  private word(entry: number, field: number): number {
    return this.queue.get(entry - 1 + field);
  }

  private setWord(entry: number, field: number, word: number): void {
    this.queue.set(entry - 1 + field, word);
  }
}

/**
 * An integer below 2^31 is a word; a larger one is -1 - its high part, and its low 31 bits. Returns
 * where the words end.
 */
function writeResult(words: Int32Array, from: number, { values, length }: NumberBuffer): number {
  let at = from;
  for (let i = 0; i < length; i++) {
    const value = values[i]!;
    if (value > INT32_MAX) {
      const high = Math.floor(value / HALF);
      words[at++] = -1 - high;
      words[at++] = value - high * HALF;
    } else words[at++] = value;
  }
  return at;
}
