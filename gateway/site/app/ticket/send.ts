/**
 * Sends what the ticket says and keeps what came of it: a receipt, which is final because the
 * exchange answers only what is durable, or a refusal with the field that caused it.
 */
import { computed, signal } from '@preact/signals';
import { fromLots, fromMicros, fromTicks } from '../../../client/amounts.js';
import { buy, ExchangeError, sell } from '../../../client/index.js';
import type { BuyReceipt, SellReceipt } from '../../../client/types.js';
import type { OutcomeName } from '../model/book.js';
import { api, sentenceOf } from '../model/exchange.js';
import { market } from '../model/markets.js';
import { forgetSession } from '../model/session.js';
import { isInShares, order, outcome, plan, sizeLots, sizeMicros } from '../model/ticket.js';
import { WRONG_MONEY, WRONG_PRICE, WRONG_SHARES } from '../parts/amount.js';
import type { PlannedOrder } from './plan.js';

export type Receipt = BuyReceipt | SellReceipt;
export type Field = 'size' | 'price' | 'terms' | 'postOnly' | 'order';

interface Asked {
  written: PlannedOrder | null;
  outcome: OutcomeName;
  marketId: string | undefined;
}

interface Refusal {
  field: Field;
  sentence: string;
  code: string;
}

export const receipt = signal<Receipt | null>(null);
export const refusal = signal<Refusal | null>(null);
export const isSending = signal(false);
/** What the first click was about. */
const asked = signal<Asked | null>(null);
/** The written order waits for a second click: it is still the one of the first. */
export const isAsked = computed(() => {
  const first = asked.value;
  return (
    first !== null &&
    first.written === order.value &&
    first.outcome === outcome.value &&
    first.marketId === market.value?.id
  );
});

/** The field to change; a code that is not here is about the order as a whole. */
const FIELD_OF_CODE: Record<string, Field> = {
  insufficient_balance: 'size',
  insufficient_shares: 'size',
  amount_too_small: 'size',
  insufficient_liquidity: 'size',
  price_not_met: 'price',
  post_only_would_trade: 'postOnly',
  deadline_passed: 'terms',
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

/** Asks for a second click. */
export function ask(): void {
  asked.value = {
    written: order.peek(),
    outcome: outcome.peek(),
    marketId: market.peek()?.id,
  };
}

export function takeBack(): void {
  asked.value = null;
}

/** What is missing before anything can be sent. */
export function firstProblem(written: PlannedOrder | null): Refusal | null {
  if (market.peek() === null)
    return { field: 'order', sentence: 'No market is open now.', code: 'market_not_active' };
  if (written !== null) return null;
  if (sizeLots.peek() === null && sizeMicros.peek() === null) {
    const sentence = isInShares.peek() ? WRONG_SHARES : WRONG_MONEY;
    return { field: 'size', sentence, code: 'size' };
  }
  return { field: 'price', sentence: WRONG_PRICE, code: 'price' };
}

export async function send(): Promise<void> {
  const written = order.peek();
  const shown = market.peek();
  refusal.value = firstProblem(written);
  if (refusal.value !== null || written === null || shown === null || isSending.peek()) return;
  takeBack();
  isSending.value = true;
  receipt.value = null;
  try {
    receipt.value = await place(shown.id, written);
  } catch (error) {
    refusal.value = refusalOf(error);
  } finally {
    isSending.value = false;
  }
}

function place(marketId: string, written: PlannedOrder): Promise<Receipt> {
  const { limitTicks, timeInForce, postOnly } = written;
  const terms = {
    outcome: outcome.peek(),
    timeInForce,
    ...(limitTicks === null ? {} : { price: fromTicks(limitTicks) }),
    ...(postOnly ? { postOnly } : {}),
  };
  if (written.side === 'SELL')
    return sell(api, marketId, { ...terms, shares: fromLots(written.lots!) });
  if (written.budgetMicros !== null)
    return buy(api, marketId, { ...terms, amount: fromMicros(written.budgetMicros) });
  // A purchase of shares needs a price: without a limit, the worst one that was shown.
  const price = fromTicks(limitTicks ?? worstShownTicks());
  return buy(api, marketId, { ...terms, shares: fromLots(written.lots!), price });
}

function worstShownTicks(): number {
  return plan.peek()?.taken.at(-1)?.priceTicks ?? 999;
}
