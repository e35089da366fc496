/**
 * A load: keep-alive connections that send prebuilt requests, in one of two ways.
 *
 * `closed`: each connection sends the next request when the answer to the last one has come in. It shows what a server sustains, and the
 * latencies that so many impatient clients see; it is no measure of latency at a lower rate.
 *
 * `open`: requests come at moments that were drawn before (Poisson arrivals, from a seed), whether the server keeps up or not. One that finds no
 * connection free waits for one. Its latency counts from the moment at which it should have been sent, so a server that stalls is charged with
 * everything that the stall delayed (no coordinated omission). The schedule is kept to about a millisecond, by which latencies are too large.
 *
 * Always holds: every answer is counted by its status; what is not answered fails the load.
 */

import { coreTimes, idleShareSince } from '../machine.js';
import { Samples } from '../samples.js';
import { Random } from '../workload/random.js';
import { type ConnectionOwner, HttpConnection } from './connection.js';

export type LoadPace = { kind: 'closed' } | { kind: 'open'; perSecond: number; seed: string };

export interface LoadOptions {
  pace: LoadPace;
  host: string;
  port: number;
  connections: number;
  /** Sent in turn: in a closed load by each connection, connection i beginning with request i; in an open one by all together. */
  requests: readonly Uint8Array[];
  /** What is answered in this time (closed) or arrives in it (open) is not counted in the latencies and the rate. */
  warmUpMs: number;
  measureMs: number;
}

export interface LoadResult {
  /** Answers in the measured time; of an open load, to what arrived in it. */
  measured: number;
  measuredMs: number;
  /** All answers, also those of the warm-up, by status. */
  byStatus: Record<string, number>;
  /** CPU time of the client's process in the measured time: near `measuredMs`, the client is what limits the rate. */
  clientCpuMs: number;
  /** Share (0 to 1) of the time of all cores in which the machine had nothing to do: waiting for the disk, or for each other. */
  idleShare: number;
  latencyP50Ms: number;
  latencyP99Ms: number;
  latencyP999Ms: number;
  latencyMaxMs: number;
}

/** How long connecting may take, and how long answers may be outstanding when the load is over. */
const PATIENCE_MS = 30_000;

export function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { pace } = options;
  return pace.kind === 'closed' ? new ClosedLoad(options).run() : new OpenLoad(options, pace).run();
}

/** What both kinds have in common: the connections, the counts, and the time in which it counts. */
abstract class Load implements ConnectionOwner {
  protected measureFromMs = 0;
  protected measureToMs = 0;
  protected finish!: () => void;
  private fail!: (error: Error) => void;
  private readonly samples = new Samples(1 << 16);
  private readonly byStatus: Record<string, number> = {};
  private readonly connections: HttpConnection[] = [];
  private connectedCount = 0;
  private readonly timers: NodeJS.Timeout[] = [];
  private clientCpuMs = Number.NaN;
  private idleShare = Number.NaN;
  /** At the end of the measured time; the last answer may come before the timer does. */
  private endWatch: () => void = () => {};

  constructor(protected readonly options: LoadOptions) {}

  async run(): Promise<LoadResult> {
    const { connections, warmUpMs, measureMs } = this.options;
    try {
      await new Promise<void>((resolve, reject) => {
        this.finish = resolve;
        this.fail = reject;
        this.after(PATIENCE_MS + warmUpMs + measureMs + PATIENCE_MS, () =>
          this.fail(new Error('answers did not come')),
        );
        for (let i = 0; i < connections; i++) this.connections.push(new HttpConnection(this.options, this));
      });
    } finally {
      for (const timer of this.timers) clearTimeout(timer);
      this.stop();
      for (const connection of this.connections) connection.close();
    }
    this.endWatch();
    return this.result(measureMs);
  }

  /** When all are open, the load begins. */
  connected(): void {
    this.connectedCount++;
    if (this.connectedCount < this.options.connections) return;
    const { warmUpMs, measureMs } = this.options;
    this.measureFromMs = performance.now() + warmUpMs;
    this.measureToMs = this.measureFromMs + measureMs;
    this.after(warmUpMs, () => this.watchCores(measureMs));
    this.begin(this.connections);
  }

  failed(error: Error): void {
    this.fail(error);
  }

  abstract answered(connection: HttpConnection, status: number): void;
  protected abstract begin(connections: readonly HttpConnection[]): void;
  protected abstract stop(): void;

  protected count(status: number): void {
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
    const [latencyP50Ms, latencyP99Ms, latencyP999Ms, latencyMaxMs] = [0.5, 0.99, 0.999, 1].map((share) =>
      this.samples.percentile(share),
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
  private readonly nextRequest = new Map<HttpConnection, number>();
  private outstanding = 0;

  protected begin(connections: readonly HttpConnection[]): void {
    connections.forEach((connection, i) => {
      this.nextRequest.set(connection, i);
      this.send(connection, performance.now());
    });
  }

  answered(connection: HttpConnection, status: number): void {
    const nowMs = performance.now();
    this.outstanding--;
    this.count(status);
    if (nowMs >= this.measureFromMs && nowMs < this.measureToMs) this.measure(nowMs - connection.sinceMs);
    if (nowMs < this.measureToMs) this.send(connection, nowMs);
    else if (this.outstanding === 0) this.finish();
  }

  protected stop(): void {}

  private send(connection: HttpConnection, nowMs: number): void {
    const { requests } = this.options;
    const next = this.nextRequest.get(connection)!;
    this.nextRequest.set(connection, next + 1);
    this.outstanding++;
    connection.sinceMs = nowMs;
    connection.send(requests[next % requests.length]!);
  }
}

/** How often arrivals that are due are looked for. */
const TICK_MS = 1;

class OpenLoad extends Load {
  private readonly random: Random;
  private readonly idle: HttpConnection[] = [];
  /** When the requests that wait for a connection should have been sent. */
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

  answered(connection: HttpConnection, status: number): void {
    const nowMs = performance.now();
    this.answeredCount++;
    this.count(status);
    if (connection.sinceMs >= this.measureFromMs) this.measure(nowMs - connection.sinceMs);
    this.arrive(nowMs);
    this.idle.push(connection);
    this.sendWaiting();
    this.finishIfOver();
  }

  protected stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  /** Takes in everything that is due. */
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
      connection.sinceMs = this.waiting[sent]!;
      connection.send(requests[this.sentCount++ % requests.length]!);
    }
    this.waiting.splice(0, sent);
  }

  private finishIfOver(): void {
    const hasArrived = this.nextArrivalMs >= this.measureToMs && this.waiting.length === 0;
    if (hasArrived && this.answeredCount === this.sentCount) this.finish();
  }
}
