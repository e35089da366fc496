/**
 * Limits the unsent data of stream connections: bytes that the operating system has not accepted.
 *
 * Invariant: after each {@link Backlogs.check}, every reader and the total, which includes unsent
 * data of closed connections, are within their limits.
 */
import { CLOSE } from './limits.js';

export interface Reader {
  readonly backlogBytes: number;
  end(reason: (typeof CLOSE)['slowReader']): void;
  /** Closes immediately and discards unsent data. */
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

/** uWebSockets.js discards a closed connection's data within this time. */
const CLOSED_MS = 20_000;

export class Backlogs {
  /** Closed connections, oldest first. */
  private readonly closed: { bytes: number; untilMs: number }[] = [];
  private closedBytes = 0;
  private cutOffs = 0;

  constructor(
    private readonly limits: BacklogLimits,
    private readonly elapsedMs: () => number,
  ) {}

  get cutOffCount(): number {
    return this.cutOffs;
  }

  bytes(readers: Iterable<Reader>): number {
    this.forget();
    let sum = this.closedBytes;
    for (const { backlogBytes } of readers) sum += backlogBytes;
    return sum;
  }

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
