/**
 * One keep-alive connection of a load: sends a prebuilt request, and says when the answer to it has come in whole. Written on bare
 * sockets, so that the client costs less than the servers that it measures.
 *
 * Always holds: one request is outstanding at a time, because uWebSockets.js serves no pipelining (it closes the connection); a connection that
 * ends early, or an answer that is not understood, fails the load.
 */
import { connect, type Socket } from 'node:net';
import { AnswerReader } from './messages.js';

/** Whose connection it is. */
export interface ConnectionOwner {
  /** The connection is open: it may send. */
  connected(connection: HttpConnection): void;
  answered(connection: HttpConnection, status: number): void;
  failed(error: Error): void;
}

/** What one read from a socket may bring. */
const READ_BYTES = 64 * 1024;
/** Shared by all connections: what is in it is used up, or copied, before the next read. */
const readBuffer = Buffer.alloc(READ_BYTES);

export class HttpConnection {
  /** Of the request that is outstanding: when it was sent, or should have been. The owner's to set. */
  sinceMs = 0;
  private readonly socket: Socket;
  private readonly reader = new AnswerReader();
  private closing = false;

  constructor(
    address: { host: string; port: number },
    private readonly owner: ConnectionOwner,
  ) {
    const { host, port } = address;
    this.socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (length) => {
          this.receive(readBuffer.subarray(0, length));
          return true;
        },
      },
    });
    this.socket.on('connect', () => owner.connected(this));
    this.socket.on('error', (error) => owner.failed(error));
    this.socket.on('close', () => {
      if (!this.closing) owner.failed(new Error('the server closed a connection'));
    });
  }

  send(request: Uint8Array): void {
    this.socket.write(request);
  }

  close(): void {
    this.closing = true;
    this.socket.destroy();
  }

  private receive(bytes: Buffer): void {
    let status: number;
    try {
      status = this.reader.read(bytes);
    } catch (error) {
      this.owner.failed(error as Error);
      return;
    }
    if (status !== 0) this.owner.answered(this, status);
  }
}
