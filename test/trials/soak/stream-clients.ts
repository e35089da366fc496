/**
 * Clients of the stream. They follow channels, hang up, reconnect and resume; some do not read for
 * a long time.
 *
 * Always holds: the numbers of a channel's messages are consecutive, across reconnects too. A gap,
 * or a number in a heartbeat that the client has not received, is a problem.
 */
import { WebSocket } from 'ws';
import type { Random } from '../../../bench/workload/random.js';
import type { Floor } from './floor.js';
import { TradeSum } from './record.js';
import type { Tally } from './tally.js';

// biome-ignore lint/suspicious/noExplicitAny: the exchange's tests check the shape of messages
type Message = any;

/** The close code for a reader that is too far behind. */
const SLOW_READER = 4008;
/** What such a reader sees if the connection drops before it has read the close frame. */
const NO_REASON = 1006;
/** The average time between two hang-ups of a client. */
const HANG_UP_AFTER_MS = 15_000;
const AWAY_MS = 400;
/** How long a slow reader reads nothing, and how long it then has to catch up. */
const PAUSED_MS_MIN = 5_000;
const PAUSED_MS_MAX = 50_000;
const CATCH_UP_MS = 10_000;
const SLOW_STEP_MS = 500;

export class StreamTally {
  messages = 0;
  hangUps = 0;
  resumed = 0;
  gaps = 0;
  slowReadersClosed = 0;
}

export interface StreamOptions {
  url: string;
  floor: Floor;
  random: Random;
  tally: Tally;
  streamTally: StreamTally;
}

abstract class StreamClient {
  protected socket: WebSocket | null = null;
  /** The wanted channels with the numbers of their last messages; null: none has come. */
  protected readonly wanted = new Map<string, number | null>();
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  constructor(
    protected readonly options: StreamOptions,
    private readonly name: string,
    private readonly token: string | null,
  ) {}

  /** Connects, and hangs up now and then. */
  async start(): Promise<void> {
    await this.connect();
    this.hangUpLater();
  }

  close(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    this.drop();
  }

  /** Whether every wanted channel has delivered a message. */
  get isUpToDate(): boolean {
    return this.socket !== null && [...this.wanted.values()].every((last) => last !== null);
  }

  protected connect(): Promise<void> {
    const headers = this.token === null ? {} : { 'x-user-token': this.token };
    const socket = new WebSocket(this.options.url, { headers, perMessageDeflate: false });
    this.socket = socket;
    socket.on('message', (data) => {
      if (this.socket === socket) this.receive(JSON.parse(data.toString()));
    });
    socket.on('error', (error) => {
      if (this.socket === socket) this.problem(error.message);
    });
    socket.on('close', (code) => {
      if (this.socket === socket) this.closed(code);
    });
    return new Promise((resolve, reject) => {
      socket.once('open', () => {
        this.begin();
        resolve();
      });
      socket.once('close', () => reject(new Error(`${this.name} could not connect`)));
    });
  }

  protected send(message: object): void {
    this.socket?.send(JSON.stringify(message));
  }

  protected follow(channels: readonly string[]): void {
    const added = channels.filter((channel) => !this.wanted.has(channel));
    if (added.length === 0) return;
    for (const channel of added) this.wanted.set(channel, null);
    this.send({ op: 'subscribe', channels: added });
  }

  protected leave(channels: readonly string[]): void {
    const known = channels.filter((channel) => this.wanted.has(channel));
    if (known.length === 0) return;
    for (const channel of known) this.wanted.delete(channel);
    this.send({ op: 'unsubscribe', channels: known });
  }

  protected begin(): void {
    for (const [channel, after] of this.wanted) {
      if (after === null) this.send({ op: 'subscribe', channels: [channel] });
      else this.send({ op: 'resume', channel, after });
    }
  }

  protected isSlow(code: number): boolean {
    return code === SLOW_READER;
  }

  protected abstract changed(channel: string, type: string, data: Message): void;

  protected missed(): void {}

  /** Hangs up at a random moment and reconnects a little later. */
  protected hangUpLater(): void {
    this.after(this.options.random.untilNext(1 / HANG_UP_AFTER_MS), () => {
      this.options.streamTally.hangUps++;
      this.drop();
      this.reconnect();
    });
  }

  protected reconnect(): void {
    this.after(this.options.random.whole(0, AWAY_MS), () => {
      this.start().catch((error: Error) => this.options.tally.problem(error.message));
    });
  }

  /** Schedules the client's next step, which replaces one that is scheduled. */
  protected after(delayMs: number, step: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(step, delayMs);
  }

  protected drop(): void {
    const { socket } = this;
    this.socket = null;
    socket?.terminate();
  }

  private closed(code: number): void {
    this.socket = null;
    if (this.isOver) return;
    if (this.isSlow(code)) this.options.streamTally.slowReadersClosed++;
    else this.options.tally.problem(`${this.name} was closed with ${code}`);
    this.reconnect();
  }

