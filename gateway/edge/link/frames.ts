/**
 * The protocol between an edge, which holds clients' connections, and the core, which trades. A
 * frame (integers are little-endian) is
 *
 *   kind (1 byte)   flags (1)   own (2)   number (4)   content
 *
 * `own` depends on the kind. `number` is the edge's number for a request or stream. A text is its
 * length in bytes (4) and UTF-8. Between threads, frames travel in rings (ring-link.ts); between
 * machines, in WebSocket messages, each frame after its length (4).
 *
 * Invariant: a reader never reads outside its frame ({@link FrameError}).
 */
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';

export const ToCore = {
  /** A command, as a record, of a session that the core has numbered. `own`: its text's units. */
  command: 1,
  request: 2,
  streamAsked: 3,
  /** A client of a replica's stream sends orders, or has signed in again. */
  streamJoined: 4,
  streamMessage: 5,
  streamExceeded: 6,
  streamPong: 7,
  streamClosed: 8,
  /** A stream's command, as a record. `own`: its message's units. */
  streamCommand: 9,
  /** Tells a stopping core that nothing more follows. */
  left: 10,
  /** Answers {@link ToEdge.streamAskRead}: the client has read most of what was sent. */
  streamRead: 11,
} as const;

export const ToEdge = {
  result: 1,
  /** The answer to a request, or to a command without a result. */
  answer: 2,
  /** The core has forgotten a command's session: send the whole request. */
  unknownSession: 3,
  /** The stopping core has not executed a request. */
  notServed: 4,
  /** The edge's queue is too long: close the connection instead of answering. */
  dropped: 5,
  stopping: 6,
  streamAccepted: 7,
  /** A handshake was refused; contains the HTTP answer. */
  streamRefused: 8,
  streamText: 9,
  /** The core is stopping, and did not execute a command from a replica's stream. */
  streamNotServed: 10,
  streamSubscribe: 11,
  streamUnsubscribe: 12,
  published: 13,
  streamPing: 14,
  streamEnd: 15,
  /** Cuts a stream's connection. */
  streamCut: 16,
  streamSession: 17,
  /** The engine's result for a stream's command, or the error or receipt that answers it. */
  streamResult: 18,
  /** Asks for a report when a stream's client has read most of what was sent. */
  streamAskRead: 19,
  /** A known address (access/fair-use/known-addresses.ts). */
  known: 20,
} as const;

export const ResultFlag = { replayed: 1, limited: 2, written: 4 } as const;
export const RequestFlag = { tooLarge: 1 } as const;
export const StreamFlag = { cancelOnDisconnect: 1, crossSite: 2, binary: 4 } as const;

/** Ends with the format's version. An edge with another version is refused. */
export const EDGES_PATH = '/replicas/3';

const HEAD_BYTES = 8;
const LENGTH_BYTES = 4;

/** Sends frames to the other side, in order. Keeps neither `frame` nor `body`. */
export interface FrameSink {
  send(frame: Frame, body?: Uint8Array): void;
}

export interface BlockSink extends FrameSink {
  sendBlock(block: FrameBlock): void;
}

export interface Frame {
  readonly bytes: Buffer;
  readonly length: number;
}

/** Assembles a frame. Its memory is reused for the next one. */
export class FrameWriter implements Frame {
  bytes: Buffer = Buffer.alloc(4 * 1024);
  length = 0;

  begin(kind: number, number: number, { flags = 0, own = 0 } = {}): this {
    this.length = HEAD_BYTES;
    const { bytes } = this;
    bytes[0] = kind;
    bytes[1] = flags;
    bytes.writeUInt16LE(own, 2);
    bytes.writeUInt32LE(number, 4);
    return this;
  }

  byte(value: number): this {
    this.reserve(1);
    this.bytes[this.length++] = value;
    return this;
  }

  integer(value: number): this {
    this.reserve(4);
    this.bytes.writeUInt32LE(value, this.length);
    this.length += 4;
    return this;
  }

  number(value: number): this {
    this.reserve(8);
    this.bytes.writeDoubleLE(value, this.length);
    this.length += 8;
    return this;
  }

  text(value: string): this {
    this.reserve(LENGTH_BYTES + 3 * value.length);
    const from = this.length + LENGTH_BYTES;
    const length = value === '' ? 0 : this.bytes.write(value, from);
    this.bytes.writeUInt32LE(length, this.length);
    this.length = from + length;
    return this;
  }

  texts(values: readonly string[]): this {
    this.integer(values.length);
    for (const value of values) this.text(value);
    return this;
  }

  /** Appends up to 255 bytes, after their number. */
  content(value: Uint8Array): this {
    this.byte(value.length);
    this.reserve(value.length);
    this.bytes.set(value, this.length);
    this.length += value.length;
    return this;
  }

  private reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.alloc(2 * needed);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** Result frames as they travel, each after its length; written in words, which is faster. */
export class FrameBlock {
  private words = new Int32Array(4 * 1024);
  private bytes = Buffer.from(this.words.buffer);
  /** Words in use, and the start of the last frame. */
  private length = 0;
  private begun = 0;

  get byteLength(): number {
    return 4 * this.length;
  }

  get content(): Buffer {
    return this.bytes.subarray(0, this.byteLength);
  }

  clear(): void {
    this.length = 0;
  }

  begin(kind: number, number: number, flags: number): this {
    this.begun = this.length;
    return this.integer(0)
      .integer(kind | (flags << 8))
      .integer(number);
  }

  integer(value: number): this {
    if (this.length === this.words.length) this.grow(1);
    this.words[this.length++] = value;
    return this;
  }

