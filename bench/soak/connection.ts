/**
 * One keep-alive HTTP connection of a client that may hang up: it sends one request at a time, and hands its answer on, or that there
 * was none. Written on a bare socket, because a client that hangs up at a chosen moment cannot be made of anything else, and so
 * that it costs less than the server that it loads.
 *
 * Always holds: each request is settled exactly once, with its answer or with null; after that the connection is free again, and
 * connects anew if it has to.
 */
import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  status: number;
  /** Status line and headers. */
  head: string;
  body: Buffer;
}

/** null: the connection ended before the answer came in whole. */
export type Settled = (answer: HttpAnswer | null) => void;

const HEADER_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;
const CONNECTION_CLOSE = /\r\nconnection: *close/i;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

export class HttpConnection {
  private socket: Socket | null = null;
  private settled: Settled | null = null;
  private received: Buffer | null = null;

  constructor(
    private readonly host: string,
    private readonly port: number,
  ) {}

  get isFree(): boolean {
    return this.settled === null;
  }

  send(request: Uint8Array, settled: Settled): void {
    if (this.settled !== null) throw new Error('the answer to the last request is still to come');
    this.settled = settled;
    this.socket ??= this.open();
    this.socket.write(request);
  }

  /** Drops the connection, as a client that has lost its patience or its power does. */
  hangUp(): void {
    this.socket?.resetAndDestroy();
    this.ended();
  }

  private open(): Socket {
    const socket = connect({ host: this.host, port: this.port, noDelay: true });
    // Of a socket that was given up, nothing is heard any more.
    const current = (work: () => void) => () => {
      if (this.socket === socket) work();
    };
    socket.on('data', (bytes) => {
      if (this.socket === socket) this.receive(bytes);
    });
    socket.on(
      'error',
      current(() => this.ended()),
    );
    socket.on(
      'close',
      current(() => this.ended()),
    );
    return socket;
  }

  private ended(): void {
    const answer = this.received === null ? null : readAnswerToEnd(this.received);
    this.socket?.destroy();
    this.socket = null;
    this.received = null;
    this.settle(answer);
  }

  private receive(bytes: Buffer): void {
    this.received = this.received === null ? bytes : Buffer.concat([this.received, bytes]);
    const answer = readAnswer(this.received);
    if (answer === null) return;
    this.received = null;
    this.settle(answer);
  }

  private settle(answer: HttpAnswer | null): void {
    const { settled } = this;
    this.settled = null;
    settled?.(answer);
  }
}

/** The answer, when all of it is there. One without a length has no body. */
function readAnswer(bytes: Buffer): HttpAnswer | null {
  const headEnd = bytes.indexOf(HEADER_END);
  if (headEnd === -1) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = STATUS_LINE.exec(head);
  if (status === null) throw new Error(`an answer that is not understood: ${head}`);
  const start = headEnd + HEADER_END.length;
  if (endsWithConnection(head)) return null;
  const end = start + Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0);
  if (bytes.length < end) return null;
  if (bytes.length > end) throw new Error('more came than one answer');
  return { status: Number(status[1]), head, body: bytes.subarray(start, end) };
}

/** uWebSockets.js refuses what is not HTTP with an answer that ends with the connection. */
function endsWithConnection(head: string): boolean {
  return CONNECTION_CLOSE.test(head) && !CONTENT_LENGTH.test(head);
}

/** The answer that ended with its connection; null: it is not one of those. */
function readAnswerToEnd(bytes: Buffer): HttpAnswer | null {
  const headEnd = bytes.indexOf(HEADER_END);
  const head = bytes.toString('latin1', 0, Math.max(0, headEnd));
  const status = STATUS_LINE.exec(head);
  if (status === null || !endsWithConnection(head)) return null;
  return { status: Number(status[1]), head, body: bytes.subarray(headEnd + HEADER_END.length) };
}

/** A request and its JSON answer, for what is not part of the load. Rejects when there is none, or not the `expected` status. */
export async function ask(
  connection: HttpConnection,
  request: Uint8Array,
  expected: number,
  // biome-ignore lint/suspicious/noExplicitAny: whoever asks knows the form of the answer
): Promise<any> {
  const answer = await new Promise<HttpAnswer | null>((resolve) => connection.send(request, resolve));
  if (answer === null) throw new Error('the exchange closed a connection');
  const text = answer.body.toString('utf8');
  if (answer.status !== expected) throw new Error(`an answer was ${answer.status}: ${text}`);
  return text.startsWith('{') ? JSON.parse(text) : text;
}
