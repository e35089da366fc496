/**
 * Parses the exchange's metrics in Prometheus' text format: sums of samples, and changes between
 * two readings.
 */
interface Sample {
  name: string;
  labels: ReadonlyMap<string, string>;
  value: number;
}

type Labels = Readonly<Record<string, string>>;

export class Metrics {
  private readonly byName = new Map<string, Sample[]>();

  /** `atMs` is when the text was read, by any steady clock. */
  constructor(
    text: string,
    readonly atMs: number,
  ) {
    for (const line of text.split('\n')) {
      const sample = sampleOf(line);
      if (sample === null) continue;
      const others = this.byName.get(sample.name);
      if (others === undefined) this.byName.set(sample.name, [sample]);
      else others.push(sample);
    }
  }

  /** The sum of all samples with these labels; `null` if the exchange reports none now. */
  sum(name: string, labels: Labels = {}): number | null {
    const found = this.samples(name).filter(({ labels: has }) =>
      Object.entries(labels).every(([label, value]) => has.get(label) === value),
    );
    return found.length === 0 ? null : found.reduce((total, { value }) => total + value, 0);
  }

  /** Upper bounds and cumulative counts, in order. */
  buckets(name: string): { bound: number; count: number }[] {
    return this.samples(`${name}_bucket`).map(({ labels, value }) => {
      return { bound: Number(labels.get('le')?.replace('+Inf', 'Infinity')), count: value };
    });
  }

  by(name: string, label: string): { value: string; sum: number }[] {
    const values = new Set(this.samples(name).map(({ labels }) => labels.get(label) ?? ''));
    return [...values].map((value) => ({ value, sum: this.sum(name, { [label]: value }) ?? 0 }));
  }

  private samples(name: string): readonly Sample[] {
    return this.byName.get(name) ?? [];
  }
}

function sampleOf(line: string): Sample | null {
  const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === '') return null;
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(
    ([, label = '', text = '']) => [label, text] as const,
  );
  return { name, labels: new Map(pairs), value: Number(value) };
}

/** How fast a counter rose. A counter that fell belongs to a restarted exchange. */
export function perSecond(from: Metrics, to: Metrics, name: string, labels?: Labels): number {
  const rise = (to.sum(name, labels) ?? 0) - (from.sum(name, labels) ?? 0);
  return to.atMs <= from.atMs ? 0 : (Math.max(rise, 0) * 1_000) / (to.atMs - from.atMs);
}

/** The smallest bound that contains this part of the values between the readings. */
export function quantile(from: Metrics, to: Metrics, name: string, part: number): number | null {
  const before = from.buckets(name);
  const between = to.buckets(name).map(({ bound, count }, index) => {
    return { bound, count: count - (before[index]?.count ?? 0) };
  });
  const total = between.at(-1)?.count ?? 0;
  if (total <= 0) return null;
  return between.find(({ count }) => count >= total * part)?.bound ?? null;
}

export function mean(from: Metrics, to: Metrics, name: string): number | null {
  const rise = (suffix: string) =>
    (to.sum(`${name}_${suffix}`) ?? 0) - (from.sum(`${name}_${suffix}`) ?? 0);
  return rise('count') <= 0 ? null : rise('sum') / rise('count');
}
