/**
 * One connection of the stream: who it is, what it is subscribed to, and what is sent to it.
 *
 * Always holds: nothing is sent, and nothing asked of the socket, once it has closed; a subscription gets its channel's messages
 * from the moment at which its snapshot (or what it missed) is sent, so that nothing is left out and nothing comes twice.
 */
import type * as uWS from 'uWebSockets.js';
import type { AddressKey } from '../fair-use/addresses.js';
import { TokenBucket } from '../fair-use/token-bucket.js';
import type { Backlogs } from './backlogs.js';
import type { Channel, Subscriber } from './channels/channel.js';
import type { CloseReason, StreamLimits } from './limits.js';

/** What uWebSockets.js keeps for a socket. */
export interface SocketData {
  connection: Connection;
}
export type Socket = uWS.WebSocket<SocketData>;

/** A connection's place in a channel. */
export class Subscription implements Subscriber {
  /** Whether the channel's messages are passed on: not before the snapshot. */
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
  /** Where the client is. */
  address: AddressKey;
  /** Which of the moments of a heartbeat interval is this connection's. */
  slot: number;
  /** Told when the server ends the connection. */
  onEnd: (reason: CloseReason) => void;
}

export class Connection {
  /** By the channels' names. */
  readonly subscriptions = new Map<string, Subscription>();
  /** 0: nobody is signed in. */
  userId = 0;
  /** Of the credentials that the token was issued for. */
  tokenVersion = 0;
  cancelOnDisconnect = false;
  /** Pings since the last sign of life. */
  unansweredPings = 0;
  readonly allowance: TokenBucket;
  private socket: Socket | null = null;

  constructor(private readonly options: ConnectionOptions) {
    const { limits, elapsedMs } = options;
    const rate = { burst: limits.operationsBurst, perSecond: limits.operationsPerSecond };
    this.allowance = new TokenBucket(rate, elapsedMs());
  }

  get address(): AddressKey {
    return this.options.address;
  }

  get slot(): number {
    return this.options.slot;
  }

  get isOpen(): boolean {
    return this.socket !== null;
  }

  open(socket: Socket): void {
    this.socket = socket;
  }

  /** The socket has closed, whoever closed it. */
  closed(): void {
    this.socket = null;
    for (const subscription of this.subscriptions.values()) {
      subscription.channel.remove(subscription, this.options.elapsedMs());
    }
    this.subscriptions.clear();
  }

  /** The place in a channel, made if there is none; its messages come once it is {@link start}ed. */
  subscribe(channel: Channel): Subscription {
    const existing = this.subscriptions.get(channel.name);
    if (existing !== undefined) return existing;
    const subscription = new Subscription(this, channel);
    this.subscriptions.set(channel.name, subscription);
    channel.add(subscription);
    return subscription;
  }

  /** Sends what a subscription begins with; from here on the channel's messages follow. Not if it was given up since. */
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

  /** What waits for the reader, beyond what the operating system has taken. */
  get backlogBytes(): number {
    return this.socket?.getBufferedAmount() ?? 0;
  }

  /** Closes the connection after what was sent. uWebSockets.js calls its close handler from within. */
  end(why: CloseReason): void {
    if (this.socket === null) return;
    const { backlogs, onEnd } = this.options;
    onEnd(why);
    backlogs.left(this.backlogBytes);
    this.socket.end(why.code, why.reason);
  }

  /** Closes the connection at once, without a code, whatever was sent. */
  cutOff(): void {
    this.socket?.close();
  }
}
