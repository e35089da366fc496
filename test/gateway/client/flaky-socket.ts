/** WebSockets that a test can cut, or whose messages it can drop. */
import { WebSocket } from 'ws';
import type { Socket } from '../../../gateway/client/index.js';

export class FlakySockets {
  private readonly open = new Set<WebSocket>();
  /** Number of connections opened. */
  made = 0;
  /** Decides whether to drop a message from the exchange. */
  loses: (text: string) => boolean = () => false;

  /** Maps the address of a connection. */
  redirect: (url: string) => string = (url) => url;

  /** The class to pass in a stream's options. */
  readonly WebSocket: new (
    url: string,
  ) => Socket;

  constructor() {
    const sockets = this;
    this.WebSocket = class implements Socket {
      onopen: Socket['onopen'] = null;
      onmessage: Socket['onmessage'] = null;
      onclose: Socket['onclose'] = null;
      onerror: Socket['onerror'] = null;
      private readonly socket: WebSocket;

      constructor(url: string) {
        sockets.made++;
        const socket = new WebSocket(sockets.redirect(url));
        this.socket = socket;
        sockets.open.add(socket);
        socket.onopen = (event) => this.onopen?.(event as never);
        socket.onerror = (event) => this.onerror?.(event as never);
        socket.onmessage = (event) => {
          if (!sockets.loses(`${event.data}`)) this.onmessage?.(event as never);
        };
        socket.onclose = (event) => {
          sockets.open.delete(socket);
          this.onclose?.(event as never);
        };
      }

      send(text: string): void {
        this.socket.send(text);
      }

      close(): void {
        this.socket.terminate();
      }
    };
  }

  /** Ends all connections without a close frame. */
  cut(): void {
    for (const socket of this.open) socket.terminate();
  }
}
