/** Mutates inputs: moves bits, bytes, pieces, words and numbers. */
import type { Random } from './random.js';

const NUMBERS = ['0', '-0', '-1', '1', '1e400', '0.0000001', '9007199254740993', '8640000000001'];
const ODD_BYTES = [0, 1, 0x20, 0x22, 0x2c, 0x3a, 0x5c, 0x7b, 0x7f, 0x80, 0xc3, 0xff];
const DOUBLES = [0, -0, 1, -1, 0.5, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 1e300, Number.NaN];
const INTEGERS = [0, 1, 2, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];

export class Mutator {
  private readonly words: Buffer[];

  /** `seeds`: the sources of words and numbers. */
  constructor(
    private readonly random: Random,
    seeds: readonly Uint8Array[],
    private readonly maxBytes: number,
  ) {
    const texts = seeds.slice(0, 50).map((seed) => Buffer.from(seed).toString('latin1'));
    const found = texts.flatMap(
      (text) => text.slice(0, 20_000).match(/\w+|"[^"]*"|[^\w\s]/g) ?? [],
    );
    this.words = [...new Set([...found, ...NUMBERS])].map((word) => Buffer.from(word, 'latin1'));
  }

  from(corpus: readonly Buffer[]): Buffer {
    const { random } = this;
    let bytes: Buffer = Buffer.from(random.pick(corpus));
    for (let left = random.magnitude(8); left > 0; left--) bytes = this.changed(bytes, corpus);
    return bytes.subarray(0, this.maxBytes);
  }

  private changed(bytes: Buffer, corpus: readonly Buffer[]): Buffer {
    const { random } = this;
    const from = random.whole(0, bytes.length);
    const to = Math.min(bytes.length, from + random.magnitude(Math.max(1, bytes.length)));
    const replaced = (by: Uint8Array, end = to) =>
      Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(end)]);
    switch (random.whole(0, 8)) {
      case 0:
        return replaced(Buffer.of((bytes[from] ?? 0) ^ (1 << random.whole(0, 7))), from + 1);
      case 1:
        return replaced(Buffer.of(random.pick(ODD_BYTES)), from + 1);
      case 2:
        return replaced(Buffer.alloc(0));
      case 3:
        return replaced(bytes.subarray(from, to), from);
      case 4:
        return replaced(random.pick(this.words), from);
      case 5:
        return replaced(random.pick(this.words));
      case 6: {
        const other = random.pick(corpus);
        return replaced(other.subarray(random.whole(0, other.length)), bytes.length);
      }
      case 7:
        return this.withNumber(bytes, from);
      default:
        return withText(bytes, random.pick(NUMBERS), from);
    }
  }

  /** Replaces a word of memory with a number. */
  private withNumber(bytes: Buffer, from: number): Buffer {
    const { random } = this;
    const copy = Buffer.from(bytes);
    const at = random.chance(0.7) ? from & ~7 : from;
    if (at + 8 > copy.length) return copy;
    if (random.chance(0.5)) copy.writeDoubleLE(random.pick(DOUBLES), at);
    else copy.writeUInt32LE(random.pick(INTEGERS), random.chance(0.5) ? at : at + 4);
    return copy;
  }
}

/** Replaces the first number from a position on. */
function withText(bytes: Buffer, number: string, from: number): Buffer {
  const text = bytes.toString('latin1');
  const changed = text.slice(from).replace(/-?\d[\d.]*/, number);
  return Buffer.from(text.slice(0, from) + changed, 'latin1');
}
