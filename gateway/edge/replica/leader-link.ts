/**
 * A replica's connection to the leader: finds the leader, connects, and follows when it changes.
 *
 * Invariant: there is at most one connection, to the leader found last. It ends when another leader
 * is found, when the leader reports that it is stopping, or when the leader answers no pings. A
 * replica thus leaves a paused leader as soon as another one leads.
 */
import { type RawData, WebSocket } from 'ws';
import { elapsedMs } from '../../observe/clock.js';
import type { Log } from '../../observe/log.js';
import type { CoreLink } from '../forwarder.js';
import {
  EDGES_PATH,
  FrameCollector,
  FrameError,
  FrameReader,
  FrameWriter,
  MESSAGE_BYTES_MAX,
  readFrames,
  ToCore,
  ToEdge,
} from '../link/frames.js';

/** The leader's address and epoch. Another epoch means another leader, even at the same address. */
export interface LeaderPlace {
  /** Host and port of the leader's address for replicas. */
  address: string;
  epoch: number;
}

interface LinkOptions {
  key: () => string;
  findLeader: () => LeaderPlace | null;
  log: Log;
  onOpen: () => void;
  onFrame: (frame: FrameReader) => void;
  /** Called when the connection has ended. Unanswered requests may have been executed. */
  onClose: () => void;
}

/** Intervals at which the leader is looked up, without and with a connection. */
const LOOK_MS = { down: 50, up: 250 };
const CONNECT_MS = 2_000;
const PING_MS = 1_000;
/** After this many unanswered pings, the leader counts as lost. */
const PINGS_MAX = 3;
/** Time for a stopping leader to answer the requests that it has accepted. */
const LEAVING_MS = 5_000;

export class LeaderLink implements CoreLink {
  private socket: WebSocket | null = null;
  private collector: FrameCollector | null = null;
  private place: LeaderPlace | null = null;
  /** A leader that is stopping or that refused. The link waits for the next one. */
  private left: LeaderPlace | null = null;
  private leavingSinceMs = 0;
  private looking: NodeJS.Timeout | null = null;
  private pinging: NodeJS.Timeout | null = null;
  private unanswered = 0;
  private isStopped = false;
  private problem = '';
  private readonly reader = new FrameReader();
  private readonly writer = new FrameWriter();

  constructor(private readonly options: LinkOptions) {}

  get isOpen(): boolean {
    return this.collector !== null && !isSame(this.place!, this.left);
  }

  start(): void {
    this.look();
  }

  /** Call only while {@link isOpen}. */
  send(frame: FrameWriter, body?: Uint8Array): void {
    this.collector!.send(frame, body);
  }

  /** Sends a stopping leader nothing more, but receives its remaining answers. */
  leave(): void {
    if (!this.isOpen) return;
    this.send(this.writer.begin(ToCore.left, 0));
    this.left = this.place;
    this.leavingSinceMs = elapsedMs();
    this.options.log.info({}, 'the leader stops; waiting for the next one');
  }

  stop(): void {
    this.isStopped = true;
    if (this.looking !== null) clearTimeout(this.looking);
    this.collector?.flush();
    this.end();
  }

  private look(): void {
    try {
      const found = this.options.findLeader();
      if (found !== null) this.follow(found);
    } catch (error) {
      // The address does not fit a WebSocket URL.
      this.report((error as Error).message);
    }
    const afterMs = this.isOpen ? LOOK_MS.up : LOOK_MS.down;
    this.looking = setTimeout(() => this.look(), afterMs);
  }

  private follow(found: LeaderPlace): void {
    const isLeaving = isSame(this.place ?? found, this.left);
    if (isLeaving && elapsedMs() - this.leavingSinceMs < LEAVING_MS && this.socket !== null) return;
    if (this.socket !== null && !isSame(found, this.place)) this.end();
    if (this.socket === null && !isSame(found, this.left)) this.connect(found);
  }

  private connect(place: LeaderPlace): void {
    const socket = new WebSocket(`ws://${place.address}${EDGES_PATH}`, {
      headers: { authorization: `Bearer ${this.options.key()}` },
      handshakeTimeout: CONNECT_MS,
      maxPayload: MESSAGE_BYTES_MAX,
      perMessageDeflate: false,
    });
    this.socket = socket;
    this.place = place;
    socket.on('open', () => this.opened(socket, place));
    socket.on('message', (message: RawData) => this.received(socket, message as Buffer));
    socket.on('pong', () => {
      this.unanswered = 0;
    });
    socket.on('error', ({ message }) => {
      this.report(message.endsWith(' 403') ? WRONG_KEY : message);
    });
    socket.on('close', () => {
      if (this.socket === socket) this.end();
    });
  }

  private opened(socket: WebSocket, { address, epoch }: LeaderPlace): void {
    if (this.socket !== socket) return;
    this.problem = '';
    this.unanswered = 0;
    this.collector = new FrameCollector((message) => socket.send(message));
    this.pinging = setInterval(() => this.ping(socket), PING_MS);
    this.options.log.info({ leader: address, epoch }, 'connected to the leader');
    this.options.onOpen();
  }

  private received(socket: WebSocket, message: Buffer): void {
    if (this.socket !== socket) return;
    try {
      readFrames(message, this.reader, (frame) => {
        if (this.socket !== socket) return;
        if (frame.kind === ToEdge.stopping) this.leave();
        else this.options.onFrame(frame);
      });
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.report(`the leader runs a different version: ${error.message}`);
      this.end();
    }
  }

  private ping(socket: WebSocket): void {
    if (this.unanswered++ < PINGS_MAX) socket.ping();
    else this.end();
  }

  private end(): void {
    const { socket, collector } = this;
    if (socket === null) return;
    this.socket = null;
    this.place = null;
    this.collector = null;
    if (this.pinging !== null) clearInterval(this.pinging);
    collector?.clear();
    socket.terminate();
    if (collector === null) return;
    if (!this.isStopped) this.options.log.warn({}, 'the connection to the leader has ended');
    this.options.onClose();
  }

  /** Logs each problem once, because the leader is looked up twenty times a second. */
  private report(problem: string): void {
    if (problem === this.problem || this.isStopped) return;
    this.problem = problem;
    this.options.log.warn({ problem }, 'there is no connection to the leader');
  }
}

const WRONG_KEY = 'the leader does not know the key in REPLICAS_KEY_FILE';

function isSame(a: LeaderPlace, b: LeaderPlace | null): boolean {
  return b !== null && a.epoch === b.epoch && a.address === b.address;
}
