/**
 * The tape: a flat, growing run of integers that the engine writes results and events to, without allocating.
 * Every entry is a safe integer and never -0, so that the bits of two equal tapes are equal.
 */
export class NumberBuffer {
  values: Float64Array = new Float64Array(1024);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  /** Makes room for `count` more entries and returns where they start; the caller writes `values` directly. */
  reserve(count: number): number {
    const start = this.length;
    const end = start + count;
    if (end > this.values.length) this.grow(end);
    this.length = end;
    return start;
  }

  push(value: number): void {
    const at = this.reserve(1);
    // Adding 0 turns -0 into 0.
    this.values[at] = value + 0;
  }

  /** Appends an event or a run of fields, off the hot path. */
  write(...values: number[]): void {
    for (const value of values) this.push(value);
  }

  private grow(needed: number): void {
    let capacity = this.values.length;
    while (capacity < needed) capacity *= 2;
    const values = new Float64Array(capacity);
    values.set(this.values);
    this.values = values;
  }
}
