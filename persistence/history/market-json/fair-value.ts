/**
 * The fair value of a share of UP: the probability that a market's end price is at least its start
 * price, for a price that follows a Brownian motion without drift. Pure functions. Floats are safe:
 * quotes are planned in integers.
 *
 * The end price is the average over the market's last minute. Before that minute, the average of a
 * Brownian motion over [T - W, T] has the variance of the motion up to T - W, plus W / 3. Within
 * it, the elapsed part is known, and the remaining time r has the weight r / W.
 */

/** The last minute of a window, over which the end price is averaged. */
export const AVERAGED_MS = 60_000;

export interface FairValueInput {
  priceMicros: number;
  startPriceMicros: number;
  /** Time until the market ends, at least 0. */
  remainingMs: number;
  /** The average so far over the market's last minute; only read once that has begun. */
  averageMicros: number;
  /** Standard deviation of the price's logarithm over a millisecond. */
  volatility: number;
}

export interface FairValue {
  /** Probability of UP, 0 to 1. */
  probability: number;
  /** Standard deviation of that probability over the next second. */
  perSecond: number;
}

export function fairValue(input: FairValueInput): FairValue {
  const { priceMicros, startPriceMicros, remainingMs, volatility } = input;
  /** The weight of future prices in the end price. */
  const weight = Math.min(remainingMs / AVERAGED_MS, 1);
  const varianceMs =
    weight === 1 ? remainingMs - (AVERAGED_MS * 2) / 3 : (weight * weight * remainingMs) / 3;
  const mean =
    weight === 1 ? priceMicros : weight * priceMicros + (1 - weight) * input.averageMicros;
  const deviation = priceMicros * volatility * Math.sqrt(varianceMs);
  const distance = mean - startPriceMicros;
  if (deviation === 0) return { probability: distance >= 0 ? 1 : 0, perSecond: 0 };
  const z = distance / deviation;
  const movePerSecond = weight * priceMicros * volatility * Math.sqrt(1_000);
  return {
    probability: normalCdf(z),
    perSecond: (normalDensity(z) / deviation) * movePerSecond,
  };
}

export function normalDensity(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}

/** Coefficients of Hart's algorithm 5666, highest power first. */
const NUMERATOR = [
  0.0352624965998911, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871,
  221.213596169931, 220.206867912376,
];
const DENOMINATOR = [
  0.0883883476483184, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674,
  637.333633378831, 793.826512519948, 440.413735824752,
];

/**
 * Probability that a standard normal number is at most x, to about 1e-15: J. F. Hart, Computer
 * Approximations (1968), no. 5666, as given by G. West, "Better approximations to cumulative normal
 * functions" (2005).
 */
export function normalCdf(x: number): number {
  const size = Math.abs(x);
  const tail = size > 37 ? 0 : upperTail(size);
  return x > 0 ? 1 - tail : tail;
}

function upperTail(x: number): number {
  const exponential = Math.exp((-x * x) / 2);
  if (x < 7.07106781186547)
    return (exponential * polynomial(NUMERATOR, x)) / polynomial(DENOMINATOR, x);
  const fraction = x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))));
  return exponential / fraction / Math.sqrt(2 * Math.PI);
}

function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);
}
