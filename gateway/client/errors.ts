/** What a call can fail with: an answer of the exchange, or no answer. */
import type { ErrorCode } from './terms.js';

/** The exchange answered with an error; nothing was executed. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';

  constructor(
    /** One of the API's codes; "unknown" for an answer that is not the API's, as of a proxy. */
    readonly code: ErrorCode | 'unknown',
    message: string,
    /** Depends on the code: for insufficient_balance `required` and `available`. */
    readonly details: Readonly<Record<string, unknown>>,
    /** The HTTP status; 0 for an error of the stream. */
    readonly status: number,
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
    /** The key that was sent; null: none. */
    readonly idempotencyKey: string | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether what was thrown is an error of the exchange; if codes are given, one of these. */
export function isRefusal(error: unknown, ...codes: ErrorCode[]): error is ExchangeError {
  if (!(error instanceof ExchangeError)) return false;
  return codes.length === 0 || codes.includes(error.code as ErrorCode);
}

/** A failed attempt. */
export interface Failure {
  error: ExchangeError | ConnectionError;
  /** How long the exchange asks to wait; null: it does not say. */
  retryAfterMs: number | null;
}
