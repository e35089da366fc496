/** The event loop's delay: per quantile, the larger of this window's and the previous one's. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { elapsedMs } from './clock.js';

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

  quantiles(): (readonly [quantile: string, seconds: number])[] {
    const current = QUANTILES.map((quantile) => this.histogram.percentile(quantile * 100) / 1e9);
    const { before } = this;
    const worst = QUANTILES.map(
      (quantile, i) => [`${quantile}`, Math.max(current[i]!, before[i]!)] as const,
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
