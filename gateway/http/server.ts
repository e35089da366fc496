/**
 * The HTTP server: the routes below /api behind the door, and an answer for everything else.
 *
 * Pipelining (a second request on a connection before the first is answered, and the answer taken) is not supported: uWebSockets.js
 * closes the connection. Keep-alive is, except after a body in chunks and behind answers without a body (last-answer.ts).
 */
import type * as uWS from 'uWebSockets.js';
import type { FieldProblems } from '../json/problems.js';
import { elapsedMs } from '../time/clock.js';
import { admit } from './admission.js';
import { type ReceivedBody, receiveBody } from './body.js';
import { Door } from './door.js';
import { errorAnswer, invalidRequest } from './errors.js';
import type { Gateway } from './gateway.js';
import type { Request } from './request.js';
import { RequestContext } from './request-context.js';
import type { Method, Route } from './route.js';

const BASE = '/api';
/** How long a body may take to come in whole, in real time. */
const BODY_MS_MAX = 5_000;
const SWEEP_MS = 500;
const NO_BODY: ReceivedBody = { text: '', colons: 0, fault: null, unread: false };
const REGISTER = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'del' } as const;

export class HttpServer {
  private readonly door: Door;
  private underWay = 0;
  /** Calls whose body has not come in whole. */
  private readonly receiving = new Set<RequestContext>();
  private slow = 0;
  private sweeper: NodeJS.Timeout | null = null;
  private idle: (() => void) | null = null;

  constructor(
    private readonly gateway: Gateway,
    routes: readonly Route[],
  ) {
    this.door = new Door(gateway.config.trustProxy, this.refuseUnclear);
    const methodsByPath = new Map<string, Method[]>();
    for (const route of routes) {
      this.serve(route);
      methodsByPath.set(route.path, [...(methodsByPath.get(route.path) ?? []), route.method]);
    }
    for (const [path, methods] of methodsByPath) this.refuseOtherMethods(path, methods);
    this.door.on('any', '/*', (response, _request, incoming) => {
      this.begin(response, incoming, null).refuse(errorAnswer('route_not_found'));
    });
  }

  /** Lets somebody register what is not a route: the stream, files. */
  mount(attach: (door: Door) => void): void {
    attach(this.door);
  }

  /** Resolves to the port. Rejects when the address cannot be had. */
  async listen(host: string, port: number): Promise<number> {
    const listening = await this.door.listen(host, port);
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    return listening;
  }

  /** Requests that are not answered yet. */
  get callsUnderWay(): number {
    return this.underWay;
  }

  /** Requests whose body did not come in time, since the start. */
  get slowBodies(): number {
    return this.slow;
  }

  /** No new connections, and no more of bodies that are not whole; resolves when every call under way has been answered. */
  async drain(): Promise<void> {
    this.door.shut();
    for (const call of this.receiving) {
      call.hangUp();
      call.refuseUnavailable();
    }
    if (this.underWay > 0) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  /** Ends all connections. */
  close(): void {
    if (this.sweeper !== null) clearInterval(this.sweeper);
    this.sweeper = null;
    this.door.close();
  }

  private serve(route: Route): void {
    const verb = REGISTER[route.method];
    const path = BASE + route.path;
    if (route.body !== undefined) {
      this.door.onBody(verb, path, (response, request, incoming) => {
        this.receive(this.beginRoute(response, request, incoming, route), response, route);
      });
      return;
    }
    for (const each of verb === 'get' ? (['get', 'head'] as const) : [verb]) {
      this.door.on(each, path, (response, request, incoming) => {
        this.admit(this.beginRoute(response, request, incoming, route), route, NO_BODY);
      });
    }
  }

  private refuseOtherMethods(path: string, methods: Method[]): void {
    const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    this.door.on('any', BASE + path, (response, _request, incoming) => {
      const call = this.begin(response, incoming, null);
      call.addHeader('Allow', allowed);
      call.refuse(errorAnswer('method_not_allowed'));
    });
  }

  private receive(call: RequestContext, response: uWS.HttpResponse, route: Route): void {
    const { isChunked } = call.incoming;
    if (isChunked) call.hangUp();
    this.receiving.add(call);
    receiveBody(response, (body) => {
      const proceed = () => {
        this.receiving.delete(call);
        if (!call.isOver) this.admit(call, route, body);
      };
      // While this request is not answered, no other is let in that stands behind it.
      if (isChunked) setImmediate(proceed);
      else proceed();
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
  private admit(call: RequestContext, route: Route, body: ReceivedBody): void {
    try {
      admit(call, route, body);
    } catch (error) {
      this.gateway.fail(error);
    }
  }

  private beginRoute(
    response: uWS.HttpResponse,
    request: uWS.HttpRequest,
    incoming: Request,
    route: Route,
  ): RequestContext {
    incoming.takeParameters(request, route);
    return this.begin(response, incoming, route);
  }

  private begin(response: uWS.HttpResponse, incoming: Request, route: Route | null): RequestContext {
    const call = new RequestContext(this.gateway, route, incoming, response, this.onCallEnd);
    response.onAborted(() => call.abort());
    this.underWay++;
    return call;
  }

  /**
   * Nobody can tell where the next request begins, so none may. The answer waits for a turn: if there is anything behind this
   * request, uWebSockets.js meets it while this one is not answered, and closes the connection.
   */
  private readonly refuseUnclear = (
    response: uWS.HttpResponse,
    incoming: Request,
    problems: FieldProblems,
  ): void => {
    const call = this.begin(response, incoming, null);
    setImmediate(() => {
      call.hangUp();
      call.refuse(invalidRequest(problems));
    });
  };

  private readonly onCallEnd = (call: RequestContext): void => {
    this.receiving.delete(call);
    this.underWay--;
    if (this.underWay === 0) this.idle?.();
  };
}
