/**
 * Limits one socket's frames: messages, pings and pongs. Executed order entry is exempt.
 *
 * Invariant: a socket that keeps sending beyond its rate, or while the connection is closing, is
 * cut off after a bounded number of frames. A frame costs about a microsecond, and a client can
 * send 500,000 empty frames a second.
 */
import { type ElapsedMs, TokenBuckets } from '../access/fair-use/token-buckets.js';
import type { StreamLimits } from './limits.js';

/** Frames ignored while a closing connection has unsent answers. */
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

  take(operations: number): boolean {
    return this.bucket.take(null, operations, this.elapsedMs());
  }

  /** Returns false if there were too many. */
  ignore(): boolean {
    return ++this.ignored <= IGNORED_MAX;
  }
}
