/**
 * Integers and texts as bytes: a buffer that grows as it is written, and a cursor that reads it
 * back.
 *
 * Always holds: a value reads back identical, bit for bit, or is refused (RangeError) when it is
 * written. Bytes that no writer makes are refused ({@link MalformedBytes}) when they are read.
 *
 *   integer  0 to 2^53 - 1 in 1 to 8 bytes, seven bits each, the lowest first; the high bit is set
 *            if more bytes follow. Only the shortest form is valid.
 *   signed   -(2^53 - 1) to 2^53 - 1. The first byte has the lowest six bits of the magnitude, then
 *            the sign bit (1: negative); its high bit is set if the rest of the magnitude follows,
 *            as an integer.
 *   time     six bytes, little-endian (milliseconds since the epoch, up to the year 10889).
 *   text     its length in bytes (an integer), then UTF-8; no half of a surrogate pair.
 */

/** The longest text, in bytes: far above what the engine accepts. */
export const MAX_TEXT_BYTES = 4_096;
const MAX_TIME = 2 ** 48 - 1;
const INTEGER_BYTES = 8;
/** In the first byte of a signed integer. */
const NEGATIVE = 0x40;
const MORE = 0x80;

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

  time(value: number): void {
    if (!isWhole(value) || value > MAX_TIME)
      throw new RangeError(`not a time in milliseconds: ${value}`);
    this.reserve(6);
    this.buffer.writeUIntLE(value, this.length, 6);
    this.length += 6;
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

  text(value: string): void {
    const byteLength = utf8Length(value);
    if (byteLength > MAX_TEXT_BYTES)
      throw new RangeError(`a text of more than ${MAX_TEXT_BYTES} bytes`);
    this.integer(byteLength);
    this.reserve(byteLength);
    if (byteLength === value.length) {
      // ASCII: for short texts this is faster than a call into C++.
      const buffer = this.buffer;
      let at = this.length;
      for (let i = 0; i < byteLength; i++) buffer[at++] = value.charCodeAt(i);
    } else {
      this.buffer.write(value, this.length, byteLength, 'utf8');
    }
    this.length += byteLength;
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

  private reserve(count: number): void {
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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

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

  time(): number {
    if (this.position + 6 > this.buffer.length) throw this.cutShort();
    const value = this.buffer.readUIntLE(this.position, 6);
    this.position += 6;
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

  text(): string {
    const byteLength = this.integer();
    if (byteLength > MAX_TEXT_BYTES) throw this.malformed('a text is too long');
    const start = this.position;
    const end = start + byteLength;
    if (end > this.buffer.length) throw this.cutShort();
    this.position = end;
    let ascii = true;
    for (let at = start; at < end; at++) {
      if (this.buffer[at]! > 0x7f) ascii = false;
    }
    if (ascii) return this.buffer.toString('latin1', start, end);
    try {
      return utf8.decode(this.buffer.subarray(start, end));
    } catch {
      throw this.malformed('a text is not UTF-8');
    }
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

function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    if (unit < 0xd800 || unit > 0xdfff) continue;
    const next = text.charCodeAt(i + 1);
    if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) {
      throw new RangeError('a text holds half a surrogate pair');
    }
    // A pair has two units and four bytes: two are counted in text.length, two were added above.
    i++;
  }
  return bytes;
}
