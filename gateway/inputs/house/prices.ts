/** One asset's last price, and how old it usually is when the next one comes. Lost at a restart. */

/** The age of a price when the next one comes: until it is measured, and the weight of each. */
const ASSUMED_HORIZON_MS = 250;
const HORIZON_WEIGHT = 1 / 16;
/** An outage is not a habit: an age counts as at most this multiple of the mean. */
const MAX_HORIZON_GROWTH = 4;

export interface ObservedPrice {
  priceMicros: number;
  observedAtMs: number;
}

export class PriceAges {
  /** When the last price was observed; null: none has come. */
  lastAtMs: number | null = null;
  private meanMs: number | null = null;

  /** `nowMs`: when it came. Ignores a price that is older than the last one. */
  add({ observedAtMs }: ObservedPrice, nowMs: number): void {
    const { lastAtMs } = this;
    if (lastAtMs !== null && observedAtMs < lastAtMs) return;
    if (lastAtMs !== null) this.measure(nowMs - lastAtMs);
    this.lastAtMs = observedAtMs;
  }

  /** The interval between prices and their delay. */
  get horizonMs(): number {
    return this.meanMs ?? ASSUMED_HORIZON_MS;
  }

  private measure(ageMs: number): void {
    const mean = this.meanMs ?? ageMs;
    const boundedMs = Math.min(ageMs, mean * MAX_HORIZON_GROWTH);
    this.meanMs = mean + (boundedMs - mean) * HORIZON_WEIGHT;
  }
}
