/**
 * A keyed hash of texts that clients choose (names, codes, keys, references), so that nobody can choose many that fall
 * together: HalfSipHash-1-3 of the text's UTF-16 code units as little-endian bytes, with the key of this exchange. See
 * J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), and the HalfSipHash of its reference code.
 *
 * The key comes from the first credential that is not empty: a password hash with a random salt, which is in the journal and
 * shown to nobody. So every engine of one journal has the same key, and no client knows it. Until then it is 0.
 */
import type { Archive } from './archive.js';

const V2 = 0x6c796765;
const V3 = 0x74656462;

/** The hash of a number and a text under a key of two words: 32 bits, signed. */
function halfSipHash(keyLow: number, keyHigh: number, prefix: number, text: string): number {
  let v0 = keyLow;
  let v1 = keyHigh;
  let v2 = V2 ^ keyLow;
  let v3 = V3 ^ keyHigh;
  const { length } = text;
  // The prefix is the first word, each two code units are one more; the last has what is left, and the length.
  const words = (length >>> 1) + 1;
  for (let word = 0; word <= words + 3; word++) {
    let m = 0;
    if (word === 0) m = prefix;
    else if (word < words) m = text.charCodeAt(word * 2 - 2) | (text.charCodeAt(word * 2 - 1) << 16);
    else if (word === words) {
      m = ((4 + length * 2) << 24) | ((length & 1) === 1 ? text.charCodeAt(length - 1) : 0);
    } else if (word === words + 1) v2 ^= 0xff;
    v3 ^= m;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= m;
  }
  return v1 ^ v3;
}

export class TextHash {
  private keyLow = 0;
  private keyHigh = 0;

  get hasKey(): boolean {
    return this.keyLow !== 0 || this.keyHigh !== 0;
  }

  /** Makes the key. Every index that holds hashes must be built anew after it. */
  setKey(secret: string): void {
    this.keyLow = halfSipHash(1, 2, 0, secret);
    this.keyHigh = halfSipHash(3, 4, 0, secret);
  }

  /** 32 bits, signed. `prefix` is an integer of 32 bits that belongs to the text, such as whose it is. */
  of(prefix: number, text: string): number {
    return halfSipHash(this.keyLow, this.keyHigh, prefix, text);
  }

  archive(archive: Archive): void {
    this.keyLow = archive.number(this.keyLow);
    this.keyHigh = archive.number(this.keyHigh);
  }
}
