/**
 * Price levels: for each side of a market's book (a ladder), 999 first-in-first-out lists of
 * resting orders. A bitset of 32 words, with a summary word over it, marks the levels with orders,
 * so that two count-leading-zeros find the best (highest) level. Adding, removing and finding the
 * best are O(1).
 *
 * A book has two ladders, `book × 2` (bids) and `book × 2 + 1` (asks). The row of a level is
 * `ladder × 1024 + level`. The highest level is the best on both sides; see orders.ts.
 */
import { type Archive, archivedList } from '../storage/archive.js';
import { tableOf } from '../storage/table.js';
import type { Undoable, UndoLog } from '../storage/undo.js';

/** Levels per ladder; 1 to 999 are used. */
const LADDER_BITS = 10;
const LEVELS = 1 << LADDER_BITS;
/** Words per ladder: 32 for the bitset, one for the summary, padded to a power of two. */
const WORDS = 64;
const SUMMARY = 32;

/** The price level of a row, in ticks of the order's book side. */
export function levelOf(row: number): number {
  return row & (LEVELS - 1);
}
export function levelRow(ladder: number, level: number): number {
  return (ladder << LADDER_BITS) | level;
}

/** The lots of all orders of a level, and the first and last order. */
const LevelTable = tableOf(16, { lots: 'f64', first: 'i32', last: 'i32' });

export class Levels extends LevelTable {
  private words: Int32Array = new Int32Array(0);
  /** The number of books ever handed out, and the free ones among them. */
  private books = 0;
  private freeBooks: number[] = [];
  private readonly wordUndo: Undoable = {
    restore: (at, old) => {
      this.words[at] = old;
    },
  };

  constructor(undo: UndoLog) {
    super(undo);
    this.ensureBooks(1);
  }

  ensureBooks(books: number): void {
    this.ensure((books * 2) << LADDER_BITS);
    const length = books * 2 * WORDS;
    if (length <= this.words.length) return;
    const words = new Int32Array(Math.max(length, this.words.length * 2));
    words.set(this.words);
    this.words = words;
  }

  takeBook(): number {
    const free = this.freeBooks.pop();
    if (free !== undefined) return free;
    this.ensureBooks(this.books + 1);
    return this.books++;
  }

  /** Frees a book, which must be empty. */
  dropBook(book: number): void {
    this.freeBooks.push(book);
  }

  /** The highest level with orders; 0 if the ladder is empty. */
  best(ladder: number): number {
    const { words } = this;
    const base = ladder * WORDS;
    const summary = words[base + SUMMARY]!;
    if (summary === 0) return 0;
    const word = 31 - Math.clz32(summary);
    return (word << 5) | (31 - Math.clz32(words[base + word]!));
  }

  /** The highest level with orders below `level`; 0 if none. */
  nextBelow(ladder: number, level: number): number {
    const { words } = this;
    const base = ladder * WORDS;
    const word = level >>> 5;
    const rest = words[base + word]! & ((1 << (level & 31)) - 1);
    if (rest !== 0) return (word << 5) | (31 - Math.clz32(rest));
    const used = words[base + SUMMARY]! & ((1 << word) - 1);
    if (used === 0) return 0;
    const lower = 31 - Math.clz32(used);
    return (lower << 5) | (31 - Math.clz32(words[base + lower]!));
  }

  /** Called when the level gets its first order. */
  markUsed(row: number): void {
    const level = levelOf(row);
    const base = (row >>> LADDER_BITS) * WORDS;
    const word = level >>> 5;
    this.setWord(base + word, this.words[base + word]! | (1 << (level & 31)));
    this.setWord(base + SUMMARY, this.words[base + SUMMARY]! | (1 << word));
  }

  /** Called when the level loses its last order. */
  markEmpty(row: number): void {
    const level = levelOf(row);
    const base = (row >>> LADDER_BITS) * WORDS;
    const word = level >>> 5;
    const rest = this.words[base + word]! & ~(1 << (level & 31));
    this.setWord(base + word, rest);
    if (rest === 0) this.setWord(base + SUMMARY, this.words[base + SUMMARY]! & ~(1 << word));
  }

  /** Archives which books are in use; their levels are archived one by one. */
  archive(archive: Archive): void {
    this.books = archive.number(this.books);
    this.freeBooks = archivedList(archive, this.freeBooks, (book = 0) => archive.number(book));
    this.ensureBooks(this.books);
  }

  archiveBook(archive: Archive, book: number): void {
    const first = book * 2;
    this.archiveRows(archive, first << LADDER_BITS, (first + 2) << LADDER_BITS);
    archive.span(new Uint8Array(this.words.buffer), first * WORDS * 4, 2 * WORDS * 4);
  }

  private setWord(at: number, value: number): void {
    if (this.undo.recording) this.undo.record(this.wordUndo, at, this.words[at]!);
    this.words[at] = value;
  }
}
