/**
 * One stream connection, kept open: after a loss it connects again, signs in again, and requests
 * its channels again (channel.ts).
 *
 * Invariant: every request is answered, fails, or is ended by its signal. An end without a callback
 * is thrown as an uncaught exception.
 */
import type { Api } from '../api.js';
import { ConnectionError, ExchangeError, waitIn } from '../errors.js';
import { backoffMs } from '../retries.js';
import type { ErrorCode } from '../terms.js';
import { type ChannelNews, FollowedChannel, type Subscriber } from './channel.js';
import type { ChannelName, Kind, KindOf, Place } from './messages.js';

/** The part of a WebSocket in use: a browser's, Node.js's from 22 on, or that of `ws`. */
export interface Socket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(): void;
}

type SocketConstructor = new (url: string) => Socket;

export interface StreamOptions {
  WebSocket?: SocketConstructor;
  /** Cancels all your resting orders when the connection ends. */
  cancelOnDisconnect?: boolean;
  /** Called after each change: whether the connection is open and, if not, the close code. */
  onState?: (isOpen: boolean, code: number | null) => void;
  /**
   * Called when the stream has ended permanently: the token was refused, was revoked or has
   * expired. Orders still rest. Without this callback, the error is thrown as an uncaught
   * exception, which ends a Node.js program.
   */
  onEnd?: (error: ExchangeError) => void;
  /** The token expires soon. The stream then ends, and orders still rest. */
  onSessionEnding?: (endsAtMs: number) => void;
  /** Errors that belong to no channel and no request, and errors followed by a reconnection. */
  onError?: (error: ExchangeError) => void;
  /** First and longest wait between attempts to connect. Default: 100 and 5,000. */
  firstWaitMs?: number;
  longestWaitMs?: number;
  /** A connection this silent counts as lost. Default: 30,000, three heartbeats. */
  silenceMs?: number;
}

interface Request {
  text: string;
  isRepeatable: boolean;
  isSent: boolean;
  resolve: (answer: object) => void;
  reject: (error: Error) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: a message is narrowed by its type
type Incoming = any;

/** Close codes after which this token cannot connect again. */
const ENDS: Readonly<Record<number, ErrorCode>> = { 4001: 'token_revoked', 4002: 'token_expired' };
const AUTH_ID = 'auth';
/** Channels requested in one burst; the exchange allows 100. */
const BURST = 80;
const PAUSE_MS = 60;
/** If the exchange does not say how long to wait. */
const REFUSED_WAIT_MS = 1_000;
/** The exchange allows 256. */
const UNANSWERED_MAX = 200;
const ANSWER_MS = 10_000;

export class Stream {
  /** The signed-in user; `null` if not signed in, or signed in by a cookie. */
  userId: string | null = null;
  /** When the token expires, by the exchange's clock; `null` if never or unknown. */
  sessionEndsAtMs: number | null = null;
  /** Why the stream has ended permanently, or `null`. */
  failure: ExchangeError | ConnectionError | null = null;
  private socket: Socket | null = null;
  /** Whether the connection is open and, if there is a token, signed in. */
  private isOpen = false;
  private failures = 0;
  private lastId = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly channels = new Map<string, FollowedChannel>();
  private readonly requests = new Map<string, Request>();
  /** Not yet sent over this connection. */
  private unsent: string[] = [];
  /** Of an incomplete message. */
  private parts: string[] = [];
  private readonly WebSocket: SocketConstructor;

  /** Connects immediately, with the address and token of `api`. */
  constructor(
    readonly api: Api,
    private readonly options: StreamOptions = {},
  ) {
    const { WebSocket } = globalThis as { WebSocket?: SocketConstructor };
    const found = options.WebSocket ?? WebSocket;
    if (found === undefined)
      throw new Error(
        'There is no global WebSocket here (Node.js has one from version 22 on): pass one, such as that of the package ws, in the options of Stream.',
      );
    this.WebSocket = found;
    this.connect();
  }

  /**
   * Subscribes to a channel for the stream's lifetime.
   * @param place an earlier run's place to continue after; default: starts with a snapshot
   * @returns a function that ends the subscription
   * @throws the stream's failure, if it has ended
   */
  subscribe<Name extends ChannelName>(
    name: Name,
    subscriber: Subscriber<KindOf<Name>> | Subscriber<KindOf<Name>>['onMessage'],
    place: Place | null = null,
  ): () => void {
    if (this.failure !== null) throw this.failure;
    if (this.channels.has(name)) throw new Error(`${name} is already subscribed`);
    const given = typeof subscriber === 'function' ? { onMessage: subscriber } : subscriber;
    const channel = new FollowedChannel(name, given as Subscriber<Kind>, place);
    this.channels.set(name, channel);
    this.ask(channel);
    return () => {
      if (this.channels.get(name) !== channel) return;
      this.channels.delete(name);
      if (this.isOpen) this.send({ op: 'unsubscribe', channels: [name] });
    };
  }

