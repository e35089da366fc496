/**
 * The exchange's clock: the machine's time of day, or a price file's time. The engine receives its
 * time as data.
 *
 * Invariant: the exchange's time never goes back, and follows changes of the machine's clock only
 * gradually. A `FeedClock` never passes the next undelivered price of its file.
 */
import { elapsedMs, machineMs } from '../observe/clock.js';

export interface Clock {
  /** Integer milliseconds since the epoch. Never goes back. */
  nowMs(): number;
  /** Real milliseconds, at most {@link MAX_TIMER_MS}. Timers may fire early: check again then. */
  delayUntilMs(atMs: number): number;
}

/** Node.js fires timers with a longer delay immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

function timerMs(waitMs: number): number {
  return Math.min(Math.max(1, Math.ceil(waitMs)), MAX_TIMER_MS);
}

const LOOK_MS = 1_000;
/** Smaller differences are corrected gradually. A larger one means that the clock was set. */
const STEP_MS = 1_000;
/** Change of speed during a gradual correction. */
const SLEW = 0.05;
/** Change of speed while the clock is ahead by more than {@link STEP_MS}. */
const SLOWING = 0.5;
/** How long the machine's clock must keep its new setting before it is followed. */
const CONFIRM_MS = 60_000;

interface ClockLog {
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

interface SystemClockOptions {
  log: ClockLog;
  /** The last time in the journal, if any. */
  notBeforeMs?: number;
  wall?: () => number;
  elapsed?: () => number;
}

/**
 * The time of day. It starts at the machine's time, then counts elapsed real time, because commands
 * in the journal cannot be undone when the machine's clock is set.
 *
 * The two clocks are compared every second. A difference of up to a second is corrected at 5% of
 * the speed. A larger forward step is never followed, because it would end markets and forget keys
 * early. A backward step that lasts a minute is followed at half speed.
 */
export class SystemClock implements Clock {
  readonly followsMachine = true;
  private readonly log: ClockLog;
  private readonly wall: () => number;
  private readonly elapsed: () => number;
  /** The time at `anchorElapsedMs`, from which it runs faster or slower by `rate`. */
  private anchorMs: number;
  private anchorElapsedMs: number;
  private correctionMs = 0;
  private rate = 0;
  private shownMs = 0;
  /** `null` if the machine's clock was not set. */
  private step: { aheadMs: number; sinceMs: number } | null = null;
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
    // Rounding must not make the time go back.
    this.shownMs = Math.max(this.shownMs, Math.floor(this.runningMs(elapsedMs)));
    return this.shownMs;
  }

  delayUntilMs(atMs: number): number {
    if (this.nowMs() >= atMs) return 0;
    return timerMs((atMs - this.runningMs(this.elapsed())) / (1 + SLEW));
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

  private meetStep(aheadMs: number, elapsedMs: number): void {
    if (this.step === null || Math.abs(aheadMs - this.step.aheadMs) > STEP_MS) {
      this.step = { aheadMs, sinceMs: elapsedMs };
      this.tellStep(Math.round(aheadMs));
    } else if (aheadMs < 0 && elapsedMs - this.step.sinceMs >= CONFIRM_MS) {
      this.slowDown(aheadMs);
      this.makeUpFor(aheadMs, SLOWING);
    }
  }

  private tellStep(aheadMs: number): void {
    if (aheadMs > 0) {
      const text =
        'the clock of the machine was set forward and is not followed: correct it; if it is right, restart the exchange';
      this.log.error({ aheadMs }, text);
    } else {
      const text = 'the clock of the machine was set back; it is followed if the change persists';
      this.log.warn({ aheadMs }, text);
    }
  }

  private slowDown(aheadMs: number): void {
    this.isSlowed = true;
    this.step = null;
    const fields = { behindMs: Math.round(-aheadMs) };
    this.log.warn(
      fields,
      'the clock of the machine is behind; the clock of the exchange runs at half speed until the two agree',
    );
  }
}

/** Real time made up for after waiting at a price. The rest of a long stall is skipped. */
const CATCH_UP_MS = 100;

/** Waits for a feed at each price of a file. A simulation calls `runTo(Infinity)` first. */
export class FeedClock implements Clock {
  private readonly speed: number;
  private readonly elapsed: () => number;
  /** Unless held, the clock shows `anchorMs` plus speed × elapsed time since then. */
  private anchorMs: number;
  private anchorElapsedMs: number;
  private heldAtMs: number;

  /** Stays at `startsAtMs` until the first `runTo`. */
  constructor(options: { startsAtMs: number; speed: number; elapsed?: () => number }) {
    if (!Number.isInteger(options.startsAtMs)) throw new Error(`not a time: ${options.startsAtMs}`);
    if (!(options.speed > 0 && Number.isFinite(options.speed)))
      throw new Error(
        `the speed of a feed's clock must be a positive number, not ${options.speed}`,
      );
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
    return timerMs((atMs - this.runningMs()) / this.speed);
  }

  /** `atMs`: the time of the next undelivered price. Never decreases. */
  runTo(atMs: number): void {
    if (atMs < this.heldAtMs)
      throw new Error(`the clock may already run to ${this.heldAtMs}, which is after ${atMs}`);
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
