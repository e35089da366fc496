/**
 * The exchange's time on a replica: that of the last command that it has applied, and the real time
 * since then. The exchange's time may pass faster than real time (FEED_SPEED), and the machine's
 * clock may be wrong, so neither is asked.
 *
 * Always holds: it never goes back, and is ahead of the last command by at most a second of real
 * time: when no command comes, it stops there until the next one.
 */
import { type Clock, elapsedMs, MAX_TIMER_MS } from '../../observe/clock.js';

const AHEAD_MS_MAX = 1_000;

export class FollowedClock implements Clock {
  private lastMs = 0;
  private appliedAtMs = elapsedMs();

  constructor(
    private readonly engine: { readonly nowMs: number },
    private readonly speed: number,
  ) {}

  /** To be called when commands were applied. */
  applied(): void {
    this.appliedAtMs = elapsedMs();
  }

  nowMs(): number {
    const aheadMs = Math.min(elapsedMs() - this.appliedAtMs, AHEAD_MS_MAX) * this.speed;
    this.lastMs = Math.max(this.lastMs, Math.floor(this.engine.nowMs + aheadMs));
    return this.lastMs;
  }

  delayUntilMs(atMs: number): number {
    return Math.min(Math.max(0, (atMs - this.nowMs()) / this.speed), MAX_TIMER_MS);
  }
}
