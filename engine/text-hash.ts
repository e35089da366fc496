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

const UPPER_A = 65;
const UPPER_Z = 90;
const TO_LOWER = 32;

/** The hash of a number and the first `length` code units under a key of two words: 32 bits, signed. */
function halfSipHash(
  keyLow: number,
  keyHigh: number,
  prefix: number,
  units: Uint16Array,
  length: number,
): number {
  let v0 = keyLow;
  let v1 = keyHigh;
  let v2 = V2 ^ keyLow;
  let v3 = V3 ^ keyHigh;
  // The prefix is the first word, each two code units are one more; the last has what is left, and the length.
  const words = (length >>> 1) + 1;
  for (let word = 0; word <= words + 3; word++) {
    let m = 0;
    if (word === 0) m = prefix;
    else if (word < words) m = units[word * 2 - 2]! | (units[word * 2 - 1]! << 16);
    else if (word === words) {
      m = ((4 + length * 2) << 24) | ((length & 1) === 1 ? units[length - 1]! : 0);
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
  /** The code units of the text that is hashed. */
  private units = new Uint16Array(1_024);

  get hasKey(): boolean {
    return this.keyLow !== 0 || this.keyHigh !== 0;
  }

  /** Makes the key. Every index that holds hashes must be built anew after it. */
  setKey(secret: string): void {
    const units = this.unitsOf(secret);
    this.keyLow = halfSipHash(1, 2, 0, units, secret.length);
    this.keyHigh = halfSipHash(3, 4, 0, units, secret.length);
  }

  /** 32 bits, signed. `prefix` is an integer of 32 bits that belongs to the text, such as whose it is. */
  of(prefix: number, text: string): number {
    return halfSipHash(this.keyLow, this.keyHigh, prefix, this.unitsOf(text), text.length);
  }

  /** The same of a text whose code units stand there as one byte each. */
  ofBytes(prefix: number, bytes: Uint8Array, from: number, length: number): number {
    const units = this.roomFor(length);
    for (let i = 0; i < length; i++) units[i] = bytes[from + i]!;
    return halfSipHash(this.keyLow, this.keyHigh, prefix, units, length);
  }

  /** The same of an ASCII text in lower case, in whatever case it stands there. */
  ofLowerAscii(prefix: number, bytes: Uint8Array, from: number, length: number): number {
    const units = this.roomFor(length);
    for (let i = 0; i < length; i++) {
      const unit = bytes[from + i]!;
      units[i] = unit >= UPPER_A && unit <= UPPER_Z ? unit + TO_LOWER : unit;
    }
    return halfSipHash(this.keyLow, this.keyHigh, prefix, units, length);
  }

  archive(archive: Archive): void {
    this.keyLow = archive.number(this.keyLow);
    this.keyHigh = archive.number(this.keyHigh);
  }

  private unitsOf(text: string): Uint16Array {
    const units = this.roomFor(text.length);
    for (let i = 0; i < text.length; i++) units[i] = text.charCodeAt(i);
    return units;
  }

  private roomFor(length: number): Uint16Array {
    if (length > this.units.length) this.units = new Uint16Array(length * 2);
    return this.units;
  }
}
