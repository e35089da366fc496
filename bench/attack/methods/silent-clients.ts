/**
 * A process full of clients that ask and never read. Each connects, asks once, and takes nothing;
 * when its connection has been closed, it comes again. That a connection is closed only shows when
 * something is sent, so each sends a byte every now and then.
 *
 * Takes one task as a message, tells its counts when it is asked for them, and ends when it is
 * killed or its parent does.
 */
import { connect, type Socket } from 'node:net';

export interface SilentTask {
  host: string;
  port: number;
  clients: number;
  /** Where clients come from, in turn. */
  localAddresses: readonly string[];
  /** What clients ask for, in turn. */
  paths: readonly string[];
}

export interface SilentCounts {
  /** Clients whose connection is open, as far as they know. */
  open: number;
  /** Connections that were ever made. */
  connected: number;
  /** Connections that ended or could not be made, by why. */
  ends: Record<string, number>;
}

/** Clients that connect at once, so that no queue of the system overflows. */
const CONNECTING_MAX = 100;
const CONNECT_EVERY_MS = 20;
const PROBE_EVERY_MS = 5_000;

class SilentClients {
  private readonly open = new Set<Socket>();
  /** The numbers of the clients that have no connection. */
  private readonly idle: number[];
  private connecting = 0;
  private connected = 0;
  private readonly ends: Record<string, number> = {};

  constructor(private readonly task: SilentTask) {
    this.idle = Array.from({ length: task.clients }, (_, i) => i);
    setInterval(() => this.connectSome(), CONNECT_EVERY_MS);
    setInterval(() => this.probe(), PROBE_EVERY_MS);
  }

  counts(): SilentCounts {
    return { open: this.open.size, connected: this.connected, ends: this.ends };
  }

  private connectSome(): void {
    while (this.connecting < CONNECTING_MAX && this.idle.length > 0)
      this.connectOne(this.idle.shift()!);
  }

  private connectOne(client: number): void {
    const { host, port, localAddresses, paths } = this.task;
    const localAddress = localAddresses[client % localAddresses.length]!;
    const path = paths[Math.floor(client / localAddresses.length) % paths.length]!;
    const socket = connect({ host, port, localAddress });
    let isConnecting = true;
    this.connecting++;
    const decided = () => {
      if (isConnecting) this.connecting--;
      isConnecting = false;
    };
    socket.pause();
    socket.on('connect', () => {
      decided();
      this.connected++;
      this.open.add(socket);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => this.count(error.code ?? error.message));
    socket.on('close', () => {
      decided();
      this.open.delete(socket);
      this.idle.push(client);
    });
  }

  private probe(): void {
    for (const socket of this.open) socket.write('x');
  }

  private count(reason: string): void {
    this.ends[reason] = (this.ends[reason] ?? 0) + 1;
  }
}

let clients: SilentClients | null = null;
process.on('message', (message: SilentTask | 'counts') => {
  if (message === 'counts') process.send!(clients!.counts());
  else clients = new SilentClients(message);
});
process.on('disconnect', () => process.exit());
