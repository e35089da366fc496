/**
 * What the house remembers of one asset's prices: the last minutes themselves, for the average that becomes a market's
 * end price, and how much the price moves. Lost at a restart; the first prices bring it back.
 */

const KEPT_MS = 180_000;
/** Closer moves say more of the order book's noise than of the price. */
const SAMPLE_MS = 1_000;
const HALF_LIFE_MS = 300_000;
const YEAR_MS = 365.25 * 86_400_000;

/** Standard deviations of the price's logarithm over a year: what is assumed at first, at least and at most. */
const ASSUMED_ANNUAL = 0.6;
const MIN_ANNUAL = 0.25;
const MAX_ANNUAL = 5;

export class RecentPrices {
  private readonly prices: { priceMicros: number; observedAtMs: number }[] = [];
  private sampledMicros = 0;
  private sampledAtMs = 0;
  /** Squared moves of the logarithm and the time they took, both fading; the first minutes lean on the assumption. */
  private squares = ASSUMED_ANNUAL ** 2 * (HALF_LIFE_MS / YEAR_MS);
  private squaresMs = HALF_LIFE_MS;

  /** A price older than the last one is left out. */
  add(priceMicros: number, observedAtMs: number): void {
    const { last } = this;
    if (last !== null && observedAtMs < last.observedAtMs) return;
    this.prices.push({ priceMicros, observedAtMs });
    // The one in force when the kept time begins stays.
    while (this.prices.length > 1 && this.prices[1]!.observedAtMs <= observedAtMs - KEPT_MS)
      this.prices.shift();
    this.sample(priceMicros, observedAtMs);
  }

  get last(): { priceMicros: number; observedAtMs: number } | null {
    return this.prices.at(-1) ?? null;
  }

  /** Standard deviation of the price's logarithm over a millisecond. */
  get volatility(): number {
    const annual = Math.sqrt((this.squares / this.squaresMs) * YEAR_MS);
    return Math.min(Math.max(annual, MIN_ANNUAL), MAX_ANNUAL) / Math.sqrt(YEAR_MS);
  }

  /** Time-weighted average of the price in force over [fromMs, toMs); null when no price was. */
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

  private sample(priceMicros: number, atMs: number): void {
    const tookMs = atMs - this.sampledAtMs;
    if (this.sampledMicros !== 0) {
      if (tookMs < SAMPLE_MS) return;
      const fade = 0.5 ** (tookMs / HALF_LIFE_MS);
      this.squares = this.squares * fade + Math.log(priceMicros / this.sampledMicros) ** 2;
      this.squaresMs = this.squaresMs * fade + tookMs;
    }
    this.sampledMicros = priceMicros;
    this.sampledAtMs = atMs;
  }
}
