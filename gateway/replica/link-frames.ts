/**
 * The format between a replica and the leader: one WebSocket, whose binary messages each hold one
 * or more frames. A frame is
 *
 *   length of the rest (4 bytes)   kind (1)   number (4)   length of the head (4)   head   body
 *
 * with integers in big-endian order. The head is JSON, empty for kinds without one; the body is
 * whatever the head is about. `number` is of the request, or of the client's stream connection; the
 * replica assigns both.
 *
 * Always holds: frames that are made in one turn of the event loop travel together, in order, so
 * many requests cost one system call.
 */

export const FrameKind = {
  /** To the leader: a request. Its head is a RequestHead. */
  request: 1,
  /** To the replica: the answer to a request. Its head is an AnswerHead. */
  answer: 2,
  /** To the replica: the request was not executed, because the leader stops. Ask the next one. */
  notServed: 3,
  /** To the leader: a client's stream connection with orders begins. Its head is a ClientHead. */
  clientOpened: 4,
  /** To the leader: a message of that client; no head. */
  clientMessage: 5,
  /** To the replica: a message for that client. Its head is a MessageHead. */
  clientAnswer: 6,
  /** To the leader: the client's connection has ended. To the replica: it must end. CloseHead. */
  clientClosed: 7,
  /** To the replica: the client's message was not executed, because the leader stops. */
  clientNotServed: 8,
  /** To the replica: the leader stops. Number 0, no head. */
  stopping: 9,
  /** To the leader that stops: nothing more follows. Number 0, no head. */
  left: 10,
} as const;
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

export interface RequestHead {
  method: string;
  /** The route's, with its parameters as `:name`. */
  route: string;
  /** The values of the path parameters, as sent. */
  parameters: string[];
  query: string;
  /** The client's, 16 bytes in hex; empty: unknown. */
  address: string;
  /** Name, value, name, value. */
  headers: string[];
  /** The body was larger than a body may be, and is left out. */
  isTooLarge?: true;
}

export interface AnswerHead {
  status: number;
  contentType: string;
  /** Name, value, name, value. */
  headers: string[];
  /** The sequence that the answer is true at; 0: it shows no state. */
  sequence: number;
  /** The user of the session; 0: nobody was signed in. */
  userId: number;
}

export interface ClientHead {
  token: string;
  address: string;
  cancelOnDisconnect: boolean;
}

export interface MessageHead {
  /** The sequence that the message is true at. */
  sequence: number;
}

export interface CloseHead {
  code: number;
  reason: string;
}

export interface Frame {
  kind: FrameKind;
  number: number;
  head: object;
  /** A part of the message's memory. */
  body: Uint8Array;
}

/** Ends in the version of the format: a replica of another version is refused. */
export const REPLICAS_PATH = '/replicas/1';

const LENGTH_BYTES = 4;
const FIXED_BYTES = 1 + 4 + 4;
/** A message that has reached this size is sent before the turn ends. */
const MESSAGE_BYTES = 1024 * 1024;
/** Larger ones are refused. The largest answer fits, with what was collected before it. */
export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

/** The bytes of one frame. `head`: JSON, or empty. */
export function frameOf(
  kind: FrameKind,
  number: number,
  head: string,
  body: string | Uint8Array = '',
): Buffer {
  const headLength = Buffer.byteLength(head);
  const bodyLength = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + FIXED_BYTES + headLength + bodyLength);
  frame.writeUInt32BE(FIXED_BYTES + headLength + bodyLength, 0);
  frame.writeUInt8(kind, 4);
  frame.writeUInt32BE(number, 5);
  frame.writeUInt32BE(headLength, 9);
  frame.write(head, LENGTH_BYTES + FIXED_BYTES, 'utf8');
  const bodyAt = LENGTH_BYTES + FIXED_BYTES + headLength;
  if (typeof body === 'string') frame.write(body, bodyAt, 'utf8');
  else frame.set(body, bodyAt);
  return frame;
}

/** What the other side sent is not in this format: it is another version, or no exchange. */
export class FrameError extends Error {
  override name = 'FrameError';
}

/** The frames of a message. @throws FrameError */
export function* framesIn(message: Uint8Array): Generator<Frame, void, void> {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < LENGTH_BYTES + FIXED_BYTES) throw notFrames();
    const end = at + LENGTH_BYTES + bytes.readUInt32BE(at);
    const headAt = at + LENGTH_BYTES + FIXED_BYTES;
    const bodyAt = headAt + bytes.readUInt32BE(at + 9);
    if (bodyAt > end || end > bytes.length) throw notFrames();
    yield {
      kind: bytes.readUInt8(at + 4) as FrameKind,
      number: bytes.readUInt32BE(at + 5),
      head: bodyAt === headAt ? {} : headIn(bytes.toString('utf8', headAt, bodyAt)),
      body: new Uint8Array(message.buffer, message.byteOffset + bodyAt, end - bodyAt),
    };
    at = end;
  }
}

function headIn(text: string): object {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw notFrames();
  }
}

function notFrames(): FrameError {
  return new FrameError('a message is not made of frames');
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** @throws FrameError */
export function requestHead(head: object): RequestHead {
  const { method, route, parameters, query, address, headers } = head as Partial<RequestHead>;
  const isWhole =
    isTexts([method, route, query, address]) &&
    isTexts(parameters) &&
    isTexts(headers) &&
    headers.length % 2 === 0;
  if (!isWhole) throw new FrameError('the head of a request is not complete');
  return head as RequestHead;
}

/** @throws FrameError */
export function clientHead(head: object): ClientHead {
  const { token, address, cancelOnDisconnect } = head as Partial<ClientHead>;
  if (!isTexts([token, address]) || typeof cancelOnDisconnect !== 'boolean')
    throw new FrameError('the head of a client is not complete');
  return head as ClientHead;
}

/** Collects the frames of one turn of the event loop, and sends them together. */
export class FrameCollector {
  private frames: Uint8Array[] = [];
  private bytes = 0;
  private immediate: NodeJS.Immediate | null = null;
  private readonly flushLater = (): void => this.flush();

  constructor(private readonly send: (message: Uint8Array) => void) {}

  add(frame: Uint8Array): void {
    this.frames.push(frame);
    this.bytes += frame.byteLength;
    if (this.bytes >= MESSAGE_BYTES) this.flush();
    else this.immediate ??= setImmediate(this.flushLater);
  }

  flush(): void {
    if (this.immediate !== null) clearImmediate(this.immediate);
    this.immediate = null;
    const { frames } = this;
    if (frames.length === 0) return;
    const message = frames.length === 1 ? frames[0]! : Buffer.concat(frames, this.bytes);
    this.frames = [];
    this.bytes = 0;
    this.send(message);
  }

  /** Drops what was not sent. */
  clear(): void {
    if (this.immediate !== null) clearImmediate(this.immediate);
    this.immediate = null;
    this.frames = [];
    this.bytes = 0;
  }
}
