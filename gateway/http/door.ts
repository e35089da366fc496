/**
 * The door: the only place that registers handlers with uWebSockets.js, so that no route, file or stream can be served without what is
 * checked here. A request that two readers could read differently never reaches a handler (request smuggling: a proxy in front, or
 * uWebSockets.js, would take the rest of one for the next).
 *
 * Always holds, on every path:
 * - a request has at most one Content-Length, which is a number, or a Transfer-Encoding, which is `chunked`; it announces no trailer; and no header
 *   that decides something stands there twice with two values. All else is refused, and ends its connection;
 * - a body in chunks is only taken where a body is read, and its request is the last of its connection: uWebSockets.js reads chunks and trailers
 *   loosely, and may take what is behind them for a request. It closes a connection on which a second request comes before the first is
 *   answered, so an answer that waits for a turn of the event loop, and then ends the connection, lets none in;
 * - a WebSocket's handshake has no body.
 *
 * What uWebSockets.js does not tell (bytes beyond ASCII at either end of a header's value, headers behind one without a name) nobody can check
 * here: a proxy in front has to.
 */
import * as uWS from 'uWebSockets.js';
import type { FieldProblems } from '../json/problems.js';
import { Request } from './request.js';

export type Handler = (response: uWS.HttpResponse, request: uWS.HttpRequest, incoming: Request) => void;
/** Answers 400 with the problems, not before the next turn, and ends the connection. */
export type Refuse = (response: uWS.HttpResponse, incoming: Request, problems: FieldProblems) => void;
type Verb = 'get' | 'head' | 'post' | 'put' | 'del' | 'any';
type Upgrade = (
  response: uWS.HttpResponse,
  request: uWS.HttpRequest,
  context: uWS.us_socket_context_t,
  incoming: Request,
) => void;

type Listen = (
  host: string,
  port: number,
  options: number,
  done: (socket: ListenSocket | false) => void,
) => void;
type ListenSocket = Parameters<typeof uWS.us_listen_socket_close>[0];
/** What the types of uWebSockets.js leave out. */
const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number };

const NO_CHUNKS: FieldProblems = { 'Transfer-Encoding': 'does not go with a request that has no body' };
const NO_BODY: FieldProblems = { 'Content-Length': 'must be 0: a handshake has no body' };

export class Door {
  private readonly app = uWS.App();
  private listening: ListenSocket | null = null;

  constructor(
    private readonly trustProxy: boolean,
    private readonly refuse: Refuse,
  ) {}

  /** Of requests without a body. One whose length is known is read and dropped. */
  on(verb: Verb, path: string, handler: Handler): void {
    this.register(verb, path, (response, request, incoming) => {
      if (incoming.isChunked) this.refuse(response, incoming, NO_CHUNKS);
      else handler(response, request, incoming);
    });
  }

  /** Of requests whose body the handler reads. Where that `isChunked`, the answer must wait for a turn and end the connection. */
  onBody(verb: Verb, path: string, handler: Handler): void {
    this.register(verb, path, handler);
  }

  onUpgrade<Data>(path: string, behavior: uWS.WebSocketBehavior<Data>, upgrade: Upgrade): void {
    this.app.ws<Data>(path, {
      ...behavior,
      upgrade: (response, request, context) => {
        const incoming = new Request(request, this.trustProxy);
        const problems = incoming.problems ?? (incoming.announcesBody ? NO_BODY : null);
        if (problems === null) upgrade(response, request, context, incoming);
        else this.refuse(response, incoming, problems);
      },
    });
  }

  /** Tells of each connection that is opened (1) or closed (-1). */
  onConnection(handler: (response: uWS.HttpResponse, change: number) => void): void {
    this.app.filter(handler);
  }

  /** Sends a text to every WebSocket that is subscribed to the topic. */
  publish(topic: string, text: string): void {
    this.app.publish(topic, text);
  }

  /**
   * Resolves to the port. Rejects when the address cannot be had; also when another process listens there, with which uWebSockets.js would
   * otherwise share the connections.
   */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const listen = this.app.listen.bind(this.app) as unknown as Listen;
      listen(host, port, LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
        if (socket === false) {
          reject(new Error(`cannot listen on ${host}:${port}: is the port in use, or the address not ours?`));
          return;
        }
        this.listening = socket;
        resolve(uWS.us_socket_local_port(socket as never));
      });
    });
  }

  /** No new connections. */
  shut(): void {
    if (this.listening !== null) uWS.us_listen_socket_close(this.listening);
    this.listening = null;
  }

  /** Ends all connections. */
  close(): void {
    this.app.close();
  }

  private register(verb: Verb, path: string, handler: Handler): void {
    this.app[verb](path, (response, request) => {
      const incoming = new Request(request, this.trustProxy);
      if (incoming.problems === null) handler(response, request, incoming);
      else this.refuse(response, incoming, incoming.problems);
    });
  }
}