  /** Requests a new snapshot of a channel. */
  restart(name: ChannelName): void {
    const channel = this.channels.get(name);
    channel?.forget();
    if (channel !== undefined) this.ask(channel);
  }

  /**
   * Sends a request and waits for its answer. After a lost connection it is sent again, so a change
   * needs an idempotency key; a request that is not `isRepeatable` fails instead.
   * @param signal ends the wait; default: after 10 s
   * @throws ExchangeError for an error of the exchange; ConnectionError if there is no answer; the
   * signal's reason
   */
  request<Answer extends object>(
    message: object,
    signal: AbortSignal = AbortSignal.timeout(ANSWER_MS),
    isRepeatable = true,
  ): Promise<Answer> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.failure !== null) return Promise.reject(this.failure);
    const id = `${++this.lastId}`;
    const text = JSON.stringify({ ...message, id });
    const answer = new Promise<Answer>((resolve, reject) => {
      const settle = { resolve: resolve as Request['resolve'], reject };
      this.requests.set(id, { text, isRepeatable, isSent: false, ...settle });
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.unsent.push(id);
    this.sendRequests();
    return answer.finally(() => {
      this.requests.delete(id);
      this.unsent = this.unsent.filter((other) => other !== id);
      this.sendRequests();
    });
  }

  private sendRequests(): void {
    while (this.isOpen && this.unsent.length > 0) {
      if (this.requests.size - this.unsent.length >= UNANSWERED_MAX) return;
      const request = this.requests.get(this.unsent.shift()!);
      if (request === undefined) continue;
      request.isSent = true;
      this.socket!.send(request.text);
    }
  }

  private sendAgain(id: string, request: Request): void {
    if (!request.isRepeatable) {
      request.reject(new ConnectionError('the answer was lost', true, null));
      return;
    }
    if (!this.unsent.includes(id)) this.unsent.push(id);
    this.sendRequests();
  }

  /** Closes the connection permanently. */
  close(): void {
    this.end(new ConnectionError('the stream was closed', false, null));
  }

  /** Notifies channels, waiting calls and owner. */
  private end(failure: ExchangeError | ConnectionError): void {
    if (this.failure !== null) return;
    this.failure = failure;
    this.drop();
    for (const { isSent, reject } of this.requests.values())
      reject(
        isSent ? new ConnectionError(failure.message, true, null, { cause: failure }) : failure,
      );
    const channels = [...this.channels.values()];
    this.channels.clear();
    if (failure instanceof ConnectionError) return;
    for (const { subscriber } of channels) subscriber.onEnd?.(failure);
    if (this.options.onEnd === undefined) throwUncaught(failure);
    else this.options.onEnd(failure);
  }

  private connect(): void {
    const { WebSocket } = this;
    const socket: Socket = new WebSocket(streamUrl(this.api.url));
    this.socket = socket;
    this.expectMessage();
    socket.onopen = () => this.connected();
    socket.onmessage = ({ data }: { data: unknown }) => {
      this.expectMessage();
      this.receive(JSON.parse(`${data}`));
    };
    socket.onclose = ({ code }: { code: number }) => this.lost(code);
    // If the connection was refused, Node.js reports an error but no close.
    socket.onerror = () => this.lost(null);
  }

  private connected(): void {
    const { token } = this.api;
    const { cancelOnDisconnect = false } = this.options;
    if (token === null) this.opened();
    else this.send({ op: 'auth', id: AUTH_ID, token, cancelOnDisconnect });
  }

  private opened(): void {
    this.isOpen = true;
    const channels = [...this.channels.values()];
    for (const channel of channels.slice(0, BURST)) this.ask(channel);
    this.askSlowly(channels.slice(BURST));
    this.unsent = [...this.requests.keys()];
    this.sendRequests();
    this.options.onState?.(true, null);
  }

  private askSlowly([next, ...rest]: FollowedChannel[]): void {
    if (next === undefined) return;
    this.askLater(next, PAUSE_MS, () => this.askSlowly(rest));
  }

  /** Asks only over the same connection, because a new one requests all channels anyway. */
  private askLater(channel: FollowedChannel, waitMs: number, then = () => {}): void {
    const { socket } = this;
    setTimeout(() => {
      if (socket !== this.socket) return;
      if (this.channels.get(channel.name) === channel) this.ask(channel);
      then();
    }, waitMs);
  }

  private ask(channel: FollowedChannel): void {
    if (this.isOpen) this.send(channel.request());
  }

  private send(message: object): void {
    this.socket!.send(JSON.stringify(message));
  }

  private receive(message: Incoming): void {
    const { type, id } = message;
    const request = this.requests.get(id);
    if (type === 'part') this.receivePart(message);
    else if (type === 'error') this.refused(message);
    else if (type === 'heartbeat') this.compare(message.channels);
    else if (id === AUTH_ID) this.signedIn(message);
    else if (type === 'session_ending') this.options.onSessionEnding?.(message.endsAtMs);
    else if (request !== undefined) request.resolve(message);
    else this.receiveChannel(message);
  }

  /** Drops parts after a missing one, so that the whole message counts as missing. */
  private receivePart({ part, parts, text }: Incoming): void {
    if (part === 1) this.parts = [];
    if (part !== this.parts.length + 1) return;
    this.parts.push(text);
    if (part === parts) this.receive(JSON.parse(this.parts.join('')));
  }

  private signedIn({ userId, expiresAtMs = null }: Incoming): void {
    this.userId = userId;
    this.sessionEndsAtMs = expiresAtMs;
    this.opened();
  }

  private receiveChannel(message: ChannelNews & { channel: string }): void {
    const channel = this.channels.get(message.channel);
    if ((message.type as string) === 'closed') this.endChannel(channel, null);
    else if (channel?.receive(message)) this.ask(channel);
  }

  private endChannel(channel: FollowedChannel | undefined, error: ExchangeError | null): void {
    if (channel === undefined) return;
    const { name, subscriber } = channel;
    this.channels.delete(name);
    if (subscriber.onEnd !== undefined) subscriber.onEnd(error);
    else if (error !== null) throwUncaught(error);
  }

  private compare(numbers: Record<string, number>): void {
    this.failures = 0;
    for (const channel of this.channels.values())
      if (channel.compare(numbers[channel.name])) this.ask(channel);
  }

  private refused(message: Incoming): void {
    const { code, message: text, details, id } = message;
    const error = new ExchangeError(code, text, details, 0, waitIn(details));
    const request = this.requests.get(id);
    const channel = this.channels.get(message.channel ?? id);
    // A replica has lost its leader, which is treated like a lost connection.
    if (request !== undefined && code === 'outcome_unknown') this.sendAgain(id, request);
    else if (request !== undefined) request.reject(error);
    else if (channel !== undefined) this.channelRefused(channel, error);
    else if (id === AUTH_ID) this.authRefused(error);
    else this.options.onError?.(error);
  }

  private channelRefused(channel: FollowedChannel, error: ExchangeError): void {
    const waitMs = refusalWaitMs(error);
    channel.pause();
    if (waitMs !== null) this.askLater(channel, waitMs);
    else this.endChannel(channel, channel.isClosedBy(error) ? null : error);
  }

  /** Too many connections may be temporary: the exchange may still count lost ones. */
  private authRefused(error: ExchangeError): void {
    const waitMs = refusalWaitMs(error) ?? (error.code === 'limit_reached' ? 0 : null);
    if (waitMs === null) this.end(error);
    else {
      this.options.onError?.(error);
      this.lost(null, waitMs);
    }
  }

  private expectMessage(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.lost(null), this.options.silenceMs ?? 30_000);
  }

