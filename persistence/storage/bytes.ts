/**
 * Signed integers as bytes: a growing write buffer, and a read cursor.
 *
 * Invariant: a value reads back identical, bit for bit, or writing it throws RangeError. Reading
 * does not detect changed bytes: a checksum must.
 *
 *   -(2^53 - 1) to 2^53 - 1. The first byte has the lowest six bits of the magnitude, then the sign
 *   bit (1: negative); its high bit is set if more bytes follow. Each of these has seven bits, the
 *   lowest first, and the same high bit.
 */

export const INTEGER_BYTES = 8;
export const NEGATIVE = 0x40;
export const MORE = 0x80;

export class MalformedBytes extends Error {
  override name = 'MalformedBytes';
}

export class ByteWriter {
  buffer: Buffer;
  length = 0;

  constructor(capacity: number) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
  }

  /** An integer of 32 bits or more; RunWriter writes smaller ones itself. */
  signed(value: number): void {
    // Minus zero would read back as zero.
    if (!Number.isSafeInteger(value) || value === 0)
      throw new RangeError(`not an integer of less than 2^53: ${value}`);
    this.reserve(INTEGER_BYTES);
    const { buffer } = this;
    const magnitude = Math.abs(value);
    let at = this.length;
    buffer[at++] = MORE | (value < 0 ? NEGATIVE : 0) | (magnitude & 63);
    let rest = Math.floor(magnitude / 64);
    // Bit operators work on 32 bits: divide.
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) buffer[at++] = MORE | (rest & 0x7f);
    buffer[at++] = rest;
    this.length = at;
  }

  append(from: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    this.buffer.set(from.subarray(start, end), this.length);
    this.length += end - start;
  }

  /** Makes room for `count` more bytes: hot code then writes to `buffer` directly. */
  reserve(count: number): void {
    if (this.length + count > this.buffer.length) this.grow(this.length + count);
  }

  private grow(needed: number): void {
    let capacity = this.buffer.length;
    while (capacity < needed) capacity *= 2;
    const buffer = Buffer.allocUnsafeSlow(capacity);
    this.buffer.copy(buffer, 0, 0, this.length);
    this.buffer = buffer;
  }
}

export class ByteReader {
  private position = 0;

  constructor(private readonly buffer: Buffer) {}

  get atEnd(): boolean {
    return this.position === this.buffer.length;
  }

  signed(): number {
    const first = this.byte();
    let magnitude = first & 0x3f;
    let unit = 64;
    for (let byte = first; byte >= MORE; unit *= 128) {
      byte = this.byte();
      magnitude += (byte & 0x7f) * unit;
    }
    return (first & NEGATIVE) === 0 ? magnitude : -magnitude;
  }

  private byte(): number {
    const value = this.buffer[this.position++];
    if (value === undefined) throw new MalformedBytes('the bytes end in the middle of a value');
    return value;
  }
}

/** Writes an integer from 0 to 2^53 - 1 as eight bytes, little-endian. */
export function putUint64(target: Buffer, value: number, offset: number): void {
  target.writeUInt32LE(value % 2 ** 32, offset);
  target.writeUInt32LE(Math.floor(value / 2 ** 32), offset + 4);
}

/** Reads eight bytes back; 2^53 or more if putUint64 did not write them. */
export function getUint64(source: Buffer, offset: number): number {
  return source.readUInt32LE(offset + 4) * 2 ** 32 + source.readUInt32LE(offset);
}