  private receive(message: Message): void {
    const { streamTally } = this.options;
    streamTally.messages++;
    const { type, channel } = message;
    switch (type) {
      case 'snapshot':
      case 'delta':
      case 'closed':
        this.receiveOf(channel, message);
        return;
      case 'resumed':
        streamTally.resumed++;
        // The client may have unsubscribed meanwhile.
        if (this.wanted.has(channel) && this.wanted.get(channel) !== message.after) {
          this.problem(`${channel} was resumed after ${message.after}`);
        }
        return;
      case 'gap':
        streamTally.gaps++;
        this.missed();
        return;
      case 'heartbeat':
        this.checkHeartbeat(message.channels);
        return;
      case 'error':
        this.problem(`${message.code} ${message.message}`);
    }
  }

  private problem(what: string): void {
    this.options.tally.problem(`${this.name}: ${what}`);
  }

  private receiveOf(channel: string, message: Message): void {
    const { type, channelSequence, previousSequence, data } = message;
    const last = this.wanted.get(channel);
    // The client has unsubscribed meanwhile.
    if (last === undefined) return;
    const isNext =
      channelSequence > (last ?? 0) && (type === 'closed' || previousSequence <= (last ?? 0));
    if (type !== 'snapshot' && !isNext) {
      this.problem(`${channel} went from ${last} to ${channelSequence}`);
      this.missed();
    }
    if (type === 'closed') this.wanted.delete(channel);
    else {
      this.wanted.set(channel, channelSequence);
      this.changed(channel, type, data);
    }
  }

  private checkHeartbeat(channels: Record<string, number>): void {
    for (const [channel, last] of Object.entries(channels)) {
      const mine = this.wanted.get(channel);
      // A snapshot may be newer than the last message of its channel.
      if (mine === undefined || mine === null || mine >= last) continue;
      this.problem(`${channel} is at ${last}, the last message received was ${mine}`);
      this.missed();
    }
  }
}

const channelsOf = (marketId: string) => [`book:${marketId}`, `trades:${marketId}`];

/** Follows all markets: openings and ends, books, trades and prices. */
export class MarketReader extends StreamClient {
  constructor(options: StreamOptions, index: number, assets: readonly string[]) {
    super(options, `market reader ${index}`, null);
    for (const channel of ['markets', ...assets.map((asset) => `prices:${asset}`)]) {
      this.wanted.set(channel, null);
    }
  }

  protected changed(channel: string, type: string, data: Message): void {
    if (channel !== 'markets') return;
    if (type === 'snapshot') {
      for (const { id } of data.markets) this.follow(channelsOf(id));
      return;
    }
    for (const { change, marketId } of data.changes) {
      if (change === 'opened') this.follow(channelsOf(marketId));
      if (change === 'ended') this.leave(channelsOf(marketId));
    }
  }
}

/** Follows a user's account and sums its fills. */
export class UserReader extends StreamClient {
  readonly fills = new TradeSum();
  /** No message was missed since the first one. */
  isComplete = true;

  constructor(
    options: StreamOptions,
    readonly userId: string,
    private readonly signIn: { token: string; cancelOnDisconnect: boolean },
  ) {
    super(options, `reader of ${userId}`, signIn.cancelOnDisconnect ? null : signIn.token);
    this.wanted.set('user', null);
  }

  protected override begin(): void {
    if (this.signIn.cancelOnDisconnect) this.send({ op: 'auth', ...this.signIn });
    super.begin();
  }

  protected override missed(): void {
    this.isComplete = false;
  }

  protected changed(_channel: string, type: string, data: Message): void {
    if (type !== 'delta') return;
    for (const event of data.events) {
      if (event.type === 'fill') this.fills.addShown(event);
    }
  }
}

export class SlowReader extends StreamClient {
  constructor(options: StreamOptions, index: number) {
    super(options, `slow reader ${index}`, null);
  }

  override async start(): Promise<void> {
    this.wanted.clear();
    await this.connect();
    this.socket?.pause();
    this.request(performance.now() + this.options.random.whole(PAUSED_MS_MIN, PAUSED_MS_MAX));
  }

  protected override isSlow(code: number): boolean {
    return code === SLOW_READER || code === NO_REASON;
  }

  protected changed(): void {}

  private request(untilMs: number): void {
    this.after(SLOW_STEP_MS, () => {
      if (performance.now() > untilMs) this.catchUp();
      else {
        this.requestAll();
        this.request(untilMs);
      }
    });
  }

  /** Requests a snapshot of every open market, even if it has one. */
  private requestAll(): void {
    const channels = this.options.floor.open.flatMap(({ id }) => channelsOf(id));
    this.leave([...this.wanted.keys()].filter((channel) => !channels.includes(channel)));
    for (const channel of channels) this.wanted.set(channel, this.wanted.get(channel) ?? null);
    if (channels.length > 0) this.send({ op: 'subscribe', channels });
  }

  /** Reads what has arrived; if the exchange has closed the connection, to its end. */
  private catchUp(): void {
    this.socket?.resume();
    this.after(CATCH_UP_MS, () => {
      this.drop();
      this.reconnect();
    });
  }
}
