/**
 * The HTTP server: uWebSockets.js with the routes below /api, and an answer for everything else.
 *
 * Pipelining (a second request on a connection before the first is answered, and the answer taken) is not supported: uWebSockets.js
 * closes the connection. Keep-alive is, but for answers without a body: last-answer.ts.
 */
import * as uWS from 'uWebSockets.js';
import { elapsedMs } from '../clock.js';
import { admit } from './admission.js';
import { type ReceivedBody, receiveBody } from './body.js';
import { Call } from './call.js';
import { type ErrorCode, errorAnswer, invalidRequest } from './errors.js';
import type { Gateway } from './gateway.js';
import { Incoming } from './incoming.js';
import type { Method, Route } from './route.js';

const BASE = '/api';
/** How long a body may take to come in whole, in real time. */
const BODY_MS_MAX = 5_000;
const SWEEP_MS = 500;
const NO_BODY: ReceivedBody = { text: '', fault: null, unread: false };
const REGISTER = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'del' } as const;

export class HttpServer {
  private readonly app = uWS.App();
  private listening: Parameters<typeof uWS.us_listen_socket_close>[0] | null = null;
  private underWay = 0;
  /** Calls whose body has not come in whole. */
  private readonly receiving = new Set<Call>();
  private slow = 0;
  private sweeper: NodeJS.Timeout | null = null;
  private idle: (() => void) | null = null;

  constructor(
    private readonly gateway: Gateway,
    routes: readonly Route[],
  ) {
    const methodsByPath = new Map<string, Method[]>();
    for (const route of routes) {
      this.serve(route);
      methodsByPath.set(route.path, [...(methodsByPath.get(route.path) ?? []), route.method]);
    }
    for (const [path, methods] of methodsByPath) this.refuseOtherMethods(path, methods);
    this.app.any('/*', (response, request) => {
      this.answerOther(this.begin(response, request, null), 'route_not_found');
    });
  }

  /** Lets somebody register what is not a route: the stream. */
  mount(attach: (app: uWS.TemplatedApp) => void): void {
    attach(this.app);
  }

  /** Resolves to the port. Rejects when the address cannot be had. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.app.listen(host, port, (socket) => {
        if (socket === false) {
          reject(new Error(`cannot listen on ${host}:${port}: is the port in use, or the address not ours?`));
          return;
        }
        this.listening = socket;
        this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
        resolve(uWS.us_socket_local_port(socket as never));
      });
    });
  }

  /** Requests that are not answered yet. */
  get callsUnderWay(): number {
    return this.underWay;
  }

  /** Requests whose body did not come in time, since the start. */
  get slowBodies(): number {
    return this.slow;
  }

  /** No new connections; resolves when every call under way has been answered. */
  async drain(): Promise<void> {
    if (this.listening !== null) uWS.us_listen_socket_close(this.listening);
    this.listening = null;
    if (this.underWay > 0) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  /** Ends all connections. */
  close(): void {
    if (this.sweeper !== null) clearInterval(this.sweeper);
    this.sweeper = null;
    this.app.close();
  }

  private serve(route: Route): void {
    const handler = (response: uWS.HttpResponse, request: uWS.HttpRequest) => {
      this.handle(response, request, route);
    };
    this.app[REGISTER[route.method]](BASE + route.path, handler);
    if (route.method === 'GET') this.app.head(BASE + route.path, handler);
  }

  private refuseOtherMethods(path: string, methods: Method[]): void {
    const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    this.app.any(BASE + path, (response, request) => {
      const call = this.begin(response, request, null);
      call.addHeader('Allow', allowed);
      this.answerOther(call, 'method_not_allowed');
    });
  }

  private answerOther(call: Call, code: ErrorCode): void {
    if (call.incoming.hasTwoLengths) this.refuseTwoLengths(call);
    else call.refuse(errorAnswer(code));
  }

  private handle(response: uWS.HttpResponse, request: uWS.HttpRequest, route: Route): void {
    const call = this.begin(response, request, route);
    if (call.incoming.hasTwoLengths) {
      this.refuseTwoLengths(call);
      return;
    }
    if (route.body === undefined) {
      this.admit(call, route, NO_BODY);
      return;
    }
    this.receiving.add(call);
    receiveBody(response, (body) => {
      this.receiving.delete(call);
      if (!call.isOver) this.admit(call, route, body);
    });
  }

  private sweep(): void {
    this.refuseSlowBodies();
    this.gateway.unsent.sweep();
  }

  /** uWebSockets.js cuts such a connection off a few seconds later; this way the client hears why. */
  private refuseSlowBodies(): void {
    const nowMs = elapsedMs();
    for (const call of this.receiving) {
      // They stand in the order in which they came.
      if (nowMs - call.receivedMs < BODY_MS_MAX) break;
      this.slow++;
      call.hangUp();
      call.refuse(invalidRequest({ body: `did not come in whole within ${BODY_MS_MAX / 1_000} seconds` }));
    }
  }

  /** What a handler throws is a bug: memory may be half changed, so the process ends. */
  private admit(call: Call, route: Route, body: ReceivedBody): void {
    try {
      admit(call, route, body);
    } catch (error) {
      this.gateway.fail(error);
    }
  }

  private begin(response: uWS.HttpResponse, request: uWS.HttpRequest, route: Route | null): Call {
    const incoming = new Incoming(request, route, this.gateway.config.trustProxy);
    const call = new Call(this.gateway, route, incoming, response, this.onCallEnd);
    response.onAborted(() => call.abort());
    this.underWay++;
    return call;
  }

  /**
   * Nobody can tell where the next request begins, so none may. The answer waits for a turn: if there is anything behind this
   * request, uWebSockets.js meets it while this one is not answered, and closes the connection.
   */
  private refuseTwoLengths(call: Call): void {
    setImmediate(() => {
      call.hangUp();
      call.refuse(invalidRequest({ 'Content-Length': 'stands in the request more than once' }));
    });
  }

  private readonly onCallEnd = (call: Call): void => {
    this.receiving.delete(call);
    this.underWay--;
    if (this.underWay === 0) this.idle?.();
  };
}