  private drop(): void {
    const { socket } = this;
    clearTimeout(this.timer);
    this.socket = null;
    this.isOpen = false;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    // A socket closed before it opened reports an error.
    socket.onerror = () => {};
    socket.close();
  }

  private lost(code: number | null, askedWaitMs = 0): void {
    this.drop();
    const end = ENDS[code ?? 0];
    for (const { isSent, isRepeatable, reject } of this.requests.values()) {
      if (isSent && !isRepeatable)
        reject(new ConnectionError('the connection was lost', true, null));
    }
    for (const channel of this.channels.values()) channel.pause();
    if (end !== undefined) this.end(new ExchangeError(end, `${end}: sign in again`, {}, 401));
    this.options.onState?.(false, code);
    if (this.failure !== null) return;
    const { firstWaitMs = 100, longestWaitMs = 5_000 } = this.options;
    const waitMs = backoffMs(++this.failures, firstWaitMs, longestWaitMs);
    this.timer = setTimeout(() => this.connect(), Math.max(waitMs, askedWaitMs));
  }
}

/** `null` if a retry is useless. */
function refusalWaitMs({ code, retryAfterMs }: ExchangeError): number | null {
  if (retryAfterMs !== null) return retryAfterMs;
  return code === 'rate_limited' || code === 'unavailable' ? REFUSED_WAIT_MS : null;
}

function throwUncaught(error: Error): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** A path is relative to the page's own origin. */
function streamUrl(apiUrl: string): string {
  const { location } = globalThis as { location?: { href: string } };
  const url = new URL(`${apiUrl}/stream`, location?.href);
  url.protocol = url.protocol.replace('http', 'ws');
  return url.href;
}
