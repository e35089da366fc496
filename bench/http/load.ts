/**
 * A load: keep-alive connections that send prebuilt requests, in one of two ways.
 *
 * `closed`: each connection sends the next request when the last one is answered. This shows the
 * throughput that a server sustains and the latency under saturation, not the latency at a lower
 * rate.
 *
 * `open`: requests arrive at random times (Poisson arrivals, from a seed), whether the server keeps
 * up or not. A request that finds no free connection waits for one. Latency counts from the time at
 * which the request was due, so a stall is charged with everything that it delays (no coordinated
 * omission). Requests are sent up to a millisecond late, which makes latencies too large by as
 * much.
 *
 * Always holds: every answer is counted by its status; a request without an answer fails the load.
 */

import { coreTimes, idleShareSince } from '../measure/machine.js';
import { Samples } from '../measure/samples.js';
import { Random } from '../workload/random.js';
import { HttpConnection } from './connection.js';
import type { HttpAnswer } from './messages.js';

export type LoadPace = { kind: 'closed' } | { kind: 'open'; perSecond: number; seed: string };

export interface LoadOptions {
  pace: LoadPace;
  host: string;
  port: number;
  connections: number;
  /**
   * Sent in turn: by each connection of a closed load, connection i from request i on; by all of an
   * open one together.
   */
  requests: readonly Uint8Array[];
  /**
   * Requests answered in this time (closed) or due in it (open) are not in the latencies and the
   * rate.
   */
  warmUpMs: number;
  measureMs: number;
}

export interface LoadResult {
  /** Answers in the measured time; in an open load, answers to requests that were due in it. */
  measured: number;
  measuredMs: number;
  /** All answers by status, those of the warm-up included. */
  byStatus: Record<string, number>;
  /**
   * CPU time of the client in the measured time. If it is near `measuredMs`, the client limits the
   * rate.
   */
  clientCpuMs: number;
  /** Share (0 to 1) of the time of all cores that was idle. */
  idleShare: number;
  latencyP50Ms: number;
  latencyP99Ms: number;
  latencyP999Ms: number;
  latencyMaxMs: number;
}

/** How long connecting may take, and how long answers may take after the load. */
const PATIENCE_MS = 30_000;

export function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { pace } = options;
  return pace.kind === 'closed' ? new ClosedLoad(options).run() : new OpenLoad(options, pace).run();
}

/** Both kinds: the connections, the counts and the measured time. */
abstract class Load {
  protected measureFromMs = 0;
  protected measureToMs = 0;
  protected finish!: () => void;
  private readonly samples = new Samples(1 << 16);
  private readonly byStatus: Record<string, number> = {};
  private readonly connections: HttpConnection[] = [];
  private readonly timers: NodeJS.Timeout[] = [];
  private clientCpuMs = Number.NaN;
  private idleShare = Number.NaN;
  /** Runs at the end of the measured time, or earlier when the last answer has come. */
  private endWatch: () => void = () => {};

  constructor(protected readonly options: LoadOptions) {}

  async run(): Promise<LoadResult> {
    const { host, port, connections, warmUpMs, measureMs } = this.options;
    try {
      await new Promise<void>((resolve, reject) => {
        this.finish = resolve;
        this.after(PATIENCE_MS + warmUpMs + measureMs + PATIENCE_MS, () =>
          reject(new Error('answers did not come')),
        );
        const settings = { keepsBodies: false, onFailure: reject };
        for (let i = 0; i < connections; i++)
          this.connections.push(new HttpConnection(host, port, settings));
        Promise.all(this.connections.map((connection) => connection.open())).then(
          () => this.start(),
          reject,
        );
      });
    } finally {
      for (const timer of this.timers) clearTimeout(timer);
      this.stop();
      for (const connection of this.connections) connection.hangUp();
    }
    this.endWatch();
    return this.result(measureMs);
  }

  private start(): void {
    const { warmUpMs, measureMs } = this.options;
    this.measureFromMs = performance.now() + warmUpMs;
    this.measureToMs = this.measureFromMs + measureMs;
    this.after(warmUpMs, () => this.watchCores(measureMs));
    this.begin(this.connections);
  }

  protected abstract begin(connections: readonly HttpConnection[]): void;
  protected abstract stop(): void;

  protected count({ status }: HttpAnswer): void {
    this.byStatus[status] = (this.byStatus[status] ?? 0) + 1;
  }

  protected measure(latencyMs: number): void {
    this.samples.add(latencyMs);
  }

