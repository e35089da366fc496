/**
 * On the trading thread: the response to a request of a socket thread. It has the methods of a
 * response of uWebSockets.js that the routes use, and makes frames of what they write.
 *
 * Always holds: what is written goes to the thread in the order in which it is written, and only
 * when the routes write it, which is once it is durable; after the whole answer, or once the client
 * has left, nothing more goes there.
 */
import type { HttpResponse, RecognizedString } from 'uWebSockets.js';
import { UnsentAnswers } from '../http/answers/unsent-answers.js';
import type { ReceivedBody } from '../http/body.js';
import { textBuffers } from '../json/text-buffers.js';
import { FRAME_BYTES_MAX } from './ring.js';
import { AnswerFlag, FRAME_HEAD_BYTES, FrameBuilder, ToSockets } from './ring-frames.js';

/** The thread that has the request's connection. */
export interface SocketThread {
  write(head: Uint8Array, headLength: number, body?: Uint8Array): void;
  /** Whether more waits for it than may: answers are then dropped, with their connections. */
  isCongested(): boolean;
  /** Nothing more will be written for this request. */
  forget(response: RemoteResponse): void;
}

const PART_BYTES = FRAME_BYTES_MAX / 2;
const NO_BODY = new Uint8Array(0);
const encoder = new TextEncoder();

/** The answer that is being written. uWebSockets.js, too, corks one at a time. */
const builder = new FrameBuilder();
let writing: RemoteResponse | null = null;
let headers = 0;

/** The part of uWebSockets.js's response that the routes use. */
type Emulated = Pick<
  HttpResponse,
  'writeStatus' | 'writeHeader' | 'cork' | 'onAborted' | 'close' | 'getRemoteAddress'
>;

export class RemoteResponse implements Emulated {
  private aborted: () => void = () => {};
  private isOver = false;

  constructor(
    private readonly thread: SocketThread,
    readonly place: number,
    readonly number: number,
    private readonly address: ArrayBuffer,
    /** What the thread has read of the body. */
    readonly received: ReceivedBody,
  ) {}

  getRemoteAddress(): ArrayBuffer {
    return this.address;
  }

  /** As with uWebSockets.js, the last handler counts. */
  onAborted(handler: () => void): HttpResponse {
    this.aborted = handler;
    return this.self;
  }

  cork(write: () => void): HttpResponse {
    write();
    finishHead();
    return this.self;
  }

  /** Must come before the headers. */
  writeStatus(status: RecognizedString): HttpResponse {
    this.begin();
    builder.text(status as string);
    return this.self;
  }

  writeHeader(name: RecognizedString, value: RecognizedString): HttpResponse {
    if (writing !== this) this.writeStatus('');
    builder.text(name as string);
    if (typeof value === 'string') builder.text(value);
    else builder.content(value as Uint8Array);
    headers++;
    return this.self;
  }

  /**
   * Ends the answer with a body, which must not change later. Returns false if too much waits for
   * the thread, so that the connection is closed instead.
   */
  finish(body: string | Uint8Array): boolean {
    if (writing !== this) this.writeStatus('');
    endHead(AnswerFlag.hasBody);
    if (this.isOver) return true;
    const isCongested = this.thread.isCongested();
    if (isCongested) this.close();
    else {
      this.send(typeof body === 'string' ? encoder.encode(body) : body);
      this.end();
    }
    return !isCongested;
  }

  close(): HttpResponse {
    if (!this.isOver) {
      builder.begin(ToSockets.close, this.place, this.number);
      this.thread.write(builder.bytes, FRAME_HEAD_BYTES);
      this.gone();
    }
    return this.self;
  }

  /** The connection is closed. */
  gone(): void {
    if (this.isOver) return;
    this.end();
    this.aborted();
  }

  /** Sends the answer so far. Only for {@link finishHead}. */
  sendHead(): void {
    if (!this.isOver) this.send(NO_BODY);
  }

  /** What is too large for a frame goes in parts, which the thread puts together again. */
  private send(body: Uint8Array): void {
    const { length } = builder;
    const total = length + body.byteLength;
    if (total <= FRAME_BYTES_MAX) {
      this.thread.write(builder.bytes, length, body);
      return;
    }
    this.sendPart(total, builder.copy());
    this.sendPart(total, body);
  }

  private sendPart(total: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; at += PART_BYTES) {
      builder.begin(ToSockets.part, this.place, this.number);
      builder.integer(total);
      this.thread.write(builder.bytes, builder.length, bytes.subarray(at, at + PART_BYTES));
    }
  }

  private end(): void {
    this.isOver = true;
    this.thread.forget(this);
  }

  private begin(): void {
    if (writing !== null) throw new Error('two answers are written at once');
    writing = this;
    headers = 0;
    builder.begin(ToSockets.answer, this.place, this.number);
  }

  private get self(): HttpResponse {
    return this as unknown as HttpResponse;
  }
}

function endHead(flags: number): void {
  builder.flags = flags;
  builder.own = headers;
  writing = null;
}

/**
 * Sends the head of an answer without a body, whose connection is closed next (last-answer.ts). To
 * be called when a handler has returned.
 */
export function finishHead(): void {
  if (writing === null) return;
  const response = writing;
  endHead(0);
  response.sendHead();
}

/** Hands answers to the socket threads, each of which keeps what its clients have not read. */
export class HandedAnswers extends UnsentAnswers {
  /** Answers that were dropped because too much waited for a thread. */
  congestedCount = 0;

  override send(response: HttpResponse, body: string | Uint8Array): void {
    if (!(response as unknown as RemoteResponse).finish(body)) this.congestedCount++;
    if (typeof body !== 'string') textBuffers.give(body);
  }

  override sendShared(response: HttpResponse, body: Uint8Array): void {
    this.send(response, body);
  }
}
