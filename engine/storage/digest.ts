/**
 * The running digest: 64 bits over every result and event, in order. It tells whether two engines
 * did the same; it is no defence against deliberate changes to a journal (the journal's hash chain
 * is). Mixing is by multiply and rotate on two independent lanes, as in MurmurHash3. Both take the
 * two words of each number as IEEE 754 has it, so that no number is divided.
 */
import type { Archive } from './archive.js';
import type { NumberBuffer } from './number-buffer.js';

export class Digest {
  /** The two lanes, signed 32-bit integers. */
  a = 0x243f6a88 | 0;
  b = 0x85a308d3 | 0;

  /** Adds the length and the entries of a buffer. */
  add(buffer: NumberBuffer): void {
    let { a, b } = this;
    const { words } = buffer;
    const end = buffer.length * 2;
    for (let i = 0; i < end; i += 2) {
      const word = words[i + 1]! ^ Math.imul(words[i]!, 0x85ebca6b);
      a = Math.imul(((a << 13) | (a >>> 19)) ^ word, 0xcc9e2d51);
      b = Math.imul(((b << 17) | (b >>> 15)) ^ word, 0x1b873593);
    }
    this.a = Math.imul(a ^ buffer.length, 0xcc9e2d51) ^ (b >>> 16);
    this.b = (b + this.a) | 0;
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
