/** Samples of one quantity. All are kept, so percentiles are exact (nearest rank). */
export class Samples {
  private values: Float64Array;
  private sorted = true;
  count = 0;

  constructor(capacity = 1024) {
    this.values = new Float64Array(capacity);
  }

  add(value: number): void {
    if (this.count === this.values.length) {
      const values = new Float64Array(this.values.length * 2);
      values.set(this.values);
      this.values = values;
    }
    this.values[this.count++] = value;
    this.sorted = false;
  }

  addAll(values: Iterable<number>): void {
    for (const value of values) this.add(value);
  }

  /**
   * The smallest sample that at least this share (0 to 1) of the samples does not exceed; NaN
   * without samples.
   */
  percentile(share: number): number {
    if (this.count === 0) return Number.NaN;
    const rank = Math.min(this.count, Math.max(1, Math.ceil(share * this.count)));
    return this.inOrder()[rank - 1]!;
  }

  max(): number {
    return this.percentile(1);
  }

  sum(): number {
    let sum = 0;
    for (let i = 0; i < this.count; i++) sum += this.values[i]!;
    return sum;
  }

  /** The samples in ascending order. The view is valid until the next add. */
  inOrder(): Float64Array {
    const view = this.values.subarray(0, this.count);
    if (!this.sorted) view.sort();
    this.sorted = true;
    return view;
  }
}

export function median(values: readonly number[]): number {
  const samples = new Samples(values.length);
  samples.addAll(values);
  return samples.percentile(0.5);
}

/** The minimum and the maximum, as text. */
export function spread(values: readonly number[], textOf: (value: number) => string): string {
  return `${textOf(Math.min(...values))} to ${textOf(Math.max(...values))}`;
}
