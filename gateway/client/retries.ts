/** When a request is sent again, and after how long. */
import { ExchangeError, type Failure } from './errors.js';

export interface Retries {
  /** Sendings of one request, the first included. */
  attempts: number;
  /** Milliseconds after which an attempt counts as lost. */
  timeoutMs: number;
  /** The first wait; each further one is twice as long, less a random part of up to half. */
  firstWaitMs: number;
  /** The longest wait. If the exchange asks for a longer one, the call fails at once. */
  longestWaitMs: number;
}

export const DEFAULT_RETRIES: Retries = {
  attempts: 8,
  timeoutMs: 10_000,
  firstWaitMs: 100,
  longestWaitMs: 30_000,
};

/**
 * Attempts until one is answered, or a repetition is of no use.
 * @param isRepeatable whether what may have been executed can be sent again
 * @throws the last failure's error, or the reason of the signal
 */
export async function repeated<Answer>(
  attempt: () => Promise<{ answer: Answer } | Failure>,
  isRepeatable: boolean,
  retries: Retries,
  signal?: AbortSignal,
): Promise<Answer> {
  for (let count = 1; ; count++) {
    signal?.throwIfAborted();
    const outcome = await attempt();
    if ('answer' in outcome) return outcome.answer;
    signal?.throwIfAborted();
    const waitMs = waitBefore(count, outcome, isRepeatable, retries);
    if (waitMs === null) throw outcome.error;
    await waitFor(waitMs, signal);
  }
}

/** The milliseconds to wait before the request is sent again; null: it is not. */
function waitBefore(
  attempt: number,
  { error, retryAfterMs }: Failure,
  isRepeatable: boolean,
  retries: Retries,
): number | null {
  if (attempt >= retries.attempts) return null;
  if (!isTemporary(error, isRepeatable)) return null;
  const asked = askedWaitMs(error) ?? retryAfterMs ?? 0;
  if (asked > retries.longestWaitMs) return null;
  return Math.max(asked, backoffMs(attempt, retries.firstWaitMs, retries.longestWaitMs));
}

/** After `attempt` failures in a row: doubled each time, less a random part of up to half. */
export function backoffMs(attempt: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** (attempt - 1), longestMs) * (0.5 + Math.random() / 2);
}

/** Whether a repetition may succeed and cannot execute the request twice. */
function isTemporary(error: Failure['error'], isRepeatable: boolean): boolean {
  if (!(error instanceof ExchangeError)) return isRepeatable;
  const { executed } = error.details;
  if (error.status === 429 || executed === false) return true;
  return isRepeatable && [502, 503, 504].includes(error.status);
}

/** More exact than the header, which has whole seconds. */
function askedWaitMs(error: Failure['error']): number | null {
  if (!(error instanceof ExchangeError)) return null;
  const { retryAfterMs } = error.details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : null;
}

/** @throws the reason of the signal, if it ends the wait */
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
