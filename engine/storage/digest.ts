/**
 * The running digest: 64 bits over every result and event, in order. It tells whether two engines
 * did the same; it is no defense against deliberate changes to a journal (the journal's hash chain
 * is). Mixing is by multiply and rotate on two lanes, as in MurmurHash3; each value goes in as the
 * two 32-bit halves of the integer.
 */
import type { Archive } from './archive.js';
import type { NumberBuffer } from './number-buffer.js';

const HIGH = 4_294_967_296;

export class Digest {
  /** The two lanes, signed 32-bit integers. */
  a = 0x243f6a88 | 0;
  b = 0x85a308d3 | 0;

  /** Adds the length and the entries of a buffer. */
  add(buffer: NumberBuffer): void {
    let { a, b } = this;
    const { values, length } = buffer;
    a = Math.imul(a ^ length, 0xcc9e2d51);
    for (let i = 0; i < length; i++) {
      const value = values[i]!;
      a = Math.imul(((a << 13) | (a >>> 19)) ^ value, 0xcc9e2d51);
      b = Math.imul(((b << 17) | (b >>> 15)) ^ a ^ Math.floor(value / HIGH), 0x1b873593);
    }
    this.a = a;
    this.b = (b + a) | 0;
  }

  /** 16 hex digits. */
  toString(): string {
    return hex(this.a) + hex(this.b);
  }

  archive(archive: Archive): void {
    this.a = archive.number(this.a);
    this.b = archive.number(this.b);
  }
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
