/** So many at once, and so many per second in the long run. Time is passed in, in real milliseconds. */
export class TokenBucket {
  private tokens: number;

  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private lastMs: number,
  ) {
    this.tokens = burst;
  }

  /** Takes `count` tokens if they are there. */
  take(count: number, nowMs: number): boolean {
    const gained = ((nowMs - this.lastMs) * this.perSecond) / 1_000;
    this.lastMs = nowMs;
    this.tokens = Math.min(this.burst, this.tokens + gained);
    if (this.tokens < count) return false;
    this.tokens -= count;
    return true;
  }
}
