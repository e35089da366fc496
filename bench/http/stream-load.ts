/**
 * Readers of the stream, and the trader whose orders they hear of: one order is one trade, and one trade is one message to each reader. The
 * trader has one connection, so the n-th message is that of the n-th order, and what is measured is the time from an order to each reader.
 *
 * By a pace of so many orders per second, the time counts from the moment at which the order should have been sent. Without one, the next order
 * is sent as soon as the last one is answered and no more than a few are still on their way to some reader: that is what can be delivered.
 *
 * Always holds: each reader gets every message once, in order; anything else fails the load.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { coreTimes, idleShareSince } from '../machine.js';
import { Samples } from '../samples.js';
import { type ConnectionOwner, HttpConnection } from './connection.js';

export interface StreamLoadOptions {
  host: string;
  port: number;
  /** The channel of a market's trades. */
  channel: string;
  readers: number;
  /** Trades with one resting order. */
  request: Uint8Array;
  /** Orders; null: as many as are delivered. */
  perSecond: number | null;
  warmUpMs: number;
  measureMs: number;
}

export interface StreamLoadResult {
  /** Of the measured time: orders, and messages that came for them. */
  orders: number;
  delivered: number;
  measuredMs: number;
  clientCpuMs: number;
  idleShare: number;
  /** From the order to its answer, to each reader, and to the last of them. */
  answer: Latency;
  reader: Latency;
  lastReader: Latency;
}

export interface Latency {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** Messages that may be on their way, without a pace. */
const ON_THEIR_WAY = 8;
/** Connections that are opened at a time. */
const AT_A_TIME = 50;
const PATIENCE_MS = 30_000;

export async function runStreamLoad(options: StreamLoadOptions): Promise<StreamLoadResult> {
  const load = new StreamLoad(options);
  try {
    return await load.run();
  } finally {
    load.close();
  }
}

/** An order and its message. */
interface Order {
  sinceMs: number;
  isMeasured: boolean;
  missingReaders: number;
}

class StreamLoad implements ConnectionOwner {
  private readonly readers: Reader[] = [];
  private readonly trader: HttpConnection;
  private readonly traderIsOpen: Promise<void>;
  private readonly orders: Order[] = [];
  private isAnswered = true;
  private deliveredOrders = 0;
  private measureFromMs = 0;
  private endMs = 0;
  private timer: NodeJS.Timeout | null = null;
  private readonly toAnswer = new Samples();
  private readonly toReader = new Samples(1 << 16);
  private readonly toLast = new Samples();
  private opened!: () => void;
  private finished!: () => void;
  private fail!: (error: Error) => void;
  private readonly failure = new Promise<never>((_, reject) => {
    this.fail = reject;
  });

  constructor(private readonly options: StreamLoadOptions) {
    this.failure.catch(() => {});
    this.traderIsOpen = new Promise((resolve) => {
      this.opened = resolve;
    });
    this.trader = new HttpConnection(options, this);
  }

  async run(): Promise<StreamLoadResult> {
    const { readers, warmUpMs, measureMs } = this.options;
    await Promise.race([this.traderIsOpen, this.failure]);
    for (let from = 0; from < readers; from += AT_A_TIME) {
      const some = Array.from(
        { length: Math.min(AT_A_TIME, readers - from) },
        () => new Reader(this, this.options),
      );
      this.readers.push(...some);
      await Promise.race([Promise.all(some.map((reader) => reader.isSubscribed)), this.failure]);
    }
    const finished = new Promise<void>((resolve) => {
      this.finished = resolve;
    });
    const startedMs = performance.now();
    this.measureFromMs = startedMs + warmUpMs;
    this.endMs = this.measureFromMs + measureMs;
    const cores = this.watchCores(warmUpMs, measureMs);
    this.timer = setInterval(() => this.trade(), 1);
    await Promise.race([finished, this.failure, timeOut(warmUpMs + measureMs + PATIENCE_MS)]);
    return {
      orders: this.toAnswer.count,
      delivered: this.toReader.count,
      measuredMs: measureMs,
      ...(await cores),
      answer: latencyOf(this.toAnswer),
      reader: latencyOf(this.toReader),
      lastReader: latencyOf(this.toLast),
    };
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.trader.close();
    for (const reader of this.readers) reader.close();
  }

  connected(): void {
    this.opened();
  }

