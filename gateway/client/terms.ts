/**
 * Types shared by several routes, derived from the exchange's schemas, which the compiled client
 * lacks.
 *
 * Numbers in answers are doubles of exact decimals, which amounts.ts turns into integers.
 */
import type { ErrorBody } from '../commands/errors.js';
import type { Answer } from './answer.js';

export type OutcomeName = 'UP' | 'DOWN';
export type SideName = 'BUY' | 'SELL';
export type ApiError = Answer<typeof ErrorBody>['error'];
export type ErrorCode = ApiError['code'];

/** Filters of an account's history. The time range includes both ends. */
export interface AccountFilter {
  marketId?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
}

export interface Paging {
  /** Entries per page: 1 to 200, default 50. */
  limit?: number | undefined;
  cursor?: string | null | undefined;
}
