/**
 * The frames between a socket thread and the trading thread, in the rings of ring.ts. Both ends are
 * of the same process and program, so nothing here is checked, and the format has no version.
 *
 * A frame begins with its kind, a byte of flags, two bytes of its own, and the place and number of
 * its request; integers are little-endian. The thread gives each request a number, and a place
 * that no other request has until it is answered or its client has left. A frame whose number is
 * not the one in its place is of a request that is over.
 */

/** From a socket thread. */
export const FromSockets = {
  /** A request. Its own two bytes: the index of its handler. */
  request: 1,
  /** The client has left. */
  gone: 2,
  /** The thread accepts no connections any more, and has sent every request with a body. */
  drained: 3,
} as const;

/** To a socket thread. */
export const ToSockets = {
  /** An answer. Its own two bytes: the number of headers. */
  answer: 1,
  /** A part of the frame of an answer, after the length of all of it. */
  part: 2,
  /** Close the connection. */
  close: 3,
} as const;

/** Flags of a request. */
export const RequestFlag = {
  /** The body is too large, and left out. */
  tooLarge: 1,
  /** The client is still sending the body, which is left out. */
  unread: 2,
  /** The body did not arrive in time. */
  late: 4,
} as const;

/** Flags of an answer. */
export const AnswerFlag = {
  /** The answer has a body. Without, {@link ToSockets.close} follows. */
  hasBody: 1,
} as const;

export const FRAME_HEAD_BYTES = 12;

/**
 * The headers that a request needs on the trading thread, by code: all that request.ts and
 * static-file.ts read. Host and Content-Length come last; see framed-request.ts.
 */
export const HEADER_NAMES: readonly string[] = [
  'x-user-token',
  'content-type',
  'content-encoding',
  'idempotency-key',
  'client-sequence',
  'transfer-encoding',
  'trailer',
  'cookie',
  'authorization',
  'accept',
  'accept-encoding',
  'if-none-match',
  'min-sequence',
  'origin',
  'access-control-request-method',
  'sec-fetch-site',
  'x-request-id',
  'x-forwarded-proto',
  'x-forwarded-for',
  'x-forwarded-host',
  'host',
  'content-length',
];

/** Bytes that a frame is put together in. */
export class FrameBuilder {
  bytes: Buffer = Buffer.alloc(64 * 1024);
  length = 0;

  begin(kind: number, place: number, number: number): void {
    this.length = FRAME_HEAD_BYTES;
    const { bytes } = this;
    bytes[0] = kind;
    bytes[1] = 0;
    bytes[2] = 0;
    bytes[3] = 0;
    this.setInteger(4, place);
    this.setInteger(8, number);
  }

  /** The frame so far, in memory of its own. */
  copy(): Uint8Array {
    return new Uint8Array(this.bytes.subarray(0, this.length));
  }

  /** The flags of the frame. */
  set flags(flags: number) {
    this.bytes[1] = flags;
  }

  /** The two bytes of the frame's own. */
  set own(value: number) {
    this.bytes[2] = value & 0xff;
    this.bytes[3] = value >> 8;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** A text with its length in front. */
  text(value: string): void {
    this.reserve(4 + 3 * value.length);
    const start = this.length + 4;
    const length = value.length === 0 ? 0 : this.bytes.write(value, start);
    this.setInteger(this.length, length);
    this.length = start + length;
  }

  /** Bytes with their length in front. */
  content(value: Uint8Array): void {
    this.reserve(4 + value.byteLength);
    this.setInteger(this.length, value.byteLength);
    this.bytes.set(value, this.length + 4);
    this.length += 4 + value.byteLength;
  }

  /** An integer to be set later; returns where. */
  integer(value = 0): number {
    this.reserve(4);
    this.setInteger(this.length, value);
    this.length += 4;
    return this.length - 4;
  }

  setInteger(at: number, value: number): void {
    const { bytes } = this;
    bytes[at] = value;
    bytes[at + 1] = value >>> 8;
    bytes[at + 2] = value >>> 16;
    bytes[at + 3] = value >>> 24;
  }

  private reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.alloc(2 * needed);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** An unsigned integer in a frame. */
export function integerAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  );
}
