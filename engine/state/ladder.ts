/**
 * One side of a market's book: 999 price levels, each a first-in-first-out list of resting orders.
 * A bitset of 32 words, with a summary word over it, says which levels have orders, so that two
 * count-leading-zeros find the best (highest) level. Adding, removing and finding the best are
 * O(1).
 *
 * The highest level is the best on both sides; see orders.ts.
 */
import type { Archive } from '../storage/archive.js';
import { Int32Column, Int53Column, Scalar } from '../storage/columns.js';
import { ListEnds } from '../storage/linked-lists.js';
import type { UndoLog } from '../storage/undo.js';

const LEVELS = 1_000;
const WORDS = 32;

export class Ladder {
  /** By level: its list of orders, and the lots of all of them. */
  readonly levels: ListEnds;
  readonly lots: Int53Column;
  private readonly words: Int32Column;
  private readonly summary: Scalar;

  constructor(undo: UndoLog) {
    this.levels = new ListEnds(new Int32Column(undo, LEVELS), new Int32Column(undo, LEVELS));
    this.lots = new Int53Column(undo, LEVELS);
    this.words = new Int32Column(undo, WORDS);
    this.summary = new Scalar(undo);
  }

  /** The highest level with orders; 0: the ladder is empty. */
  best(): number {
    const summary = this.summary.value;
    if (summary === 0) return 0;
    const word = 31 - Math.clz32(summary);
    return (word << 5) | (31 - Math.clz32(this.words.values[word]!));
  }

  /** The highest level with orders below `level`; 0: none. */
  nextBelow(level: number): number {
    const word = level >>> 5;
    const rest = this.words.values[word]! & ((1 << (level & 31)) - 1);
    if (rest !== 0) return (word << 5) | (31 - Math.clz32(rest));
    const words = this.summary.value & ((1 << word) - 1);
    if (words === 0) return 0;
    const lower = 31 - Math.clz32(words);
    return (lower << 5) | (31 - Math.clz32(this.words.values[lower]!));
  }

  markUsed(level: number): void {
    const word = level >>> 5;
    this.words.set(word, this.words.values[word]! | (1 << (level & 31)));
    this.summary.set(this.summary.value | (1 << word));
  }

  markEmpty(level: number): void {
    const word = level >>> 5;
    const rest = this.words.values[word]! & ~(1 << (level & 31));
    this.words.set(word, rest);
    if (rest === 0) this.summary.set(this.summary.value & ~(1 << word));
  }

  archive(archive: Archive): void {
    this.levels.archive(archive, LEVELS);
    this.lots.archive(archive, LEVELS);
    this.words.archive(archive, WORDS);
    this.summary.archive(archive);
  }
}
