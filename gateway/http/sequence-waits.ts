/**
 * Requests waiting, for a limited time, for a sequence that this process has not reached.
 *
 * Invariant: waits for client-named sequences are limited in total and per reader, because a client
 * may name a sequence that will never be reached.
 */
import type { ReaderKey } from '../../persistence/history/fair-read-scheduler.js';
import { Tally } from '../access/fair-use/tally.js';
import { elapsedMs } from '../observe/clock.js';

const REACH_MS = 1_000;
const LOOK_MS = 5;
export const NAMED_MAX = 10_000;
export const NAMED_MAX_OF_ONE = NAMED_MAX / 20;

type Done = (isReached: boolean) => void;

interface Waiting {
  sequence: number;
  untilMs: number;
  done: Done;
}

export class SequenceWaits {
  private waiting: Waiting[] = [];
  private timer: NodeJS.Timeout | null = null;
  private named = 0;
  private readonly namedBy = new Tally<ReaderKey>();

  constructor(
    private readonly sequence: () => number,
    private readonly limitMs = REACH_MS,
  ) {}

  /** Calls `done` once, in a later turn, when the sequence is reached or the time is up. */
  wait(sequence: number, done: Done): void {
    this.waiting.push({ sequence, untilMs: elapsedMs() + this.limitMs, done });
    this.timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  /** Refuses immediately if too many such waits exist. */
  waitForNamed(sequence: number, readerKey: ReaderKey, done: Done): void {
    if (this.named >= NAMED_MAX || this.namedBy.of(readerKey) >= NAMED_MAX_OF_ONE) {
      done(false);
      return;
    }
    this.named++;
    this.namedBy.add(readerKey);
    this.wait(sequence, (isReached) => {
      this.named--;
      this.namedBy.remove(readerKey);
      done(isReached);
    });
  }

  /** Call when the sequence advances, so that requests need not wait for the timer. */
  look(): void {
    if (this.timer === null) return;
    const sequence = this.sequence();
    const nowMs = elapsedMs();
    const over: Waiting[] = [];
    this.waiting = this.waiting.filter((each) => {
      const waits = each.sequence > sequence && each.untilMs > nowMs;
      if (!waits) over.push(each);
      return waits;
    });
    if (this.waiting.length === 0) {
      clearInterval(this.timer);
      this.timer = null;
    }
    for (const each of over) each.done(each.sequence <= sequence);
  }
}
