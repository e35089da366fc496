/**
 * Edge side: requests that a core has not answered yet, of HTTP clients or of streams.
 *
 * Invariants:
 * - A request is sent to another core only if it cannot be executed twice, or was returned
 *   unexecuted. Requests are sent in order of arrival.
 * - Every request is answered once: by a core, or, after too long a wait, with what is known about
 *   it. That answer denies execution only if no core may have received the request.
 * - All requests together are bounded in bytes.
 */
import type { ElapsedMs } from '../access/fair-use/token-buckets.js';

/** Time for a change to find a core and be answered. Clients wait equally long. */
export const CHANGE_TIMEOUT_MS = 10_000;
const SWEEP_MS = 100;
export const BYTES_MAX = 64 * 1024 * 1024;
/** Bytes counted per request in addition to its content. */
export const REQUEST_OVERHEAD_BYTES = 2 * 1024;
const NUMBERS = 2 ** 32;

export interface PendingRequest {
  readonly bytes: number;
  /** When the request is given up; `null` if it waits for its core as long as that takes. */
  readonly untilMs: number | null;
  /** Whether it is sent to the next core if this one is lost. */
  readonly isRepeatable: boolean;
  /** Whether a core may have received the request and has not returned it. */
  isSent: boolean;
  /** Whether a lost core may have executed the request. */
  mayHaveExecuted: boolean;
}

interface PendingOptions<R> {
  elapsedMs: ElapsedMs;
  /** Returns false if the request's client has left. */
  send: (request: R, number: number) => boolean;
  /** Answers a request with what is known. `isLate`: its time is up. */
  giveUp: (request: R, number: number, isLate: boolean) => void;
}

export class Pending<R extends PendingRequest> {
  private readonly requests = new Map<number, R>();
  private bytes = 0;
  private lastNumber = 0;
  private sweeper: NodeJS.Timeout | null = null;
  private sentAgain = 0;

  constructor(private readonly options: PendingOptions<R>) {}

  get count(): number {
    return this.requests.size;
  }

  /** Requests sent to a second core. */
  get sentAgainCount(): number {
    return this.sentAgain;
  }

  /** Whether `bytes` more exceed the limit, raised by the factor `part`. */
  isFull(bytes: number, part = 1): boolean {
    return this.bytes + bytes > BYTES_MAX * part;
  }

  /** Skips numbers in use, so that a late answer is not taken for another request's. */
  add(request: R): number {
    do this.lastNumber = (this.lastNumber + 1) % NUMBERS;
    while (this.requests.has(this.lastNumber));
    this.requests.set(this.lastNumber, request);
    this.bytes += request.bytes;
    if (request.untilMs !== null) this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS);
    return this.lastNumber;
  }

  find(number: number): R | null {
    return this.requests.get(number) ?? null;
  }

  /** Removes and returns a request; `null` if it is already answered. */
  take(number: number): R | null {
    const request = this.find(number);
    if (request === null) return null;
    this.requests.delete(number);
    this.bytes -= request.bytes;
    if (this.requests.size === 0) this.stopSweeping();
    return request;
  }

  send(number: number): void {
    const request = this.find(number)!;
    if (!this.options.send(request, number)) {
      this.take(number);
      return;
    }
    request.isSent = true;
    if (request.mayHaveExecuted) this.sentAgain++;
  }

  opened(): void {
    for (const [number, { isSent }] of this.requests) if (!isSent) this.send(number);
  }

  closed(): void {
    for (const [number, request] of this.requests) {
      if (!request.isSent) continue;
      request.isSent = false;
      request.mayHaveExecuted = true;
      if (!request.isRepeatable) this.giveUp(number);
    }
  }

  giveUp(number: number, isLate = false): void {
    this.options.giveUp(this.take(number)!, number, isLate);
  }

  giveUpAll(): void {
    for (const number of this.requests.keys()) this.giveUp(number);
  }

  stopSweeping(): void {
    if (this.sweeper !== null) clearInterval(this.sweeper);
    this.sweeper = null;
  }

  private sweep(): void {
    const nowMs = this.options.elapsedMs();
    for (const [number, { untilMs }] of this.requests)
      if (untilMs !== null && untilMs <= nowMs) this.giveUp(number, true);
  }
}
