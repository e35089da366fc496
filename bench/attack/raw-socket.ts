/** A TCP connection that does what no HTTP client does: sends half a request, stays silent, does not read, resets. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { HOST } from '../soak/exchange.js';
import type { Door } from './client.js';

export class RawSocket {
  /** All that came, as Latin-1. */
  received = '';
  isClosed = false;

  private constructor(private readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
    });
    // However the connection ends, isClosed tells.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  static async open({ port }: Door): Promise<RawSocket> {
    const socket = connect({ host: HOST, port, noDelay: true, allowHalfOpen: true });
    const raw = new RawSocket(socket);
    await once(socket, 'connect');
    return raw;
  }

  write(text: string): void {
    if (!this.isClosed) this.socket.write(text, 'latin1');
  }

  /** From now on nothing is read, so the other side cannot write on. */
  stopReading(): void {
    this.socket.pause();
  }

  /** No more will be written; what comes is still read. */
  endWriting(): void {
    this.socket.end();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }
}

/** Opens `count` connections, a hundred at a time. */
export async function openMany(door: Door, count: number): Promise<RawSocket[]> {
  const sockets: RawSocket[] = [];
  while (sockets.length < count) {
    const more = Math.min(100, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: more }, () => RawSocket.open(door)))));
  }
  return sockets;
}
