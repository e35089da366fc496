/** Why an order cannot be sent or was refused: one sentence, at the field to change. */
import { signal } from '@preact/signals';
import { ExchangeError } from '../../../client/index.js';
import { sentenceOf } from '../model/exchange.js';
import { market } from '../model/markets.js';
import { forgetSession } from '../model/session.js';
import {
  isInShares,
  isLimit,
  plan,
  price,
  shortage,
  size,
  sizeLots,
  sizeMicros,
  written,
} from '../model/ticket.js';
import {
  ambiguity,
  canBecome,
  readLots,
  readMicros,
  readTicks,
  WRONG_MONEY,
  WRONG_PRICE,
  WRONG_SHARES,
} from '../parts/amount.js';
import { t } from '../words/words.js';
import type { Plan } from './plan.js';

export type Field = 'size' | 'price' | 'terms' | 'postOnly' | 'order';

interface Refusal {
  field: Field;
  sentence: string;
  code: string;
}

export const refusal = signal<Refusal | null>(null);

export const FORETOLD: Record<NonNullable<Plan['refusal']>, string> = {
  empty: t('There is no order on the other side now, so nothing would be traded.'),
  too_small: t('This does not buy the smallest part of a share, 0.001.'),
  not_filled: t('The book cannot fill the whole order at this price now.'),
  would_trade: t('This would trade immediately, so a post-only order is refused.'),
};

/** The field to change. Other codes concern the order as a whole. */
const FIELD_OF_CODE: Record<string, Field> = {
  insufficient_balance: 'size',
  insufficient_shares: 'size',
  amount_too_small: 'size',
  too_small_to_rest: 'size',
  insufficient_liquidity: 'size',
  price_not_met: 'price',
  post_only_would_trade: 'postOnly',
};
const FIELD_OF_NAME: Record<string, Field> = {
  amount: 'size',
  shares: 'size',
  price: 'price',
  timeInForce: 'terms',
  postOnly: 'postOnly',
};
const NAMES: Record<string, string> = {
  amount: 'The amount',
  shares: 'The number of shares',
  price: 'The price',
};

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ExchangeError))
    return { field: 'order', sentence: sentenceOf(error), code: 'unreachable' };
  const { code, details } = error;
  if (code === 'invalid_request') {
    const [name = '', problem = ''] = Object.entries(details)[0] ?? [];
    const field = FIELD_OF_NAME[name] ?? 'order';
    return { field, sentence: `${NAMES[name] ?? name} ${String(problem)}.`, code };
  }
  if (error.status === 401) forgetSession();
  return { field: FIELD_OF_CODE[code] ?? 'order', sentence: error.message, code };
}

const wrongSize = () => ambiguity(size.peek()) || (isInShares.peek() ? WRONG_SHARES : WRONG_MONEY);

/** Refuses a text that is ambiguous or cannot become an amount, while it is typed. */
export function checkTyped(field: 'size' | 'price'): void {
  const [text, read, sentence] =
    field === 'price'
      ? ([price, readTicks, WRONG_PRICE] as const)
      : ([size, isInShares.peek() ? readLots : readMicros, wrongSize()] as const);
  if (ambiguity(text.peek()) !== '' || !canBecome(text.peek(), read))
    refusal.value = { field, sentence, code: field };
}

export function firstProblem(): Refusal | null {
  const refused = (field: Field, sentence: string) => ({ field, sentence, code: field });
  if (market.peek() === null) return refused('order', t('No market is open now.'));
  if (written.peek() === null)
    return sizeLots.peek() === null && sizeMicros.peek() === null
      ? refused('size', wrongSize())
      : refused('price', WRONG_PRICE);
  if (shortage.peek() !== '') return refused('size', shortage.peek());
  if (isLimit.peek()) return null;
  // Without a quote, the order would have no limit.
  const expected = plan.peek();
  if (expected === null) return refused('order', t('The order book has not loaded yet.'));
  return expected.refusal === null ? null : refused('size', FORETOLD[expected.refusal]);
}
