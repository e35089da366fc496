/**
 * The site's connection to the exchange: this package's client, on the page's own origin. The
 * session is a browser cookie that scripts cannot read.
 */
import { computed, signal } from '@preact/signals';
import { Api, ConnectionError, ExchangeError } from '../../../client/index.js';
import { t } from '../words/words.js';

/** Uses the session, if any. Gives up early, because a person waits for the answer. */
export const api = new Api({ retries: { attempts: 4, longestWaitMs: 4_000 } });

/** Uses no session, because with one, even public data about other users is refused. */
export const publicApi = new Api({
  fetch: (address, request) => fetch(address, { ...request, credentials: 'omit' }),
});

export const connection = signal<'starting' | 'live' | 'lost'>('starting');
/** Whether the page may be outdated, and so cannot send changes. */
export const isLost = computed(() => connection.value === 'lost');

export function sentenceOf(error: unknown): string {
  if (error instanceof ExchangeError) return error.message;
  if (error instanceof ConnectionError)
    return error.mayBeExecuted
      ? t(
          'The exchange did not answer, so we do not know whether it went through. Check your orders and trades.',
        )
      : t('The exchange cannot be reached. Nothing was changed.');
  return error instanceof Error ? error.message : String(error);
}
