/**
 * The sockets of streams in an edge's thread: passes messages between clients and the core.
 *
 * Invariant: no reader exceeds its limit of unsent bytes, nor do all readers of this thread
 * together exceed theirs (stream/backlogs.ts).
 */
import type * as uWS from 'uWebSockets.js';
import type { Assets } from '../../../engine/interface/notation.js';
import { unitsOfBody } from '../../access/fair-use/charges.js';
import { UNAVAILABLE } from '../../commands/errors.js';
import { writeError } from '../../http/answers/write-error.js';
import type { Serving } from '../../http/gateway.js';
import type { Router } from '../../http/router.js';
import { elapsedMs } from '../../observe/clock.js';
import { type BacklogOwner, Backlogs } from '../../stream/backlogs.js';
import { SOCKET_BEHAVIOR, STREAM_PATH, serveNoUpgrade } from '../../stream/endpoint.js';
import { FrameBudget } from '../../stream/frame-budget.js';
import { streamRequest } from '../../stream/handshake.js';
import { type StreamLimits, UNREAD_BYTES } from '../../stream/limits.js';
import { type OrderRequest, OrderRequestReader } from '../../stream/orders/order-messages.js';
import { partsOf } from '../../stream/parts.js';
import { type FrameReader, FrameWriter, StreamFlag, ToCore, ToEdge } from '../link/frames.js';
import { WAITING_BYTES_MAX } from '../link/ring.js';
import type { RingLink } from '../link/ring-link.js';
import { orderFrame, readReply, recordOf, replySent } from '../order-records.js';

/** Backlogs are checked each time this many bytes have been published. */
const CHECK_AFTER_BYTES = 256 * 1024;
const NUMBERS = 2 ** 32;

interface SocketData {
  number: number;
}

/** A handshake awaiting the core's decision. */
interface Handshake {
  response: uWS.HttpResponse;
  key: string;
  extensions: string;
  context: uWS.us_socket_context_t;
}

const writer = new FrameWriter();

export class ThreadStreams {
  private readonly handshakes = new Map<number, Handshake>();
  private readonly sockets = new Map<number, Stream>();
  private readonly backlogs: Backlogs;
  private lastNumber = 0;
  private readonly reader = new OrderRequestReader();
  private uncheckedBytes = 0;
  /** Streams cut off for exceeding a limit on what they send. */
  private cutOffs = 0;
  private upgraded = 0;
  private router!: Router;

  constructor(
    private readonly link: RingLink,
    private readonly serving: Serving,
    private readonly assets: Assets,
    private readonly limits: StreamLimits,
  ) {
    this.backlogs = new Backlogs(limits, elapsedMs);
  }

  get upgradedCount(): number {
    return this.upgraded;
  }

  get connectionCount(): number {
    return this.sockets.size;
  }

  get backlogBytes(): number {
    return this.backlogs.bytes(this.sockets.values());
  }

  get cutOffCount(): number {
    return this.backlogs.cutOffCount + this.cutOffs;
  }

  attach(router: Router): void {
    this.router = router;
    router.onUpgrade<SocketData>(
      STREAM_PATH,
      this.behavior(),
      (response, request, raw, context) => {
        if (this.link.waitingBytes > WAITING_BYTES_MAX) {
          const { unsent } = this.serving;
          response.cork(() => writeError(response, UNAVAILABLE, { unsent, isHead: false }));
          return;
        }
        const key = raw.getHeader('sec-websocket-key');
        const extensions = raw.getHeader('sec-websocket-extensions');
        const number = this.nextNumber();
        const asked = streamRequest(request, response, this.serving.config.siteOrigins);
        this.handshakes.set(number, { response, key, extensions, context });
        response.onAborted(() => this.handshakes.delete(number));
        const flags = asked.isCrossSite ? StreamFlag.crossSite : 0;
        writer.begin(ToCore.streamAsked, number, { flags });
        this.link.send(writer.text(asked.token).content(asked.addressBytes));
      },
    );
    serveNoUpgrade(router, this.serving);
  }

  receive(frame: FrameReader): void {
    this.readers[frame.kind]?.(frame, this.sockets.get(frame.id));
  }

