/**
 * What needs a sequence that this process has not reached waits here, for a bounded time.
 *
 * Always holds: numbers that clients name are bounded, for they may name what will never be. The
 * others are bounded by what waits, an answer per request, so no client takes their room: they
 * always wait, in order.
 */
import { elapsedMs } from '../observe/clock.js';

const REACH_MS = 1_000;
const LOOK_MS = 5;
const NAMED_MAX = 10_000;

type Done = (isReached: boolean) => void;

interface Waiting {
  sequence: number;
  untilMs: number;
  done: Done;
}

export class SequenceWaits {
  /** In order of their limits in time. */
  private waiting: Waiting[] = [];
  private timer: NodeJS.Timeout | null = null;
  private named = 0;

  constructor(
    private readonly sequence: () => number,
    private readonly limitMs = REACH_MS,
  ) {}

  /** Calls `done` once: in a later turn when the sequence is reached, or it takes too long. */
  wait(sequence: number, done: Done): void {
    this.waiting.push({ sequence, untilMs: elapsedMs() + this.limitMs, done });
    this.timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  /** Waits for a number that a client has named; calls at once if too many of those wait. */
  waitForNamed(sequence: number, done: Done): void {
    if (this.named >= NAMED_MAX) {
      done(false);
      return;
    }
    this.named++;
    this.wait(sequence, (isReached) => {
      this.named--;
      done(isReached);
    });
  }

  /** To be called when the sequence has advanced, so that nothing waits for the timer. */
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
