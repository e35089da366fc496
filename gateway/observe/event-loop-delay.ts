/**
 * The recent delay of the event loop: the larger of the current window, of a minute or more, and
 * the previous one. So a stall is visible for at least a minute, however often the metrics are
 * read.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { elapsedMs } from '../time/clock.js';

const RESOLUTION_MS = 10;
const WINDOW_MS = 60_000;
const QUANTILES = [0.5, 0.99, 1] as const;

export class EventLoopDelay {
  private readonly histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private before: readonly number[] = QUANTILES.map(() => 0);
  private windowFromMs = elapsedMs();

  constructor() {
    this.histogram.enable();
  }

  /** Each quantile, in seconds. */
  quantiles(): (readonly [quantile: number, seconds: number])[] {
    const current = QUANTILES.map((quantile) => this.histogram.percentile(quantile * 100) / 1e9);
    const worst = QUANTILES.map(
      (quantile, i) => [quantile, Math.max(current[i]!, this.before[i]!)] as const,
    );
    if (elapsedMs() - this.windowFromMs >= WINDOW_MS) {
      this.before = current;
      this.histogram.reset();
      this.windowFromMs = elapsedMs();
    }
    return worst;
  }

  stop(): void {
    this.histogram.disable();
  }
}
