/** An asset's last price, and how old prices usually become. Not kept over a restart. */

/** The assumed first value, and each sample's weight. */
const ASSUMED_HORIZON_MS = 250;
const HORIZON_WEIGHT = 1 / 16;
/** An outage counts as at most this multiple of the mean. */
const MAX_HORIZON_GROWTH = 4;

export interface ObservedPrice {
  priceMicros: number;
  observedAtMs: number;
}

export class PriceAges {
  /** null: no price yet. */
  lastAtMs: number | null = null;
  private meanMs: number | null = null;

  /** `nowMs`: the arrival time. Ignores prices older than the last one. */
  add({ observedAtMs }: ObservedPrice, nowMs: number): void {
    const { lastAtMs } = this;
    if (lastAtMs !== null && observedAtMs < lastAtMs) return;
    if (lastAtMs !== null) this.measure(nowMs - lastAtMs);
    this.lastAtMs = observedAtMs;
  }

  /** Mean interval between prices plus their delay. */
  get horizonMs(): number {
    return this.meanMs ?? ASSUMED_HORIZON_MS;
  }

  private measure(ageMs: number): void {
    const mean = this.meanMs ?? ageMs;
    const boundedMs = Math.min(ageMs, mean * MAX_HORIZON_GROWTH);
    this.meanMs = mean + (boundedMs - mean) * HORIZON_WEIGHT;
  }
}
