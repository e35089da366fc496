/**
 * One connection to the stream, kept open: it connects again after a loss, signs in again, and
 * resumes its channels.
 *
 * Always holds: a subscriber gets a snapshot, or the continuation of what it had, and then every
 * message in order. When a number is missing, the rest is left out until a new snapshot.
 */
import type { Api } from '../api.js';
import { ConnectionError, ExchangeError } from '../errors.js';
import { backoffMs } from '../retries.js';
import type { ErrorCode } from '../terms.js';
import type { ChannelMessage, ChannelName, Kind, KindOf, Place } from './messages.js';

/** The part of a WebSocket that is used: of a browser, of Node.js from 22, or of `ws`. */
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
  /** Instead of the global one. */
  WebSocket?: SocketConstructor;
  /** Cancels all your resting orders when the connection ends. */
  cancelOnDisconnect?: boolean;
  /** After each change: whether the connection is open, and if not, the close code. */
  onState?: (isOpen: boolean, code: number | null) => void;
  /** Errors that belong to no subscription and no request. */
  onError?: (error: Error) => void;
  /** Between two attempts to connect: the first wait, and the longest. Default: 100 and 5,000. */
  firstWaitMs?: number;
  longestWaitMs?: number;
  /** A connection that is silent for so long is lost. Default: 30,000, three heartbeats. */
  silenceMs?: number;
}

export interface Subscriber<Of extends Kind> {
  onMessage: (message: ChannelMessage<Of>) => void;
  /** The messages since the last one are gone; a snapshot follows. */
  onGap?: () => void;
  /** The channel has ended (its market was closed), or was refused. */
  onEnd?: (error: ExchangeError | null) => void;
}

interface Subscription extends Subscriber<Kind> {
  channel: ChannelName;
  place: Place | null;
  /** Whether deltas are in order; false: until a snapshot or the continuation. */
  isLive: boolean;
  /** Heartbeats for which the exchange may still be sending what was missed. */
  patience: number;
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

/** Whether a message is missing between number `last` and a delta. */
function isAfterGap(delta: Incoming, last: number): boolean {
  const { channelSequence, previousSequence } = delta;
  return channelSequence <= last || previousSequence > last;
}

/** Errors after which no connection with this token can succeed. */
const TOKEN_ERRORS: ErrorCode[] = [
  'missing_token',
  'invalid_token',
  'token_revoked',
  'token_expired',
];
/** Close codes after which no connection with this token can succeed: revoked, expired. */
const TOKEN_CLOSES = [4001, 4002];
/** Channels that are requested at once; the exchange's limit is a burst of 100. */
const BURST = 80;
const PAUSE_MS = 60;
/** What was missed in `user` may come from the journal, which can take some seconds. */
const REPLAY_HEARTBEATS = 3;
/** Requests that wait for an answer at once; the exchange's limit is 256. */
const UNANSWERED_MAX = 200;

export class Stream {
  /** The signed-in user; null: not signed in, or by a cookie. */
  userId: string | null = null;
  private socket: Socket | null = null;
  private isOpen = false;
  private isClosed = false;
  private failures = 0;
  private lastId = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly subscriptions = new Map<string, Subscription>();
  /** Without an answer, by id. */
  private readonly requests = new Map<string, Request>();
  /** Ids of those that were not sent over this connection. */
  private unsent: string[] = [];

  /** Connects at once. The address and the token are those of `api`. */
  private readonly WebSocket: SocketConstructor;

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
   * Subscribes to a channel, for as long as the stream is not closed.
   * @param place to continue after, as saved by an earlier run; else there is a snapshot first
   * @returns the end of the subscription
   */
  subscribe<Channel extends ChannelName>(
    channel: Channel,
    subscriber: Subscriber<KindOf<Channel>> | Subscriber<KindOf<Channel>>['onMessage'],
    place: Place | null = null,
  ): () => void {
    if (this.subscriptions.has(channel)) throw new Error(`${channel} is already subscribed`);
    const given = typeof subscriber === 'function' ? { onMessage: subscriber } : subscriber;
    const subscription = { ...given, channel, place, isLive: false, patience: 0 } as Subscription;
    this.subscriptions.set(channel, subscription);
    if (this.isOpen) this.begin(subscription);
    return () => {
      if (this.subscriptions.get(channel) !== subscription) return;
      this.subscriptions.delete(channel);
      if (this.isOpen) this.send({ op: 'unsubscribe', channels: [channel] });
    };
  }

