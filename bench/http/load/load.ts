/**
 * A load of prebuilt requests over a fixed number of connections. An unanswered request fails it.
 *
 * Closed loop: each connection sends its next request when the last one is answered.
 *
 * Open loop: requests arrive at random times (Poisson arrivals) and wait for a free connection.
 * Latency counts from when a request was due (no coordinated omission). The process naps between
 * event-loop turns, because a Node.js timer would be a whole millisecond late.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from '../../../test/support/http/connection.js';
import type { HttpAnswer } from '../../../test/support/http/messages.js';
import { CpuWatch } from '../../../test/support/processes/machine.js';
import { Samples } from '../../../test/support/processes/samples.js';
import { Random } from '../../../test/support/workload/random.js';

export type LoadPace = { kind: 'closed' } | { kind: 'open'; perSecond: number; seed: string };

export interface LoadOptions {
  pace: LoadPace;
  port: number;
  connections: number;
  isSecure?: boolean;
  /** Sent in turn over all connections. */
  requests: readonly Uint8Array[];
  /** Requests answered (closed loop) or due (open loop) in this time are not measured. */
  warmUpMs: number;
  measureMs: number;
}

export interface LoadResult {
  /** Answers in the measured time; in an open loop, answers to requests due in it. */
  measured: number;
  measuredMs: number;
  /** All answers by status, including the warm-up's. */
  byStatus: Record<string, number>;
  /** If near `measuredMs`, the client limits the rate. */
  clientCpuMs: number;
  /** 0 to 1, of the time of all cores. */
  idleShare: number;
  latencyP50Ms: number;
  latencyP99Ms: number;
  latencyP999Ms: number;
  latencyMaxMs: number;
}

/** Answers that arrive during a nap are read after it. */
const NAP_MS = { least: 0.02, most: 0.1 } as const;
const napping = new Int32Array(new SharedArrayBuffer(4));

/** The load fails if no answer arrives for this long. */
const PATIENCE_MS = 30_000;

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const load = new Load(options);
  try {
    return await load.measure();
  } finally {
    load.close();
  }
}

class Load {
  private readonly connections: readonly HttpConnection[];
  private readonly free: HttpConnection[];
  /** null in a closed loop. */
  private readonly random: Random | null;
  private nextDueMs = 0;
  private measureFromMs = 0;
  private endMs = 0;
  private sentCount = 0;
  private underWay = 0;
  private isOver = false;
  private drained: (() => void) | null = null;
  private readonly samples = new Samples(1 << 16);
  private readonly byStatus: Record<string, number> = {};
  private reject!: (error: Error) => void;
  private readonly failure = new Promise<never>((_, reject) => {
    this.reject = reject;
  });

  constructor(private readonly options: LoadOptions) {
    const { pace, port, connections, isSecure = false } = options;
    this.failure.catch(() => {});
    this.random = pace.kind === 'closed' ? null : new Random(pace.seed);
    const onFailure = (error: Error) => this.fail(error);
    this.connections = Array.from(
      { length: connections },
      () => new HttpConnection(port, { keepsBodies: false, onFailure, isSecure }),
    );
    this.free = [...this.connections];
  }

  async measure(): Promise<LoadResult> {
    const { warmUpMs, measureMs } = this.options;
    await this.unlessFailed(Promise.all(this.connections.map((connection) => connection.open())));
    this.nextDueMs = performance.now();
    this.measureFromMs = this.nextDueMs + warmUpMs;
    this.endMs = this.measureFromMs + measureMs;
    if (this.random === null) this.pump();
    else this.turn();
    await this.unlessFailed(sleep(warmUpMs));
    const watch = new CpuWatch();
    await this.unlessFailed(sleep(measureMs));
    const used = watch.stop();
    await this.drain();
    return {
      measured: this.samples.count,
      measuredMs: measureMs,
      byStatus: this.byStatus,
      ...used,
      latencyP50Ms: this.samples.percentile(0.5),
      latencyP99Ms: this.samples.percentile(0.99),
      latencyP999Ms: this.samples.percentile(0.999),
      latencyMaxMs: this.samples.max(),
    };
  }

  close(): void {
    this.isOver = true;
    for (const connection of this.connections) connection.hangUp();
  }

  private fail(error: Error): void {
    this.isOver = true;
    this.reject(error);
  }

  private unlessFailed<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.failure]);
  }

  private async drain(): Promise<void> {
    let before = -1;
    const timer = setInterval(() => {
      const answered = this.sentCount - this.underWay;
      if (answered === before) this.fail(new Error(`${this.underWay} answers did not come`));
      before = answered;
    }, PATIENCE_MS);
    const drained = new Promise<void>((resolve) => {
      this.drained = resolve;
    });
    this.pump();
    await this.unlessFailed(drained).finally(() => clearInterval(timer));
  }

  private readonly turn = (): void => {
    if (this.isOver || this.nextDueMs >= this.endMs) return;
    this.pump();
    const untilDueMs = this.nextDueMs - performance.now();
    const napMs = Math.min(NAP_MS.most, Math.max(NAP_MS.least, untilDueMs));
    Atomics.wait(napping, 0, 0, napMs);
    setImmediate(this.turn);
  };

  private pump(): void {
    if (this.isOver) return;
    const nowMs = performance.now();
    while (this.free.length > 0 && this.isDue(nowMs)) this.send(nowMs);
    if (this.underWay === 0 && !this.isDue(nowMs)) this.drained?.();
  }

  private isDue(nowMs: number): boolean {
    if (this.random === null) return nowMs < this.endMs;
    return this.nextDueMs <= nowMs && this.nextDueMs < this.endMs;
  }

  private send(nowMs: number): void {
    const { pace, requests } = this.options;
    const dueMs = this.random === null ? nowMs : this.nextDueMs;
    if (pace.kind === 'open') this.nextDueMs += this.random!.untilNext(pace.perSecond) * 1_000;
    // Use the connection that was free longest, so that the server closes none as idle.
    const connection = this.free.shift()!;
    this.underWay++;
    connection.send(requests[this.sentCount++ % requests.length]!, (answer) => {
      this.underWay--;
      this.free.push(connection);
      // Without an answer, the connection has already reported the reason.
      if (answer !== null) this.answered(answer, dueMs);
      this.pump();
    });
  }

  private answered({ status }: HttpAnswer, dueMs: number): void {
    this.byStatus[status] = (this.byStatus[status] ?? 0) + 1;
    const nowMs = performance.now();
    const countedMs = this.random === null ? nowMs : dueMs;
    if (countedMs >= this.measureFromMs && countedMs < this.endMs) this.samples.add(nowMs - dueMs);
  }
}
