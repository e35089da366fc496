/**
 * Recognises plain JSON in bytes without creating values. For frequent bodies, whose reader
 * converts each field straight to the engine's number.
 *
 * Invariant: accepts less than JSON.parse, never more: no escapes, exponents, signs, non-ASCII
 * bytes, or more than fifteen digits. After any of these every method fails, and the caller reads
 * the text in another way.
 *
 * Clients repeat the same fields in the same order, so a name is first compared with the name that
 * last followed the same field. All clients share these guesses, which never change a result.
 */

export interface Names {
  /** Index of a name by its length and two of its bytes, or -1. */
  readonly slots: Int8Array;
  readonly bytes: readonly Uint8Array[];
  /** The names in quotes, and as fields, in quotes with a colon. */
  readonly quoted: readonly Uint8Array[];
  readonly fields: readonly Uint8Array[];
  /** The field that last followed a field, by that field's index plus 1. At 0: the first field. */
  readonly nextFields: Int8Array;
  /** Index of the word last read. */
  nextWord: number;
}

const LENGTH_MAX = 15;
const slotOf = (length: number, first: number, last: number) =>
  (length << 5) | ((first * 3 + last) & 31);

/** @throws Error for names that share a slot */
export function namesOf(names: readonly string[]): Names {
  const slots = new Int8Array((LENGTH_MAX + 1) << 5).fill(-1);
  const bytes = names.map(bytesOfText);
  bytes.forEach((name, index) => {
    const slot = slotOf(name.length, name[0]!, name[name.length - 1]!);
    if (name.length > LENGTH_MAX || slots[slot] !== -1) throw new Error(`no slot: ${names[index]}`);
    slots[slot] = index;
  });
  return {
    slots,
    bytes,
    quoted: names.map((name) => bytesOfText(`"${name}"`)),
    fields: names.map((name) => bytesOfText(`"${name}":`)),
    nextFields: new Int8Array(names.length + 1),
    nextWord: 0,
  };
}

/** A plain Uint8Array: code that also receives Buffers is slower. */
export const bytesOfText = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));

const [QUOTE, COMMA, POINT, ZERO, COLON, OPEN, BACKSLASH, CLOSE] = [
  34, 44, 46, 48, 58, 123, 92, 125,
];
const [OPEN_LIST, CLOSE_LIST, TILDE, SPACE] = [91, 93, 126, 32];
/** Whether a byte represents itself in a string, as printable ASCII does. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => {
  const isPrintable = byte >= SPACE && byte <= TILDE;
  return isPrintable && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0;
});
const DIGITS_MAX = 15;
const CHARACTERS = Array.from({ length: 128 }, (_, byte) => String.fromCharCode(byte));
const TRUE = bytesOfText('true');
const FALSE = bytesOfText('false');
export const FAILED = -1;
/** Stand for an object's start and end, in place of a name's index. */
const START = -1;
const END = -2;

export class JsonScanner {
  private bytes: Uint8Array = new Uint8Array(0);
  private at = 0;
  private length = 0;
  private ok = false;
  textFrom = 0;
  textTo = 0;

  begin(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.length = bytes.length;
    this.at = 0;
    this.ok = true;
  }

  /** Releases the bytes. Returns whether all of them were recognised. */
  finish(): boolean {
    const isOver = this.next() === FAILED && this.at === this.length;
    this.bytes = NOTHING;
    return this.ok && isOver;
  }

  fail(): typeof FAILED {
    this.ok = false;
    return FAILED;
  }

  /** Returns the index of the field after `previous`, or END. FAILED: an unknown name. */
  private field(names: Names, previous: number): number {
    const byte = this.next();
    if (byte === CLOSE) {
      this.at++;
      return this.ok ? END : FAILED;
    }
    if (previous !== START) {
      if (byte !== COMMA) return this.fail();
      this.at++;
    }
    const guess = names.nextFields[previous + 1]!;
    if (this.ok && this.skip(names.fields[guess]!)) return guess;
    const index = this.find(names);
    if (this.next() !== COLON) return this.fail();
    this.at++;
    if (index !== FAILED) names.nextFields[previous + 1] = index;
    return index;
  }

  /** `read` reads a field by index. Returns the fields' bits (bit 0: the first name), or FAILED. */
  object(names: Names, read: (index: number) => void): number {
    let seen = 0;
    let index = START;
    if (this.next() === OPEN) this.at++;
    else this.fail();
    for (;;) {
      index = this.field(names, index);
      if (index === END) return seen;
      if (index === FAILED || (seen & (1 << index)) !== 0) return this.fail();
      seen |= 1 << index;
      read(index);
      if (!this.ok) return FAILED;
    }
  }

  /** Returns whether a list has another element. If not, the list's end has been read. */
  element(isFirst: boolean): boolean {
    const byte = this.next();
    if (isFirst) {
      if (byte !== OPEN_LIST) this.fail();
      this.at++;
      if (this.next() === CLOSE_LIST) this.fail();
      return this.ok;
    }
    this.at++;
    if (byte === COMMA) return this.ok;
    if (byte !== CLOSE_LIST) this.fail();
    return false;
  }

