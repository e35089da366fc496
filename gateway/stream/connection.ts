/**
 * One stream connection: its user, subscriptions and outgoing messages.
 *
 * Invariant: nothing is sent after the socket has closed. A subscription first receives its
 * snapshot or missed messages, then every later message of its channel exactly once.
 */

import type { AddressKey } from '../access/fair-use/addresses.js';
import type { Session } from '../access/sessions.js';
import type { Backlogs } from './backlogs.js';
import type { Channel, Subscriber } from './channels/channel.js';
import { FrameBudget } from './frame-budget.js';
import { CLOSE, type CloseReason, type StreamLimits, UNREAD_BYTES } from './limits.js';
import { partsOf } from './parts.js';

export interface SocketData {
  connection: Connection;
}
/** The socket methods used here. The socket may be at an edge (edge/). */
export interface Socket {
  send(text: string | Uint8Array): unknown;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  /** With one system call. */
  cork(send: () => void): unknown;
  ping(): unknown;
  getBufferedAmount(): number;
  end(code: number, reason: string): void;
  close(): void;
  /** Only at an edge: asks for {@link Connection.drained} below {@link UNREAD_BYTES}. */
  askRead?(): void;
  signedIn?(session: Session): void;
}

/** Size of uWebSockets.js's cork buffer, minus a frame's header. */
const CORK_BYTES = 15 * 1024;
const FRAME_HEAD_BYTES = 10;

export class Subscription implements Subscriber {
  /** Whether the channel's messages are forwarded, beginning with the snapshot. */
  isLive = false;
  /** Whether a `resume` is sending messages from the journal. */
  isResuming = false;

  constructor(
    private readonly connection: Connection,
    readonly channel: Channel,
  ) {}

  channelClosed(text: string): void {
    this.connection.send(text);
    this.connection.drop(this);
  }
}

export interface ConnectionOptions {
  limits: StreamLimits;
  backlogs: Backlogs;
  elapsedMs: () => number;
  address: AddressKey;
  addressBytes: Uint8Array;
  slot: number;
  /** Publishes to a topic. `null` if the socket itself batches one turn's messages. */
  publish: ((topic: string, text: string | Uint8Array) => void) | null;
  /** The connection's own topic, unique among connections and channels. */
  topic: string;
  onEnd: (reason: CloseReason) => void;
}

export class Connection {
  readonly address: AddressKey;
  readonly addressBytes: Uint8Array;
  readonly slot: number;
  readonly subscriptions = new Map<string, Subscription>();
  userId = 0;
  tokenVersion = 0;
  session: Session | null = null;
  /** The session's token, which a replica forwards to the leader; empty if none was sent. */
  token = '';
  outstanding = 0;
  cancelOnDisconnect = false;
  isWarned = false;
  /** Whether the connection is closing and ignores messages. */
  isEnding = false;
  /** The last message sent by a `resume` from the journal, which pongs must not exceed. */
  resumedTo = Number.POSITIVE_INFINITY;
  /** Called once when the client has read most of the sent data, or has left. */
  private onRead: (() => void) | null = null;
  /** Answers held back to keep their order, starting with one whose text is unknown (null). */
  private readonly waiting: { send: (() => void) | null }[] = [];
  /** Pings since the client last sent something. */
  unansweredPings = 0;
  /** Why the connection closes after its last answer; `null` if it stays open. */
  private ending: CloseReason | null = null;
  private readonly budget: FrameBudget;
  private socket: Socket | null = null;
  private hasTopic = false;

  constructor(private readonly options: ConnectionOptions) {
    this.address = options.address;
    this.addressBytes = options.addressBytes;
    this.slot = options.slot;
    this.budget = new FrameBudget(options.limits, options.elapsedMs);
  }

  signIn(session: Session): void {
    this.userId = session.userId;
    this.tokenVersion = session.version;
    this.session = session;
    this.isWarned = false;
    this.socket?.signedIn?.(session);
  }

  open(socket: Socket): void {
    this.socket = socket;
    if (this.session !== null) socket.signedIn?.(this.session);
  }

  get isOpen(): boolean {
    return this.socket !== null;
  }

  takeOperations(count: number): boolean {
    return this.budget.take(count);
  }

  /** Counts a frame received while closing. Too many cut off the connection. */
  ignoreFrame(): void {
    if (this.budget.ignore()) return;
    this.options.onEnd(CLOSE.rateLimited);
    this.cutOff();
  }

  closed(): void {
    this.socket = null;
    for (const subscription of this.subscriptions.values()) {
      subscription.channel.remove(subscription, this.options.elapsedMs());
    }
    this.subscriptions.clear();
    this.notifyRead();
  }

  /** Subscribes to a channel once. Sends no messages before {@link start}. */
  subscribe(channel: Channel): Subscription {
    const existing = this.subscriptions.get(channel.name);
    if (existing !== undefined) return existing;
    const subscription = new Subscription(this, channel);
    this.subscriptions.set(channel.name, subscription);
    channel.add(subscription);
    return subscription;
  }

