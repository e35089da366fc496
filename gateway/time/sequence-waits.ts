/**
 * Reads that name a sequence which this process has not reached: they wait for it, for a bounded
 * time and in a bounded number.
 */
import { elapsedMs } from './clock.js';

const REACH_MS = 1_000;
const LOOK_MS = 5;
const WAITING_MAX = 10_000;

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

  constructor(
    private readonly sequence: () => number,
    private readonly limitMs = REACH_MS,
  ) {}

  /** Calls `done` once: in a later turn when the sequence is reached, or it takes too long. */
  wait(sequence: number, done: Done): void {
    if (this.waiting.length >= WAITING_MAX) {
      done(false);
      return;
    }
    this.waiting.push({ sequence, untilMs: elapsedMs() + this.limitMs, done });
    this.timer ??= setInterval(() => this.look(), LOOK_MS);
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
