/**
 * The HTTP server: serves the routes below /api, and answers everything else with an error.
 *
 * Keep-alive is supported, except after chunked bodies and answers without a body
 * (closing-answer.ts).
 * Pipelining is not: uWebSockets.js closes a connection whose next request comes too early.
 */
import type * as uWS from 'uWebSockets.js';
import { isPreflight, preflightHeaders } from '../access/cross-origin.js';
import { errorAnswer, invalidRequest } from '../commands/errors.js';
import type { FieldProblems } from '../json/problems.js';
import { elapsedMs } from '../observe/clock.js';
import type { AnswerCounts } from '../observe/metrics.js';
import type { Outlet, Reply } from './answers/reply.js';
import { SocketOutlet } from './answers/socket-outlet.js';
import { BODY_MS_MAX, LargeBodyQueue, ReceivedBody, receiveBody } from './body.js';
import type { Serving } from './gateway.js';
import { InFlight } from './in-flight.js';
import { PARAMETERS_MAX, type Request } from './request.js';
import { type Method, parameterNames, type Route } from './route.js';
import { type Handler, Router } from './router.js';

const BASE = '/api';
const SWEEP_MS = 500;
const NO_BODY = new ReceivedBody(new Uint8Array(0));
const VERBS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const;

export interface Service<R extends Reply> {
  readonly server: Serving;
  begin(
    route: Route | null,
    counts: AnswerCounts,
    request: Request,
    outlet: Outlet,
    inFlight: InFlight<Reply>,
  ): R;
  serve(call: R, route: Route, body: ReceivedBody): void;
}

export class HttpServer<R extends Reply = Reply> {
  private readonly router: Router;
  private readonly server: Serving;
  private readonly inFlight = new InFlight<Reply>(() => this.settle());
  private readonly largeBodies = new LargeBodyQueue();
  private readonly unknownCounts: AnswerCounts;
  private slow = 0;
  private sweeper: NodeJS.Timeout | undefined;
  private idle: (() => void) | null = null;

  constructor(
    private readonly service: Service<R>,
    routes: readonly Route[],
  ) {
    this.server = service.server;
    const { config, metrics } = this.server;
    this.unknownCounts = metrics.answersOf(null);
    this.router = new Router(config.trustProxy, this.refuseAmbiguous, config.tls);
    const methodsByPath = new Map<string, Method[]>();
    for (const route of routes) {
      this.register(route);
      methodsByPath.set(route.path, [...(methodsByPath.get(route.path) ?? []), route.method]);
    }
    for (const [path, methods] of methodsByPath) this.refuseOtherMethods(path, methods);
    this.router.on('any', '/*', (response, request) => {
      const call = this.begin(response, request, null);
      if (call.charge(1)) call.refuseNow(errorAnswer('route_not_found'));
    });
  }

  mount(attach: (router: Router) => void): void {
    attach(this.router);
  }

  async listen(host: string, port: number): Promise<number> {
    const listening = await this.router.listen(host, port);
    this.open();
    return listening;
  }

  open(): number {
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    return this.router.descriptor;
  }

  /** Returns the new app's descriptor. */
  renewCertificate(): number {
    this.router.renewCertificate();
    return this.router.descriptor;
  }

  get requestsInFlight(): number {
    return this.inFlight.count;
  }

  get slowBodies(): number {
    return this.slow;
  }

