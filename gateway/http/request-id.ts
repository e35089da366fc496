/**
 * Ids for requests whose client sent none: eight characters that distinguish this process from
 * earlier and parallel ones, and a counter.
 */
import { randomBytes } from 'node:crypto';

const PROCESS_ID = randomBytes(6).toString('base64url');
const NINE = 57;
const ZERO = 48;
let lastNumber = 0;

export function nextRequestNumber(): number {
  return ++lastNumber;
}

export function requestIdText(number: number): string {
  return `${PROCESS_ID}-${number}`;
}

/** Bytes that end with the id of a request; rewritten in place for each. */
export class NumberedBytes {
  private bytes: Uint8Array = new Uint8Array(0);
  private number = Number.NaN;

  /** `start`: the bytes before the id. */
  constructor(private readonly start: string) {}

  /** Valid until the next call. */
  with(number: number): Uint8Array {
    if (number !== this.number + 1 || !countUp(this.bytes)) {
      this.bytes = Buffer.from(this.start + requestIdText(number), 'latin1');
    }
    this.number = number;
    return this.bytes;
  }
}

/** Adds 1 to the decimal at the end. Returns false, and changes nothing, if it gains a digit. */
function countUp(bytes: Uint8Array): boolean {
  let at = bytes.length - 1;
  while (bytes[at] === NINE) at--;
  const digit = bytes[at]!;
  if (digit < ZERO || digit > NINE) return false;
  bytes[at] = digit + 1;
  for (at++; at < bytes.length; at++) bytes[at] = ZERO;
  return true;
}
