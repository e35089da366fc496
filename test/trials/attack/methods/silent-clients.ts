/**
 * A process of clients that ask once and never read. A client whose connection is closed connects
 * again; to notice that, each sends a byte now and then.
 *
 * It gets one task as a message, sends its counts on request, and ends with its parent.
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

  private readonly task: SilentTask;

  constructor(task: SilentTask) {
    this.task = task;
    this.idle = Array.from({ length: task.clients }, (_, i) => i);
    setInterval(() => this.connectSome(), CONNECT_EVERY_MS);
    setInterval(() => this.probe(), PROBE_EVERY_MS);
  }

  counts(): SilentCounts {
    return { open: this.open.size };
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
      this.open.add(socket);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    });
    // The close event follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      decided();
      this.open.delete(socket);
      this.idle.push(client);
    });
  }

  private probe(): void {
    for (const socket of this.open) socket.write('x');
  }
}

let clients: SilentClients | null = null;
process.on('message', (message: SilentTask | 'counts') => {
  if (message === 'counts') process.send!(clients!.counts());
  else clients = new SilentClients(message);
});
process.on('disconnect', () => process.exit());
