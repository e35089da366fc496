/**
 * The only file that reads the clock. Everything else asks a `Clock` for the exchange's time or is handed a
 * source of elapsed time; the engine gets its time as data.
 *
 * What always holds: the exchange's time never goes back, and is never set by whoever sets the machine's. A `FeedClock` never passes the next price of its
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

/** What the machine's clock shows, which anybody may have set: milliseconds since the epoch. */
export function machineMs(): number {
  return Date.now();
}

/** The machine's date as HTTP writes it: for the header Date, where uWebSockets.js does not write it. */
export function httpDate(): string {
  return new Date().toUTCString();
}

/** How often the machine's clock is looked at, in real milliseconds. */
const LOOK_MS = 1_000;
/** Up to here the clock is brought to the machine's bit by bit; beyond it, somebody or something has set the machine's. */
const STEP_MS = 1_000;
/** How much faster or slower than real time the clock goes meanwhile. */
const SLEW = 0.05;
/** How much slower it goes while it is ahead by more. */
const SLOWING = 0.5;
/** For how long the machine's clock must stay where it was set before it is followed. */
const CONFIRM_MS = 60_000;
/** The farthest that the clock jumps while it runs. */
const JUMP_MS_MAX = 3_600_000;

/** Where the clock tells of what it does about the machine's. */
export interface ClockLog {
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface SystemClockOptions {
  log: ClockLog;
  /** The last time that was shown before, by the journal; default: none. */
  notBeforeMs?: number;
  /** Sources of time, for tests. */
  wall?: () => number;
  elapsed?: () => number;
}

/**
 * The time of day. It is taken from the machine's clock at the start, and from there on counted in real time that passes, so that
 * whoever sets the machine's clock does not set the exchange's: what is in the journal cannot be taken back.
 *
 * The two are compared each second. A difference of up to a second is made up for at 5% of the speed. A greater one is followed
 * if it is still there after a minute: forward by a jump, backward by going at half speed until the other has caught up. A jump
 * of more than an hour is not made at all: a wrong date would end every market. Then the exchange must be started again, when
 * the machine's clock is right. All of that is logged.
 *
 * Always holds: it never goes back, and never stands.
 */
export class SystemClock implements Clock {
  private readonly log: ClockLog;
  private readonly wall: () => number;
  private readonly elapsed: () => number;
  /** The time shown at `anchorElapsedMs`; since then real time has passed, and `rate` of it until `correctionMs` is made up for. */
  private anchorMs: number;
  private anchorElapsedMs: number;
  private correctionMs = 0;
  private rate = 0;
  private shownMs = 0;
  /** How far the machine's clock was set, and when that was seen first; null: it was not. */
  private step: { aheadMs: number; sinceMs: number; isTold: boolean } | null = null;
  private isSlowed = false;

  constructor({ log, notBeforeMs = 0, wall = machineMs, elapsed = elapsedMs }: SystemClockOptions) {
    this.log = log;
    this.wall = wall;
    this.elapsed = elapsed;
    const wallMs = wall();
    this.anchorMs = Math.max(wallMs, notBeforeMs);
    this.anchorElapsedMs = elapsed();
    if (this.anchorMs - wallMs > STEP_MS) this.slowDown(wallMs - this.anchorMs);
    this.look(this.anchorElapsedMs);
  }

  nowMs(): number {
    const elapsedMs = this.elapsed();
    if (elapsedMs - this.anchorElapsedMs >= LOOK_MS) this.look(elapsedMs);
    // What is lost in rounding must not be seen.
    this.shownMs = Math.max(this.shownMs, Math.floor(this.runningMs(elapsedMs)));
    return this.shownMs;
  }

  delayUntilMs(atMs: number): number {
    if (this.nowMs() >= atMs) return 0;
    return Math.max(1, Math.ceil((atMs - this.runningMs(this.elapsed())) / (1 + SLEW)));
  }

  private runningMs(elapsedMs: number): number {
    const passedMs = elapsedMs - this.anchorElapsedMs;
    const madeUpMs = Math.min(passedMs * this.rate, Math.abs(this.correctionMs));
    return this.anchorMs + passedMs + Math.sign(this.correctionMs) * madeUpMs;
  }

  private look(elapsedMs: number): void {
    this.anchorMs = this.runningMs(elapsedMs);
    this.anchorElapsedMs = elapsedMs;
    const aheadMs = this.wall() - this.anchorMs;
    this.correctionMs = 0;
    if (aheadMs >= -STEP_MS) this.isSlowed = false;
    if (Math.abs(aheadMs) <= STEP_MS) {
      this.step = null;
      this.makeUpFor(aheadMs, SLEW);
    } else if (this.isSlowed) this.makeUpFor(aheadMs, SLOWING);
    else this.meetStep(aheadMs, elapsedMs);
  }

  private makeUpFor(aheadMs: number, rate: number): void {
    this.correctionMs = aheadMs;
    this.rate = rate;
  }

  /** The machine's clock is elsewhere: has been for long enough, or may be back in a moment. */
  private meetStep(aheadMs: number, elapsedMs: number): void {
    if (this.step === null || Math.abs(aheadMs - this.step.aheadMs) > STEP_MS) {
      this.step = { aheadMs, sinceMs: elapsedMs, isTold: false };
      this.log.warn(
        { aheadMs: Math.round(aheadMs) },
        'the clock of the machine was set; followed if it stays so',
      );
    } else if (elapsedMs - this.step.sinceMs >= CONFIRM_MS) this.follow(aheadMs, this.step);
  }

  private follow(aheadMs: number, step: { isTold: boolean }): void {
    if (aheadMs < 0) {
      this.slowDown(aheadMs);
      this.makeUpFor(aheadMs, SLOWING);
    } else if (aheadMs <= JUMP_MS_MAX) {
      this.log.warn(
        { aheadMs: Math.round(aheadMs) },
        'the time of the exchange jumps to that of the machine',
      );
      this.anchorMs += aheadMs;
      this.step = null;
    } else if (!step.isTold) {
      step.isTold = true;
      const text =
        'the machine is more than an hour ahead, and is not followed: start again when its clock is right';
      this.log.error({ aheadMs: Math.round(aheadMs) }, text);
    }
  }

  private slowDown(aheadMs: number): void {
    this.isSlowed = true;
    this.step = null;
    const fields = { behindMs: Math.round(-aheadMs) };
    this.log.warn(
      fields,
      'the machine is behind the exchange, whose time goes at half speed until it is not',
    );
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
