/** The answer to a request, and the place that it goes to. */
import type { AddressKey } from '../../access/fair-use/addresses.js';
import type { RateLimitState } from '../../access/fair-use/fair-use.js';
import type { Reply } from '../reply.js';

/** Complete when it is created, and written once. */
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

/** Where a request comes from and its answer goes: a connection of this process, or an edge. */
export interface Outlet {
  /** The client's address. Must not be read after the request is over. */
  readonly address: AddressKey;
  /** The address as a 16-byte IPv6 address; empty if unknown. */
  readonly addressBytes: Uint8Array;
  write(reply: Reply, answer: Answer): void;
  /** Closes the connection instead of answering, because too many answers are unsent. */
  drop(): void;
}

/** Returns alternating names and values. */
export function limitHeaders(rateLimit: RateLimitState | null): string[] {
  return rateLimit === null ? [] : ['RateLimit-Limit', limitText(rateLimit)];
}

/** Returns the value of RateLimit-Limit, with two more headers appended. */
export function limitText({ limit, remaining, resetSeconds }: RateLimitState): string {
  return `${limit}\r\nRateLimit-Remaining: ${remaining}\r\nRateLimit-Reset: ${resetSeconds}`;
}
