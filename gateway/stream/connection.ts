/**
 * One connection of the stream: its user, its subscriptions, and what is sent to it.
 *
 * Always holds: nothing is sent after the socket has closed; a subscription receives its channel's
 * messages from its snapshot (or the missed messages) on, none missing or duplicated.
 */

import type { AddressKey } from '../access/fair-use/addresses.js';
import type { Session } from '../access/sessions.js';
import type { Backlogs } from './backlogs.js';
import type { Channel, Subscriber } from './channels/channel.js';
import { FrameBudget } from './frame-budget.js';
import { CLOSE, type CloseReason, type StreamLimits, UNREAD_BYTES } from './limits.js';
import { partsOf } from './parts.js';

/** The data that uWebSockets.js stores with a socket. */
export interface SocketData {
  connection: Connection;
}
/** What a connection needs of its socket, which may be at an edge (edge/). */
export interface Socket {
  send(text: string | Uint8Array): unknown;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  /** Sends what is sent within `send` together. */
  cork(send: () => void): unknown;
  ping(): unknown;
  getBufferedAmount(): number;
  end(code: number, reason: string): void;
  close(): void;
  /**
   * At an edge: asks it to say when less than {@link UNREAD_BYTES} is unread, by a call of
   * {@link Connection.drained}.
   */
  askRead?(): void;
  /** Told whose the connection is. */
  signedIn?(session: Session): void;
}

/** The buffer of a cork, less a frame's head. */
const CORK_BYTES = 15 * 1024;
const FRAME_HEAD_BYTES = 10;

/** A connection's subscription to a channel. */
export class Subscription implements Subscriber {
  /** Whether the channel's messages are passed on, which begins with the snapshot. */
  isLive = false;
  /** Whether a `resume` is under way that takes its messages from the journal. */
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
  /** That address in its IPv6 form of 16 bytes. */
  addressBytes: Uint8Array;
  slot: number;
  /**
   * Sends a message to the connections that are subscribed to a topic of uWebSockets.js. null: the
   * socket collects what is sent in one turn by itself.
   */
  publish: ((topic: string, text: string | Uint8Array) => void) | null;
  /** A topic that no other connection and no channel has. */
  topic: string;
  /** Called when the exchange closes the connection. */
  onEnd: (reason: CloseReason) => void;
}

export class Connection {
  readonly address: AddressKey;
  readonly addressBytes: Uint8Array;
  /** The moment of the heartbeat interval at which this connection's heartbeat is sent. */
  readonly slot: number;
  /** By the channels' names. */
  readonly subscriptions = new Map<string, Subscription>();
  /** 0: nobody is signed in. */
  userId = 0;
  /** The version of the credentials in the token. */
  tokenVersion = 0;
  /** null: nobody is signed in. */
  session: Session | null = null;
  /** The token of the session, which a replica sends to the leader; empty: none was sent. */
  token = '';
  /** Orders and batches that are not answered yet. */
  outstanding = 0;
  cancelOnDisconnect = false;
  /** Whether the client was told that its session ends soon. */
  isWarned = false;
  /** Whether it is about to close, so that nothing more is read from it. */
  isEnding = false;
  /**
   * While a `resume` takes messages from the journal: the number of the last one that was sent.
   * What is said to have been sent before must not be beyond it.
   */
  resumedTo = Number.POSITIVE_INFINITY;
  /** Called once when the client has read most of what was sent, or has left. */
  private onRead: (() => void) | null = null;
  /** Answers from the first one on that is not known yet: null. */
  private readonly waiting: { send: (() => void) | null }[] = [];
  /** Pings since the client last sent something. */
  unansweredPings = 0;
  /** Why the connection closes once its requests are answered; null: it stays open. */
  private ending: CloseReason | null = null;
  private readonly budget: FrameBudget;
  private socket: Socket | null = null;
  /** Whether the socket is subscribed to the connection's own topic. */
  private hasTopic = false;

  constructor(private readonly options: ConnectionOptions) {
    this.address = options.address;
    this.addressBytes = options.addressBytes;
    this.slot = options.slot;
    this.budget = new FrameBudget(options.limits, options.elapsedMs);
  }

