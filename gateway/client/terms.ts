/**
 * Types that several routes share. Shapes of answers are derived from the schemas that the exchange
 * validates and documents with, here and in routes/: nothing of these is in the compiled client.
 *
 * Numbers of answers are the doubles of exact decimals; amounts.ts makes integers of them.
 */
import type { ErrorBody } from '../http/errors.js';
import type { Answer } from './answer.js';

export type OutcomeName = 'UP' | 'DOWN';
export type SideName = 'BUY' | 'SELL';
export type ApiError = Answer<typeof ErrorBody>['error'];
export type ErrorCode = ApiError['code'];

/** Filters of what happened to an account; both ends of the time are included. */
export interface AccountFilter {
  marketId?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
}

export interface Paging {
  /** Entries in one page: 1 to 200, default 50. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | null | undefined;
}
