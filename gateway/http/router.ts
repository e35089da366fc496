/**
 * The router: the only file that registers handlers with uWebSockets.js, so every route, file and
 * WebSocket passes the checks here. They prevent request smuggling: a request that a proxy and
 * uWebSockets.js could delimit differently never reaches a handler.
 *
 * Always holds, on every path:
 * - a request has one length, which is a number, or Transfer-Encoding: chunked, or neither. It has
 *   no Trailer header, and no header that affects handling has two different values. Any other
 *   request is refused and its connection closed;
 * - a chunked body is accepted only by {@link Router.onBody}, and its request is the last on its
 *   connection: uWebSockets.js parses chunks and trailers loosely and may take the bytes after them
 *   for a request. It closes a connection that receives a second request before the first is
 *   answered, so an answer sent in a later turn, which then closes the connection, lets none in;
 * - a WebSocket handshake has no body.
 *
 * A proxy in front must check what uWebSockets.js does not report: non-ASCII bytes at either end of
 * a header's value, and headers after one without a name.
 */
import * as uWS from 'uWebSockets.js';
import type { ConnectionCap } from '../fair-use/connections.js';
import type { FieldProblems } from '../json/problems.js';
import { type ReceivedBody, receiveBody } from './body.js';
import { cannotListen } from './listen-addresses.js';
import { Request } from './request.js';

/** `raw` is only valid within the call. */
export type Handler = (response: uWS.HttpResponse, request: Request, raw: uWS.HttpRequest) => void;
/** Answers 400 with the problems, in a later turn, and closes the connection. */
export type Refuse = (
  response: uWS.HttpResponse,
  request: Request,
  problems: FieldProblems,
  raw: uWS.HttpRequest,
) => void;
export type Verb = 'get' | 'head' | 'post' | 'put' | 'patch' | 'del' | 'any';
type Upgrade = (
  response: uWS.HttpResponse,
  request: Request,
  raw: uWS.HttpRequest,
  context: uWS.us_socket_context_t,
) => void;

type Listen = (
  host: string,
  port: number,
  options: number,
  done: (socket: ListenSocket | false) => void,
) => void;
type ListenSocket = Parameters<typeof uWS.us_listen_socket_close>[0];
/** Missing from the types of uWebSockets.js, too. */
interface ChildApps {
  getDescriptor(): number;
  addChildAppDescriptor(app: number): void;
}
/** Missing from the types of uWebSockets.js. */
const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number };

/** The method of the requests that each verb is registered for; null: it varies. */
const METHODS: Record<Verb, string | null> = {
  get: 'get',
  head: 'head',
  post: 'post',
  put: 'put',
  patch: 'patch',
  del: 'delete',
  any: null,
};
const NO_CHUNKS: FieldProblems = {
  'Transfer-Encoding': 'is not allowed on a request without a body',
};
const NO_BODY: FieldProblems = { 'Content-Length': 'must be 0: a handshake has no body' };

export class Router {
  private readonly app = uWS.App();
  private listening: ListenSocket | null = null;
  private cap: ConnectionCap | null = null;

  constructor(
    private readonly trustProxy: boolean,
    private readonly refuse: Refuse,
  ) {}

  /** Handles requests without a body. A body with Content-Length is read and dropped. */
  on(verb: Verb, path: string, handler: Handler): void {
    this.register(verb, path, (response, request, raw) => {
      if (request.isChunked) this.refuse(response, request, NO_CHUNKS, raw);
      else handler(response, request, raw);
    });
  }

  /**
   * Handles requests whose body the handler reads. If it `isChunked`, the answer must be sent in a
   * later turn and close the connection.
   */
  onBody(verb: Verb, path: string, handler: Handler): void {
    this.register(verb, path, handler);
  }

  /** Calls `done` with the body of a request, within a callback of uWebSockets.js; or never. */
  receive(response: uWS.HttpResponse, done: (body: ReceivedBody) => void): void {
    receiveBody(response, done);
  }

  onUpgrade<Data>(path: string, behavior: uWS.WebSocketBehavior<Data>, upgrade: Upgrade): void {
    this.app.ws<Data>(path, {
      ...behavior,
      upgrade: (response, raw, context) => {
        const request = new Request(raw, 'get', this.trustProxy);
        const problems = request.problems ?? (request.announcesBody ? NO_BODY : null);
        if (problems === null) upgrade(response, request, raw, context);
        else this.refuse(response, request, problems, raw);
      },
    });
  }

  /** Tells the cap of each connection and each request. */
  capConnections(cap: ConnectionCap): void {
    this.cap = cap;
    this.app.filter((response, change) => cap.changed(response, change));
  }

  /** Sends a text, or the bytes of one, to every WebSocket subscribed to the topic. */
  publish(topic: string, text: string | Uint8Array): void {
    this.app.publish(topic, text);
  }

  /**
   * Resolves to the port. Rejects if the address is not available, or if another process listens on
   * it: uWebSockets.js would share connections with that process.
   */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const listen = this.app.listen.bind(this.app) as unknown as Listen;
      listen(host, port, LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
        if (socket === false) {
          reject(cannotListen(host, port));
          return;
        }
        this.listening = socket;
        resolve(uWS.us_socket_local_port(socket as never));
      });
    });
  }

  /** Accepts no new connections. */
  stopListening(): void {
    if (this.listening !== null) uWS.us_listen_socket_close(this.listening);
    this.listening = null;
  }

  /** This app, for {@link handOut} of another thread. */
  get descriptor(): number {
    return (this.app as unknown as ChildApps).getDescriptor();
  }

  /** Connections that this app accepts are served by those of other threads, in turn. */
  handOut(descriptors: readonly number[]): void {
    const app = this.app as unknown as ChildApps;
    for (const descriptor of descriptors) app.addChildAppDescriptor(descriptor);
  }

  /** Closes all connections. */
  close(): void {
    this.app.close();
  }

  private register(verb: Verb, path: string, handler: Handler): void {
    const known = METHODS[verb];
    this.app[verb](path, (response, raw) => {
      this.cap?.requested(response);
      const request = new Request(raw, known ?? raw.getMethod(), this.trustProxy);
      if (request.problems === null) handler(response, request, raw);
      else this.refuse(response, request, request.problems, raw);
    });
  }
}
