/**
 * A keyed hash of texts that clients choose (names, codes, keys, references), so that no client can
 * construct collisions: HalfSipHash-1-3 of the UTF-16 code units as little-endian bytes. See J.-P.
 * Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), and its reference code.
 *
 * The key comes from the first non-empty credential: a password hash with a random salt, which is
 * in the journal and never shown. So every engine of one journal has the same key, and no client
 * knows it. Until then the key is 0.
 *
 * Indexes use 32 bits and compare the texts. Idempotency keys are identified by 64 bits alone.
 */
import type { Archive } from './archive.js';

const V2 = 0x6c796765;
const V3 = 0x74656462;

const FINAL_ROUNDS = 3;

const UPPER_A = 65;
const UPPER_Z = 90;
const TO_LOWER = 32;
const SPACES = 0x20202020;

/** The 64-bit output of {@link halfSipHash}. */
const pair = new Int32Array(2);

/**
 * The hash of the first `count` words under a key of two words: 32 bits, signed; or 64 bits, in
 * `pair`. The 64 bits are a separate output; neither half equals the 32-bit hash.
 */
function halfSipHash(
  keyLow: number,
  keyHigh: number,
  words: Int32Array,
  count: number,
  isPair = false,
): number {
  let v0 = keyLow;
  let v1 = isPair ? keyHigh ^ 0xee : keyHigh;
  let v2 = V2 ^ keyLow;
  let v3 = V3 ^ keyHigh;
  const firstEnd = count + FINAL_ROUNDS;
  const end = isPair ? firstEnd + FINAL_ROUNDS : firstEnd;
  for (let i = 0; i < end; i++) {
    const m = i < count ? words[i]! : 0;
    if (i === count) v2 ^= isPair ? 0xee : 0xff;
    if (i === firstEnd) {
      pair[0] = v1 ^ v3;
      v1 ^= 0xdd;
    }
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
  if (isPair) pair[1] = v1 ^ v3;
  return v1 ^ v3;
}

/** The last word: the number of bytes modulo 256, and the last code unit if their number is odd. */
function lastWord(length: number, unit: number): number {
  return ((4 + length * 2) << 24) | unit;
}

/** Not 0 if one of the four bytes is below 32 or above 126: then the highest bit of one is set. */
function notPrintable(word: number): number {
  const isHigh = word | (word + 0x01010101);
  const isLow = ~(word + 0x60606060);
  return (isHigh | isLow) & 0x80808080;
}

function lowerAscii(unit: number): number {
  return unit >= UPPER_A && unit <= UPPER_Z ? unit + TO_LOWER : unit;
}

export class TextHash {
  private keyLow = 0;
  private keyHigh = 0;
  /** The hashed words: the prefix or 0, two code units in each word, and a last word. */
  private words = new Int32Array(256);
  /** The latest 64-bit hash, as two signed words. */
  low = 0;
  high = 0;

  get hasKey(): boolean {
    return this.keyLow !== 0 || this.keyHigh !== 0;
  }

  /** Sets the key. Rebuild every index of hashes afterwards. */
  setKey(secret: string): void {
    const count = this.fill(secret);
    this.keyLow = halfSipHash(1, 2, this.words, count);
    this.keyHigh = halfSipHash(3, 4, this.words, count);
  }

  of(text: string): number {
    const count = this.fill(text);
    return halfSipHash(this.keyLow, this.keyHigh, this.words, count);
  }

  /**
   * The 64-bit hash of a prefix and `length` bytes, as `low` and `high`; returns whether all bytes
   * are printable ASCII. `prefix` is a 32-bit integer, such as the user id. The bytes are those of
   * `ints` from byte `from` on, which must be in the second half of an integer, as a record's texts
   * are. Four bytes at a time is several times faster than one.
   */
  pairOf(prefix: number, ints: Int32Array, from: number, length: number): boolean {
    const words = this.roomFor(length);
    let count = 0;
    words[count++] = prefix;
    let at = from >> 2;
    let half = ints[at]! >>> 16;
    let outside = 0;
    for (let left = length; left >= 4; left -= 4) {
      const next = ints[++at]!;
      const word = half | (next << 16);
      outside |= notPrintable(word);
      words[count++] = word;
      half = next >>> 16;
    }
    const rest = length & 3;
    if (rest === 3) half |= ints[at + 1]! << 16;
    const last = half & (0xffffff >>> (8 * (3 - rest)));
    outside |= notPrintable(last | (SPACES << (8 * rest)));
    words[count++] = ((4 + length) << 24) | last;
    halfSipHash(this.keyLow, this.keyHigh, words, count, true);
    this.low = pair[0]!;
    this.high = pair[1]!;
    return outside === 0;
  }

  /** The hash of a text that is stored in one byte per code unit. */
  ofBytes(bytes: Uint8Array, from: number, length: number): number {
    const words = this.roomFor(length);
    const end = from + length;
    let count = 0;
    words[count++] = 0;
    let at = from;
    for (; at + 1 < end; at += 2) words[count++] = bytes[at]! | (bytes[at + 1]! << 16);
    words[count++] = lastWord(length, at < end ? bytes[at]! : 0);
    return halfSipHash(this.keyLow, this.keyHigh, words, count);
  }

  /** The hash of an ASCII text in lower case; the stored text may have any case. */
  ofLowerAscii(bytes: Uint8Array, from: number, length: number): number {
    const words = this.roomFor(length);
    const end = from + length;
    let count = 0;
    words[count++] = 0;
    let at = from;
    for (; at + 1 < end; at += 2) {
      words[count++] = lowerAscii(bytes[at]!) | (lowerAscii(bytes[at + 1]!) << 16);
    }
    words[count++] = lastWord(length, at < end ? lowerAscii(bytes[at]!) : 0);
    return halfSipHash(this.keyLow, this.keyHigh, words, count);
  }

  archive(archive: Archive): void {
    this.keyLow = archive.number(this.keyLow);
    this.keyHigh = archive.number(this.keyHigh);
  }

  /** Puts a text into `words`; returns their number. */
  private fill(text: string): number {
    const { length } = text;
    const words = this.roomFor(length);
    let count = 0;
    words[count++] = 0;
    let at = 0;
    for (; at + 1 < length; at += 2) {
      words[count++] = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
    }
    words[count++] = lastWord(length, at < length ? text.charCodeAt(at) : 0);
    return count;
  }

  private roomFor(length: number): Int32Array {
    if (length + 2 > this.words.length) this.words = new Int32Array(length * 2);
    return this.words;
  }
}
