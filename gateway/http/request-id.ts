/** Ids for requests without a client id: eight characters for this process, then a counter. */
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

/** Bytes that end with a request's id, rewritten in place for each request. */
export class NumberedBytes {
  private bytes: Uint8Array = new Uint8Array(0);
  private number = Number.NaN;

  constructor(private readonly start: string) {}

  with(number: number): Uint8Array {
    if (number !== this.number + 1 || !countUp(this.bytes)) {
      this.bytes = Buffer.from(this.start + requestIdText(number), 'latin1');
    }
    this.number = number;
    return this.bytes;
  }
}

/** Adds 1 to the decimal at the end. Returns false if that would add a digit. */
function countUp(bytes: Uint8Array): boolean {
  let at = bytes.length - 1;
  while (bytes[at] === NINE) at--;
  const digit = bytes[at]!;
  if (digit < ZERO || digit > NINE) return false;
  bytes[at] = digit + 1;
  for (at++; at < bytes.length; at++) bytes[at] = ZERO;
  return true;
}
