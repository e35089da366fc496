/**
 * Remembered results: by user and idempotency key, the fingerprint of the command and its result.
 *
 * Always holds: a key is not forgotten within IDEMPOTENCY_KEPT_MS of its command. Keys and their
 * results take room (room.ts) until they are forgotten; a command with a new key for which its user
 * has no room is refused before it is executed. Each command first forgets expired keys, the oldest
 * first: FORGOTTEN_PER_COMMAND at most, which is far more than can expire between two commands.
 *
 * An entry is one run of words in one queue, in order of time: the head below, then the result. The
 * text of the key is not stored. An entry is identified by user and a keyed 64-bit hash of the key:
 * the probability that a new key has the hash of one of a user's 600,000 others is 3e-14. It
 * would count as a reuse of that key.
 */

import { FORGOTTEN_PER_COMMAND, IDEMPOTENCY_KEPT_MS } from '../interface/limits.js';
import { LONGEST_REMEMBERED_WORDS, REMEMBERED_HEAD_WORDS } from '../interface/results.js';
import { type Archive, ROWS_IN_PIECE } from '../storage/archive.js';
import { SlotIndex } from '../storage/indexes/slot-index.js';
import type { NumberBuffer } from '../storage/number-buffer.js';
import type { Work } from '../storage/pieces.js';
import { WordQueue } from '../storage/word-queue.js';
import { Pool, type Room } from './access/room.js';
import { KeysOfUsers } from './keys-of-users.js';

const INT32_MAX = 2 ** 31 - 1;
const HALF = 2 ** 31;
const TIME_HALF = 2 ** 32;

/** The head of an entry. */
const Head = {
  /** The hash of the key. */
  hashLow: 0,
  hashHigh: 1,
  /** The fingerprint. */
  printLow: 2,
  printHigh: 3,
  atLow: 4,
  atHigh: 5,
  userId: 6,
  /** Words of the entry, head included. */
  length: 7,
} as const;
const HEAD_WORDS = REMEMBERED_HEAD_WORDS;

/** What a look-up found. */
export const Found = { NOTHING: 0, SAME: 1, OTHER: 2 } as const;
export type Found = (typeof Found)[keyof typeof Found];

/** An entry is named by its position in the queue plus 1; 0: none. */
export class Idempotency {
  private readonly queue = new WordQueue();
  private readonly index = new SlotIndex();
  private readonly ofUsers = new KeysOfUsers();
  /** The head of an entry that does not fit into one page. */
  private readonly head = new Int32Array(HEAD_WORDS);

  constructor(private readonly room: Room) {}

  keysOf(userId: number): number {
    return this.ofUsers.countOf(userId);
  }

  wordsOf(userId: number): number {
    return this.ofUsers.wordsOf(userId);
  }

  /** Forgets keys whose time is over. */
  forgetExpired(nowMs: number): void {
    for (let i = 0; i < FORGOTTEN_PER_COMMAND && this.queue.length !== 0; i++) {
      if (!this.hasExpired(this.queue.start + 1, nowMs)) return;
      this.forgetOldest();
    }
  }

  /** Whether another key of the user can be remembered, with the longest result. */
  hasRoomFor(userId: number, isCancel: boolean): boolean {
    const { room, ofUsers } = this;
    return (
      room.mayTake(Pool.keys, userId, ofUsers.countOf(userId), isCancel) &&
      room.mayTake(Pool.resultWords, userId, ofUsers.wordsOf(userId), isCancel)
    );
  }

  /** Milliseconds until the user's oldest key expires, or, if there is none, the oldest of all. */
  fullForMs(userId: number, nowMs: number): number {
    const oldest = this.ofUsers.oldestOf(userId) || this.queue.start + 1;
    return Math.max(1, this.atMs(oldest) + IDEMPOTENCY_KEPT_MS - nowMs);
  }

  /**
   * Looks up a key of a user that exists. If the command is the same, its result is appended to
   * `result`. An expired key that is not forgotten is free.
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
    const entry = this.find(userId, hashLow, hashHigh, nowMs);
    if (entry === 0) return Found.NOTHING;
    const isSame =
      this.word(entry, Head.printLow) === printLow &&
      this.word(entry, Head.printHigh) === printHigh;
    if (!isSame) return Found.OTHER;
    this.readResult(entry, result);
    return Found.SAME;
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
    if (length > LONGEST_REMEMBERED_WORDS) throw new Error(`an entry of ${length} words`);
    this.setWord(entry, Head.length, length);
    this.link(entry, userId, hashLow, length);
    this.room.count(Pool.keys, userId, 1);
    this.room.count(Pool.resultWords, userId, length);
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
  }

  /** Makes rows for users 1 to `userRows` - 1 exist. */
  ensureUsers(userRows: number): void {
    this.ofUsers.ensureUsers(userRows);
  }

  /** The keys, the oldest first; all else follows from them. */
  *archive(archive: Archive): Work<void> {
    this.queue.archive(archive);
    if (archive.reading) yield* this.linkAll();
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

  private find(userId: number, hashLow: number, hashHigh: number, nowMs: number): number {
    let entry = this.index.first(hashLow);
    while (
      entry !== 0 &&
      (this.word(entry, Head.hashHigh) !== hashHigh ||
        this.word(entry, Head.userId) !== userId ||
        this.hasExpired(entry, nowMs))
    )
      entry = this.index.next(hashLow, entry);
    return entry;
  }

  private hasExpired(entry: number, nowMs: number): boolean {
    return this.atMs(entry) + IDEMPOTENCY_KEPT_MS <= nowMs;
  }

  /** Adds the entry at the end of the queue to its user's list and to the index. */
  private link(entry: number, userId: number, hashLow: number, length: number): void {
    this.ofUsers.add(userId, entry, length);
    this.index.add(hashLow, entry);
  }

  private forgetOldest(): void {
    const entry = this.queue.start + 1;
    const userId = this.word(entry, Head.userId);
    const length = this.word(entry, Head.length);
    this.index.remove(this.word(entry, Head.hashLow), entry);
    this.ofUsers.removeOldest(userId, length);
    this.queue.drop(length);
    this.room.count(Pool.keys, userId, -1);
    this.room.count(Pool.resultWords, userId, -length);
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