  word(names: Names): number {
    this.next();
    const guess = names.nextWord;
    if (this.ok && this.skip(names.quoted[guess]!)) return guess;
    const index = this.find(names);
    if (index !== FAILED) names.nextWord = index;
    return index;
  }

  private find(names: Names): number {
    this.text();
    const { bytes, textFrom, textTo } = this;
    const length = textTo - textFrom;
    if (!this.ok || length === 0 || length > LENGTH_MAX) return this.fail();
    const index = names.slots[slotOf(length, bytes[textFrom]!, bytes[textTo - 1]!)]!;
    if (index === -1 || !this.textIs(names.bytes[index]!)) return this.fail();
    return index;
  }

  /** Reads a string of printable ASCII. {@link textFrom} and {@link textTo} are its range. */
  text(): void {
    if (this.next() !== QUOTE) {
      this.fail();
      return;
    }
    const { bytes, length } = this;
    let at = this.at + 1;
    this.textFrom = at;
    while (at < length && IS_PLAIN[bytes[at]!] === 1) at++;
    this.textTo = at;
    this.at = at + 1;
    if (bytes[at] !== QUOTE) this.fail();
  }

  /** Skips the next string if it equals `quoted`, which includes the quotes. */
  skipText(quoted: Uint8Array): boolean {
    this.next();
    return this.ok && this.skip(quoted);
  }

  private textIs(expected: Uint8Array): boolean {
    const { bytes, textFrom, textTo } = this;
    if (textTo - textFrom !== expected.length) return false;
    for (let i = 0; i < expected.length; i++) {
      if (bytes[textFrom + i] !== expected[i]) return false;
    }
    return true;
  }

  /** Returns the last text if `allowed` is 1 for each of its bytes, or `null`. */
  textOf(allowed: Uint8Array): string | null {
    const { bytes, textFrom, textTo } = this;
    let text = '';
    for (let at = textFrom; at < textTo; at++) {
      if (allowed[bytes[at]!] !== 1) return null;
      text += CHARACTERS[bytes[at]!]!;
    }
    return text;
  }

  /** Reads a string; empty on failure. */
  textValue(): string {
    this.text();
    if (!this.ok) return '';
    const { buffer, byteOffset } = this.bytes;
    const length = this.textTo - this.textFrom;
    return Buffer.from(buffer, byteOffset + this.textFrom, length).toString('latin1');
  }

  /** The number in a string such as "u12". `letter` is the string's first byte. */
  id(letter: number): number {
    this.text();
    const { bytes, textFrom, textTo } = this;
    const count = textTo - textFrom - 1;
    if (!this.ok || count < 1 || count > DIGITS_MAX) return this.fail();
    if (bytes[textFrom] !== letter || bytes[textFrom + 1] === ZERO) return this.fail();
    let value = 0;
    for (let at = textFrom + 1; at < textTo; at++) {
      const digit = bytes[at]! - ZERO;
      if (digit < 0 || digit > 9) return this.fail();
      value = value * 10 + digit;
    }
    return value;
  }

  /** An unsigned decimal times 10^`places`, an integer. `orText`: it may be in a string. */
  decimal(places: number, orText = false): number {
    const first = this.next();
    const { bytes } = this;
    let at = this.at;
    let value = 0;
    let digits = 0;
    for (; ; at++, digits++) {
      const digit = bytes[at]! - ZERO;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
    }
    if (digits === 0 || (first === ZERO && digits > 1))
      return orText && first === QUOTE ? this.quotedDecimal(places) : this.fail();
    let left = places;
    if (bytes[at] === POINT) {
      const start = ++at;
      for (; ; at++, digits++) {
        const digit = bytes[at]! - ZERO;
        if (!(digit >= 0 && digit <= 9)) break;
        if (left > 0) {
          value = value * 10 + digit;
          left--;
        } else if (digit !== 0) return this.fail();
      }
      if (at === start) return this.fail();
    }
    if (digits > DIGITS_MAX || at > this.length) return this.fail();
    for (; left > 0; left--) value *= 10;
    this.at = at;
    return value;
  }

  /** The opening quote is next. */
  private quotedDecimal(places: number): number {
    const { bytes } = this;
    const digit = bytes[++this.at]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) return this.fail();
    const value = this.decimal(places);
    return this.ok && bytes[this.at++] === QUOTE ? value : this.fail();
  }

  /** 1 for true, 0 for false. */
  boolean(): number {
    this.next();
    if (this.skip(TRUE)) return 1;
    return this.skip(FALSE) ? 0 : this.fail();
  }

  private skip(expected: Uint8Array): boolean {
    const { bytes, at } = this;
    for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
    this.at = at + expected.length;
    return true;
  }

  /** Skips white space and returns the next byte, or FAILED at the end. */
  private next(): number {
    const { bytes, length } = this;
    for (; this.at < length; this.at++) {
      const byte = bytes[this.at]!;
      if (byte > SPACE) return byte;
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) return this.fail();
    }
    return FAILED;
  }
}

const NOTHING = new Uint8Array(0);
