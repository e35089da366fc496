/**
 * Data that waits to be read by stream clients, beyond what the operating system has taken.
 *
 * Always holds after each {@link Backlogs.check}: no reader exceeds its limit, and all together do
 * not exceed theirs. Unsent data of closed connections counts too.
 */
import { CLOSE } from './limits.js';

/** The part of a connection that is needed here. */
export interface Reader {
  readonly backlogBytes: number;
  end(reason: (typeof CLOSE)['slowReader']): void;
  /** Closes at once and drops what waits. */
  cutOff(): void;
}

/** What the metrics show. */
export interface BacklogReadings {
  readonly backlogBytes: number;
  readonly cutOffCount: number;
}

interface BacklogLimits {
  backlogBytes: number;
  backlogBytesInAll: number;
}

/** uWebSockets.js drops the data of a closed connection within this time. */
const CLOSED_MS = 20_000;

export class Backlogs {
  /** Closed connections, the oldest first. */
  private readonly closed: { bytes: number; untilMs: number }[] = [];
  private closedBytes = 0;
  private cutOffs = 0;

  constructor(
    private readonly limits: BacklogLimits,
    private readonly elapsedMs: () => number,
  ) {}

  /** Connections cut off because of the limit for all readers together. */
  get cutOffCount(): number {
    return this.cutOffs;
  }

  /** Bytes waiting for these readers and for closed ones. */
  bytes(readers: Iterable<Reader>): number {
    this.forget();
    let sum = this.closedBytes;
    for (const { backlogBytes } of readers) sum += backlogBytes;
    return sum;
  }

  /** To be called when a connection is closed with `bytes` unsent. */
  addClosed(bytes: number): void {
    if (bytes === 0) return;
    this.closed.push({ bytes, untilMs: this.elapsedMs() + CLOSED_MS });
    this.closedBytes += bytes;
  }

  check(readers: Iterable<Reader>): void {
    const all = [...readers];
    let excess = this.bytes(all) - this.limits.backlogBytesInAll;
    if (excess > 0) {
      all.sort((a, b) => b.backlogBytes - a.backlogBytes);
      for (const reader of all) {
        if (excess <= 0) break;
        excess -= reader.backlogBytes;
        this.cutOffs++;
        reader.cutOff();
      }
    }
    for (const reader of all) this.checkOne(reader);
  }

  /** Closes the connection if its reader is too far behind. */
  checkOne(reader: Reader): void {
    if (reader.backlogBytes > this.limits.backlogBytes) reader.end(CLOSE.slowReader);
  }

  private forget(): void {
    const nowMs = this.elapsedMs();
    while (this.closed.length > 0 && this.closed[0]!.untilMs <= nowMs) {
      this.closedBytes -= this.closed.shift()!.bytes;
    }
  }
}
