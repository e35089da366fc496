/** The answer to a request: complete when it is created, and written once. */
import type { RateLimitState } from '../../access/fair-use/fair-use.js';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  /** Alternating names and values, without the headers common to all answers. */
  readonly headers: readonly string[];
  /** Values of the RateLimit headers; `null` if the request is uncounted. */
  readonly rateLimit: RateLimitState | null;
  readonly body: string | Uint8Array;
  /** The sequence of the state that it shows; 0 if it shows no state. */
  readonly sequence: number;
}

export function limitHeaders(rateLimit: RateLimitState | null): string[] {
  return rateLimit === null ? [] : ['RateLimit-Limit', limitText(rateLimit)];
}

/** Returns the value of RateLimit-Limit, with two more headers appended. */
export function limitText({ limit, remaining, resetSeconds }: RateLimitState): string {
  return `${limit}\r\nRateLimit-Remaining: ${remaining}\r\nRateLimit-Reset: ${resetSeconds}`;
}
