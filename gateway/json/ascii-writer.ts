/**
 * Writes ASCII text as bytes: fixed pieces, whole numbers and exact decimals. For the answers of the hot path, where strings put
 * together from forty pieces cost several times as much, most of it in the garbage collector.
 *
 * Always holds: what is written is ASCII, and equal to the byte to what the functions of engine/notation.ts give as strings.
 */
import { LOT_SCALE, MICRO_SCALE } from '../../engine/notation.js';

const ZERO = 48;
const POINT = 46;
/** The digits of the largest safe integer, a point, and some. */
const NUMBER_BYTES = 24;
/** Below this a number is printed in 32-bit steps. */
const BILLION = 1_000_000_000;
const MICRO_PLACES = 6;
const LOT_PLACES = 3;

/** A fixed piece, made once. */
export function ascii(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'latin1'));
}

export class AsciiWriter {
  private bytes = Buffer.allocUnsafe(64 * 1024);
  private length = 0;

  clear(): void {
    this.length = 0;
  }

  /** Bytes written since the last clear. */
  get position(): number {
    return this.length;
  }

  /** Writes once more what was written from one position up to another. */
  repeat(from: number, to: number): void {
    this.reserve(to - from);
    this.bytes.copyWithin(this.length, from, to);
    this.length += to - from;
  }

  /** A copy, for an answer that has to wait. */
  toBytes(): Uint8Array {
    return Buffer.from(this.bytes.subarray(0, this.length));
  }

  toText(): string {
    return this.bytes.toString('latin1', 0, this.length);
  }

  put(piece: Uint8Array): void {
    this.reserve(piece.length);
    this.bytes.set(piece, this.length);
    this.length += piece.length;
  }

  byte(code: number): void {
    this.reserve(1);
    this.bytes[this.length++] = code;
  }

  /** Short text that differs from answer to answer. */
  text(text: string): void {
    this.reserve(text.length);
    for (let i = 0; i < text.length; i++) this.bytes[this.length++] = text.charCodeAt(i);
  }

  /** A safe integer, not negative. */
  integer(value: number): void {
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) throw new RangeError(`not a count: ${value}`);
    this.reserve(NUMBER_BYTES);
    if (value < BILLION) this.digits(value, digitsOf(value));
    else {
      const high = Math.floor(value / BILLION);
      this.digits(high, digitsOf(high));
      this.digits(value - high * BILLION, 9);
    }
  }

  /** Micro-dollars as dollars: 1500000 → 1.5 */
  micros(micros: number): void {
    this.decimal(micros, MICRO_SCALE, MICRO_PLACES);
  }

  /** Lots as shares: 2500 → 2.5 */
  lots(lots: number): void {
    this.decimal(lots, LOT_SCALE, LOT_PLACES);
  }

  /** Ticks as a price: 495 → 0.495. A dollar has as many ticks as a share has lots. */
  ticks(ticks: number): void {
    this.decimal(ticks, LOT_SCALE, LOT_PLACES);
  }

  private decimal(value: number, scale: number, places: number): void {
    let whole = Math.floor(value / scale);
    // The quotient of a large value may have been rounded up to the next integer.
    if (whole * scale > value) whole--;
    const fraction = value - whole * scale;
    this.integer(whole);
    if (fraction === 0) return;
    this.bytes[this.length++] = POINT;
    this.digits(fraction, places);
    while (this.bytes[this.length - 1] === ZERO) this.length--;
  }

  /** Exactly so many digits of a number below a billion, with zeros in front. */
  private digits(value: number, count: number): void {
    const { bytes } = this;
    let rest = value | 0;
    for (let at = this.length + count - 1; at >= this.length; at--) {
      const tenth = (rest / 10) | 0;
      bytes[at] = ZERO + rest - tenth * 10;
      rest = tenth;
    }
    this.length += count;
  }

  private reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const bytes = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + count));
    this.bytes.copy(bytes, 0, 0, this.length);
    this.bytes = bytes;
  }
}

/** Of a number below a billion. */
function digitsOf(value: number): number {
  if (value < 10) return 1;
  if (value < 100) return 2;
  if (value < 1_000) return 3;
  if (value < 10_000) return 4;
  if (value < 100_000) return 5;
  if (value < 1_000_000) return 6;
  if (value < 10_000_000) return 7;
  return value < 100_000_000 ? 8 : 9;
}
