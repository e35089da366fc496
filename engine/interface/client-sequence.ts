/**
 * Client sequences: numbers that increase with each command of a token. A command carries such a
 * number in place of an idempotency key, in the same field of its record: the character 1, which no
 * key has, the token's id (0: the user's password), a colon, the number.
 */

const MARK = 1;
const PREFIX = String.fromCharCode(MARK);
const NUMBERED = new RegExp(`^${PREFIX}(\\d+):(\\d+)$`);
const COLON = 58;
const ZERO = 48;
const NINE = 57;

export function numberedKey(tokenId: number, clientSequence: number): string {
  return `${PREFIX}${tokenId}:${clientSequence}`;
}

/** Parses a client sequence; null if the text is an idempotency key. */
export function numberOfKey(key: string): { tokenId: number; clientSequence: number } | null {
  const parts = NUMBERED.exec(key);
  return parts === null ? null : { tokenId: Number(parts[1]), clientSequence: Number(parts[2]) };
}

/** Parses a client sequence from the bytes of a record, one byte per character. */
export class ClientSequence {
  tokenId = 0;
  number = 0;

  /** Whether the field has a client sequence rather than a key. */
  static isIn(bytes: Uint8Array, from: number, length: number): boolean {
    return length > 0 && bytes[from] === MARK;
  }

  /** Returns false if the form is wrong. Numbers are 1 to 2^53 - 1, without leading zeros. */
  read(bytes: Uint8Array, from: number, length: number): boolean {
    const end = from + length;
    const colon = this.readInteger(bytes, from + 1, end);
    this.tokenId = this.number;
    if (colon === -1 || bytes[colon] !== COLON) return false;
    const last = this.readInteger(bytes, colon + 1, end);
    return last === end && this.number > 0 && this.tokenId <= 0x7fffffff;
  }

  /** Returns the place after the digits; -1 if the text is not a valid integer. */
  private readInteger(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    this.number = 0;
    for (; at < end && bytes[at]! >= ZERO && bytes[at]! <= NINE; at++)
      this.number = this.number * 10 + (bytes[at]! - ZERO);
    const isShortest = at === from + 1 || (at > from && bytes[from] !== ZERO);
    return isShortest && at <= from + 16 && Number.isSafeInteger(this.number) ? at : -1;
  }
}
