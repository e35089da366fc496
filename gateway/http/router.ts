/**
 * The only file that registers handlers with uWebSockets.js, so every route, file and WebSocket
 * passes its checks against request smuggling: a request that a proxy and uWebSockets.js could
 * delimit differently never reaches a handler.
 *
 * Invariants on every path:
 * - A request has at most one length: a number, or Transfer-Encoding: chunked. It has no Trailer
 *   header, and no two different values of a header that affects handling. Any other request is
 *   refused and its connection closed.
 * - Only {@link Router.onBody} accepts a chunked body, as the last request of its connection:
 *   uWebSockets.js parses chunks and trailers loosely, may mistake the bytes after them for a
 *   request, and closes a connection whose next request arrives before the answer. So the answer is
 *   sent in a later turn and closes the connection.
 * - A WebSocket handshake has no body.
 *
 * A TLS app of uWebSockets.js keeps its first certificate. A new certificate needs a new app for
 * new connections; open connections stay with their app.
 *
 * A proxy in front must check what uWebSockets.js does not report: non-ASCII bytes at either end of
 * a header value, and headers after one without a name.
 */
import type * as uWS from 'uWebSockets.js';
import type { ConnectionCap } from '../access/fair-use/connections.js';
import type { FieldProblems } from '../json/problems.js';
import { Acceptor, createAcceptorApp, createApp, descriptorOf, type TlsFiles } from './acceptor.js';
import { Request } from './request.js';

/** `raw` is valid only during the call. */
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

/** The request method for each verb; `null` if it varies. */
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
  /** Apps, newest last. The newest serves new connections. */
  private readonly apps: uWS.TemplatedApp[] = [];
  private readonly attached: ((app: uWS.TemplatedApp) => void)[] = [];
  private acceptor: Acceptor | null = null;
  private cap: ConnectionCap | null = null;

  /** @throws if the TLS files cannot be used */
  constructor(
    private readonly trustProxy: boolean,
    private readonly refuse: Refuse,
    private readonly tls: TlsFiles | null = null,
  ) {
    this.apps.push(createApp(tls));
  }

  /** Handles requests without a body. A body with Content-Length is read and discarded. */
  on(verb: Verb, path: string, handler: Handler): void {
    this.register(verb, path, (response, request, raw) => {
      if (request.isChunked) this.refuse(response, request, NO_CHUNKS, raw);
      else handler(response, request, raw);
    });
  }

  /** Handles requests with a body. If chunked, answer in a later turn and close the connection. */
  onBody(verb: Verb, path: string, handler: Handler): void {
    this.register(verb, path, handler);
  }

  onUpgrade<Data>(path: string, behavior: uWS.WebSocketBehavior<Data>, upgrade: Upgrade): void {
    const handshake: uWS.WebSocketBehavior<Data>['upgrade'] = (response, raw, context) => {
      const request = new Request(raw, 'get', this.trustProxy);
      const problems = request.problems ?? (request.announcesBody ? NO_BODY : null);
      if (problems === null) upgrade(response, request, raw, context);
      else this.refuse(response, request, problems, raw);
    };
    this.attach((app) => app.ws<Data>(path, { ...behavior, upgrade: handshake }));
  }

  capConnections(cap: ConnectionCap): void {
    this.cap = cap;
    this.attach((app) => app.filter((response, change) => cap.changed(response, change)));
  }

  publish(topic: string, text: string | Uint8Array): void {
    for (const app of this.apps) app.publish(topic, text);
  }

  listen(host: string, port: number): Promise<number> {
    this.acceptor = new Acceptor(this.tls === null ? this.apps[0]! : createAcceptorApp(true));
    if (this.tls !== null) this.acceptor.handOut([this.descriptor]);
    return this.acceptor.listen(host, port);
  }

  stopListening(): void {
    this.acceptor?.close();
  }

  get descriptor(): number {
    return descriptorOf(this.apps.at(-1)!);
  }

  /** Keeps the old app, about 170 KiB. @throws if the files cannot be used; nothing has changed */
  renewCertificate(): void {
    const app = createApp(this.tls);
    for (const to of this.attached) to(app);
    this.apps.push(app);
    this.acceptor?.handOut([this.descriptor]);
  }

  close(): void {
    this.stopListening();
    for (const app of this.apps) app.close();
  }

  private attach(to: (app: uWS.TemplatedApp) => void): void {
    this.attached.push(to);
    for (const app of this.apps) to(app);
  }

  private register(verb: Verb, path: string, handler: Handler): void {
    const known = METHODS[verb];
    const handle = (response: uWS.HttpResponse, raw: uWS.HttpRequest) => {
      this.cap?.requested(response);
      const request = new Request(raw, known ?? raw.getMethod(), this.trustProxy);
      if (request.problems === null) handler(response, request, raw);
      else this.refuse(response, request, request.problems, raw);
    };
    this.attach((app) => app[verb](path, handle));
  }
}