  failed(error: Error): void {
    this.fail(error);
  }

  answered(_connection: HttpConnection, status: number): void {
    if (status !== 200) this.fail(new Error(`an order was answered with ${status}`));
    const { sinceMs, isMeasured } = this.orders.at(-1)!;
    if (isMeasured) this.toAnswer.add(performance.now() - sinceMs);
    this.isAnswered = true;
    this.trade();
  }

  /** A reader has the message of the n-th order; 0 is the first. */
  received(n: number): void {
    const order = this.orders[n];
    if (order === undefined) {
      this.fail(new Error('a message came that no order was sent for'));
      return;
    }
    const nowMs = performance.now();
    order.missingReaders--;
    if (order.isMeasured) this.toReader.add(nowMs - order.sinceMs);
    if (order.missingReaders > 0) return;
    this.deliveredOrders++;
    if (order.isMeasured) this.toLast.add(nowMs - order.sinceMs);
    this.trade();
  }

  /** Sends the next order if it is its turn, or ends. */
  private trade(): void {
    if (!this.isAnswered) return;
    const nowMs = performance.now();
    const sinceMs = this.nextMs(nowMs);
    if (sinceMs >= this.endMs) {
      if (this.deliveredOrders === this.orders.length) this.finished();
      return;
    }
    if (sinceMs > nowMs) return;
    this.isAnswered = false;
    this.orders.push({
      sinceMs,
      isMeasured: sinceMs >= this.measureFromMs,
      missingReaders: this.readers.length,
    });
    this.trader.send(this.options.request);
  }

  /** When the next order should be sent. */
  private nextMs(nowMs: number): number {
    const { perSecond, warmUpMs } = this.options;
    if (perSecond !== null) return this.measureFromMs - warmUpMs + (this.orders.length / perSecond) * 1_000;
    const isFull = this.orders.length - this.deliveredOrders >= ON_THEIR_WAY;
    return isFull && nowMs < this.endMs ? nowMs + 1 : nowMs;
  }

  private async watchCores(warmUpMs: number, measureMs: number) {
    await sleep(warmUpMs);
    const cpuBefore = process.cpuUsage();
    const coresBefore = coreTimes();
    await sleep(measureMs);
    const { user, system } = process.cpuUsage(cpuBefore);
    return { clientCpuMs: (user + system) / 1_000, idleShare: idleShareSince(coresBefore) };
  }
}

/** One subscriber. */
class Reader {
  readonly isSubscribed: Promise<void>;
  private readonly socket: WebSocket;
  /** What every message begins with, up to its number in the channel. */
  private readonly head: string;
  /** The number of the channel's last message before the first order; -1: not known yet. */
  private first = -1;
  private received = 0;

  constructor(load: StreamLoad, { host, port, channel }: StreamLoadOptions) {
    this.head = `{"type":"delta","channel":"${channel}","channelSequence":`;
    this.socket = new WebSocket(`ws://${host}:${port}/api/stream`, {
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    this.socket.on('open', () => this.socket.send(JSON.stringify({ op: 'subscribe', channels: [channel] })));
    this.socket.on('error', (error) => load.failed(error));
    this.socket.on('close', (code) => load.failed(new Error(`the stream ended with ${code}`)));
    this.isSubscribed = new Promise((resolve) => {
      this.socket.on('message', (bytes: Buffer) => {
        const text = bytes.toString('latin1');
        if (text.startsWith(this.head))
          this.take(load, Number.parseInt(text.slice(this.head.length, this.head.length + 16), 10));
        else if (text.startsWith('{"type":"snapshot"')) {
          this.first = (JSON.parse(text) as { channelSequence: number }).channelSequence;
          resolve();
        } else if (!text.startsWith('{"type":"heartbeat"')) load.failed(new Error(`not expected: ${text}`));
      });
    });
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.terminate();
  }

  private take(load: StreamLoad, channelSequence: number): void {
    const n = this.received++;
    if (channelSequence === this.first + 1 + n) load.received(n);
    else
      load.failed(new Error(`a reader got message ${channelSequence} where ${this.first + 1 + n} was due`));
  }
}

function latencyOf(samples: Samples): Latency {
  return { p50Ms: samples.percentile(0.5), p99Ms: samples.percentile(0.99), maxMs: samples.max() };
}

async function timeOut(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new Error('messages did not come');
}
