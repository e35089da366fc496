/**
 * Sends the ticket's order and keeps the outcome: a receipt, which is final because the exchange
 * answers only what is durable, or a refusal with the field that caused it.
 */
import { batch, effect, signal } from '@preact/signals';
import { fromLots, fromMicros, fromTicks } from '../../../client/amounts.js';
import { buy, sell } from '../../../client/index.js';
import type { BuyReceipt, SellReceipt } from '../../../client/types.js';
import type { OutcomeName } from '../model/book.js';
import { api } from '../model/exchange.js';
import { asset, market } from '../model/markets.js';
import { isLimit, order, outcome, price, size } from '../model/ticket.js';
import { cents } from '../parts/format.js';
import { takeBack } from './confirm.js';
import type { PlannedOrder } from './plan.js';
import { firstProblem, refusal, refusalOf } from './refusal.js';

export type Receipt = (BuyReceipt | SellReceipt) & { sent: PlannedOrder };

export const receipt = signal<Receipt | null>(null);
export const isSending = signal(false);

/** Clears the last outcome when another order is written. */
export function clear(): void {
  refusal.value = null;
  receipt.value = null;
}

let written = '';
effect(() => {
  const of = asset.value;
  // An amount for one asset is not meant for another.
  if (written !== '' && of !== written)
    batch(() => {
      size.value = '';
      price.value = '';
      clear();
    });
  written = of;
});

export async function send(): Promise<void> {
  const sent = order.peek();
  const shown = market.peek();
  refusal.value = firstProblem();
  if (refusal.value !== null || sent === null || shown === null || isSending.peek()) return;
  takeBack();
  isSending.value = true;
  receipt.value = null;
  try {
    receipt.value = { ...(await place(shown.id, outcome.peek(), sent)), sent };
  } catch (error) {
    refusal.value = refusalOf(error);
    if (refusal.value.code === 'price_not_met' && !isLimit.peek())
      refusal.value = { field: 'order', sentence: missed(sent), code: 'moved' };
  } finally {
    isSending.value = false;
  }
}

function place(marketId: string, of: OutcomeName, sent: PlannedOrder) {
  const { limitTicks, timeInForce, postOnly } = sent;
  const terms = {
    outcome: of,
    timeInForce,
    // A market order also has a limit, except in a book without offers.
    price: fromTicks(limitTicks!),
    ...(postOnly ? { postOnly } : {}),
  };
  if (sent.side === 'SELL') return sell(api, marketId, { ...terms, shares: fromLots(sent.lots!) });
  return sent.budgetMicros === null
    ? buy(api, marketId, { ...terms, shares: fromLots(sent.lots!) })
    : buy(api, marketId, { ...terms, amount: fromMicros(sent.budgetMicros) });
}

function missed({ side, limitTicks }: PlannedOrder): string {
  const past = side === 'BUY' ? 'above' : 'below';
  return `The price moved ${past} ${cents(limitTicks!)}. Nothing was traded.`;
}
