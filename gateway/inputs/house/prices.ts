/**
 * One asset's recent prices: the last minutes, for the average that becomes a market's end price,
 * the volatility, and how old the last one can be. Lost at a restart and rebuilt from the first
 * prices.
 */

const KEPT_MS = 180_000;
/** Moves over a shorter time reflect the order book's noise rather than the price. */
const SAMPLE_MS = 1_000;
const HALF_LIFE_MS = 300_000;
/** The age of a price when the next one comes: until it is measured, and the weight of each. */
const ASSUMED_HORIZON_MS = 250;
const HORIZON_WEIGHT = 1 / 16;
/** An outage is not a habit: an age counts as at most this multiple of the mean. */
const MAX_HORIZON_GROWTH = 4;
const YEAR_MS = 365.25 * 86_400_000;

/** Standard deviation of the price's logarithm over a year: initial, minimum and maximum. */
const ASSUMED_ANNUAL = 0.6;
const ASSUMED_ERROR = 0.05;
const MIN_ANNUAL = 0.25;
const MAX_ANNUAL = 5;

export interface ObservedPrice {
  priceMicros: number;
  observedAtMs: number;
}

export class RecentPrices {
  private readonly prices: ObservedPrice[] = [];
  private sampledMicros = 0;
  private sampledAtMs = 0;
  /** Sums of squared moves of the logarithm and of their durations, both decaying. */
  private squares = ASSUMED_ANNUAL ** 2 * (HALF_LIFE_MS / YEAR_MS);
  private squaresMs = HALF_LIFE_MS;
  /** Sum of squared durations: the fewer moves there are, the less is known. */
  private durationSquares = 2 * (ASSUMED_ERROR * HALF_LIFE_MS) ** 2;
  private meanHorizonMs: number | null = null;

  /** `nowMs`: when it came. Ignores a price that is older than the last one. */
  add(price: ObservedPrice, nowMs: number): void {
    const { priceMicros, observedAtMs } = price;
    const { last } = this;
    if (last !== null && observedAtMs < last.observedAtMs) return;
    if (last !== null) this.measureHorizon(nowMs - last.observedAtMs);
    this.prices.push(price);
    // Keeps the price that was in force at the start of the kept time.
    while (this.prices.length > 1 && this.prices[1]!.observedAtMs <= observedAtMs - KEPT_MS)
      this.prices.shift();
    this.sample(priceMicros, observedAtMs);
  }

  get last(): ObservedPrice | null {
    return this.prices.at(-1) ?? null;
  }

  /** How old the last price usually is when the next one comes: the interval and the delay. */
  get horizonMs(): number {
    return this.meanHorizonMs ?? ASSUMED_HORIZON_MS;
  }

  /** Standard deviation of the price's logarithm over a millisecond. */
  get volatility(): number {
    const annual = Math.sqrt((this.squares / this.squaresMs) * YEAR_MS);
    return Math.min(Math.max(annual, MIN_ANNUAL), MAX_ANNUAL) / Math.sqrt(YEAR_MS);
  }

  /** Standard error of the volatility's logarithm. */
  get volatilityError(): number {
    return Math.sqrt(this.durationSquares / 2) / this.squaresMs;
  }

  /** Time-weighted average price over [fromMs, toMs); null: no price was in force. */
  averageMicros(fromMs: number, toMs: number): number | null {
    let sum = 0;
    let covered = 0;
    let untilMs = toMs;
    for (let i = this.prices.length - 1; i >= 0 && untilMs > fromMs; i--) {
      const { priceMicros, observedAtMs } = this.prices[i]!;
      const beganMs = Math.max(observedAtMs, fromMs);
      if (beganMs >= untilMs) continue;
      sum += priceMicros * (untilMs - beganMs);
      covered += untilMs - beganMs;
      untilMs = beganMs;
    }
    return covered === 0 ? null : sum / covered;
  }

  private measureHorizon(ageMs: number): void {
    const mean = this.meanHorizonMs ?? ageMs;
    const boundedMs = Math.min(ageMs, mean * MAX_HORIZON_GROWTH);
    this.meanHorizonMs = mean + (boundedMs - mean) * HORIZON_WEIGHT;
  }

  private sample(priceMicros: number, atMs: number): void {
    const tookMs = atMs - this.sampledAtMs;
    if (this.sampledMicros !== 0) {
      if (tookMs < SAMPLE_MS) return;
      const fade = 0.5 ** (tookMs / HALF_LIFE_MS);
      this.squares = this.squares * fade + Math.log(priceMicros / this.sampledMicros) ** 2;
      this.squaresMs = this.squaresMs * fade + tookMs;
      this.durationSquares = this.durationSquares * fade ** 2 + tookMs ** 2;
    }
    this.sampledMicros = priceMicros;
    this.sampledAtMs = atMs;
  }
}
