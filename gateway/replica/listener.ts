/**
 * The leader's address for replicas: a WebSocket that carries the requests of their clients. It has
 * a port of its own, which clients must not reach.
 *
 * Always holds:
 * - a connection without the replicas' key is refused, so only a replica can say what a client's
 *   address is;
 * - a forwarded request is admitted by the code that admits those of the public port: its limits,
 *   token, scope, addresses and revocation are checked here, whatever the replica has checked;
 * - each request gets one answer: the exchange's, or that it was not executed because this process
 *   stops. If the connection is lost first, the replica does not know what became of it.
 */
import type * as uWS from 'uWebSockets.js';
import type { AccessKey, AccessKeys } from '../auth/access-keys.js';
import { answerLater, writeLast } from '../http/answers/last-answer.js';
import { JSON_TYPE, writeHead, writeStatus } from '../http/answers/response-head.js';
import { writeError } from '../http/answers/write-error.js';
import { ReceivedBody } from '../http/body.js';
import { errorAnswer, invalidRequest } from '../http/errors.js';
import type { Gateway } from '../http/gateway.js';
import { Request } from '../http/request.js';
import { parameterNames, type Route } from '../http/route.js';
import { Router } from '../http/router.js';
import { serve } from '../http/way.js';
import type { AnswerCounts } from '../observe/metrics.js';
import { addressIn, ForwardedCall, rawRequest } from './forwarded-call.js';
import {
  type ClientHead,
  clientHead,
  type Frame,
  FrameCollector,
  FrameError,
  FrameKind,
  frameOf,
  framesIn,
  MESSAGE_BYTES_MAX,
  REPLICAS_PATH,
  type RequestHead,
  requestHead,
} from './link-frames.js';

/** A replica that sends nothing, not even a ping, for this long is gone. */
const IDLE_SECONDS = 16;
const NO_KEY = errorAnswer(
  'operator_key_required',
  {},
  'This address is for replicas, which have a key.',
);
const NOT_HERE = errorAnswer('route_not_found', {}, 'This address is for replicas only.');

/** The orders of the stream's clients, which replicas forward (stream/forwarded-clients.ts). */
export interface ForwardedClients {
  opened(number: number, head: ClientHead, addressBytes: Uint8Array): void;
  message(number: number, bytes: Uint8Array): void;
  closed(number: number): void;
  /** The replica is gone, and so are its clients. */
  allClosed(): void;
}

interface ListenerOptions {
  gateway: Gateway;
  routes: readonly Route[];
  keys: AccessKeys;
  /** The clients of a replica; `reply` sends it a frame. */
  clientsOf: (reply: (frame: Uint8Array) => void) => ForwardedClients;
}

interface SocketData {
  key: AccessKey;
  link: ReplicaLink | null;
}

/** A route, and where its answers are counted. */
interface Served {
  route: Route;
  names: string[];
  counts: AnswerCounts;
}

export class ReplicaListener {
  private readonly router: Router;
  private readonly served = new Map<string, Served>();
  private readonly unknown: AnswerCounts;
  private readonly links = new Set<ReplicaLink>();
  private inFlight = 0;
  private idle: (() => void) | null = null;

  constructor(private readonly options: ListenerOptions) {
    const { gateway, routes } = options;
    this.unknown = gateway.metrics.answersOf(null);
    for (const route of routes) {
      const names = parameterNames(route.path);
      const counts = gateway.metrics.answersOf(route);
      this.served.set(`${route.method} ${route.path}`, { route, names, counts });
    }
    const { unsent } = gateway;
    this.router = new Router(false, (response, _request, problems) => {
      const { status, text } = invalidRequest(problems);
      answerLater(response, () => {
        writeStatus(response, status);
        writeHead(response, JSON_TYPE, false);
        writeLast(response, text);
      });
    });
    this.router.onUpgrade(REPLICAS_PATH, this.behavior(), (response, request, raw, context) => {
      const accepted = options.keys.find(request.authorization);
      if (accepted === null) {
        gateway.warnings.warn({}, 'a connection to the replicas’ address had no valid key');
        response.cork(() => writeError(response, NO_KEY, { unsent, isHead: false }));
        return;
      }
      const key = raw.getHeader('sec-websocket-key');
      const extensions = raw.getHeader('sec-websocket-extensions');
      response.upgrade<SocketData>({ key: accepted, link: null }, key, '', extensions, context);
    });
    this.router.on('any', '/*', (response, { method }) => {
      response.cork(() => writeError(response, NOT_HERE, { unsent, isHead: method === 'head' }));
    });
  }

  listen(host: string, port: number): Promise<number> {
    return this.router.listen(host, port);
  }

