/**
 * Limits the unsent data of stream connections: bytes the operating system has not yet accepted.
 *
 * After each {@link Backlogs.check}, every reader and the total are within their limits. The total
 * includes the unsent data of closed connections.
 */
import { CLOSE } from './limits.js';

/** The methods of a connection that {@link Backlogs} uses. */
export interface Reader {
  readonly backlogBytes: number;
  end(reason: (typeof CLOSE)['slowReader']): void;
  /** Closes immediately and drops unsent data. */
  cutOff(): void;
}

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

  /** Connections cut off because of the total limit. */
  get cutOffCount(): number {
    return this.cutOffs;
  }

  /** Unsent bytes of these readers and of closed connections. */
  bytes(readers: Iterable<Reader>): number {
    this.forget();
    let sum = this.closedBytes;
    for (const { backlogBytes } of readers) sum += backlogBytes;
    return sum;
  }

  /** Call when a connection closes with `bytes` unsent. */
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
