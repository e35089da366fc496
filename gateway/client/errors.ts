/** Errors of a call: the exchange refused it, or did not answer. */
import type { ErrorCode } from './terms.js';

/**
 * The exchange answered with an error. Nothing was executed, unless `details.executed` is true:
 * then an earlier attempt was, at `details.sequence`, and the same key returns its answer later.
 */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';

  constructor(
    /** One of the API's codes; "unknown" if the answer is not the API's, such as a proxy's. */
    readonly code: ErrorCode | 'unknown',
    message: string,
    /** Depends on the code: for example, insufficient_balance has `required` and `available`. */
    readonly details: Readonly<Record<string, unknown>>,
    /** The HTTP status, or 0 for an error of the stream. */
    readonly status: number,
    /** How long to wait before repeating the request; `null` if the exchange does not say. */
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

/** More exact than Retry-After in whole seconds. */
export function waitIn({ retryAfterMs }: ExchangeError['details']): number | null {
  return typeof retryAfterMs === 'number' ? retryAfterMs : null;
}