  /**
   * Accepts no new connections and tells the replicas to send nothing more. Resolves when every
   * request that was accepted is answered, and no other can come. What comes meanwhile is returned
   * to its replica, which asks the next leader.
   */
  async drain(): Promise<void> {
    this.router.stopListening();
    for (const link of this.links) link.reply(frameOf(FrameKind.stopping, 0, ''));
    if (!this.isIdle) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  private get isIdle(): boolean {
    return this.inFlight === 0 && [...this.links].every((link) => link.hasLeft);
  }

  /** Only for {@link ReplicaLink}: called when a request is answered or a replica has left. */
  settle(): void {
    if (this.idle !== null && this.isIdle) this.idle();
  }

  /** Tells the replicas that nothing more comes, after everything that was answered. */
  leave(): void {
    for (const link of [...this.links]) link.end();
  }

  /** From now on; replicas whose key is not among them are disconnected. */
  replaceKeys(keys: readonly AccessKey[]): void {
    this.options.keys.replace(keys);
    for (const link of [...this.links]) if (!this.options.keys.has(link.key)) link.end();
  }

  close(): void {
    this.router.close();
  }

  private behavior(): uWS.WebSocketBehavior<SocketData> {
    return {
      maxPayloadLength: MESSAGE_BYTES_MAX,
      maxBackpressure: MESSAGE_BYTES_MAX,
      closeOnBackpressureLimit: true,
      idleTimeout: IDLE_SECONDS,
      sendPingsAutomatically: true,
      open: (socket) => {
        const link = new ReplicaLink(
          this,
          socket,
          socket.getUserData().key,
          this.options.clientsOf,
        );
        socket.getUserData().link = link;
        this.links.add(link);
        this.options.gateway.log.info({ replicas: this.links.size }, 'a replica has connected');
      },
      message: (socket, bytes) => {
        try {
          socket.getUserData().link!.receive(new Uint8Array(bytes));
        } catch (error) {
          if (error instanceof FrameError) this.refuse(socket, error);
          else this.options.gateway.fail(error);
        }
      },
      close: (socket) => {
        const link = socket.getUserData().link!;
        this.links.delete(link);
        link.closed();
        this.settle();
        this.options.gateway.log.info({ replicas: this.links.size }, 'a replica has left');
      },
    };
  }

  /** A replica of another version. */
  private refuse(socket: uWS.WebSocket<SocketData>, error: FrameError): void {
    this.options.gateway.log.error({ problem: error.message }, 'a replica was disconnected');
    socket.end(1002, error.message);
  }

  /** Runs a request. Only for {@link ReplicaLink}. */
  run(link: ReplicaLink, number: number, head: RequestHead, body: Uint8Array): void {
    const { gateway } = this.options;
    if (gateway.isStopping()) {
      link.reply(frameOf(FrameKind.notServed, number, ''));
      return;
    }
    const served = this.served.get(`${head.method} ${head.route}`) ?? null;
    const raw = rawRequest(head);
    // The replica sets X-Forwarded-Proto, and sends no other of these headers.
    const request = new Request(raw, head.method.toLowerCase(), true);
    if (served !== null) request.readParameters(raw, served.names);
    const addressBytes = addressIn(head.address);
    this.inFlight++;
    const call = new ForwardedCall({
      gateway,
      route: served?.route ?? null,
      counts: served?.counts ?? this.unknown,
      request,
      number,
      addressBytes,
      reply: (frame) => link.reply(frame),
      onEnd: () => {
        link.ended(number);
        this.ended();
      },
    });
    link.began(call);
    if (served === null) call.refuseNow(errorAnswer('route_not_found'));
    else if (request.problems !== null) call.refuseNow(invalidRequest(request.problems));
    else {
      const received = new ReceivedBody(body, head.isTooLarge === true);
      serve(call, served.route, received);
    }
  }

  private ended(): void {
    this.inFlight--;
    this.settle();
  }
}

/** The connection of one replica. */
class ReplicaLink {
  private readonly collector: FrameCollector;
  /** Requests that are not answered, by number. */
  private readonly calls = new Map<number, ForwardedCall>();
  private readonly clients: ForwardedClients;
  private isOpen = true;
  /** Whether the replica sends nothing more. */
  hasLeft = false;

  constructor(
    private readonly listener: ReplicaListener,
    private readonly socket: uWS.WebSocket<SocketData>,
    readonly key: AccessKey,
    clientsOf: ListenerOptions['clientsOf'],
  ) {
    this.collector = new FrameCollector((message) => socket.send(message, true));
    this.clients = clientsOf((frame) => this.reply(frame));
  }

  reply(frame: Uint8Array): void {
    if (this.isOpen) this.collector.add(frame);
  }

  receive(message: Uint8Array): void {
    for (const frame of framesIn(message)) this.handle(frame);
  }

  began(call: ForwardedCall): void {
    this.calls.set(call.number, call);
  }

  ended(number: number): void {
    this.calls.delete(number);
  }

  end(): void {
    this.collector.flush();
    this.socket.end(1001, 'going_away');
  }

  closed(): void {
    this.isOpen = false;
    this.collector.clear();
    for (const call of this.calls.values()) call.abort();
    this.clients.allClosed();
  }

  private handle({ kind, number, head, body }: Frame): void {
    switch (kind) {
      case FrameKind.request:
        this.listener.run(this, number, requestHead(head), body);
        return;
      case FrameKind.clientOpened: {
        const client = clientHead(head);
        this.clients.opened(number, client, addressIn(client.address));
        return;
      }
      case FrameKind.clientMessage:
        this.clients.message(number, body);
        return;
      case FrameKind.clientClosed:
        this.clients.closed(number);
        return;
      case FrameKind.left:
        this.hasLeft = true;
        this.listener.settle();
        return;
      default:
        throw new FrameError(`a replica has sent a frame of kind ${kind}`);
    }
  }
}
