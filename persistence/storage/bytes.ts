/**
 * Integers as bytes: a buffer that grows as it is written, and a cursor that reads it back.
 *
 * Always holds: a value reads back identical, bit for bit, or is refused (RangeError) when it is
 * written. Bytes that no writer makes are refused ({@link MalformedBytes}) when they are read.
 *
 *   integer  0 to 2^53 - 1 in 1 to 8 bytes, seven bits each, the lowest first; the high bit is set
 *            if more bytes follow. Only the shortest form is valid.
 *   signed   -(2^53 - 1) to 2^53 - 1. The first byte has the lowest six bits of the magnitude, then
 *            the sign bit (1: negative); its high bit is set if the rest of the magnitude follows,
 *            as an integer.
 */

/** The most that an integer takes, signed or not. */
export const INTEGER_BYTES = 8;
/** In the first byte of a signed integer. */
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

  byte(value: number): void {
    this.reserve(1);
    this.buffer[this.length++] = value;
  }

  integer(value: number): void {
    if (!isWhole(value)) throw new RangeError(`not an integer from 0 to 2^53 - 1: ${value}`);
    this.reserve(INTEGER_BYTES);
    this.putSevens(value);
  }

  signed(value: number): void {
    // The common case: a small integer.
    const small = value | 0;
    const isSmall = small === value && !Object.is(value, -0);
    if (isSmall && small > -64 && small < 64) {
      this.byte(small < 0 ? NEGATIVE - small : small);
      return;
    }
    const magnitude = value < 0 ? -value : value;
    if (!isSmall && !isWhole(magnitude))
      throw new RangeError(`not an integer of less than 2^53: ${value}`);
    this.reserve(INTEGER_BYTES);
    this.buffer[this.length++] = MORE | (value < 0 ? NEGATIVE : 0) | (magnitude & 63);
    this.putSevens(Math.floor(magnitude / 64));
  }

  append(from: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    this.buffer.set(from.subarray(start, end), this.length);
    this.length += end - start;
  }

  /** Seven bits a byte, the lowest first. The caller has reserved the bytes. */
  private putSevens(value: number): void {
    const buffer = this.buffer;
    let at = this.length;
    let rest = value;
    // Bit operators work on 32 bits; above that, divide.
    while (rest > 0x7fffffff) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest > 0x7f) {
      buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[at++] = rest;
    this.length = at;
  }

  /** Makes room for that many more bytes: code that is hot writes them to `buffer` itself. */
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
  private buffer: Buffer = Buffer.alloc(0);
  position = 0;

  open(buffer: Buffer): void {
    this.buffer = buffer;
    this.position = 0;
  }

  get atEnd(): boolean {
    return this.position === this.buffer.length;
  }

  byte(): number {
    const value = this.buffer[this.position];
    if (value === undefined) throw this.cutShort();
    this.position++;
    return value;
  }

  integer(): number {
    let value = 0;
    let unit = 1;
    for (let count = 1; count <= INTEGER_BYTES; count++) {
      const byte = this.byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) {
        if (byte === 0 && count > 1)
          throw this.malformed('an integer is longer than it needs to be');
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      unit *= 128;
    }
    throw this.malformed('an integer is 2^53 or more');
  }

  signed(): number {
    const first = this.byte();
    let magnitude = first & 0x3f;
    if (first >= MORE) {
      const rest = this.integer();
      if (rest === 0) throw this.malformed('an integer is longer than it needs to be');
      magnitude += rest * 64;
      if (magnitude > Number.MAX_SAFE_INTEGER) throw this.malformed('an integer is 2^53 or more');
    }
    if ((first & NEGATIVE) === 0) return magnitude;
    if (magnitude === 0) throw this.malformed('an integer is minus zero');
    return -magnitude;
  }

  malformed(what: string): MalformedBytes {
    return new MalformedBytes(`${what} (before byte ${this.position})`);
  }

  private cutShort(): MalformedBytes {
    return this.malformed('the bytes end in the middle of a value');
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

/** Minus zero is refused: it would read back as zero. */
function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && (value > 0 || Object.is(value, 0));
}
