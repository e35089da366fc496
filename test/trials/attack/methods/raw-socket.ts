/** A TCP connection that can send half a request, stay silent, or reset. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { HOST } from '../../../../bench/http/load/messages.js';
import type { Door } from './client.js';

export class RawSocket {
  /** Everything that came, as Latin-1. */
  received = '';
  isClosed = false;

  private readonly socket: Socket;

  /** Connects; does not wait. */
  constructor({ port }: Door) {
    const socket = connect({ host: HOST, port, noDelay: true, allowHalfOpen: true });
    this.socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
    });
    // The close event follows.
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /** Resolves when it is connected. */
  static async open(door: Door): Promise<RawSocket> {
    const raw = new RawSocket(door);
    await once(raw.socket, 'connect');
    return raw;
  }

  write(text: string): void {
    if (!this.isClosed) this.socket.write(text, 'latin1');
  }

  /** Ends this side; what comes is still read. */
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
