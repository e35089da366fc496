/**
 * What waits for the readers of the stream, beyond what the operating system has taken.
 *
 * Always holds, at every {@link Backlogs.check}: no reader is further behind than its limit, and all of them together are not
 * further behind than theirs. What is still being sent to connections that were closed counts too.
 */
import { CLOSE } from './limits.js';

/** The part of a connection that is looked at. */
export interface Reader {
  readonly backlogBytes: number;
  end(reason: (typeof CLOSE)['slowReader']): void;
  /** At once, with whatever waits. */
  cutOff(): void;
}

export interface BacklogLimits {
  backlogBytes: number;
  backlogBytesInAll: number;
}

/** uWebSockets.js lets go of what waits for a closed connection by then, taken or not. */
const LEFT_BEHIND_MS = 20_000;

export class Backlogs {
  /** Of closed connections, in the order in which they were closed. */
  private readonly leftBehind: { bytes: number; untilMs: number }[] = [];
  private leftBehindBytes = 0;
  private cutOffs = 0;

  constructor(
    private readonly limits: BacklogLimits,
    private readonly elapsedMs: () => number,
  ) {}

  /** Connections that were cut off because too much waited for all readers together. */
  get cutOffCount(): number {
    return this.cutOffs;
  }

  /** Of these readers, and of those that were closed. */
  bytes(readers: Iterable<Reader>): number {
    this.forget();
    let sum = this.leftBehindBytes;
    for (const { backlogBytes } of readers) sum += backlogBytes;
    return sum;
  }

  /** A connection was closed with so much still to send. */
  left(bytes: number): void {
    if (bytes === 0) return;
    this.leftBehind.push({ bytes, untilMs: this.elapsedMs() + LEFT_BEHIND_MS });
    this.leftBehindBytes += bytes;
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

  /** Ends the connection if its reader is too far behind. One that is closed has nothing waiting. */
  checkOne(reader: Reader): void {
    if (reader.backlogBytes > this.limits.backlogBytes) reader.end(CLOSE.slowReader);
  }

  private forget(): void {
    const nowMs = this.elapsedMs();
    while (this.leftBehind.length > 0 && this.leftBehind[0]!.untilMs <= nowMs) {
      this.leftBehindBytes -= this.leftBehind.shift()!.bytes;
    }
  }
}
