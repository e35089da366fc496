/**
 * For tests of the stream over real sockets: an exchange with limits of its own, and a client that holds every message
 * against the schemas and every channel's numbers against the rule: no gaps.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import type { Command } from '../engine/commands.js';
import { type Config, readConfig } from '../gateway/config.js';
import { type Exchange, startExchange } from '../gateway/exchange.js';
import { createLog } from '../gateway/log.js';
import type { StreamLimits } from '../gateway/stream/limits.js';
import { ServerMessage } from '../gateway/stream/messages.js';
import {
  ApiClient,
  eventually,
  ManualClock,
  ManualFeed,
  PASSWORD,
  type Trader,
  WINDOW_START_MS,
} from './server.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read messages field by field, and the schemas check the types
export type Message = any;

export interface StreamOptions {
  limits?: Partial<StreamLimits>;
  config?: Partial<Config>;
  folder?: string;
  atMs?: number;
  partnerKeys?: { partner: string; sha256: Buffer }[];
}

/** An exchange in this process, without a house, with a clock and prices that the test controls. */
export class StreamedExchange {
  private constructor(
    readonly folder: string,
    readonly exchange: Exchange,
    readonly api: ApiClient,
    readonly clock: ManualClock,
    readonly feed: ManualFeed,
  ) {}

  static async start(options: StreamOptions = {}): Promise<StreamedExchange> {
    const dataFolder = options.folder ?? (await mkdtemp(join(tmpdir(), 'stream-')));
    const standard = readConfig({
      PORT: '0',
      ASSETS: 'BTC,ETH',
      HOUSE: 'off',
      PASSWORD_COST_LOG2: '10',
      FAIR_USE: 'off',
    });
    const clock = new ManualClock(options.atMs ?? WINDOW_START_MS);
    const feed = new ManualFeed(clock);
    const exchange = await startExchange({
      config: { ...standard, dataFolder, partnerKeys: options.partnerKeys ?? [], ...options.config },
      log: createLog('silent'),
      onFatal: (error) => {
        throw error;
      },
      outside: { clock, feed },
      streamLimits: options.limits ?? {},
    });
    return new StreamedExchange(dataFolder, exchange, new ApiClient(exchange.address), clock, feed);
  }

  /** With the market of the first window open. */
  static async withMarket(options: StreamOptions = {}): Promise<StreamedExchange> {
    const server = await StreamedExchange.start(options);
    server.feed.deliver('BTC', 100_000);
    return server;
  }

  get sequence(): number {
    return this.exchange.sequencer.engine.sequence;
  }

  submit(command: Command): void {
    this.exchange.sequencer.submit(command);
  }

  connect(headers: Record<string, string> = {}): Promise<StreamClient> {
    return StreamClient.connect(this.exchange.port, headers);
  }

  /** Connected and signed in by the header. */
  connectAs(trader: Trader): Promise<StreamClient> {
    return this.connect({ 'x-user-token': trader.token });
  }

  async register(username: string, referralCode?: string): Promise<Trader> {
    const body = { username, password: PASSWORD, ...(referralCode === undefined ? {} : { referralCode }) };
    const { status, json } = await this.api.post('/auth/register', body);
    expect(status).toBe(201);
    return { userId: json.userId, token: json.token, username };
  }

  /** Lets time pass in half minutes, with a price each time. */
  async passTime(atMs: number, dollars: number): Promise<void> {
    while (this.clock.nowMs() < atMs) {
      this.clock.set(Math.min(atMs, this.clock.nowMs() + 30_000));
      this.feed.deliver('BTC', dollars);
    }
    const { engine } = this.exchange.sequencer;
    do this.submit({ kind: 'advanceTime' });
    while (engine.nextDueMs() <= this.clock.nowMs());
    await this.durable();
  }

  durable(): Promise<void> {
    return eventually(() => this.exchange.sequencer.backlog === 0);
  }

  /** Ends the exchange; keeps its folder for another. */
  async close(): Promise<void> {
    await this.api.close();
    await this.exchange.stop();
  }

  async stop(): Promise<void> {
    await this.close();
    await rm(this.folder, { recursive: true });
  }
}

export interface Closing {
  code: number;
  reason: string;
}

