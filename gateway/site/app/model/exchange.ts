/**
 * The exchange as the site talks to it: this package's client, on the page's own origin. The
 * session is the browser's cookie, which no script can read.
 */
import { computed, signal } from '@preact/signals';
import { Api } from '../../../client/api.js';
import { ConnectionError, ExchangeError } from '../../../client/errors.js';

/** With the session, if there is one. A person waits for an answer, so it gives up soon. */
export const api = new Api({ retries: { attempts: 4, longestWaitMs: 4_000 } });

/**
 * Without the session: a request that has one may not read about another user, although profiles
 * are public.
 */
export const publicApi = new Api({
  fetch: (address, request) => fetch(address, { ...request, credentials: 'omit' }),
});

/** Of the stream. */
export const connection = signal<'starting' | 'live' | 'lost'>('starting');
/** What is shown may be old, so nothing that changes something can be sent. */
export const isLost = computed(() => connection.value === 'lost');

/** A failure as a sentence for a person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ExchangeError) return error.message;
  if (error instanceof ConnectionError)
    return error.mayBeExecuted
      ? 'The exchange did not answer. It may have done this all the same: check your orders and trades.'
      : 'The exchange cannot be reached. Nothing was changed.';
  return error instanceof Error ? error.message : String(error);
}

/** What the exchange says is wrong with a field of the request; null: nothing. */
export function problemOf(error: unknown, field: string): string | null {
  if (!(error instanceof ExchangeError) || error.code !== 'invalid_request') return null;
  const { [field]: said } = error.details;
  return typeof said === 'string' ? said : null;
}