  /** Calls `go` when fewer than {@link UNREAD_BYTES} are unread, or the client has left. */
  whenRead(go: () => void): void {
    this.onRead = go;
    if (this.socket?.askRead === undefined) this.drained();
    else this.socket.askRead();
  }

  /** Call when the socket's backlog has shrunk. */
  drained(): void {
    if (this.backlogBytes < UNREAD_BYTES) this.notifyRead();
  }

  private notifyRead(): void {
    const go = this.onRead;
    this.onRead = null;
    go?.();
  }

  /** Stops a subscription's messages until {@link start}. */
  pause(subscription: Subscription): void {
    if (subscription.isLive) this.socket?.unsubscribe(subscription.channel.topic);
    subscription.isLive = false;
  }

  /** Sends texts before {@link start}. Returns false if the subscription was dropped. */
  prepare(subscription: Subscription, texts: readonly (string | Uint8Array)[]): boolean {
    const isThere = this.subscriptions.get(subscription.channel.name) === subscription;
    if (isThere) this.sendAll(texts);
    return isThere && this.socket !== null;
  }

  /** Sends the first texts, then the channel's messages unless the client has unsubscribed. */
  start(subscription: Subscription, texts: readonly string[]): void {
    if (this.subscriptions.get(subscription.channel.name) === subscription) {
      if (!subscription.isLive) this.socket?.subscribe(subscription.channel.topic);
      subscription.isLive = true;
    }
    this.sendAll(texts);
  }

  *channels(): Generator<Channel> {
    for (const { channel, isResuming } of this.subscriptions.values()) {
      if (!isResuming) yield channel;
    }
  }

  drop(subscription: Subscription): void {
    const { channel } = subscription;
    this.subscriptions.delete(channel.name);
    channel.remove(subscription, this.options.elapsedMs());
    if (subscription.isLive) this.socket?.unsubscribe(channel.topic);
  }

  /** uWebSockets.js ends a cork at a text that does not fit its buffer. Each cork's texts fit. */
  private sendAll(messages: readonly (string | Uint8Array)[]): void {
    const texts = messages.flatMap(partsOf);
    for (let from = 0; from < texts.length; ) {
      let to = from;
      let bytes = 0;
      do bytes += Buffer.byteLength(texts[to++]!) + FRAME_HEAD_BYTES;
      while (to < texts.length && bytes + Buffer.byteLength(texts[to]!) <= CORK_BYTES);
      const part = texts.slice(from, to);
      this.socket?.cork(() => {
        for (const text of part) this.socket?.send(text);
      });
      this.options.backlogs.checkOne(this);
      from = to;
    }
  }

  send(text: string): void {
    for (const part of partsOf(text)) this.socket?.send(part);
    this.options.backlogs.checkOne(this);
  }

  /** Uses the connection's topic: uWebSockets.js writes a turn's answers in one system call. */
  answer(text: string | Uint8Array): void {
    if (this.socket === null) return;
    const { topic, publish } = this.options;
    if (publish === null) {
      for (const part of partsOf(text)) this.socket?.send(part);
      return;
    }
    if (!this.hasTopic) this.hasTopic = this.socket.subscribe(topic);
    publish(topic, text);
  }

  get isInTurn(): boolean {
    return this.waiting.length === 0;
  }

  /** Sends an answer after all earlier answers. */
  inTurn(send: () => void): void {
    if (this.waiting.length === 0) send();
    else this.waiting.push({ send });
  }

  /** Reserves a pending answer's place. Call the returned function to send the answer. */
  keepTurn(): (send: () => void) => void {
    const { waiting } = this;
    const place: (typeof waiting)[number] = { send: null };
    waiting.push(place);
    return (send) => {
      place.send = send;
      while (waiting[0]?.send) waiting.shift()!.send!();
    };
  }

  ping(): void {
    this.unansweredPings++;
    this.socket?.ping();
  }

  get backlogBytes(): number {
    return this.socket?.getBufferedAmount() ?? 0;
  }

  /** Answers an order or batch counted in `outstanding`. */
  answerRequest(text: string | Uint8Array): void {
    this.answer(text);
    this.requestAnswered();
  }

  requestAnswered(): void {
    this.outstanding--;
    if (this.ending !== null && this.outstanding === 0) this.end(this.ending);
  }

  /** Ignores further messages. Closes the connection once every order and batch is answered. */
  endWhenAnswered(reason: CloseReason): void {
    this.isEnding = true;
    this.ending ??= reason;
    if (this.outstanding === 0) this.end(this.ending);
  }

  /** Closes the connection after the data already sent. Runs the close handler synchronously. */
  end(reason: CloseReason): void {
    if (this.socket === null) return;
    const { backlogs, onEnd } = this.options;
    onEnd(reason);
    backlogs.addClosed(this.backlogBytes);
    this.socket.end(reason.code, reason.reason);
  }

  cutOff(): void {
    this.socket?.close();
  }
}
