/** A histogram with bounds in powers of two, so a value's bucket is found without a search. */
import type { Metric, Registry } from 'prom-client';

export interface Buckets {
  /** The smallest bound, in the values' unit. Each further bound is twice as large. */
  smallest: number;
  bounds: number;
  /** Factor from the values' unit to the metric's, such as 0.001 from milliseconds to seconds. */
  scale: number;
}

interface DistributionOptions extends Buckets {
  name: string;
  help: string;
}

export class Distribution {
  private readonly counts: Float64Array;
  private total = 0;
  private sum = 0;

  constructor(private readonly options: DistributionOptions) {
    this.counts = new Float64Array(options.bounds + 1);
  }

  /** A value equal to a bound counts below it. */
  observe(value: number, times = 1): void {
    const { smallest, bounds } = this.options;
    // ceil(log2) of the multiple of the smallest bound, by leading zeros of a 32-bit integer.
    const multiple = Math.ceil(value / smallest);
    const place = multiple <= 1 ? 0 : 32 - Math.clz32(Math.min(multiple, 0x8000_0000) - 1);
    this.counts[Math.min(place, bounds)]! += times;
    this.total += times;
    this.sum += times * value;
  }

  get count(): number {
    return this.total;
  }

  register(registry: Registry): void {
    const { name, help } = this.options;
    const metric = {
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      get: () => this.values(),
      reset: () => {},
    };
    // A registry only reads a metric's values, but its type allows only the built-in kinds.
    registry.registerMetric(metric as unknown as Metric);
  }

  private values(): unknown {
    const { name, help, scale, smallest } = this.options;
    const values: { metricName: string; labels: object; value: number }[] = [];
    let below = 0;
    this.counts.forEach((count, place) => {
      below += count;
      const isLast = place === this.counts.length - 1;
      const le = isLast ? '+Inf' : Number((smallest * 2 ** place * scale).toPrecision(6));
      values.push({ metricName: `${name}_bucket`, labels: { le }, value: below });
    });
    values.push({ metricName: `${name}_sum`, labels: {}, value: this.sum * scale });
    values.push({ metricName: `${name}_count`, labels: {}, value: this.total });
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}