  /** Asks for a new snapshot of a channel. */
  restart(channel: ChannelName): void {
    const subscription = this.subscriptions.get(channel);
    if (subscription === undefined) return;
    Object.assign(subscription, { isLive: false, place: null });
    if (this.isOpen) this.begin(subscription);
  }

  /**
   * Sends a request and waits for its answer. It is sent again after a lost connection, so it must
   * have an idempotency key if it changes something. One that is not `isRepeatable` fails then.
   * @throws ExchangeError for an error of the exchange; ConnectionError if there is no answer
   */
  request<Answer extends object>(
    message: object,
    signal?: AbortSignal,
    isRepeatable = true,
  ): Promise<Answer> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = `${++this.lastId}`;
    const text = JSON.stringify({ ...message, id });
    const answer = new Promise<Answer>((resolve, reject) => {
      const settle = { resolve: resolve as Request['resolve'], reject };
      this.requests.set(id, { text, isRepeatable, isSent: false, ...settle });
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.unsent.push(id);
    if (this.isClosed) this.rejectAll();
    else this.sendRequests();
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

  /** What became of the request is unknown. */
  private sendAgain(id: string, request: Request): void {
    if (!request.isRepeatable) {
      request.reject(new ConnectionError('the answer was lost', true, null));
      return;
    }
    if (!this.unsent.includes(id)) this.unsent.push(id);
    this.sendRequests();
  }

  /** Closes the connection for good. */
  close(): void {
    this.isClosed = true;
    this.drop();
    this.subscriptions.clear();
    this.rejectAll();
  }

  private rejectAll(): void {
    for (const { reject } of this.requests.values())
      reject(new ConnectionError('the stream was closed', true, null));
  }

  private connect(): void {
    const { WebSocket } = this;
    const socket: Socket = new WebSocket(streamUrl(this.api.url));
    this.socket = socket;
    this.expectMessage();
    socket.onopen = () => this.opened();
    socket.onmessage = ({ data }: { data: unknown }) => {
      this.failures = 0;
      this.expectMessage();
      this.receive(JSON.parse(`${data}`));
    };
    socket.onclose = ({ code }: { code: number }) => this.lost(code);
    // A close follows.
    socket.onerror = () => {};
  }

  private opened(): void {
    this.isOpen = true;
    const { token } = this.api;
    const { cancelOnDisconnect = false } = this.options;
    if (token !== null) this.send({ op: 'auth', token, cancelOnDisconnect });
    const subscriptions = [...this.subscriptions.values()];
    for (const subscription of subscriptions.slice(0, BURST)) this.begin(subscription);
    this.beginSlowly(this.socket!, subscriptions.slice(BURST));
    this.unsent = [...this.requests.keys()];
    this.sendRequests();
    this.options.onState?.(true, null);
  }

  private beginSlowly(socket: Socket, [next, ...rest]: Subscription[]): void {
    if (next === undefined) return;
    setTimeout(() => {
      if (socket !== this.socket) return;
      if (this.subscriptions.get(next.channel) === next) this.begin(next);
      this.beginSlowly(socket, rest);
    }, PAUSE_MS);
  }

  /** Requests a channel: from its place on, or with a snapshot. */
  private begin(subscription: Subscription): void {
    const { channel, place } = subscription;
    subscription.isLive = false;
    if (place === null) this.send({ op: 'subscribe', channels: [channel] });
    else this.send({ op: 'resume', channel, after: place.channelSequence ?? place.sequence });
  }

  private send(message: object): void {
    this.socket!.send(JSON.stringify(message));
  }

  private receive(message: Incoming): void {
    const subscription = this.subscriptions.get(message.channel);
    if (message.type === 'receipt') this.requests.get(message.id)?.resolve(message);
    else if (message.type === 'error') this.refused(message);
    else if (message.type === 'heartbeat') this.compare(message.channels);
    else if (message.type === 'authenticated') this.userId = message.userId;
    else if (subscription !== undefined) this.tell(subscription, message);
  }

  private tell(subscription: Subscription, message: Incoming): void {
    switch (message.type) {
      case 'snapshot':
      case 'delta':
        this.deliver(subscription, message);
        break;
      case 'resumed':
        subscription.isLive = true;
        subscription.patience = REPLAY_HEARTBEATS;
        break;
      case 'replayed':
        this.reached(subscription, message);
        break;
      case 'gap':
        subscription.place = null;
        subscription.onGap?.();
        break;
      case 'closed':
        this.subscriptions.delete(message.channel);
        subscription.onEnd?.(null);
    }
  }

  /** Everything up to the message's number was sent, from the journal. */
  private reached(subscription: Subscription, { sequence, channelSequence }: Place): void {
    const last = subscription.place?.channelSequence ?? 0;
    subscription.patience = 0;
    if ((channelSequence ?? 0) > last) subscription.place = { sequence, channelSequence };
  }

  private deliver(subscription: Subscription, message: ChannelMessage<Kind>): void {
    const { sequence, channelSequence, type } = message;
    if (type === 'delta' && !subscription.isLive) return;
    const last = subscription.place?.channelSequence ?? null;
    if (type === 'delta' && last !== null && isAfterGap(message, last)) {
      this.restart(subscription.channel);
      return;
    }
    subscription.isLive = true;
    subscription.place = { sequence, channelSequence };
    subscription.onMessage(message);
  }

  /**
   * A heartbeat has the last number of each subscribed channel: a higher one than ours was missed,
   * and so was the snapshot of a channel that is not live.
   */
  private compare(channels: Record<string, number>): void {
    for (const subscription of this.subscriptions.values()) {
      const { channel, isLive, place } = subscription;
      const number = channels[channel];
      if (number === undefined || subscription.patience-- > 0) continue;
      if (!isLive || number > (place?.channelSequence ?? number)) this.restart(channel);
    }
  }

  private refused(message: Incoming): void {
    const { code, message: text, details, id, channel } = message;
    const error = new ExchangeError(code, text, details, 0);
    const request = this.requests.get(id);
    const subscription = this.subscriptions.get(channel);
    // A replica has lost the leader: as after a lost connection.
    if (request !== undefined && code === 'outcome_unknown') this.sendAgain(id, request);
    else if (request !== undefined) request.reject(error);
    else if (subscription !== undefined) this.channelRefused(subscription, error);
    else {
      this.options.onError?.(error);
      if (TOKEN_ERRORS.includes(code)) this.close();
    }
  }

  private channelRefused(subscription: Subscription, error: ExchangeError): void {
    const { retryAfterMs } = error.details;
    if (typeof retryAfterMs === 'number') {
      this.beginLater(subscription, retryAfterMs);
      return;
    }
    this.subscriptions.delete(subscription.channel);
    subscription.onEnd?.(error);
  }

  private beginLater(subscription: Subscription, waitMs: number): void {
    const { socket } = this;
    setTimeout(() => {
      const isStill = this.subscriptions.get(subscription.channel) === subscription;
      if (isStill && socket === this.socket && this.isOpen) this.begin(subscription);
    }, waitMs);
  }

  /** Starts the time in which a message must come. */
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
    socket.close();
  }

  private lost(code: number | null): void {
    this.drop();
    for (const { isSent, isRepeatable, reject } of this.requests.values()) {
      if (isSent && !isRepeatable)
        reject(new ConnectionError('the connection was lost', true, null));
    }
    for (const subscription of this.subscriptions.values()) subscription.isLive = false;
    if (code !== null && TOKEN_CLOSES.includes(code)) this.close();
    this.options.onState?.(false, code);
    if (this.isClosed) return;
    const { firstWaitMs = 100, longestWaitMs = 5_000 } = this.options;
    const waitMs = backoffMs(++this.failures, firstWaitMs, longestWaitMs);
    this.timer = setTimeout(() => this.connect(), waitMs);
  }
}

/** The address of the stream beside the API; a page's own origin if that is only a path. */
function streamUrl(apiUrl: string): string {
  const { location } = globalThis as { location?: { href: string } };
  const url = new URL(`${apiUrl}/stream`, location?.href);
  url.protocol = url.protocol.replace('http', 'ws');
  return url.href;
}
