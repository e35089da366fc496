/** The house's losses: to better informed takers, and within an hour and a day. */

/** Half of a loss is forgotten after this time. */
const HALF_LIFE_MS = 1_800_000;
/** Bounds the extra spread, however large the losses. */
const MAX_EXTRA_DEVIATIONS = 6;

interface Fill {
  marketId: number;
  upTicks: number;
  /** Lots of UP: positive if the house bought, negative if it sold. */
  lots: number;
  atMs: number;
  /** The fair value's standard deviation up to the price that the fill is compared with. */
  deviationTicks: number;
}

/**
 * The net loss of fills in an asset's markets, measured by the fair value at the first price that a
 * taker cannot have known. The loss fades with time and is never negative: gains do not offset
 * later losses.
 */
export class FillLosses {
  private readonly fills: Fill[] = [];
  private lostMicros = 0;
  /** The variance of the same fills' losses if only chance caused them. */
  private variance = 0;
  private fadedAtMs = 0;

  filled(fill: Fill): void {
    this.fills.push(fill);
  }

  /** Compares the fills up to `beforeMs`. Fills in other markets are dropped. */
  mark(marketId: number, fairTicks: number, beforeMs: number): void {
    while (this.fills.length > 0 && this.fills[0]!.atMs <= beforeMs) {
      const fill = this.fills.shift()!;
      if (fill.marketId !== marketId) continue;
      const fade = this.fade(fill.atMs);
      const gainedMicros = fill.lots * (fairTicks - fill.upTicks);
      this.lostMicros = Math.max(0, this.lostMicros * fade - gainedMicros);
      this.variance = this.variance * fade + (fill.lots * fill.deviationTicks) ** 2;
      this.fadedAtMs = fill.atMs;
    }
  }

  /** How many standard deviations the losses exceed what chance explains, which is one. */
  extraDeviations(nowMs: number): number {
    if (this.lostMicros === 0) return 0;
    const deviations = (this.lostMicros / Math.sqrt(this.variance)) * Math.sqrt(this.fade(nowMs));
    return Math.min(Math.max(0, deviations - 1), MAX_EXTRA_DEVIATIONS);
  }

  private fade(nowMs: number): number {
    return 0.5 ** ((nowMs - this.fadedAtMs) / HALF_LIFE_MS);
  }
}

const HOUR_MS = 3_600_000;
/** Periods, and the fraction of its funds that the house may lose in each. */
const PERIODS = [
  { lengthMs: HOUR_MS, share: 1 / 20 },
  { lengthMs: 24 * HOUR_MS, share: 1 / 10 },
];

/** Detects that the house has lost too much since the hour or the day began (UTC). */
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
