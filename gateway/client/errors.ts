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
    /** How long the exchange asks to wait before a repetition; null: it does not say. */
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

/** A failed attempt. `isFinal`: no further one can succeed. */
export interface Failure {
  error: ExchangeError | ConnectionError;
  isFinal?: boolean;
}

/** More exact than the header Retry-After, which has whole seconds. */
export function waitIn({ retryAfterMs }: ExchangeError['details']): number | null {
  return typeof retryAfterMs === 'number' ? retryAfterMs : null;
}
