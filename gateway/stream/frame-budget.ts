/**
 * What the frames of one socket may cost, wherever the socket is: messages, pings and pongs alike,
 * except order entry that is executed.
 *
 * Always holds: a socket that goes on beyond its rate, or after it was told to stop, is closed
 * after a bounded number of frames. Each handler call costs about a microsecond, and a client can
 * send 500,000 empty frames a second.
 */
import { type ElapsedMs, TokenBuckets } from '../access/fair-use/token-buckets.js';
import type { StreamLimits } from './limits.js';

/** Frames of a socket that is about to close. It may still wait for its last answers. */
const IGNORED_MAX = 4_000;

export class FrameBudget {
  private readonly bucket: TokenBuckets<null>;
  private ignored = 0;

  constructor(
    { operationsBurst: burst, operationsPerSecond: perSecond }: StreamLimits,
    private readonly elapsedMs: ElapsedMs,
  ) {
    this.bucket = new TokenBuckets<null>({ burst, perSecond });
  }

  /** Returns false if the socket exceeds its rate. */
  take(operations: number): boolean {
    return this.bucket.take(null, operations, this.elapsedMs());
  }

  /** Counts a frame that is ignored. Returns false if there were too many. */
  ignore(): boolean {
    return ++this.ignored <= IGNORED_MAX;
  }
}
