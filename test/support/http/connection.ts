/**
 * A client's keep-alive HTTP connection on a bare socket. It costs less than the server that it
 * loads, and can hang up at a chosen moment.
 *
 * Invariant: one request is outstanding at a time, because uWebSockets.js closes a connection
 * that pipelines. Each request is settled exactly once, with its answer or with null. The
 * connection is then idle again; if it was closed, the next request opens it.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { AnswerReader, HOST, type HttpAnswer } from './messages.js';

/** Called with the answer, or with null if the connection ended before it was complete. */
export type Settled = (answer: HttpAnswer | null) => void;

export interface ConnectionOptions {
  /** Whether bodies are kept, or only counted. Default: true. */
  keepsBodies?: boolean;
  /** Whether to encrypt; any certificate is accepted. Default: false. */
  isSecure?: boolean;
  /**
   * Called when the server ends the connection, even an idle one, or sends a malformed answer.
   * Without it, an outstanding request is settled with null, and a malformed answer is thrown.
   */
  onFailure?: (error: Error) => void;
}

/** Shared by all connections, because the reader copies everything that it keeps. */
const readBuffer = Buffer.alloc(64 * 1024);

export class HttpConnection {
  private socket: Socket | null = null;
  private settled: Settled | null = null;
  private readonly reader: AnswerReader;

  constructor(
    private readonly port: number,
    private readonly options: ConnectionOptions = {},
  ) {
    this.reader = new AnswerReader(options.keepsBodies ?? true);
  }

  /** Opens the connection ahead of the first request. */
  open(): Promise<void> {
    this.socket ??= this.connect();
    const { socket } = this;
    const event = this.options.isSecure ? 'secureConnect' : 'connect';
    return new Promise((resolve) => socket.once(event, () => resolve()));
  }

  send(request: Uint8Array, settled: Settled): void {
    if (this.settled !== null) throw new Error('the last request has not been answered');
    this.settled = settled;
    this.socket ??= this.connect();
    this.socket.write(request);
  }

  /** Resets the connection, as a crashing client does. */
  hangUp(): void {
    // Node.js cannot reset a TLS socket.
    if (this.options.isSecure) this.socket?.destroy();
    else this.socket?.resetAndDestroy();
    this.ended(null);
  }

  private connect(): Socket {
    const { port } = this;
    const callback = (length: number) => {
      if (this.socket === socket) this.receive(readBuffer.subarray(0, length));
      return true;
    };
    const onread = { buffer: readBuffer, callback };
    const place = { host: HOST, port, noDelay: true, onread };
    const socket = this.options.isSecure
      ? connectSecurely({ ...place, rejectUnauthorized: false })
      : connect(place);
    // Ignores events of a socket that has been replaced.
    const ended = (error: Error) => {
      if (this.socket === socket) this.ended(error);
    };
    socket.on('error', ended);
    socket.on('close', () => ended(new Error('the server closed a connection')));
    return socket;
  }

  /** `error`: the reason, or null if this side hung up. */
  private ended(error: Error | null): void {
    this.socket?.destroy();
    this.socket = null;
    const answer = this.reader.end();
    if (error !== null) this.options.onFailure?.(error);
    this.settle(answer);
  }

  private receive(bytes: Buffer): void {
    let answer: HttpAnswer | null = null;
    try {
      if (this.settled === null) throw new Error('more came than one answer');
      answer = this.reader.read(bytes);
    } catch (error) {
      if (this.options.onFailure === undefined) throw error;
      this.options.onFailure(error as Error);
    }
    if (answer !== null) this.settle(answer);
  }

  private settle(answer: HttpAnswer | null): void {
    const { settled } = this;
    this.settled = null;
    settled?.(answer);
  }
}
