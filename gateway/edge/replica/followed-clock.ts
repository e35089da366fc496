/**
 * The exchange's time on a replica: the time of the last applied command, plus the time since. The
 * machine's clock is not read: it may be wrong, or slower than the exchange's time (FEED_SPEED).
 *
 * Invariant: time never goes back, and is at most a real second ahead of the last command.
 */
import { type Clock, MAX_TIMER_MS } from '../../inputs/clock.js';
import { elapsedMs } from '../../observe/clock.js';

const AHEAD_MS_MAX = 1_000;

export class FollowedClock implements Clock {
  private lastMs = 0;
  private appliedAtMs = elapsedMs();

  constructor(
    private readonly engine: { readonly nowMs: number },
    private readonly speed: number,
  ) {}

  /** Call when commands were applied. */
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
