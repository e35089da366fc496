/** Errors of a call: the exchange refused it, or did not answer. */
import type { ErrorCode } from './terms.js';

/**
 * The exchange answered with an error; nothing was executed. Only if `details.executed` is true,
 * the request was executed before, at `details.sequence`, and the same key gets its answer later.
 */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';

  constructor(
    /** One of the API's codes; "unknown" for an answer that is not the API's, such as a proxy's. */
    readonly code: ErrorCode | 'unknown',
    message: string,
    /** Depends on the code: insufficient_balance has `required` and `available`. */
    readonly details: Readonly<Record<string, unknown>>,
    /** The HTTP status; 0 for an error of the stream. */
    readonly status: number,
    /** The wait that the exchange asks for before a repetition; null: it names none. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** There was no answer, even after all retries: the connection failed or timed out. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  constructor(
    message: string,
    /** Whether the request may have been executed. Repeat it with the same idempotency key. */
    readonly mayBeExecuted: boolean,
    /** The key that was sent; null: no key. */
    readonly idempotencyKey: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether a thrown value is an error of the exchange and, if codes are given, has one of them. */
export function isRefusal(error: unknown, ...codes: ErrorCode[]): error is ExchangeError {
  if (!(error instanceof ExchangeError)) return false;
  return codes.length === 0 || codes.includes(error.code as ErrorCode);
}

export interface Failure {
  error: ExchangeError | ConnectionError;
  isFinal?: boolean;
}

/** The wait in the error's details; more exact than Retry-After, which has whole seconds. */
export function waitIn({ retryAfterMs }: ExchangeError['details']): number | null {
  return typeof retryAfterMs === 'number' ? retryAfterMs : null;
}
