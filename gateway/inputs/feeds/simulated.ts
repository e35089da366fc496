/**
 * Prices made up on the spot: a geometric random walk per asset, for running the exchange without the world.
 * The same seed and the same clock give the same prices. Floats are fine here; a price is rounded to the cent as
 * it leaves.
 */
import type { Clock } from '../../time/clock.js';
import type { PriceFeed, PriceSink } from './price-feed.js';
import { normalRandom, uniformRandom } from './random.js';

export interface SimulatedAsset {
  symbol: string;
  /** Where the walk starts: the last price that the exchange knows, else some round number. */
  startPriceMicros: number;
  /** Standard deviation of the price's logarithm over a year: 0.5 is 50%. */
  annualVolatility: number;
}

/** Where the well-known assets start at a first boot. */
export const SIMULATED_ASSETS: readonly SimulatedAsset[] = [
  { symbol: 'BTC', startPriceMicros: 95_000_000_000, annualVolatility: 0.5 },
  { symbol: 'ETH', startPriceMicros: 3_300_000_000, annualVolatility: 0.6 },
  { symbol: 'SOL', startPriceMicros: 190_000_000, annualVolatility: 0.6 },
];

export interface SimulatedFeedOptions {
  assets: readonly SimulatedAsset[];
  clock: Clock;
  /** Any text. At a restart, one that differs from the last, or the prices move as they did before. */
  seed: string;
  /** Exchange time between two prices of an asset. */
  intervalMs?: number;
}

const YEAR_MS = 365.25 * 86_400_000;
const MICROS_PER_CENT = 10_000;
/** The walk is kept between a dollar cent and a million dollars, well within what the engine accepts. */
const MAX_CENTS = 100_000_000;
/** A walk that was held up (a suspended machine) makes up for at most this much time in one step. */
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
    if (this.timer !== null) throw new Error('the feed is started once only');
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
    for (const walk of this.walks) sink(walk.symbol, nextCents(walk, stepMs) * MICROS_PER_CENT, atMs);
  }
}

/** Without drift: the expected price is the last one, hence the half variance that is taken off. */
function nextCents(walk: Walk, stepMs: number): number {
  const deviation = walk.volatilityPerMs * Math.sqrt(stepMs);
  const logCents = walk.logCents + deviation * walk.normal() - (deviation * deviation) / 2;
  walk.logCents = Math.min(Math.max(logCents, 0), Math.log(MAX_CENTS));
  return Math.round(Math.exp(walk.logCents));
}
