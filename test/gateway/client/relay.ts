/**
 * An address in front of an exchange, for HTTP and the stream, that drops stream messages on their
 * way to the client.
 */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

export class Relay {
  /** Decides whether to drop a message from the exchange. */
  loses: (text: string) => boolean = () => false;
  private readonly sockets = new WebSocketServer({ noServer: true });
  private readonly server: Server;

  private constructor(port: number) {
    this.server = createServer(({ url, method, headers }, response) => {
      const options = { port, path: url, method, headers };
      const forwarded = request(options, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      forwarded.on('error', () => response.destroy());
      response.req.pipe(forwarded);
    });
    this.server.on('upgrade', (asked, socket, head) => {
      this.sockets.handleUpgrade(asked, socket, head, (client) => this.join(client, port));
    });
  }

  static async to(port: number): Promise<Relay> {
    const relay = new Relay(port);
    await new Promise<void>((resolve) => relay.server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const client of this.sockets.clients) client.terminate();
    this.server.close();
    this.server.closeAllConnections();
  }

  private join(client: WebSocket, port: number): void {
    const exchange = new WebSocket(`ws://127.0.0.1:${port}/api/stream`);
    const early: string[] = [];
    client.on('message', (data) => {
      if (exchange.readyState === WebSocket.OPEN) exchange.send(`${data}`);
      else early.push(`${data}`);
    });
    exchange.on('open', () => {
      for (const text of early) exchange.send(text);
    });
    exchange.on('message', (data) => {
      if (!this.loses(`${data}`)) client.send(`${data}`);
    });
    client.on('error', () => {}).on('close', () => exchange.terminate());
    exchange
      .on('error', () => {})
      .on('close', (code, reason) => {
        if (code >= 4_000) client.close(code, reason);
        else client.terminate();
      });
  }
}