  private readonly readers: Record<number, (frame: FrameReader, stream?: Stream) => void> = {
    [ToEdge.streamAccepted]: ({ id }) => this.accepted(id),
    [ToEdge.streamRefused]: (frame) => this.refused(frame.id, frame),
    [ToEdge.streamText]: (frame, stream) => stream?.send(frame.rest()),
    [ToEdge.published]: (frame) => this.publish(frame.text(), frame.rest()),
    [ToEdge.streamSubscribe]: (frame, stream) => stream?.socket.subscribe(frame.text()),
    [ToEdge.streamUnsubscribe]: (frame, stream) => stream?.socket.unsubscribe(frame.text()),
    [ToEdge.streamPing]: (_, stream) => stream?.ping(),
    [ToEdge.streamEnd]: (frame, stream) => stream?.end({ code: frame.own, reason: frame.text() }),
    [ToEdge.streamSession]: (frame, stream) => stream?.signedIn(frame.integer(), frame.number()),
    [ToEdge.streamResult]: (frame, stream) => stream && this.result(stream, frame),
    [ToEdge.streamAskRead]: ({ id }, stream) => {
      if (stream === undefined) return;
      stream.isReadAsked = true;
      this.drained(id, stream);
    },
    [ToEdge.streamCut]: (_, stream) => stream?.cutOff(),
  };

  /** Call regularly. */
  check(): void {
    this.uncheckedBytes = 0;
    this.backlogs.check(this.sockets.values());
  }

  private behavior(): uWS.WebSocketBehavior<SocketData> {
    return {
      ...SOCKET_BEHAVIOR,
      open: (socket) => {
        const { number } = socket.getUserData();
        this.upgraded++;
        this.sockets.set(number, new Stream(socket, this.backlogs, this.limits));
      },
      message: (socket, bytes, isBinary) => {
        const { number } = socket.getUserData();
        const stream = this.sockets.get(number)!;
        const message = new Uint8Array(bytes);
        if (!isBinary && this.enter(number, stream, message)) return;
        if (!this.afford(number, stream)) return;
        writer.begin(ToCore.streamMessage, number, { flags: isBinary ? StreamFlag.binary : 0 });
        this.pass(stream, writer, message);
      },
      ping: (socket) => this.controlled(socket.getUserData().number),
      pong: (socket) => this.controlled(socket.getUserData().number),
      drain: (socket) => {
        const { number } = socket.getUserData();
        this.drained(number, this.sockets.get(number)!);
      },
      close: (socket) => {
        const { number } = socket.getUserData();
        const { closedWith: own } = this.sockets.get(number)!;
        this.sockets.delete(number);
        this.link.send(writer.begin(ToCore.streamClosed, number, { own }));
      },
    };
  }

  private drained(number: number, stream: Stream): void {
    if (!stream.isReadAsked || stream.backlogBytes >= UNREAD_BYTES) return;
    stream.isReadAsked = false;
    this.say(ToCore.streamRead, number);
  }

  /** Handles a ping or pong. Reports one to the core per ping from the core. */
  private controlled(number: number): void {
    const stream = this.sockets.get(number)!;
    if (!this.afford(number, stream) || !stream.isPinged) return;
    stream.isPinged = false;
    this.say(ToCore.streamPong, number);
  }

  /** False above the stream's rate, which ends the stream. Counts frames as the core does. */
  private afford(number: number, stream: Stream): boolean {
    if (stream.hasExceeded) {
      if (!stream.budget.ignore()) this.cutOff(stream);
      return false;
    }
    if (stream.budget.take(1)) return true;
    stream.hasExceeded = true;
    this.say(ToCore.streamExceeded, number);
    return false;
  }

  private pass(stream: Stream, frame: FrameWriter, body: Uint8Array): void {
    if (this.link.waitingBytes > WAITING_BYTES_MAX) this.cutOff(stream);
    else this.link.send(frame, body);
  }

  private cutOff(stream: Stream): void {
    this.cutOffs++;
    stream.cutOff();
  }

