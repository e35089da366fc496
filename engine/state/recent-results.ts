/**
 * The results of the latest commands with a new idempotency key, in memory, so that most repeated
 * keys are answered from here. The results are not part of the state: an archive does not contain
 * them, and the digest does not depend on their number.
 *
 * Invariant: the results are the newest, in the order of their keys, and take at most
 * `mostWords` words.
 */
import { type NumberBuffer, readNumbers, writeNumbers } from '../storage/number-buffer.js';
import { WordQueue } from '../storage/word-queue.js';

export class RecentResults {
  private readonly words = new WordQueue();
  /** The position in `words` of each result. */
  private readonly starts = new WordQueue();

  constructor(private mostWords: number) {}

  /** Changes the maximum of words. */
  limit(mostWords: number): void {
    this.mostWords = mostWords;
    this.makeRoom(0);
  }

  add(result: NumberBuffer): void {
    const { words } = this;
    const most = 2 * result.length;
    if (most > this.mostWords) {
      this.clear();
      return;
    }
    if (words.length + most > this.mostWords) this.makeRoom(most);
    this.starts.push(words.end);
    const page = words.roomInPage(most);
    if (page !== null) {
      words.extend(writeNumbers(page, words.placeOfEnd, result));
      return;
    }
    const own = new Int32Array(most);
    const end = writeNumbers(own, 0, result);
    for (let i = 0; i < end; i++) words.push(own[i]!);
  }

  /**
   * Appends the result that was added `age` results ago (0: the last one); false if it was dropped.
   */
  read(age: number, result: NumberBuffer): boolean {
    const { starts, words } = this;
    if (age >= starts.length) return false;
    const from = starts.get(starts.end - 1 - age);
    const to = age === 0 ? words.end : starts.get(starts.end - age);
    readNumbers(words.copy(from, words.distance(from, to)), result);
    return true;
  }

  clear(): void {
    this.starts.drop(this.starts.length);
    this.words.drop(this.words.length);
  }

  /** Drops the oldest results until `words` more words fit. */
  private makeRoom(words: number): void {
    while (this.words.length !== 0 && this.words.length + words > this.mostWords) this.dropOldest();
  }

  private dropOldest(): void {
    const { starts, words } = this;
    const { start } = words;
    starts.drop(1);
    words.drop(
      starts.length === 0 ? words.length : words.distance(start, starts.get(starts.start)),
    );
  }
}
