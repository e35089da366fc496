/**
 * The only file that reads the clock. Everything else asks a `Clock` for the exchange's time or is handed a
 * source of elapsed time; the engine gets its time as data.
 *
 * What always holds: the exchange's time never goes back. A `FeedClock` never passes the next price of its
 * file that is not delivered yet, so that no load on the machine can make a price late.
 */
export interface Clock {
  /** The exchange's time, integer milliseconds since the epoch. Never goes back. */
  nowMs(): number;
  /**
   * Real milliseconds until the clock shows `atMs` at the earliest, 0 if it does already. For setting timers:
   * they may fire a little early, and a feed's clock may be held, so look at the clock again on waking.
   */
  delayUntilMs(atMs: number): number;
}

/** Real milliseconds since some moment in the past, with fractions; never goes back, knows no date. */
export function elapsedMs(): number {
  return performance.now();
}

/** The machine's clock. When the machine's clock is set back, this one stands until that has caught up. */
export class SystemClock implements Clock {
  private shownMs = 0;

  nowMs(): number {
    const now = Date.now();
    if (now > this.shownMs) this.shownMs = now;
    return this.shownMs;
  }

  delayUntilMs(atMs: number): number {
    return Math.max(0, atMs - this.nowMs());
  }
}

/**
 * How much real time the clock makes up for after it was held at a price, so that timers which fire some
 * milliseconds late do not slow the exchange down. More than that is let go: after a long stall, traders
 * must not see minutes pass in one turn.
 */
const CATCH_UP_MS = 100;

/**
 * Time that goes `speed` times as fast as real time and waits for a feed: for each price of a file. A simulation at
 * another speed lets it `runTo(Infinity)` at once.
 */
export class FeedClock implements Clock {
  private readonly speed: number;
  private readonly elapsed: () => number;
  /** The time that would be shown if nothing held the clock is `anchorMs` plus speed × elapsed since then. */
  private anchorMs: number;
  private anchorElapsedMs: number;
  private heldAtMs: number;

  /** Stands at `startsAtMs` until the first `runTo`. `speed` is a positive number. */
  constructor(options: { startsAtMs: number; speed: number; elapsed?: () => number }) {
    if (!Number.isInteger(options.startsAtMs)) throw new Error(`not a time: ${options.startsAtMs}`);
    if (!(options.speed > 0 && Number.isFinite(options.speed)))
      throw new Error(`the speed of a feed's clock must be a positive number, not ${options.speed}`);
    this.speed = options.speed;
    this.elapsed = options.elapsed ?? elapsedMs;
    this.anchorMs = options.startsAtMs;
    this.anchorElapsedMs = this.elapsed();
    this.heldAtMs = options.startsAtMs;
  }

  nowMs(): number {
    return Math.min(this.heldAtMs, Math.floor(this.runningMs()));
  }

  delayUntilMs(atMs: number): number {
    if (this.nowMs() >= atMs) return 0;
    return Math.max(1, Math.ceil((atMs - this.runningMs()) / this.speed));
  }

  /**
   * Lets the clock go on as far as `atMs`, the time of the next price that is not delivered; Infinity when
   * there is none. Never before the time that it was allowed before.
   */
  runTo(atMs: number): void {
    if (atMs < this.heldAtMs) throw new Error(`the clock was let run to ${this.heldAtMs} before ${atMs}`);
    const latestMs = this.heldAtMs + CATCH_UP_MS * this.speed;
    if (this.runningMs() > latestMs) {
      this.anchorMs = latestMs;
      this.anchorElapsedMs = this.elapsed();
    }
    this.heldAtMs = atMs;
  }

  private runningMs(): number {
    return this.anchorMs + (this.elapsed() - this.anchorElapsedMs) * this.speed;
  }
}
