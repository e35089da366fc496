/**
 * Stream readers and one trader, whose n-th order is every reader's n-th message.
 *
 * With a rate, times count from when an order was due. Without one, an order is sent when the last
 * one is answered and at most {@link MAX_IN_FLIGHT} messages are undelivered.
 *
 * Invariant: each reader gets every message once and in order; otherwise the load fails.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { HttpConnection } from '../../../test/support/http/connection.js';
import { HOST, type HttpAnswer } from '../../../test/support/http/messages.js';
import { type CpuUse, CpuWatch } from '../../../test/support/processes/machine.js';
import { Samples } from '../../../test/support/processes/samples.js';

export interface StreamLoadOptions {
  port: number;
  /** A market's trades channel. */
  channel: string;
  readers: number;
  /** Trades with one resting order. */
  request: Uint8Array;
  /** Per second; null sends as fast as messages are delivered. */
  perSecond: number | null;
  warmUpMs: number;
  measureMs: number;
}

export interface StreamLoadResult extends CpuUse {
  /** Measured orders, and the messages received for them. */
  orders: number;
  delivered: number;
  measuredMs: number;
  /** From the order to its answer, to each reader, and to the last reader. */
  answer: Latency;
  reader: Latency;
  lastReader: Latency;
}

export interface Latency {
  p50Ms: number;
  p99Ms: number;
}

/** Without a rate. */
const MAX_IN_FLIGHT = 8;
const CONNECTS_AT_ONCE = 50;
const PATIENCE_MS = 30_000;

export async function runStreamLoad(options: StreamLoadOptions): Promise<StreamLoadResult> {
  const load = new StreamLoad(options);
  try {
    return await load.run();
  } finally {
    load.close();
  }
}

interface Order {
  sinceMs: number;
  isMeasured: boolean;
  missingReaders: number;
}

class StreamLoad {
  private readonly readers: Reader[] = [];
  private readonly trader: HttpConnection;
  private readonly orders: Order[] = [];
  private isAnswered = true;
  private deliveredOrders = 0;
  private measureFromMs = 0;
  private endMs = 0;
  private timer: NodeJS.Timeout | null = null;
  private readonly toAnswer = new Samples();
  private readonly toReader = new Samples(1 << 16);
  private readonly toLast = new Samples();
  private finished!: () => void;
  fail!: (error: Error) => void;
  private readonly failure = new Promise<never>((_, reject) => {
    this.fail = reject;
  });

  constructor(private readonly options: StreamLoadOptions) {
    this.failure.catch(() => {});
    const { port } = options;
    this.trader = new HttpConnection(port, { keepsBodies: false, onFailure: this.fail });
  }

  async run(): Promise<StreamLoadResult> {
    const { port, readers, warmUpMs, measureMs } = this.options;
    await Promise.race([this.trader.open(), this.failure]);
    for (let from = 0; from < readers; from += CONNECTS_AT_ONCE) {
      const some = Array.from(
        { length: Math.min(CONNECTS_AT_ONCE, readers - from) },
        () => new Reader(this, port, this.options),
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
    const cpu = cpuUseAfter(warmUpMs, measureMs);
    this.timer = setInterval(() => this.trade(), 1);
    await Promise.race([finished, this.failure, timeOut(warmUpMs + measureMs + PATIENCE_MS)]);
    return {
      orders: this.toAnswer.count,
      delivered: this.toReader.count,
      measuredMs: measureMs,
      ...(await cpu),
      answer: latencyOf(this.toAnswer),
      reader: latencyOf(this.toReader),
      lastReader: latencyOf(this.toLast),
    };
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.trader.hangUp();
    for (const reader of this.readers) reader.close();
  }

  private answered({ status }: HttpAnswer): void {
    if (status !== 200) this.fail(new Error(`an order was answered with ${status}`));
    const { sinceMs, isMeasured } = this.orders.at(-1)!;
    if (isMeasured) this.toAnswer.add(performance.now() - sinceMs);
    this.isAnswered = true;
    this.trade();
  }

  /** `n`: from 0. */
  received(n: number): void {
    const order = this.orders[n];
    if (order === undefined) {
      this.fail(new Error('a message came for an order that was not sent'));
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
    this.trader.send(this.options.request, (answer) => {
      if (answer !== null) this.answered(answer);
    });
  }

  private nextMs(nowMs: number): number {
    const { perSecond, warmUpMs } = this.options;
    if (perSecond !== null)
      return this.measureFromMs - warmUpMs + (this.orders.length / perSecond) * 1_000;
    const isFull = this.orders.length - this.deliveredOrders >= MAX_IN_FLIGHT;
    return isFull && nowMs < this.endMs ? nowMs + 1 : nowMs;
  }
}

class Reader {
  readonly isSubscribed: Promise<void>;
  private readonly socket: WebSocket;
  /** Of every message, between `previousSequence` and `channelSequence`. */
  private readonly middle: string;
  /** -1 if unknown. */
  private last = -1;
  private received = 0;

  constructor(load: StreamLoad, port: number, { channel }: StreamLoadOptions) {
    this.middle = `,"channel":"${channel}","channelSequence":`;
    this.socket = new WebSocket(`ws://${HOST}:${port}/api/stream`, {
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    this.socket.on('open', () =>
      this.socket.send(JSON.stringify({ op: 'subscribe', channels: [channel] })),
    );
    this.socket.on('error', (error) => load.fail(error));
    this.socket.on('close', (code) => load.fail(new Error(`the stream ended with ${code}`)));
    this.isSubscribed = new Promise((resolve) => {
      this.socket.on('message', (bytes: Buffer) => {
        const text = bytes.toString('latin1');
        const at = text.indexOf(this.middle);
        if (text.startsWith(HEAD))
          this.take(load, numberAt(text, HEAD.length), numberAt(text, at + this.middle.length));
        else if (text.startsWith('{"type":"snapshot"')) {
          this.last = (JSON.parse(text) as { channelSequence: number }).channelSequence;
          resolve();
        } else if (!text.startsWith('{"type":"heartbeat"'))
          load.fail(new Error(`an unexpected message: ${text}`));
      });
    });
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.terminate();
  }

  private take(load: StreamLoad, previousSequence: number, channelSequence: number): void {
    const isNext = previousSequence <= this.last && channelSequence > this.last;
    if (isNext) load.received(this.received++);
    else load.fail(new Error(`a reader got message ${channelSequence} after ${this.last}`));
    this.last = channelSequence;
  }
}

/** Of every message, before `previousSequence`. */
const HEAD = '{"type":"delta","previousSequence":';

function numberAt(text: string, at: number): number {
  return Number.parseInt(text.slice(at, at + 16), 10);
}

function latencyOf(samples: Samples): Latency {
  return { p50Ms: samples.percentile(0.5), p99Ms: samples.percentile(0.99) };
}

async function cpuUseAfter(warmUpMs: number, measureMs: number): Promise<CpuUse> {
  await sleep(warmUpMs);
  const watch = new CpuWatch();
  await sleep(measureMs);
  return watch.stop();
}

async function timeOut(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false });
  throw new Error('messages did not come');
}
