/**
 * The running digest: 64 bits over every result and event, in order. It shows whether two engines
 * did the same. It does not protect a journal against deliberate changes; the journal's hash chain
 * does.
 *
 * The IEEE 754 words of the numbers go to four lanes in turn, each mixed by rotate and multiply as
 * in xxHash32. The lanes are independent, so a processor works on all four in parallel. Each step
 * is one-to-one in the lane for a given word, and in the word for a given lane, so every bit of
 * every number counts. `toString` folds the lanes.
 */
import type { Archive } from './archive.js';
import type { NumberBuffer } from './number-buffer.js';

const P1 = 0x9e3779b1 | 0;
const P2 = 0x85ebca77 | 0;
const P3 = 0xc2b2ae3d | 0;

export class Digest {
  /** The lanes, signed 32-bit integers. */
  private a = 0x243f6a88 | 0;
  private b = 0x85a308d3 | 0;
  private c = 0x13198a2e | 0;
  private d = 0x03707344 | 0;

  /** Adds the lengths and entries of a command's two buffers. */
  add(first: NumberBuffer, second: NumberBuffer): void {
    let { a, b, c, d } = this;
    let buffer = first;
    for (;;) {
      const { words, length } = buffer;
      a = Math.imul(a ^ length, P1);
      const end = length * 2;
      let i = 0;
      for (; i + 2 < end; i += 4) {
        a = Math.imul(rotated(a ^ words[i]!), P1);
        b = Math.imul(rotated(b ^ words[i | 1]!), P1);
        c = Math.imul(rotated(c ^ words[i | 2]!), P1);
        d = Math.imul(rotated(d ^ words[i | 3]!), P1);
      }
      if (i < end) {
        a = Math.imul(rotated(a ^ words[i]!), P1);
        b = Math.imul(rotated(b ^ words[i | 1]!), P1);
      }
      if (buffer === second) break;
      buffer = second;
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
  }

  toString(): string {
    const { a, b, c, d } = this;
    return hex(folded(a, b, c, d)) + hex(folded(c, d, a, b));
  }

  archive(archive: Archive): void {
    this.a = archive.number(this.a);
    this.b = archive.number(this.b);
    this.c = archive.number(this.c);
    this.d = archive.number(this.d);
  }
}

function rotated(word: number): number {
  return (word << 13) | (word >>> 19);
}

/** Both halves of the digest depend on all bits of all lanes. */
function folded(a: number, b: number, c: number, d: number): number {
  let hash = a;
  for (const lane of [b, c, d]) {
    hash = Math.imul(hash ^ (hash >>> 15), P2);
    hash = Math.imul(rotated(hash ^ lane), P3);
  }
  hash = Math.imul(hash ^ (hash >>> 15), P2);
  hash = Math.imul(hash ^ (hash >>> 13), P3);
  return hash ^ (hash >>> 16);
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
