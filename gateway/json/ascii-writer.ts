/**
 * Writes ASCII text as bytes: fixed pieces, each followed by an integer or an exact decimal, byte
 * for byte as in engine/interface/notation.ts. For hot responses, where concatenating forty strings
 * costs several times as much, mostly in the garbage collector.
 */
import { LOT_SCALE, MICRO_SCALE } from '../../engine/interface/notation.js';
import { LONG_BYTES, textBuffers } from './text-buffers.js';

const POINT = 46;
/** Room for the digits of the largest safe integer and a point. */
const NUMBER_BYTES = 24;
const THOUSAND = 1_000;
const MILLION = 1_000_000;
/** Numbers below this are printed with 32-bit arithmetic. */
const BILLION = 1_000_000_000;

/** The three digits of each number below a thousand, and their count without trailing zeros. */
const THREES = Uint8Array.from({ length: THOUSAND * 4 }, (_, i) => {
  const text = `${i >> 2}`.padStart(3, '0');
  return (i & 3) === 3 ? text.replace(/0+$/, '').length : text.charCodeAt(i & 3);
});

export interface Piece {
  readonly length: number;
  /** Its bytes, eight per double. ASCII never forms a NaN, so copies are exact. */
  readonly eights: Float64Array;
}

export function ascii(text: string): Piece {
  const bytes = Buffer.alloc(Math.ceil(text.length / 8) * 8, text, 'latin1');
  const eights = new Float64Array(bytes.length / 8);
  for (let i = 0; i < eights.length; i++) eights[i] = bytes.readDoubleLE(i * 8);
  return { length: text.length, eights };
}

const BUFFER_BYTES = 64 * 1024;
/** With less space left, the next text begins in another buffer. */
const TAKEN_BYTES = 2 * 1024;

export class AsciiWriter {
  private bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  private view = new DataView(this.bytes.buffer);
  private capacity = this.bytes.length;
  private length = 0;
  /** End of the texts returned by {@link take}. */
  private start = 0;

  clear(): void {
    this.length = this.start;
  }

  get byteLength(): number {
    return this.length - this.start;
  }

  get position(): number {
    return this.length;
  }

  toBytes(): Uint8Array {
    return Buffer.from(this.bytes.subarray(this.start, this.length));
  }

  /** Like {@link toBytes}, but a long text keeps its own buffer, which `textBuffers` takes back. */
  handOver(): Uint8Array {
    if (this.byteLength < LONG_BYTES) return this.toBytes();
    // Earlier texts stay in their buffer, which is then not given back.
    const bytes =
      this.start > 0 ? this.toBytes() : new Uint8Array(this.bytes.buffer, 0, this.length);
    this.replace(textBuffers.take());
    this.start = 0;
    this.length = 0;
    return bytes;
  }

  /** Returns the text uncopied. Only for short texts: each keeps the whole buffer in memory. */
  take(): Uint8Array {
    const bytes = new Uint8Array(this.bytes.buffer, this.start, this.length - this.start);
    this.start = this.length;
    if (this.capacity - this.length < TAKEN_BYTES) {
      this.replace(Buffer.allocUnsafeSlow(BUFFER_BYTES));
      this.start = 0;
      this.length = 0;
    }
    return bytes;
  }

  toText(): string {
    return this.bytes.toString('latin1', this.start, this.length);
  }

  put(piece: Piece): void {
    this.length = this.place(piece);
  }

  byte(code: number): void {
    this.reserve(1);
    this.bytes[this.length++] = code;
  }

  replaceByte(at: number, code: number): void {
    this.bytes[at] = code;
  }

  text(text: string): void {
    this.reserve(text.length);
    for (let i = 0; i < text.length; i++) this.bytes[this.length++] = text.charCodeAt(i);
  }

  /** Writes a piece and a safe integer, 0 or more. */
  integer(piece: Piece, value: number): void {
    const at = this.place(piece);
    this.length = putInteger(this.bytes, at, value);
  }

  micros(piece: Piece, micros: number): void {
    const at = this.place(piece);
    this.length = putMicros(this.bytes, at, micros);
  }

  lots(piece: Piece, lots: number): void {
    const at = this.place(piece);
    this.length = putLots(this.bytes, at, lots);
  }

