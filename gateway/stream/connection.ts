/**
 * One connection of the stream: its user, its subscriptions, and what is sent to it.
 *
 * Always holds: nothing is sent after the socket has closed; a subscription receives its channel's
 * messages from its snapshot (or the missed messages) on, none missing or duplicated.
 */
import type * as uWS from 'uWebSockets.js';
import type { AddressKey } from '../fair-use/addresses.js';
import { TokenBuckets } from '../fair-use/token-buckets.js';
import type { Backlogs } from './backlogs.js';
import type { Channel, Subscriber } from './channels/channel.js';
import type { CloseReason, StreamLimits } from './limits.js';

/** The data that uWebSockets.js stores with a socket. */
export interface SocketData {
  connection: Connection;
}
export type Socket = uWS.WebSocket<SocketData>;

/** A connection's subscription to a channel. */
export class Subscription implements Subscriber {
  /** Whether the channel's messages are passed on, which begins with the snapshot. */
  isLive = false;

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
  slot: number;
  /** Called when the exchange closes the connection. */
  onEnd: (reason: CloseReason) => void;
}

export class Connection {
  readonly address: AddressKey;
  /** The moment of the heartbeat interval at which this connection's heartbeat is sent. */
  readonly slot: number;
  /** By the channels' names. */
  readonly subscriptions = new Map<string, Subscription>();
  /** 0: nobody is signed in. */
  userId = 0;
  /** The version of the credentials in the token. */
  tokenVersion = 0;
  cancelOnDisconnect = false;
  /** Pings since the client last sent something. */
  unansweredPings = 0;
  private readonly operations: TokenBuckets<null>;
  private socket: Socket | null = null;

  constructor(private readonly options: ConnectionOptions) {
    const { operationsBurst: burst, operationsPerSecond: perSecond } = options.limits;
    this.address = options.address;
    this.slot = options.slot;
    this.operations = new TokenBuckets<null>({ burst, perSecond });
  }

  open(socket: Socket): void {
    this.socket = socket;
  }

  /** Returns false if the client exceeds its rate of operations. */
  takeOperations(count: number): boolean {
    return this.operations.take(null, count, this.options.elapsedMs());
  }

  /** To be called when the socket has closed. */
  closed(): void {
    this.socket = null;
    for (const subscription of this.subscriptions.values()) {
      subscription.channel.remove(subscription, this.options.elapsedMs());
    }
    this.subscriptions.clear();
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

  /** Sends a subscription's first texts, unless it was dropped. Its channel's messages follow. */
  start(subscription: Subscription, texts: readonly string[]): void {
    if (this.subscriptions.get(subscription.channel.name) !== subscription) return;
    if (!subscription.isLive) this.socket?.subscribe(subscription.channel.topic);
    subscription.isLive = true;
    for (const text of texts) this.send(text);
  }

  *channels(): Generator<Channel> {
    for (const { channel } of this.subscriptions.values()) yield channel;
  }

  drop(subscription: Subscription): void {
    const { channel } = subscription;
    this.subscriptions.delete(channel.name);
    channel.remove(subscription, this.options.elapsedMs());
    if (subscription.isLive) this.socket?.unsubscribe(channel.topic);
  }

  send(text: string): void {
    this.socket?.send(text);
    this.options.backlogs.checkOne(this);
  }

  ping(): void {
    this.unansweredPings++;
    this.socket?.ping();
  }

  /** Bytes that the operating system has not taken yet. */
  get backlogBytes(): number {
    return this.socket?.getBufferedAmount() ?? 0;
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
