/**
 * One connection of the stream: who it is, what it is subscribed to, and what is sent to it.
 *
 * Always holds: nothing is sent, and nothing asked of the socket, once it has closed; a subscription gets its channel's messages
 * from the moment at which its snapshot (or what it missed) is sent, so that nothing is left out and nothing comes twice.
 */
import type * as uWS from 'uWebSockets.js';
import type { ErrorAnswer } from '../http/errors.js';
import type { Channel, Subscriber } from './channel.js';
import { CLOSE, type CloseReason, type StreamLimits } from './limits.js';
import { TokenBucket } from './token-bucket.js';

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

export class Connection {
  /** By the channels' names. */
  readonly subscriptions = new Map<string, Subscription>();
  /** 0: nobody is signed in. */
  userId = 0;
  /** Of the credentials that the token was issued for. */
  tokenVersion = 0;
  cancelOnDisconnect = false;
  /** What came in while a token is being verified; null: no token is. */
  waiting: (string | ErrorAnswer)[] | null = null;
  /** Pings since the last sign of life. */
  unansweredPings = 0;
  readonly allowance: TokenBucket;
  private socket: Socket | null = null;

  /** `slot`: which of the moments of a heartbeat interval is this connection's. */
  constructor(
    private readonly limits: StreamLimits,
    private readonly elapsedMs: () => number,
    readonly slot: number,
  ) {
    this.allowance = new TokenBucket(limits.operationsBurst, limits.operationsPerSecond, elapsedMs());
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
      subscription.channel.remove(subscription, this.elapsedMs());
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
    channel.remove(subscription, this.elapsedMs());
    if (subscription.isLive) this.socket?.unsubscribe(channel.topic);
  }

  send(text: string): void {
    this.socket?.send(text);
    this.checkBacklog();
  }

  ping(): void {
    this.unansweredPings++;
    this.socket?.ping();
  }

  /** Ends the connection if its reader is too far behind. */
  checkBacklog(): void {
    if (this.backlogBytes > this.limits.backlogBytes) this.end(CLOSE.slowReader);
  }

  /** What waits for the reader, beyond what the operating system has taken. */
  get backlogBytes(): number {
    return this.socket?.getBufferedAmount() ?? 0;
  }

  /** Closes the connection after what was sent. uWebSockets.js calls its close handler from within. */
  end({ code, reason }: CloseReason): void {
    this.socket?.end(code, reason);
  }
}
