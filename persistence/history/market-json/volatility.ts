/**
 * How much an asset's price moves, estimated from one price after another. Pure arithmetic. Floats
 * are safe: quotes are planned in integers.
 *
 * Prices are sampled at most once a second.
 *
 * - Over t ms, a price with the volatility s moves by the variance s² × t + c. Prices that are off
 *   at random have c > 0; prices that lag, such as a median with a slow source, c < 0. Moves over
 *   two intervals tell s² from c. In both cases, the price's own error has the variance |c| / 2.
 * - Moves are weighted by memories of several lengths; after that time, 1 / e of a move's weight is
 *   left. The longest memory that agrees with all shorter ones is used. So the error is small while
 *   the volatility lasts, and a change counts in seconds.
 */

const YEAR_MS = 365.25 * 86_400_000;
export const SAMPLE_MS = 1_000;
/** The long interval, in samples; the short one is one sample. */
const LONG_SAMPLES = 16;
const MEMORIES_MS = [15_000, 60_000, 300_000, 1_200_000, 4_800_000];
/** Standard errors by which memories, and the two intervals, must differ to disagree. */
const DISAGREE = 3;
const BIASED = 2;
/** A memory whose variance has a larger relative error says nothing. */
const MAX_ERROR = 0.5;
/** After this time, 1 / e of a rise of the variance is expected to be left. */
const RISE_MS = 600_000;

/** Standard deviation of the price's logarithm over a year: before the first move, and bounds. */
const ASSUMED_ANNUAL = 0.6;
const MIN_ANNUAL = 0.05;
const MAX_ANNUAL = 5;

const perMs2 = (annual: number): number => annual ** 2 / YEAR_MS;

export interface Volatility {
  /** Standard deviation of the price's logarithm over a millisecond. */
  perMs: number;
  /** Standard error of the logarithm of `perMs`. */
  error: number;
  /** The price's own error, as the time in which the price moves by as much. */
  lagMs: number;
}

/** Moves over an interval, as a memory weighs them. At first one move of a second, assumed. */
class Moves {
  private weightMs = SAMPLE_MS;
  private sum = perMs2(ASSUMED_ANNUAL) * SAMPLE_MS;
  private squares = SAMPLE_MS ** 2;

  fade(by: number): void {
    this.weightMs *= by;
    this.sum *= by;
    this.squares *= by * by;
  }

  /** A move's variance per ms, over `overMs`; the last move was `tookMs` ago. */
  add(variance: number, overMs: number, tookMs: number): void {
    this.weightMs += tookMs;
    this.sum += variance * tookMs;
    // If moves of n steps overlap in all but one, every n steps have 3 / 2 independent moves.
    this.squares += tookMs * Math.max(tookMs, (overMs * 2) / 3);
  }

  /** Per ms. */
  get variance(): number {
    return Math.max(this.sum / this.weightMs, perMs2(MIN_ANNUAL));
  }

  /** Relative standard error of the variance. */
  get error(): number {
    return Math.sqrt(2 * this.squares) / this.weightMs;
  }
}

export class VolatilityEstimate {
  /** The last samples, the oldest first: times, and logarithms of prices. */
  private readonly samples: { atMs: number; log: number }[] = [];
  private readonly short = MEMORIES_MS.map(() => new Moves());
  /** By the longest memory. */
  private readonly long = new Moves();

  /** Ignores prices that come less than a second after the last sample, or are older. */
  add(atMs: number, priceMicros: number): void {
    const { samples } = this;
    const log = Math.log(priceMicros);
    const last = samples.at(-1);
    if (last !== undefined) {
      const tookMs = atMs - last.atMs;
      if (tookMs < SAMPLE_MS) return;
      const variance = (log - last.log) ** 2 / tookMs;
      for (const [i, moves] of this.short.entries()) {
        moves.fade(Math.exp(-tookMs / MEMORIES_MS[i]!));
        moves.add(variance, tookMs, tookMs);
      }
      this.addLong(atMs, log, tookMs);
    }
    samples.push({ atMs, log });
    if (samples.length > LONG_SAMPLES) samples.shift();
  }

  /** The mean over the time ahead: a rise passes, and a fall lasts. */
  get(aheadMs: number): Volatility {
    const shortest = this.short.at(-1)!.variance;
    const { variance: usual, error: usualError, isBiased } = this.usual();
    const noise = isBiased ? Math.max(0, shortest - usual) : 0;
    const share = isBiased ? Math.min(1, shortest / usual) : 1;
    const recent = this.recent(noise);
    const present = recent.variance / share;
    const passed = Math.max(aheadMs, 1) / RISE_MS;
    const left = (1 - Math.exp(-passed)) / passed;
    const variance = present > usual ? usual + (present - usual) * left : present;
    const change = Math.log(present / usual);
    const error = Math.hypot(recent.error, (usualError * usual) / variance / 2, change) / 2;
    const annual = Math.sqrt(variance * YEAR_MS);
    return {
      perMs: Math.min(Math.max(annual, MIN_ANNUAL), MAX_ANNUAL) / Math.sqrt(YEAR_MS),
      error: Math.min(error, 1),
      lagMs: isBiased ? (Math.abs(shortest - usual) / variance) * (SAMPLE_MS / 2) : 0,
    };
  }

  private addLong(atMs: number, log: number, tookMs: number): void {
    this.long.fade(Math.exp(-tookMs / MEMORIES_MS.at(-1)!));
    const from = this.samples.findLast((each) => atMs - each.atMs >= LONG_SAMPLES * SAMPLE_MS);
    if (from === undefined) return;
    const overMs = atMs - from.atMs;
    this.long.add((log - from.log) ** 2 / overMs, overMs, tookMs);
  }

  /** The slope by the longest memory, and whether the variance of short moves differs from it. */
  private usual(): { variance: number; error: number; isBiased: boolean } {
    const short = this.short.at(-1)!.variance;
    const long = this.long.variance * LONG_SAMPLES;
    const variance = Math.max((long - short) / (LONG_SAMPLES - 1), perMs2(MIN_ANNUAL));
    const error = (this.long.error * long) / (LONG_SAMPLES - 1) / variance;
    return { variance, error, isBiased: Math.abs(short / variance - 1) > BIASED * error };
  }

  /** `noise`: the variance of a short move that the price does not cause. */
  private recent(noise: number): { variance: number; error: number } {
    const memories = this.short.map((moves) => {
      const variance = Math.max(moves.variance - noise, perMs2(MIN_ANNUAL));
      return { variance, error: (moves.error * moves.variance) / variance };
    });
    const telling = memories.filter(
      ({ error }, i) => error < MAX_ERROR || i === memories.length - 1,
    );
    const differs = telling.findIndex((long, i) =>
      telling
        .slice(0, i)
        .some(
          ({ variance, error }) => Math.abs(Math.log(variance / long.variance)) > DISAGREE * error,
        ),
    );
    return telling.at(differs === -1 ? -1 : differs - 1)!;
  }
}