  /** Sends common order entry as a record. Returns false for anything else. */
  private enter(number: number, stream: Stream, message: Uint8Array): boolean {
    if (stream.userId === 0 || stream.hasExceeded) return false;
    const request = this.reader.read(this.assets, message, stream.userId);
    if (request === null) return false;
    // The core refuses requests above its limit, but they count against the rate.
    const isRefused = stream.unanswered >= this.limits.outstandingRequests;
    if (isRefused && !this.afford(number, stream)) return true;
    const record = recordOf(request, stream.tokenId);
    const units = unitsOfBody(message.byteLength);
    this.pass(stream, orderFrame(number, stream.ask(request), units), record);
    return true;
  }

  private result(stream: Stream, frame: FrameReader): void {
    const reply = readReply(frame, this.assets, stream.answered(frame.integer()));
    for (const part of partsOf(reply.text)) stream.send(part);
    replySent(reply);
  }

  private accepted(number: number): void {
    const handshake = this.takeHandshake(number);
    // The client has left.
    if (handshake === null) this.say(ToCore.streamClosed, number);
    else {
      const { response, key, extensions, context } = handshake;
      // Not corked: at the end of a cork, uWebSockets.js takes the socket for the earlier HTTP
      // connection, and may close it. An empty choice tells the client that no subprotocol is
      // supported.
      response.upgrade<SocketData>({ number }, key, '', extensions, context);
    }
  }

  private refused(number: number, frame: FrameReader): void {
    const handshake = this.takeHandshake(number);
    if (handshake === null) return;
    const { response } = handshake;
    const { unsent } = this.serving;
    const [name, value] = frame.texts();
    const header = name === undefined ? null : ([name, value!] as const);
    const error = { status: frame.own, text: Buffer.from(frame.rest()).toString('utf8') };
    response.cork(() => writeError(response, error, { unsent, isHead: false, header }));
  }

  private takeHandshake(number: number): Handshake | null {
    const handshake = this.handshakes.get(number) ?? null;
    this.handshakes.delete(number);
    return handshake;
  }

  private publish(topic: string, text: Uint8Array): void {
    this.router.publish(topic, text);
    this.uncheckedBytes += text.byteLength;
    if (this.uncheckedBytes >= CHECK_AFTER_BYTES) this.check();
  }

  private say(kind: number, number: number): void {
    this.link.send(writer.begin(kind, number));
  }

  private nextNumber(): number {
    do this.lastNumber = (this.lastNumber + 1) % NUMBERS;
    while (this.sockets.has(this.lastNumber) || this.handshakes.has(this.lastNumber));
    return this.lastNumber;
  }
}

class Stream implements BacklogOwner {
  userId = 0;
  tokenId = 0;
  /** The code with which this side closed the stream; 0 if it did not. */
  closedWith = 0;
  /** Whether the stream exceeded its rate: nothing more is passed on, and the core ends it. */
  hasExceeded = false;
  /** Whether a ping from the core has no reported answer yet. */
  isPinged = false;
  /** Whether the core waits until the client has read most of what was sent. */
  isReadAsked = false;
  readonly budget: FrameBudget;
  private readonly asked = new Map<number, OrderRequest>();
  private lastNumber = 0;

  constructor(
    readonly socket: uWS.WebSocket<SocketData>,
    private readonly backlogs: Backlogs,
    limits: StreamLimits,
  ) {
    this.budget = new FrameBudget(limits, elapsedMs);
  }

  get backlogBytes(): number {
    return this.socket.getBufferedAmount();
  }

  get unanswered(): number {
    return this.asked.size;
  }

  ping(): void {
    this.isPinged = true;
    this.socket.ping();
  }

  signedIn(userId: number, tokenId: number): void {
    this.userId = userId;
    this.tokenId = tokenId;
  }

  ask(request: OrderRequest): number {
    this.lastNumber = (this.lastNumber + 1) % NUMBERS;
    this.asked.set(this.lastNumber, request);
    return this.lastNumber;
  }

  answered(number: number): OrderRequest {
    const request = this.asked.get(number)!;
    this.asked.delete(number);
    return request;
  }

  send(text: string | Uint8Array): void {
    this.socket.send(text);
    this.backlogs.checkOne(this);
  }

  end({ code, reason }: { code: number; reason: string }): void {
    this.closedWith = code;
    this.backlogs.addClosed(this.backlogBytes);
    this.socket.end(code, reason);
  }

  cutOff(): void {
    this.socket.close();
  }
}