  /** Sets whose connection it is, and what its token allows. */
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

  /** Returns false if the client exceeds its rate of operations. */
  takeOperations(count: number): boolean {
    return this.budget.take(count);
  }

  /** A frame came though the connection is about to close. It is cut off if more follow. */
  ignoreFrame(): void {
    if (this.budget.ignore()) return;
    this.options.onEnd(CLOSE.rateLimited);
    this.cutOff();
  }

  /** To be called when the socket has closed. */
  closed(): void {
    this.socket = null;
    for (const subscription of this.subscriptions.values()) {
      subscription.channel.remove(subscription, this.options.elapsedMs());
    }
    this.subscriptions.clear();
    this.hasRead();
  }

  /** Subscribes to a channel, once. Messages are sent only after {@link start}. */
  subscribe(channel: Channel): Subscription {
    const existing = this.subscriptions.get(channel.name);
    if (existing !== undefined) return existing;
    const subscription = new Subscription(this, channel);
    this.subscriptions.set(channel.name, subscription);
    channel.add(subscription);
    return subscription;
  }

  /** Calls `go` when less than {@link UNREAD_BYTES} is unread, or when the client has left. */
  whenRead(go: () => void): void {
    this.onRead = go;
    if (this.socket?.askRead === undefined) this.drained();
    else this.socket.askRead();
  }

  /** To be called when the socket has taken some of what waits. */
  drained(): void {
    if (this.backlogBytes < UNREAD_BYTES) this.hasRead();
  }

  private hasRead(): void {
    const go = this.onRead;
    this.onRead = null;
    go?.();
  }

  /** Stops a subscription's messages until it is started again. */
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

  /**
   * Sends a subscription's first texts. Its channel's messages follow, unless the client has left
   * the channel since: its request is answered all the same.
   */
  start(subscription: Subscription, texts: readonly string[]): void {
    if (this.subscriptions.get(subscription.channel.name) === subscription) {
      if (!subscription.isLive) this.socket?.subscribe(subscription.channel.topic);
      subscription.isLive = true;
    }
    this.sendAll(texts);
  }

  /** The channels whose messages the client has up to the last. */
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

  /**
   * Sends texts with few system calls. A cork of uWebSockets.js ends with the first text that does
   * not fit into its buffer, so the texts are corked in parts that do.
   */
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

  /**
   * Sends an answer through the connection's own topic: uWebSockets.js collects what is published
   * in one turn, and writes it with one system call and in the order of all messages.
   */
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

  /** Sends an answer after those before it. */
  inTurn(send: () => void): void {
    if (this.waiting.length === 0) send();
    else this.waiting.push({ send });
  }

  /** Keeps the place of an answer that is not known yet; the result sends it. */
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

  /** Bytes that the operating system has not taken yet. */
  get backlogBytes(): number {
    return this.socket?.getBufferedAmount() ?? 0;
  }

  /** Answers an order or a batch, which was counted in `outstanding`. */
  answerRequest(text: string | Uint8Array): void {
    this.answer(text);
    this.requestAnswered();
  }

  /** An order or a batch was answered. */
  requestAnswered(): void {
    this.outstanding--;
    if (this.ending !== null && this.outstanding === 0) this.end(this.ending);
  }

  /** Reads nothing more, and closes the connection when each order and batch has its answer. */
  endWhenAnswered(reason: CloseReason): void {
    this.isEnding = true;
    this.ending ??= reason;
    if (this.outstanding === 0) this.end(this.ending);
  }

  /** Closes the connection after what was sent. The close handler runs within this call. */
  end(reason: CloseReason): void {
    if (this.socket === null) return;
    const { backlogs, onEnd } = this.options;
    onEnd(reason);
    backlogs.addClosed(this.backlogBytes);
    this.socket.end(reason.code, reason.reason);
  }

  /** Closes the connection at once, without a code, and drops what was not sent. */
  cutOff(): void {
    this.socket?.close();
  }
}
