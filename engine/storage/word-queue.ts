/**
 * A queue of 32-bit words in pages: words are added at the end and dropped at the start. No page
 * ever moves, so no command pays for growth. Emptied pages are reused, so memory follows the
 * queue's greatest length.
 *
 * Invariant: fewer than 2^30 words are in the queue. A position is a number of 30 bits that
 * wraps around.
 */
import type { Archive } from './archive.js';
import type { IncrementalTask } from './incremental-task.js';

const POSITION_BITS = 30;
const IN_QUEUE = 2 ** POSITION_BITS - 1;
const PAGE_BITS = 16;
const PAGE_WORDS = 1 << PAGE_BITS;
const IN_PAGE = PAGE_WORDS - 1;
const LAST_PAGE = IN_QUEUE >>> PAGE_BITS;

/** Takes the place of an emptied page. */
const NO_PAGE = new Int32Array(0);

export class WordQueue {
  private readonly pages: Int32Array[] = [];
  private readonly spare: Int32Array[] = [];
  /** The positions of the first word and of the next word to add. */
  start = 0;
  end = 0;

  get length(): number {
    return this.distance(this.start, this.end);
  }

  distance(from: number, to: number): number {
    return (to - from) & IN_QUEUE;
  }

  after(position: number, count: number): number {
    return (position + count) & IN_QUEUE;
  }

  get(position: number): number {
    return this.pages[(position & IN_QUEUE) >>> PAGE_BITS]![position & IN_PAGE]!;
  }

  set(position: number, word: number): void {
    this.pages[(position & IN_QUEUE) >>> PAGE_BITS]![position & IN_PAGE] = word;
  }

  /**
   * The page of the next words, if it has room for `count` of them, else null. To add many words,
   * write them there from {@link placeOfEnd} on, then call {@link extend}.
   */
  roomInPage(count: number): Int32Array | null {
    const { end } = this;
    if ((end & IN_PAGE) + count > PAGE_WORDS) return null;
    if ((end & IN_PAGE) === 0) this.open(end >>> PAGE_BITS);
    return this.pages[end >>> PAGE_BITS]!;
  }

  get placeOfEnd(): number {
    return this.end & IN_PAGE;
  }

  /** Adds the words written up to a place in the page. */
  extend(toPlace: number): void {
    this.end = (this.end - (this.end & IN_PAGE) + toPlace) & IN_QUEUE;
  }

  push(word: number): void {
    const { end } = this;
    if ((end & IN_PAGE) === 0) this.open(end >>> PAGE_BITS);
    this.pages[end >>> PAGE_BITS]![end & IN_PAGE] = word;
    this.end = (end + 1) & IN_QUEUE;
  }

  drop(count: number): void {
    const to = (this.start + count) & IN_QUEUE;
    const last = to >>> PAGE_BITS;
    for (let page = this.start >>> PAGE_BITS; page !== last; page = (page + 1) & LAST_PAGE) {
      this.spare.push(this.pages[page]!);
      this.pages[page] = NO_PAGE;
    }
    this.start = to;
  }

  /** `count` words from a position on. */
  copy(position: number, count: number): Int32Array {
    return Int32Array.from({ length: count }, (_, i) => this.get(position + i));
  }

  /** Writes the words, or fills an empty queue from position 0. */
  *archive(archive: Archive): IncrementalTask<void> {
    let left = archive.number(this.length);
    let at = archive.reading ? 0 : this.start;
    while (left > 0) {
      if (archive.reading) this.open(at >>> PAGE_BITS);
      const count = Math.min(left, PAGE_WORDS - (at & IN_PAGE));
      const { buffer } = this.pages[at >>> PAGE_BITS]!;
      archive.span(new Uint8Array(buffer), (at & IN_PAGE) * 4, count * 4);
      at = (at + count) & IN_QUEUE;
      left -= count;
      yield;
    }
    if (archive.reading) this.end = at;
  }

  private open(page: number): void {
    this.pages[page] = this.spare.pop() ?? new Int32Array(PAGE_WORDS);
  }
}