  end({ words, length }: NumberBuffer): void {
    const count = 2 * length;
    if (this.length + count > this.words.length) this.grow(count);
    for (let i = 0; i < count; i++) this.words[this.length + i] = words[i]!;
    this.length += count;
    this.words[this.begun] = 4 * (this.length - this.begun) - LENGTH_BYTES;
  }

  *frames(): Generator<Frame> {
    for (let at = 0; at < this.length; ) {
      const length = this.words[at]!;
      const from = 4 * at + LENGTH_BYTES;
      yield { bytes: this.bytes.subarray(from, from + length), length };
      at += (LENGTH_BYTES + length) / 4;
    }
  }

  private grow(more: number): void {
    const { words } = this;
    this.words = new Int32Array(2 * (this.length + more));
    this.words.set(words);
    this.bytes = Buffer.from(this.words.buffer);
  }
}

/** The other side has another version, or is not an exchange. */
export class FrameError extends Error {
  override name = 'FrameError';
}

export class FrameReader {
  kind = 0;
  flags = 0;
  own = 0;
  /** The number of the request or stream. */
  id = 0;
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;
  private end = 0;
  private readonly sixteen = new Uint8Array(16);

  /** @throws FrameError, as all readers below */
  open(bytes: Buffer, from: number, to: number): this {
    if (to - from < HEAD_BYTES || to > bytes.length) throw notAFrame();
    this.bytes = bytes;
    this.end = to;
    this.kind = bytes[from]!;
    this.flags = bytes[from + 1]!;
    this.own = bytes.readUInt16LE(from + 2);
    this.id = bytes.readUInt32LE(from + 4);
    this.at = from + HEAD_BYTES;
    return this;
  }

  byte(): number {
    return this.bytes[this.take(1)]!;
  }

  integer(): number {
    return this.bytes.readUInt32LE(this.take(4));
  }

  number(): number {
    return this.bytes.readDoubleLE(this.take(8));
  }

  text(): string {
    const length = this.integer();
    const from = this.take(length);
    return length === 0 ? '' : this.bytes.toString('utf8', from, from + length);
  }

  texts(): string[] {
    const count = this.integer();
    if (count > this.end - this.at) throw notAFrame();
    return Array.from({ length: count }, () => this.text());
  }

  /** The bytes are valid until the next call. */
  content(): Uint8Array {
    const length = this.byte();
    const from = this.take(length);
    // Usually a 16-byte address, for which a new view would cost more than the copy.
    const copy = length === 16 ? this.sixteen : new Uint8Array(length);
    for (let i = 0; i < length; i++) copy[i] = this.bytes[from + i]!;
    return copy;
  }

  /** The rest of the frame, in the frame's memory. */
  rest(): Uint8Array {
    return this.view(this.at, this.end - this.at);
  }

  private view(from: number, length: number): Uint8Array {
    const { buffer, byteOffset } = this.bytes;
    return new Uint8Array(buffer, byteOffset + from, length);
  }

  private take(length: number): number {
    const from = this.at;
    if (length > this.end - from) throw notAFrame();
    this.at = from + length;
    return from;
  }
}

function notAFrame(): FrameError {
  return new FrameError('a frame is cut off, or has a different version');
}

/** A message of this size is sent before the turn ends. */
const MESSAGE_BYTES = 1024 * 1024;
/** Larger messages are refused. Fits the largest answer and the frames before it. */
export const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

/** Collects one turn's frames and sends them as one message. */
export class FrameCollector implements BlockSink {
  private message: Buffer = Buffer.allocUnsafeSlow(0);
  private length = 0;
  private immediate: NodeJS.Immediate | null = null;
  private readonly flushLater = (): void => this.flush();

  constructor(private readonly sendMessage: (message: Uint8Array) => void) {}

  send({ bytes, length }: Frame, body: Uint8Array = NOTHING): void {
    const from = this.reserve(LENGTH_BYTES + length + body.byteLength);
    this.message.writeUInt32LE(length + body.byteLength, from);
    bytes.copy(this.message, from + LENGTH_BYTES, 0, length);
    this.message.set(body, from + LENGTH_BYTES + length);
    this.sendLater();
  }

  sendBlock({ content }: FrameBlock): void {
    const from = this.reserve(content.length);
    this.message.set(content, from);
    this.sendLater();
  }

  private sendLater(): void {
    if (this.length >= MESSAGE_BYTES) this.flush();
    else this.immediate ??= setImmediate(this.flushLater);
  }

  flush(): void {
    const { message, length } = this;
    this.clear();
    if (length > 0) this.sendMessage(message.subarray(0, length));
  }

  clear(): void {
    if (this.immediate !== null) clearImmediate(this.immediate);
    this.immediate = null;
    // The socket may keep the old memory.
    this.message = Buffer.allocUnsafeSlow(0);
    this.length = 0;
  }

  private reserve(more: number): number {
    const from = this.length;
    this.length += more;
    if (this.length > this.message.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(4 * 1024, 2 * this.length));
      this.message.copy(larger, 0, 0, from);
      this.message = larger;
    }
    return from;
  }
}

const NOTHING: Uint8Array = new Uint8Array(0);

/** @throws FrameError */
export function readFrames(
  message: Buffer,
  reader: FrameReader,
  read: (frame: FrameReader) => void,
): void {
  for (let at = 0; at < message.length; ) {
    if (message.length - at < LENGTH_BYTES) throw notAFrame();
    const from = at + LENGTH_BYTES;
    at = from + message.readUInt32LE(at);
    read(reader.open(message, from, at));
  }
}
