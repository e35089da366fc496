/** Decides when a request is sent again. */
import { ConnectionError, ExchangeError, type Failure } from './errors.js';
import type { ErrorCode } from './terms.js';

export interface Retries {
  /** Attempts per request, including the first. */
  attempts: number;
  /** Milliseconds after which an attempt counts as lost. */
  timeoutMs: number;
  /** The first wait. Each further wait is twice as long, less a random part of up to half. */
  firstWaitMs: number;
  /** If a longer wait is needed, the call fails immediately with `retryAfterMs` in its error. */
  longestWaitMs: number;
}

export const DEFAULT_RETRIES: Retries = {
  attempts: 8,
  timeoutMs: 10_000,
  firstWaitMs: 100,
  longestWaitMs: 30_000,
};

/**
 * Stops when repeating is useless.
 * @param isRepeatable whether a request that may have been executed can be sent again
 * @throws the last failure's error, or the reason of the signal
 */
export async function repeated<Answer>(
  attempt: () => Promise<{ answer: Answer } | Failure>,
  isRepeatable: boolean,
  retries: Retries,
  signal?: AbortSignal,
): Promise<Answer> {
  let lost: ConnectionError | null = null;
  for (let count = 1; ; count++) {
    signal?.throwIfAborted();
    const outcome = await attempt();
    if ('answer' in outcome) return outcome.answer;
    signal?.throwIfAborted();
    const { error } = outcome;
    if (error instanceof ConnectionError && error.mayBeExecuted) lost ??= error;
    const waitMs = waitBefore(count, outcome, isRepeatable, retries);
    if (waitMs === null) throw lost === null ? error : afterLost(lost, error);
    await waitFor(waitMs, signal);
  }
}

/** Refusals made before the key is looked up, so an earlier attempt may have been executed. */
const SILENT: readonly string[] = [
  'unknown',
  'unavailable',
  'rate_limited',
  'limit_reached',
  'missing_token',
  'invalid_token',
  'token_revoked',
  'token_expired',
  'address_not_allowed',
] satisfies (ErrorCode | 'unknown')[];

/** The error of a call whose earlier attempt may have been executed. */
function afterLost({ idempotencyKey }: ConnectionError, error: Failure['error']): Error {
  const isEnough =
    error instanceof ExchangeError ? !SILENT.includes(error.code) : error.mayBeExecuted;
  if (isEnough) return error;
  return new ConnectionError(error.message, true, idempotencyKey, { cause: error });
}

/** `null` if there is no next attempt. */
function waitBefore(
  attempt: number,
  { error, isFinal }: Failure,
  isRepeatable: boolean,
  retries: Retries,
): number | null {
  if (attempt >= retries.attempts || isFinal === true) return null;
  if (!isTemporary(error, isRepeatable)) return null;
  const asked = (error instanceof ExchangeError ? error.retryAfterMs : null) ?? 0;
  if (asked > retries.longestWaitMs) return null;
  return Math.max(asked, backoffMs(attempt, retries.firstWaitMs, retries.longestWaitMs));
}

/** Doubles, less a random part of up to half. `attempt`: failures in a row. */
export function backoffMs(attempt: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** (attempt - 1), longestMs) * (0.5 + Math.random() / 2);
}

/** Whether a repetition may succeed and cannot execute the request twice. */
function isTemporary(error: Failure['error'], isRepeatable: boolean): boolean {
  if (!(error instanceof ExchangeError)) return isRepeatable;
  const { executed } = error.details;
  if (error.status === 429 || executed === false) return true;
  // The request was executed before, and the same key returns its answer later.
  return isRepeatable && (executed === true || [502, 503, 504].includes(error.status));
}

function waitFor(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const ended = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', ended);
      resolve();
    }, ms);
    signal?.addEventListener('abort', ended, { once: true });
  });
}
