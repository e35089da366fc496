/**
 * A growing buffer of integers. The engine writes results and events to it without allocating.
 * Every entry is a safe integer and never -0, so that equal buffers have equal bits: code that
 * writes to `values` directly must not write -0.
 */
export class NumberBuffer {
  values = new Float64Array(0);
  /** The memory of `values` as words: two per entry, the low one first. */
  words = new Int32Array(0);
  length = 0;

  // V8 takes a field that is set once for a constant. If the first large result were the first to
  // set these fields again, all code that uses a buffer would have to be compiled again.
  constructor() {
    this.grow(1024);
  }

  clear(): void {
    this.length = 0;
  }

  /** Adds `count` entries and returns where they start; the caller writes them to `values`. */
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

  /** Appends several entries. Code that is hot uses `reserve`. */
  write(...values: number[]): void {
    for (const value of values) this.push(value);
  }

  private grow(needed: number): void {
    let capacity = Math.max(1, this.values.length);
    while (capacity < needed) capacity *= 2;
    const values = new Float64Array(capacity);
    values.set(this.values);
    this.values = values;
    this.words = new Int32Array(values.buffer);
  }
}

/**
 * Names of consecutive entries, each with its offset; `start` is that of the first. The object
 * shares its shape with no other: V8 gives plain objects with the same first names one shape, and
 * derives constants from it. When one of them comes to hold another kind of value there, code that
 * reads the offsets in another is compiled again for ever.
 */
export function offsetsOf<Name extends PropertyKey>(
  names: readonly Name[],
  start = 0,
): Readonly<Record<Name, number>> {
  class Offsets {}
  const offsets = Object.fromEntries(names.map((name, index) => [name, start + index]));
  return Object.freeze(Object.assign(new Offsets(), offsets)) as Record<Name, number>;
}

// The digest takes words apart, and files hold typed arrays as they are in memory.
if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1)
  throw new Error('this machine is big-endian, and the exchange runs on little-endian ones only');
