/**
 * A request as it travels from a socket thread to the trading thread: everything that the routes
 * read of it, in the order
 *
 *   handler   address   query   path parameters   method   headers   body
 *
 * The trading thread reads it with the code that reads a request of its own sockets (request.ts),
 * so both see the same. Host and Content-Length are left out where nothing asks for them.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { PARAMETERS_MAX, type RawRequest, type Request } from '../http/request.js';
import {
  FRAME_HEAD_BYTES,
  type FrameBuilder,
  FromSockets,
  HEADER_NAMES,
  integerAt,
} from './ring-frames.js';

const CODES = new Map(HEADER_NAMES.map((name, code) => [name, code]));
const HOST = HEADER_NAMES.indexOf('host');
const CONTENT_LENGTH = HEADER_NAMES.indexOf('content-length');

export interface RequestHead {
  builder: FrameBuilder;
  place: number;
  number: number;
  /** Of the thread's own reading. */
  request: Request;
  raw: HttpRequest;
  /** The handler's index, how many path parameters it has, and whether it serves any method. */
  handler: number;
  parameters: number;
  isAny: boolean;
  address: Uint8Array;
}

/** The handler of a request that is ambiguous, or has a body where none may be. */
export const REFUSED = { handler: 0xffff, parameters: 0, isAny: true };

/** Whose headers are being written; avoids a closure per request. */
let encoding: RequestHead | null = null;

/** Puts the frame without the body together, within the callback of the request. */
export function encodeRequest(head: RequestHead): void {
  const { builder, raw, request } = head;
  builder.begin(FromSockets.request, head.place, head.number);
  builder.own = head.handler;
  builder.content(head.address);
  builder.text(request.rawQuery);
  builder.byte(head.parameters);
  for (let i = 0; i < head.parameters; i++) builder.text(raw.getParameter(i) ?? '');
  builder.text(head.isAny ? request.method : '');
  const lengthAt = builder.integer();
  encoding = head;
  raw.forEach(encodeHeader);
  encoding = null;
  builder.setInteger(lengthAt, builder.length - lengthAt - 4);
}

function encodeHeader(name: string, value: string): void {
  const code = CODES.get(name);
  if (code === undefined || (code >= HOST && !isAskedFor(encoding!.request, code))) return;
  const { builder } = encoding!;
  builder.byte(code);
  builder.text(value);
}

/** A request that is ambiguous is refused with what makes it so; a host matters to a page. */
function isAskedFor(request: Request, code: number): boolean {
  if (request.problems !== null) return true;
  return code !== CONTENT_LENGTH && (request.cookie !== '' || request.origin !== '');
}

/** A frame of a request, as the code of the routes reads a request. Valid within one call. */
export class FramedRequest implements RawRequest {
  handler = 0;
  flags = 0;
  place = 0;
  number = 0;
  private query = '';
  private readonly parameters: string[] = new Array(PARAMETERS_MAX).fill('');
  private parameterCount = 0;
  private method = '';
  private addressAt = 0;
  private headersAt = 0;
  private bodyAt = 0;
  private end = 0;
  private lastAddress = new Uint8Array(0);
  /** Where {@link text} goes on. */
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Turns to the frame at `start`. */
  open(start: number, end: number): void {
    const { bytes } = this;
    this.flags = bytes[start + 1]!;
    this.handler = bytes[start + 2]! | (bytes[start + 3]! << 8);
    this.place = integerAt(bytes, start + 4);
    this.number = integerAt(bytes, start + 8);
    this.addressAt = start + FRAME_HEAD_BYTES;
    this.at = this.addressAt + 4 + integerAt(bytes, this.addressAt);
    this.query = this.text();
    this.parameterCount = bytes[this.at++]!;
    for (let i = 0; i < this.parameterCount; i++) this.parameters[i] = this.text();
    this.method = this.text();
    this.headersAt = this.at + 4;
    this.bodyAt = this.headersAt + integerAt(bytes, this.at);
    this.end = end;
  }

  /** The client's address as its socket had it. It never changes; neighbours often share one. */
  get address(): ArrayBuffer {
    const { bytes, addressAt, lastAddress } = this;
    const start = addressAt + 4;
    const length = integerAt(bytes, addressAt);
    let isLast = length === lastAddress.length;
    for (let i = 0; isLast && i < length; i++) isLast = lastAddress[i] === bytes[start + i];
    if (!isLast) this.lastAddress = new Uint8Array(bytes.subarray(start, start + length));
    return this.lastAddress.buffer;
  }

  /** In the memory of the frame. */
  get body(): Uint8Array {
    const { buffer, byteOffset } = this.bytes;
    return new Uint8Array(buffer, byteOffset + this.bodyAt, this.end - this.bodyAt);
  }

  getMethod(): string {
    return this.method;
  }

  getQuery(): string {
    return this.query;
  }

  getParameter(index: number): string | undefined {
    return index < this.parameterCount ? this.parameters[index] : undefined;
  }

  getHeader(wanted: string): string {
    let found = '';
    this.forEach((name, value) => {
      if (found === '' && name === wanted) found = value;
    });
    return found;
  }

  forEach(read: (name: string, value: string) => void): void {
    this.at = this.headersAt;
    while (this.at < this.bodyAt) {
      const name = HEADER_NAMES[this.bytes[this.at++]!]!;
      read(name, this.text());
    }
  }

  private text(): string {
    const length = integerAt(this.bytes, this.at);
    const start = this.at + 4;
    this.at = start + length;
    return length === 0 ? '' : this.bytes.toString('utf8', start, this.at);
  }
}
