/**
 * Requests over a fixed number of connections, at one of two paces.
 *
 * Closed loop: each connection sends its next request when the last one is answered. Shows the
 * throughput that a server sustains and the latency under saturation.
 *
 * Open loop: requests arrive at random times (Poisson arrivals) and wait for a free connection.
 * Latency counts from when a request was due, so a stall is charged for everything that it delays
 * (no coordinated omission). Requests are sent some tenths of a millisecond late: the process naps
 * between event-loop turns, because a Node.js timer would be a whole millisecond late.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from '../../../test/support/http/connection.js';
import type { HttpAnswer } from '../../../test/support/http/messages.js';
import type { Random } from '../../../test/support/workload/random.js';

export interface Arrivals {
  perSecond: number;
  random: Random;
}

/** Shortest and longest nap. Answers that arrive during a nap are read after it. */
const NAP_MS = { least: 0.02, most: 0.1 } as const;
const napping = new Int32Array(new SharedArrayBuffer(4));

/** The load fails if no answer arrives for this long. */
const PATIENCE_MS = 30_000;

export abstract class PacedLoad<Request extends { bytes: Uint8Array }> {
  protected readonly followUps: Request[] = [];
  protected readonly connections: readonly HttpConnection[];
  private readonly free: HttpConnection[];
  /** null: closed loop. */
  private arrivals: Arrivals | null = null;
  private nextDueMs = 0;
  private endMs = 0;
  private underWay = 0;
  private settledCount = 0;
  private isOver = false;
  private isSending = false;
  private drained: (() => void) | null = null;
  private reject!: (error: Error) => void;
  private readonly failure = new Promise<never>((_, reject) => {
    this.reject = reject;
  });

  /** `isStrict`: a lost connection or malformed answer fails the load. Bodies are not kept. */
  constructor(port: number, connections: number, isStrict: boolean, isSecure = false) {
    this.failure.catch(() => {});
    const onFailure = (error: Error) => this.fail(error);
    const options = isStrict ? { keepsBodies: false, onFailure } : {};
    const connection = () => new HttpConnection(port, { ...options, isSecure });
    this.connections = Array.from({ length: connections }, connection);
    this.free = [...this.connections];
  }

  /** How late the oldest unsent request is. */
  get behindMs(): number {
    return this.arrivals === null ? 0 : Math.max(0, performance.now() - this.nextDueMs);
  }

  close(): void {
    this.isOver = true;
    for (const connection of this.connections) connection.hangUp();
  }

  protected abstract next(dueMs: number, nowMs: number): Request;
  /** `answer` is null if the connection ended first. */
  protected abstract settled(request: Request, answer: HttpAnswer | null): void;
  protected sent(_request: Request, _connection: HttpConnection): void {}

  protected fail(error: Error): void {
    this.isOver = true;
    this.reject(error);
  }

  protected async unlessFailed<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.failure]);
  }

  /** Sends for the duration, calls `atEnd`, and resolves when all requests are answered. */
  protected async run(
    durationMs: number,
    arrivals: Arrivals | null,
    atEnd = () => {},
  ): Promise<void> {
    this.arrivals = arrivals;
    this.nextDueMs = performance.now();
    this.endMs = this.nextDueMs + durationMs;
    this.isSending = true;
    try {
      if (arrivals === null) this.pump();
      else this.turn();
      await this.unlessFailed(sleep(durationMs));
      atEnd();
      await this.drain();
    } finally {
      this.isSending = false;
    }
  }

  private async drain(): Promise<void> {
    let settledBefore = -1;
    const timer = setInterval(() => {
      if (this.settledCount === settledBefore)
        this.fail(new Error(`${this.underWay} answers did not come`));
      settledBefore = this.settledCount;
    }, PATIENCE_MS);
    const drained = new Promise<void>((resolve) => {
      this.drained = resolve;
    });
    try {
      this.pump();
      await this.unlessFailed(drained);
    } finally {
      this.drained = null;
      clearInterval(timer);
    }
  }

  /** Sends due requests, turn after turn, while requests arrive. */
  private readonly turn = (): void => {
    if (!this.isSending) return;
    this.pump();
    const untilDueMs = this.nextDueMs - performance.now();
    const napMs = Math.min(NAP_MS.most, Math.max(NAP_MS.least, untilDueMs));
    Atomics.wait(napping, 0, 0, napMs);
    setImmediate(this.turn);
  };

  /** Sends due requests over the free connections. */
  private pump(): void {
    if (this.isOver) return;
    const nowMs = performance.now();
    while (this.free.length > 0) {
      const request = this.followUps.shift() ?? this.nextDue(nowMs);
      if (request === null) break;
      this.send(request);
    }
    if (this.underWay === 0 && !this.isDue(nowMs)) this.drained?.();
  }

  private isDue(nowMs: number): boolean {
    if (this.arrivals === null) return nowMs < this.endMs;
    return this.nextDueMs <= nowMs && this.nextDueMs < this.endMs;
  }

  private nextDue(nowMs: number): Request | null {
    if (!this.isDue(nowMs)) return null;
    if (this.arrivals === null) return this.next(nowMs, nowMs);
    const dueMs = this.nextDueMs;
    const { perSecond, random } = this.arrivals;
    this.nextDueMs += random.untilNext(perSecond) * 1_000;
    return this.next(dueMs, nowMs);
  }

  private send(request: Request): void {
    // Use the connection that was free longest, so that the server closes none as idle.
    const connection = this.free.shift()!;
    this.underWay++;
    connection.send(request.bytes, (answer) => {
      this.underWay--;
      this.settledCount++;
      this.free.push(connection);
      this.settled(request, answer);
      this.pump();
    });
    this.sent(request, connection);
  }
}
