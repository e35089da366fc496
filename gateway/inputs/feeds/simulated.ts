/** Simulated prices: a geometric random walk per asset, rounded to cents, so doubles are safe. */
import type { Clock } from '../clock.js';
import type { PriceFeed, PriceSink } from './price-feed.js';
import { normalRandom, uniformRandom } from './random.js';

export interface SimulatedAsset {
  symbol: string;
  /** Start of the walk: the last known price, or a round number. */
  startPriceMicros: number;
  /** Standard deviation of the price's logarithm over a year: 0.5 means 50%. */
  annualVolatility: number;
}

export const SIMULATED_ASSETS: readonly SimulatedAsset[] = [
  { symbol: 'BTC', startPriceMicros: 95_000_000_000, annualVolatility: 0.5 },
  { symbol: 'ETH', startPriceMicros: 3_300_000_000, annualVolatility: 0.6 },
  { symbol: 'SOL', startPriceMicros: 190_000_000, annualVolatility: 0.6 },
];

interface SimulatedFeedOptions {
  assets: readonly SimulatedAsset[];
  clock: Clock;
  /** Must differ at each restart, otherwise prices repeat their moves. */
  seed: string;
  /** Exchange time between two prices of one asset. */
  intervalMs?: number;
}

const YEAR_MS = 365.25 * 86_400_000;
const MICROS_PER_CENT = 10_000;
/** Upper bound of the walk; the lower one is a cent. Well within the engine's limits. */
const MAX_CENTS = 100_000_000;
/** Also after a pause such as a suspended machine. */
const MAX_STEP_MS = 60_000;

interface Walk {
  readonly symbol: string;
  readonly normal: () => number;
  readonly volatilityPerMs: number;
  logCents: number;
}

export class SimulatedFeed implements PriceFeed {
  private readonly clock: Clock;
  private readonly intervalMs: number;
  private readonly walks: Walk[];
  private timer: NodeJS.Timeout | null = null;
  private steppedAtMs = 0;

  constructor(options: SimulatedFeedOptions) {
    this.clock = options.clock;
    this.intervalMs = options.intervalMs ?? 250;
    this.walks = options.assets.map((asset) => ({
      symbol: asset.symbol,
      normal: normalRandom(uniformRandom(`${options.seed}:${asset.symbol}`)),
      volatilityPerMs: asset.annualVolatility / Math.sqrt(YEAR_MS),
      logCents: Math.log(asset.startPriceMicros / MICROS_PER_CENT),
    }));
  }

  start(sink: PriceSink): void {
    if (this.timer !== null) throw new Error('the feed can only be started once');
    this.steppedAtMs = this.clock.nowMs();
    const step = (): void => {
      this.step(sink);
      if (this.timer !== null) this.timer = this.timerFor(this.steppedAtMs + this.intervalMs, step);
    };
    this.timer = this.timerFor(this.steppedAtMs, step);
  }

  stop(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    return Promise.resolve();
  }

  private timerFor(atMs: number, step: () => void): NodeJS.Timeout {
    return setTimeout(step, this.clock.delayUntilMs(atMs));
  }

  private step(sink: PriceSink): void {
    const atMs = this.clock.nowMs();
    const stepMs = Math.min(atMs - this.steppedAtMs, MAX_STEP_MS);
    this.steppedAtMs = atMs;
    for (const walk of this.walks)
      sink(walk.symbol, nextCents(walk, stepMs) * MICROS_PER_CENT, atMs);
  }
}

/** No drift: half the variance is subtracted, so that the expected price is the last one. */
function nextCents(walk: Walk, stepMs: number): number {
  const deviation = walk.volatilityPerMs * Math.sqrt(stepMs);
  const logCents = walk.logCents + deviation * walk.normal() - (deviation * deviation) / 2;
  walk.logCents = Math.min(Math.max(logCents, 0), Math.log(MAX_CENTS));
  return Math.round(Math.exp(walk.logCents));
}
