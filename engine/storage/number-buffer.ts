/**
 * A growing buffer of integers, to which the engine writes results and events without allocating.
 *
 * Invariant: every entry is a safe integer and not -0, so that equal buffers have equal bits.
 * Code that writes to `values` directly must not write -0.
 */
export class NumberBuffer {
  values = new Float64Array(0);
  /** The memory of `values` as words: two per entry, the low one first. */
  words = new Int32Array(0);
  length = 0;

  // V8 treats a field that is set once as a constant. Setting the fields again here prevents the
  // first large result from invalidating all compiled code that uses a buffer.
  constructor() {
    this.grow(1024);
  }

  clear(): void {
    this.length = 0;
  }

  /** Adds `count` entries and returns their place; the caller writes them to `values`. */
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

  /** Appends entries. Hot code uses `reserve` instead. */
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
 * Offsets by name, of consecutive entries from `start` on. The object has its own shape. V8 gives
 * plain objects with the same first names a common shape and compiles its values in as constants.
 * A different kind of value in one object would then recompile the code of the others, again and
 * again.
 */
export function offsetsOf<Name extends PropertyKey>(
  names: readonly Name[],
  start = 0,
): Readonly<Record<Name, number>> {
  class Offsets {}
  const offsets = Object.fromEntries(names.map((name, index) => [name, start + index]));
  return Object.freeze(Object.assign(new Offsets(), offsets)) as Record<Name, number>;
}

const INT32_MAX = 2 ** 31 - 1;
const HALF = 2 ** 31;

/**
 * Writes the numbers as words from `from` on, where two words per number must fit. An integer from
 * 0 to below 2^31 is one word; a larger one is two: -1 minus its high part, then its low 31 bits.
 * Returns where the words end.
 */
export function writeNumbers(
  words: Int32Array,
  from: number,
  { values, length }: NumberBuffer,
): number {
  let at = from;
  for (let i = 0; i < length; i++) {
    const value = values[i]!;
    if (value > INT32_MAX) {
      const high = Math.floor(value / HALF);
      words[at++] = -1 - high;
      words[at++] = value - high * HALF;
    } else words[at++] = value;
  }
  return at;
}

/** Decodes words that {@link writeNumbers} wrote, and appends the numbers to `numbers`. */
export function readNumbers(words: Int32Array, numbers: NumberBuffer): void {
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word >= 0) numbers.push(word);
    else numbers.push((-1 - word) * HALF + words[++i]!);
  }
}

// The digest splits numbers into words, and files hold the memory of typed arrays.
if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1)
  throw new Error('this machine is big-endian, and the exchange runs on little-endian ones only');