  private watchCores(measureMs: number): void {
    const cpuBefore = process.cpuUsage();
    const coresBefore = coreTimes();
    this.endWatch = () => {
      this.endWatch = () => {};
      const { user, system } = process.cpuUsage(cpuBefore);
      this.clientCpuMs = (user + system) / 1_000;
      this.idleShare = idleShareSince(coresBefore);
    };
    this.after(measureMs, () => this.endWatch());
  }

  private after(ms: number, action: () => void): void {
    this.timers.push(setTimeout(action, ms));
  }

  private result(measuredMs: number): LoadResult {
    const [latencyP50Ms, latencyP99Ms, latencyP999Ms, latencyMaxMs] = [0.5, 0.99, 0.999, 1].map(
      (share) => this.samples.percentile(share),
    ) as [number, number, number, number];
    const { byStatus, clientCpuMs, idleShare } = this;
    return {
      measured: this.samples.count,
      measuredMs,
      byStatus,
      clientCpuMs,
      idleShare,
      latencyP50Ms,
      latencyP99Ms,
      latencyP999Ms,
      latencyMaxMs,
    };
  }
}

class ClosedLoad extends Load {
  private outstanding = 0;

  protected begin(connections: readonly HttpConnection[]): void {
    for (const [i, connection] of connections.entries()) this.sendInTurn(connection, i);
  }

  /** Sends the requests over one connection, one after another, beginning with the `next`. */
  private sendInTurn(connection: HttpConnection, next: number): void {
    const { requests } = this.options;
    let sinceMs = performance.now();
    const send = () => {
      this.outstanding++;
      connection.send(requests[next++ % requests.length]!, answered);
    };
    const answered = (answer: HttpAnswer | null) => {
      if (answer === null) return;
      const nowMs = performance.now();
      this.outstanding--;
      this.count(answer);
      if (nowMs >= this.measureFromMs && nowMs < this.measureToMs) this.measure(nowMs - sinceMs);
      sinceMs = nowMs;
      if (nowMs < this.measureToMs) send();
      else if (this.outstanding === 0) this.finish();
    };
    send();
  }

  protected stop(): void {}
}

/** How often the load looks for requests that are due. */
const TICK_MS = 1;

class OpenLoad extends Load {
  private readonly random: Random;
  private readonly idle: HttpConnection[] = [];
  /** When the requests that wait for a connection were due. */
  private readonly waiting: number[] = [];
  private nextArrivalMs = 0;
  private sentCount = 0;
  private answeredCount = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    options: LoadOptions,
    private readonly pace: { perSecond: number; seed: string },
  ) {
    super(options);
    this.random = new Random(pace.seed);
  }

  protected begin(connections: readonly HttpConnection[]): void {
    this.idle.push(...connections);
    this.nextArrivalMs = performance.now();
    this.timer = setInterval(() => {
      this.arrive(performance.now());
      this.sendWaiting();
      this.finishIfOver();
    }, TICK_MS);
  }

  private answered(connection: HttpConnection, dueMs: number, answer: HttpAnswer): void {
    const nowMs = performance.now();
    this.answeredCount++;
    this.count(answer);
    if (dueMs >= this.measureFromMs) this.measure(nowMs - dueMs);
    this.arrive(nowMs);
    this.idle.push(connection);
    this.sendWaiting();
    this.finishIfOver();
  }

  protected stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Queues the requests that are due. */
  private arrive(nowMs: number): void {
    while (this.nextArrivalMs <= nowMs && this.nextArrivalMs < this.measureToMs) {
      this.waiting.push(this.nextArrivalMs);
      this.nextArrivalMs += this.random.untilNext(this.pace.perSecond) * 1_000;
    }
  }

  private sendWaiting(): void {
    const { requests } = this.options;
    let sent = 0;
    for (; sent < this.waiting.length; sent++) {
      // In turn: a connection that is left alone for ten seconds is closed by the server.
      const connection = this.idle.shift();
      if (connection === undefined) break;
      const dueMs = this.waiting[sent]!;
      connection.send(requests[this.sentCount++ % requests.length]!, (answer) => {
        if (answer !== null) this.answered(connection, dueMs, answer);
      });
    }
    this.waiting.splice(0, sent);
  }

  private finishIfOver(): void {
    const hasArrived = this.nextArrivalMs >= this.measureToMs && this.waiting.length === 0;
    if (hasArrived && this.answeredCount === this.sentCount) this.finish();
  }
}
