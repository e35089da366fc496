/**
 * The leader's address for replicas, its edges on other machines, with one WebSocket each. It has
 * its own port, which clients must not reach.
 *
 * Invariant: a connection without a valid replica key is refused, so only replicas can report
 * clients' addresses.
 */
import type * as uWS from 'uWebSockets.js';
import type { AccessKey, AccessKeys } from '../../access/access-keys.js';
import { errorAnswer, invalidRequest } from '../../commands/errors.js';
import { answerLater, writeAndClose } from '../../http/answers/closing-answer.js';
import { JSON_TYPE, writeHead, writeStatus } from '../../http/answers/response-head.js';
import { writeError } from '../../http/answers/write-error.js';
import type { Gateway } from '../../http/gateway.js';
import type { Route } from '../../http/route.js';
import { Router } from '../../http/router.js';
import {
  type BlockSink,
  EDGES_PATH,
  type Frame,
  type FrameBlock,
  FrameCollector,
  FrameError,
  FrameReader,
  FrameWriter,
  MESSAGE_BYTES_MAX,
  readFrames,
  ToEdge,
} from '../link/frames.js';
import { EdgePeer, type PeerOptions } from './peer.js';
import { ServedRoutes } from './served-routes.js';

/** A replica that sends nothing for this long, not even a ping, counts as lost. */
const IDLE_SECONDS = 16;
const NO_KEY = errorAnswer(
  'operator_key_required',
  {},
  'This address is for replicas, which have a key.',
);
const NOT_HERE = errorAnswer('route_not_found', {}, 'This address is for replicas only.');

interface ListenerOptions {
  gateway: Gateway;
  routes: readonly Route[];
  keys: AccessKeys;
  streamsOf: PeerOptions['streamsOf'];
}

interface SocketData {
  key: AccessKey;
  replica: Replica | null;
}

export class ReplicaListener {
  private readonly router: Router;
  private readonly served: ServedRoutes;
  private readonly replicas = new Set<Replica>();
  private readonly reader = new FrameReader();
  private idle: (() => void) | null = null;

  constructor(private readonly options: ListenerOptions) {
    const { gateway, routes, keys } = options;
    this.served = new ServedRoutes(gateway, routes);
    const { unsent } = gateway;
    this.router = new Router(false, (response, _request, problems) => {
      const { status, text } = invalidRequest(problems);
      answerLater(response, () => {
        writeStatus(response, status);
        writeHead(response, JSON_TYPE, false);
        writeAndClose(response, text);
      });
    });
    this.router.onUpgrade(EDGES_PATH, this.behavior(), (response, request, raw, context) => {
      const accepted = keys.find(request.authorization);
      if (accepted === null) {
        gateway.warnings.warn({}, 'a connection to the replicas’ address had no valid key');
        response.cork(() => writeError(response, NO_KEY, { unsent, isHead: false }));
        return;
      }
      const key = raw.getHeader('sec-websocket-key');
      const extensions = raw.getHeader('sec-websocket-extensions');
      response.upgrade<SocketData>({ key: accepted, replica: null }, key, '', extensions, context);
    });
    this.router.on('any', '/*', (response, { method }) => {
      response.cork(() => writeError(response, NOT_HERE, { unsent, isHead: method === 'head' }));
    });
  }

  listen(host: string, port: number): Promise<number> {
    return this.router.listen(host, port);
  }

  /** Resolves when all is answered. Replicas keep later requests for the next leader. */
  async drain(): Promise<void> {
    this.router.stopListening();
    for (const replica of this.replicas) replica.say(ToEdge.stopping);
    if (!this.isIdle) await new Promise<void>((resolve) => (this.idle = resolve));
  }

  /** Call after all answers. Tells the replicas that nothing more follows. */
  leave(): void {
    for (const replica of [...this.replicas]) replica.end();
  }

  replaceKeys(keys: readonly AccessKey[]): void {
    this.options.keys.replace(keys);
    for (const replica of [...this.replicas])
      if (!this.options.keys.has(replica.key)) replica.end();
  }

  close(): void {
    this.router.close();
  }

  private get isIdle(): boolean {
    return [...this.replicas].every(({ peer }) => peer.isIdle);
  }

  private readonly settle = (): void => {
    if (this.idle !== null && this.isIdle) this.idle();
  };

  private behavior(): uWS.WebSocketBehavior<SocketData> {
    const { gateway } = this.options;
    return {
      maxPayloadLength: MESSAGE_BYTES_MAX,
      maxBackpressure: MESSAGE_BYTES_MAX,
      closeOnBackpressureLimit: true,
      idleTimeout: IDLE_SECONDS,
      sendPingsAutomatically: true,
      open: (socket) => {
        const data = socket.getUserData();
        data.replica = new Replica(socket, data.key, (sink) => this.peerOf(sink));
        this.replicas.add(data.replica);
        gateway.log.info({ replicas: this.replicas.size }, 'a replica has connected');
      },
      message: (socket, message) => this.receive(socket, Buffer.from(message)),
      close: (socket) => {
        const replica = socket.getUserData().replica!;
        this.replicas.delete(replica);
        replica.closed();
        this.settle();
        gateway.log.info({ replicas: this.replicas.size }, 'a replica has left');
      },
    };
  }

  private peerOf(sink: BlockSink): EdgePeer {
    const { gateway, streamsOf } = this.options;
    const { served, settle: onChange } = this;
    // The socket itself closes when a replica's queue is too long.
    const [isCongested, isBehind] = [() => false, () => false];
    return new EdgePeer({ gateway, served, sink, streamsOf, isCongested, isBehind, onChange });
  }

  private receive(socket: uWS.WebSocket<SocketData>, message: Buffer): void {
    const { gateway } = this.options;
    const { peer } = socket.getUserData().replica!;
    try {
      readFrames(message, this.reader, (frame) => peer.receive(frame));
    } catch (error) {
      if (!(error instanceof FrameError)) {
        gateway.fail(error);
        return;
      }
      // The replica has another version.
      gateway.log.error({ problem: error.message }, 'a replica was disconnected');
      socket.end(1002, error.message);
    } finally {
      peer.turnEnded();
    }
  }
}

const writer = new FrameWriter();

class Replica implements BlockSink {
  readonly peer: EdgePeer;
  private readonly collector: FrameCollector;
  private isOpen = true;

  constructor(
    private readonly socket: uWS.WebSocket<SocketData>,
    readonly key: AccessKey,
    peerOf: (sink: BlockSink) => EdgePeer,
  ) {
    this.collector = new FrameCollector((message) => socket.send(message, true));
    this.peer = peerOf(this);
  }

  send(frame: Frame, body?: Uint8Array): void {
    if (this.isOpen) this.collector.send(frame, body);
  }

  sendBlock(block: FrameBlock): void {
    if (this.isOpen) this.collector.sendBlock(block);
  }

  say(kind: number): void {
    this.send(writer.begin(kind, 0));
  }

  end(): void {
    this.collector.flush();
    this.socket.end(1001, 'going_away');
  }

  closed(): void {
    this.isOpen = false;
    this.collector.clear();
    this.peer.closed();
  }
}
