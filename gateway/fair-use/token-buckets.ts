/**
 * Token buckets, one for each key: so many tokens at once, and so many per second in the long run.
 *
 * A bucket is kept as one number, the moment at which it is full again (the generic cell rate algorithm, ITU-T I.371). One that
 * is full is as good as none, so it is forgotten.
 *
 * Always holds: at most `keysMax` buckets are kept. If that many are in use at once, the oldest is forgotten for a new one, so
 * that a flood of keys costs accuracy and never memory.
 */

export interface Rate {
  perSecond: number;
  /** Tokens of a full bucket. */
  burst: number;
}

/** Real time, in milliseconds. */
export type ElapsedMs = () => number;

const KEYS_MAX = 100_000;
/** Buckets that are looked at for each new one: twice as many as come, so the full ones do not pile up. */
const LOOKED_AT = 2;
/** Of a token: what adding up fractions of milliseconds may be off by. */
const ROUNDING = 1e-6;

export class TokenBuckets<Key> {
  private readonly fullAtMs = new Map<Key, number>();
  private looking: Iterator<[Key, number]> = this.fullAtMs.entries();
  private readonly tokenMs: number;
  private readonly capacityMs: number;
  /** Of the bucket that was asked last. */
  private debtMs = 0;
  private lackMs = 0;

  constructor(
    private readonly rate: Rate,
    private readonly keysMax = KEYS_MAX,
  ) {
    this.tokenMs = 1_000 / rate.perSecond;
    this.capacityMs = rate.burst * this.tokenMs;
  }

  /** Buckets that are kept. */
  get size(): number {
    return this.fullAtMs.size;
  }

  /** Whether `count` tokens are there. */
  has(key: Key, count: number, nowMs: number): boolean {
    const lackMs = this.debtOf(key, nowMs) + count * this.tokenMs - this.capacityMs;
    return lackMs <= ROUNDING * this.tokenMs;
  }

  /** Takes `count` tokens if they are there, else none. */
  take(key: Key, count: number, nowMs: number): boolean {
    const debtMs = this.debtOf(key, nowMs);
    const wantedMs = debtMs + count * this.tokenMs;
    this.lackMs = wantedMs - this.capacityMs;
    if (this.lackMs > ROUNDING * this.tokenMs) {
      this.debtMs = debtMs;
      return false;
    }
    this.debtMs = wantedMs;
    if (!this.fullAtMs.has(key)) this.makeRoom(nowMs);
    this.fullAtMs.set(key, nowMs + wantedMs);
    return true;
  }

  /** After a {@link take} that failed: milliseconds until it would not, if nobody else takes any. */
  get waitMs(): number {
    return Math.max(0, this.lackMs);
  }

  /** The bucket that was asked last, as the values of `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. */
  get state(): { limit: number; remaining: number; resetSeconds: number } {
    const remaining = Math.floor((this.capacityMs - this.debtMs) / this.tokenMs + ROUNDING);
    return {
      limit: this.rate.burst,
      remaining: Math.max(0, remaining),
      resetSeconds: Math.ceil(this.debtMs / 1_000),
    };
  }

  private debtOf(key: Key, nowMs: number): number {
    const fullAtMs = this.fullAtMs.get(key);
    return fullAtMs === undefined || fullAtMs < nowMs ? 0 : fullAtMs - nowMs;
  }

  private makeRoom(nowMs: number): void {
    for (let i = 0; i < LOOKED_AT; i++) {
      const next = this.looking.next();
      if (next.done === true) this.looking = this.fullAtMs.entries();
      else if (next.value[1] <= nowMs) this.fullAtMs.delete(next.value[0]);
    }
    if (this.fullAtMs.size < this.keysMax) return;
    const oldest = this.fullAtMs.keys().next();
    if (oldest.done !== true) this.fullAtMs.delete(oldest.value);
  }
}
