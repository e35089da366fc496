/**
 * Limits the unsent data of stream connections: bytes that the operating system has not accepted.
 *
 * Invariant: after each {@link Backlogs.check}, every reader and the total, which includes unsent
 * data of closed connections, are within their limits.
 */
import { CLOSE } from './limits.js';

export interface BacklogOwner {
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

  bytes(owners: Iterable<BacklogOwner>): number {
    this.forget();
    let sum = this.closedBytes;
    for (const { backlogBytes } of owners) sum += backlogBytes;
    return sum;
  }

  addClosed(bytes: number): void {
    if (bytes === 0) return;
    this.closed.push({ bytes, untilMs: this.elapsedMs() + CLOSED_MS });
    this.closedBytes += bytes;
  }

  check(owners: Iterable<BacklogOwner>): void {
    const all = [...owners];
    let excess = this.bytes(all) - this.limits.backlogBytesInAll;
    if (excess > 0) {
      all.sort((a, b) => b.backlogBytes - a.backlogBytes);
      for (const owner of all) {
        if (excess <= 0) break;
        excess -= owner.backlogBytes;
        this.cutOffs++;
        owner.cutOff();
      }
    }
    for (const owner of all) this.checkOne(owner);
  }

  checkOne(owner: BacklogOwner): void {
    if (owner.backlogBytes > this.limits.backlogBytes) owner.end(CLOSE.slowReader);
  }

  private forget(): void {
    const nowMs = this.elapsedMs();
    while (this.closed.length > 0 && this.closed[0]!.untilMs <= nowMs) {
      this.closedBytes -= this.closed.shift()!.bytes;
    }
  }
}
