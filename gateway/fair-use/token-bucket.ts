/** One token bucket: so many tokens at once, and so many per second in the long run. Those that are told apart by a key: token-buckets.ts. */
import type { Rate } from './token-buckets.js';

export class TokenBucket {
  private tokens: number;

  /** Full at `lastMs`; all times are real milliseconds. */
  constructor(
    private readonly rate: Rate,
    private lastMs: number,
  ) {
    this.tokens = rate.burst;
  }

  /** Takes `count` tokens if they are there. */
  take(count: number, nowMs: number): boolean {
    const { burst, perSecond } = this.rate;
    const gained = ((nowMs - this.lastMs) * perSecond) / 1_000;
    this.lastMs = nowMs;
    this.tokens = Math.min(burst, this.tokens + gained);
    if (this.tokens < count) return false;
    this.tokens -= count;
    return true;
  }
}
