/**
 * Token buckets, one per key: a burst of tokens, refilled at a rate. A bucket is stored as the time
 * at which it will be full (the generic cell rate algorithm, ITU-T I.371); full buckets are not
 * stored. Beyond `keysMax`, a new bucket replaces the oldest, so a flood of keys costs accuracy,
 * never memory.
 */

export interface Rate {
  perSecond: number;
  burst: number;
}

export type ElapsedMs = () => number;

const KEYS_MAX = 100_000;
/** Old buckets checked per new one. More than one, so that full buckets do not accumulate. */
const VISITS_PER_NEW = 2;
/** Tolerance for rounding errors, as a fraction of a token. */
const ROUNDING = 1e-6;

export class TokenBuckets<Key> {
  private readonly fullAtMs = new Map<Key, number>();
  private sweep: Iterator<[Key, number]> = this.fullAtMs.entries();
  private readonly tokenMs: number;
  private readonly capacityMs: number;
  private debtMs = 0;

  constructor(
    private readonly rate: Rate,
    private readonly keysMax = KEYS_MAX,
  ) {
    this.tokenMs = 1_000 / rate.perSecond;
    this.capacityMs = rate.burst * this.tokenMs;
  }

  get size(): number {
    return this.fullAtMs.size;
  }

  /** Time until the bucket has `count` tokens, or, for more than the burst, is full. */
  waitMs(key: Key, count: number, nowMs: number): number {
    this.debtMs = this.debtOf(key, nowMs);
    const neededMs = Math.min(count * this.tokenMs, this.capacityMs);
    const lackMs = this.debtMs + neededMs - this.capacityMs;
    return lackMs <= ROUNDING * this.tokenMs ? 0 : lackMs;
  }

  take(key: Key, count: number, nowMs: number): boolean {
    if (this.waitMs(key, count, nowMs) > 0) return false;
    this.owe(key, count, nowMs);
    return true;
  }

  owe(key: Key, count: number, nowMs: number): void {
    this.debtMs = this.debtOf(key, nowMs) + count * this.tokenMs;
    if (!this.fullAtMs.has(key)) this.makeRoom(nowMs);
    this.fullAtMs.set(key, nowMs + this.debtMs);
  }

  giveBack(key: Key, count: number): void {
    const fullAtMs = this.fullAtMs.get(key);
    if (fullAtMs !== undefined) this.fullAtMs.set(key, fullAtMs - count * this.tokenMs);
  }

  /** The last bucket used, as values of the RateLimit headers, in units of `1 / times` tokens. */
  state(times = 1): { limit: number; remaining: number; resetSeconds: number } {
    const tokens = (this.capacityMs - this.debtMs) / this.tokenMs;
    const remaining = Math.floor(tokens * times + ROUNDING);
    return {
      limit: this.rate.burst * times,
      remaining: Math.max(0, remaining),
      resetSeconds: Math.ceil(this.debtMs / 1_000),
    };
  }

  private debtOf(key: Key, nowMs: number): number {
    const fullAtMs = this.fullAtMs.get(key);
    return fullAtMs === undefined || fullAtMs < nowMs ? 0 : fullAtMs - nowMs;
  }

  private makeRoom(nowMs: number): void {
    for (let i = 0; i < VISITS_PER_NEW; i++) {
      const next = this.sweep.next();
      if (next.done === true) this.sweep = this.fullAtMs.entries();
      else if (next.value[1] <= nowMs) this.fullAtMs.delete(next.value[0]);
    }
    if (this.fullAtMs.size < this.keysMax) return;
    const oldest = this.fullAtMs.keys().next();
    if (oldest.done !== true) this.fullAtMs.delete(oldest.value);
  }
}