  /** Refuses requests with incomplete bodies. Resolves when all others are answered. */
  async drain(): Promise<void> {
    this.router.stopListening();
    for (let call = this.inFlight.oldest; call !== null; call = this.inFlight.oldest) {
      this.inFlight.received(call);
      call.closeAfterAnswer();
      call.refuseUnavailable();
    }
    if (this.inFlight.count > 0) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  close(): void {
    clearInterval(this.sweeper);
    this.router.close();
  }

  private register(route: Route): void {
    const verb = VERBS[route.method];
    const path = BASE + route.path;
    const names = parameterNames(route.path);
    if (names.length > PARAMETERS_MAX) throw new Error(`too many parameters: ${route.path}`);
    const counts = this.server.metrics.answersOf(route);
    const handler: Handler = (response, request, raw) => {
      request.readParameters(raw, names);
      const call = this.begin(response, request, route, counts);
      if (route.body === undefined) this.answer(call, route, NO_BODY);
      else this.receive(call, response, route);
    };
    if (route.body !== undefined) {
      this.router.onBody(verb, path, handler);
      return;
    }
    if (verb !== 'get') throw new Error(`only a read has no body: ${route.path}`);
    for (const each of ['get', 'head'] as const) this.router.on(each, path, handler);
  }

  private refuseOtherMethods(path: string, methods: Method[]): void {
    const allowed = methods
      .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      .join(', ');
    const { siteOrigins } = this.server.config;
    this.router.on('any', BASE + path, (response, request) => {
      const call = this.begin(response, request, null);
      if (!call.charge(1)) return;
      if (isPreflight(request, siteOrigins)) {
        for (const header of preflightHeaders(allowed)) call.addHeader(...header);
        call.answerNow(204, '');
        return;
      }
      call.addHeader('Allow', allowed);
      call.refuseNow(errorAnswer('method_not_allowed'));
    });
  }

  private receive(call: R, response: uWS.HttpResponse, route: Route): void {
    const { isChunked } = call.request;
    if (isChunked) call.closeAfterAnswer();
    this.inFlight.receives(call);
    const received = (body: ReceivedBody) => {
      this.inFlight.received(call);
      if (!call.isOver) this.answer(call, route, body);
    };
    receiveBody(response, (body) => {
      // uWebSockets.js accepts no further request on the connection until this one is answered.
      if (!isChunked && !LargeBodyQueue.mustWait(body.units)) received(body);
      else {
        const kept = body.kept();
        this.largeBodies.add(() => received(kept));
      }
    });
  }

  private sweep(): void {
    this.refuseSlowBodies();
    this.server.unsent.sweep();
  }

  /** Otherwise uWebSockets.js closes the connection a few seconds later without an answer. */
  private refuseSlowBodies(): void {
    const nowMs = elapsedMs();
    for (let call = this.inFlight.oldest; call !== null; call = this.inFlight.oldest) {
      if (nowMs - call.receivedMs < BODY_MS_MAX) break;
      this.inFlight.received(call);
      this.refuseSlow(call);
    }
  }

  private refuseSlow(call: Reply): void {
    this.slow++;
    call.closeAfterAnswer();
    call.refuseNow(invalidRequest({ body: `did not end within ${BODY_MS_MAX / 1_000} seconds` }));
  }

  /** An exception in a handler is a bug: memory may be half changed, so the process ends. */
  private answer(call: R, route: Route, body: ReceivedBody): void {
    try {
      this.service.serve(call, route, body);
    } catch (error) {
      this.server.fail(error);
    }
  }

  private begin(
    response: uWS.HttpResponse,
    request: Request,
    route: Route | null,
    counts = this.unknownCounts,
  ): R {
    const outlet = new SocketOutlet(this.server, request, response);
    const call = this.service.begin(route, counts, request, outlet, this.inFlight);
    response.onAborted(() => call.abort());
    this.inFlight.began();
    return call;
  }

  /** The request's end is unknown: none may follow. Answers in a later turn (closing-answer.ts). */
  private readonly refuseAmbiguous = (
    response: uWS.HttpResponse,
    request: Request,
    problems: FieldProblems,
  ): void => {
    const call = this.begin(response, request, null);
    setImmediate(() => {
      call.closeAfterAnswer();
      if (call.charge(1)) call.refuseNow(invalidRequest(problems));
    });
  };

  private settle(): void {
    if (this.inFlight.count === 0) this.idle?.();
  }
}