  /** Writes a piece and ticks as a price: 495 → 0.495. Ticks have the scale of lots. */
  ticks(piece: Piece, ticks: number): void {
    this.lots(piece, ticks);
  }

  private place({ eights, length }: Piece): number {
    const start = this.length;
    const { length: count } = eights;
    if (start + count * 8 + NUMBER_BYTES > this.capacity) this.reserve(count * 8 + NUMBER_BYTES);
    const { view } = this;
    for (let i = 0, at = start; i < count; i++, at += 8) view.setFloat64(at, eights[i]!, true);
    return start + length;
  }

  private reserve(count: number): void {
    if (this.length + count <= this.capacity) return;
    const bytes = Buffer.allocUnsafeSlow(Math.max(this.capacity * 2, this.length + count));
    this.bytes.copy(bytes, 0, 0, this.length);
    this.replace(bytes);
  }

  private replace(bytes: Buffer<ArrayBuffer>): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
    this.capacity = bytes.length;
  }
}

/** Each returns the position after the number. Below 2^53, no quotient rounds up to an integer. */
function putMicros(bytes: Uint8Array, start: number, micros: number): number {
  const whole = Math.floor(micros / MICRO_SCALE);
  const fraction = micros - whole * MICRO_SCALE;
  let at = putInteger(bytes, start, whole);
  if (fraction === 0) return at;
  bytes[at++] = POINT;
  const high = (fraction / THOUSAND) | 0;
  const low = fraction - high * THOUSAND;
  if (low === 0) return putWithoutEnd(bytes, at, high);
  return putWithoutEnd(bytes, putThree(bytes, at, high), low);
}

function putLots(bytes: Uint8Array, start: number, lots: number): number {
  const whole = Math.floor(lots / LOT_SCALE);
  const fraction = lots - whole * LOT_SCALE;
  const at = putInteger(bytes, start, whole);
  if (fraction === 0) return at;
  bytes[at] = POINT;
  return putWithoutEnd(bytes, at + 1, fraction);
}

function putInteger(bytes: Uint8Array, at: number, value: number): number {
  if (value < BILLION) return putSmall(bytes, at, value);
  if (!(value <= Number.MAX_SAFE_INTEGER))
    throw new RangeError(`not a non-negative integer: ${value}`);
  const high = Math.floor(value / BILLION);
  const low = value - high * BILLION;
  const millions = (low / MILLION) | 0;
  const rest = low - millions * MILLION;
  const thousands = (rest / THOUSAND) | 0;
  const to = putThree(bytes, putThree(bytes, putSmall(bytes, at, high), millions), thousands);
  return putThree(bytes, to, rest - thousands * THOUSAND);
}

function putSmall(bytes: Uint8Array, at: number, value: number): number {
  if (!(value >= 0)) throw new RangeError(`not a non-negative integer: ${value}`);
  if (value < THOUSAND) return putWithoutStart(bytes, at, value);
  if (value < MILLION) {
    const thousands = (value / THOUSAND) | 0;
    return putThree(bytes, putWithoutStart(bytes, at, thousands), value - thousands * THOUSAND);
  }
  const millions = (value / MILLION) | 0;
  const rest = value - millions * MILLION;
  const thousands = (rest / THOUSAND) | 0;
  const to = putThree(bytes, putWithoutStart(bytes, at, millions), thousands);
  return putThree(bytes, to, rest - thousands * THOUSAND);
}

function putThree(bytes: Uint8Array, at: number, value: number): number {
  const from = value << 2;
  bytes[at] = THREES[from]!;
  bytes[at + 1] = THREES[from + 1]!;
  bytes[at + 2] = THREES[from + 2]!;
  return at + 3;
}

/** Writes a number below a thousand, but not 0, without trailing zeros. */
function putWithoutEnd(bytes: Uint8Array, at: number, value: number): number {
  putThree(bytes, at, value);
  return at + THREES[(value << 2) + 3]!;
}

/** Writes a number below a thousand without leading zeros. */
function putWithoutStart(bytes: Uint8Array, at: number, value: number): number {
  const from = value << 2;
  let to = at;
  if (value >= 100) bytes[to++] = THREES[from]!;
  if (value >= 10) bytes[to++] = THREES[from + 1]!;
  bytes[to] = THREES[from + 2]!;
  return to + 1;
}