/** A refusal of the handshake. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly body: Message,
  ) {
    super(`refused with ${status}`);
  }
}

export class StreamClient {
  /** All that came, in order. */
  readonly messages: Message[] = [];
  /** Number of the last message of each channel. */
  readonly numbers = new Map<string, number>();
  /** Channels that began and that the client has not left. */
  private readonly joined = new Set<string>();
  readonly closed: Promise<Closing>;
  closing: Closing | null = null;
  /** What was wrong with a message; thrown by whoever waits next. */
  private fault: unknown = null;
  private read = 0;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data, isBinary) => this.take(data, isBinary));
    socket.on('error', () => {});
    this.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => {
        this.closing = { code, reason: reason.toString() };
        resolve(this.closing);
      }),
    );
  }

  static connect(
    port: number,
    headers: Record<string, string> = {},
    path = '/api/stream',
  ): Promise<StreamClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    const client = new StreamClient(socket);
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(client));
      socket.once('error', reject);
      socket.once('unexpected-response', (_request, response: IncomingMessage) => {
        let text = '';
        response.on('data', (data) => (text += data));
        response.on('end', () => {
          reject(new Refused(response.statusCode ?? 0, JSON.parse(text)));
          socket.terminate();
        });
      });
    });
  }

  send(message: unknown): void {
    this.socket.send(JSON.stringify(message));
  }

  /** Waits for the next message that fits; those before it are passed over, and not looked at again. */
  async next(fits: string | ((message: Message) => boolean)): Promise<Message> {
    const test = typeof fits === 'string' ? (message: Message) => message.type === fits : fits;
    let found: Message;
    await eventually(() => {
      this.check();
      while (found === undefined && this.read < this.messages.length) {
        const message = this.messages[this.read++];
        if (test(message)) found = message;
      }
      if (found === undefined && this.closing !== null)
        throw new Error(`closed: ${JSON.stringify(this.closing)}`);
      return found !== undefined;
    });
    return found;
  }

  /** Sends a message and waits for the next error. */
  async refusal(message: unknown): Promise<Message> {
    if (typeof message === 'string' || Buffer.isBuffer(message)) this.socket.send(message);
    else this.send(message);
    return this.next('error');
  }

  /** Subscribes, and waits for the snapshots. */
  async subscribe(...channels: string[]): Promise<Message[]> {
    this.send({ op: 'subscribe', channels });
    const snapshots: Message[] = [];
    for (const channel of channels) {
      snapshots.push(
        await this.next((message) => message.type === 'snapshot' && message.channel === channel),
      );
    }
    return snapshots;
  }

  /** Waits until the answer to a ping is there: everything that was durable before has come. */
  async caughtUp(): Promise<Message> {
    this.send({ op: 'ping' });
    return this.next('pong');
  }

  /** All that came but heartbeats, which come when they are due, whatever is asked. */
  get answers(): Message[] {
    return this.messages.filter((message) => message.type !== 'heartbeat');
  }

  of(channel: string): Message[] {
    return this.messages.filter((message) => message.channel === channel);
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
    this.check();
  }

  /** Leaves without a word, as when a machine or a network dies. */
  async hangUp(): Promise<void> {
    this.socket.terminate();
    await this.closed;
    this.check();
  }

  /** Throws if a message that came was not right. */
  check(): void {
    if (this.fault !== null) throw this.fault;
  }

  private take(data: RawData, isBinary: boolean): void {
    try {
      expect(isBinary).toBe(false);
      const message = JSON.parse(data.toString());
      ServerMessage.parse(message);
      this.count(message);
      this.messages.push(message);
    } catch (error) {
      this.fault ??= error;
    }
  }

  private count({ type, channel, channels, channelSequence, after }: Message): void {
    if (type === 'unsubscribed') for (const left of channels) this.joined.delete(left);
    if (channelSequence === undefined || type === 'gap') return;
    if (type === 'delta' || type === 'closed') {
      expect(this.joined.has(channel), `${channel} is subscribed to`).toBe(true);
      expect(channelSequence, `${type} of ${channel}`).toBe(this.numbers.get(channel)! + 1);
    } else this.joined.add(channel);
    this.numbers.set(channel, type === 'resumed' ? after : channelSequence);
  }
}
