/** The house's losses in an hour and a day, and to takers who know more. */

const HALF_LIFE_MS = 1_800_000;
const MAX_EXTRA_DEVIATIONS = 6;
/** A fill is compared with the prices of this time. */
const HELD_MS = 30_000;

/** A tick per share, so that a fair value that cannot move does not divide by zero. */
const LEAST_VARIANCE = 1_000 ** 2;

interface Fill {
  /** Lots of UP: negative if the house sold. */
  lots: number;
  atMs: number;
}

/**
 * How the fair value moves after the house's fills in an asset's active market: against the house
 * if takers know what comes. Each fill counts for half a minute, at most until its market ends.
 * What takers pay does not count, so customers do not hide the informed. The moves fade and never
 * add up to a gain: gains do not offset later losses.
 */
export class FillLosses {
  private held: Fill[] = [];
  private marketId = 0;
  private fairTicks = 0;
  private lostMicros = 0;
  /** The variance of the same moves if takers know nothing. */
  private variance = 0;
  private atMs = 0;

  filled(marketId: number, fill: Fill): void {
    if (marketId === this.marketId) this.held.push(fill);
  }

  /** Net lots of UP. */
  get heldLots(): number {
    return this.held.reduce((sum, fill) => sum + fill.lots, 0);
  }

  /** `deviationTicks`: the standard deviation of the fair value's move since the last call. */
  moved(marketId: number, fairTicks: number, deviationTicks: number, nowMs: number): void {
    if (marketId !== this.marketId) this.held = [];
    const lots = this.heldLots;
    const fade = this.fade(nowMs);
    this.lostMicros = Math.max(0, this.lostMicros * fade - lots * (fairTicks - this.fairTicks));
    this.variance = this.variance * fade + (lots * deviationTicks) ** 2;
    this.held = this.held.filter((fill) => fill.atMs > nowMs - HELD_MS);
    this.marketId = marketId;
    this.fairTicks = fairTicks;
    this.atMs = nowMs;
  }

  /** How many standard deviations the losses exceed what chance explains, which is one. */
  extraDeviations(nowMs: number): number {
    const fade = this.fade(nowMs);
    const lostMicros = this.lostMicros * fade;
    if (lostMicros === 0) return 0;
    const deviations = lostMicros / Math.sqrt(this.variance * fade + LEAST_VARIANCE);
    return Math.min(Math.max(0, deviations - 1), MAX_EXTRA_DEVIATIONS);
  }

  private fade(nowMs: number): number {
    return 0.5 ** ((nowMs - this.atMs) / HALF_LIFE_MS);
  }
}

const HOUR_MS = 3_600_000;
/** Fractions of its funds that the house may lose in each period. */
const PERIODS = [
  { lengthMs: HOUR_MS, share: 1 / 20 },
  { lengthMs: 24 * HOUR_MS, share: 1 / 10 },
];

/** The periods are hours and days in UTC. */
export class LossLimit {
  private readonly periods: { number: number; profitMicros: number }[] = [];
  private wasReached = false;

  constructor(private readonly fundsMicros: number) {}

  /** `isNew`: the result differs from the last check's. */
  check(profitMicros: number, nowMs: number): { isReached: boolean; isNew: boolean } {
    const isReached = PERIODS.some(({ lengthMs, share }, i) => {
      const number = Math.floor(nowMs / lengthMs);
      if (this.periods[i]?.number !== number) this.periods[i] = { number, profitMicros };
      return this.periods[i]!.profitMicros - profitMicros > this.fundsMicros * share;
    });
    const isNew = isReached !== this.wasReached;
    this.wasReached = isReached;
    return { isReached, isNew };
  }
}
