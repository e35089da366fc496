/**
 * Sends the ticket's order and keeps the outcome: a receipt, which is final because the exchange
 * answers only what is durable, or a refusal with the field that caused it.
 */
import { batch, effect, signal } from '@preact/signals';
import {
  type BuyReceipt,
  buy,
  ConnectionError,
  fromLots,
  fromMicros,
  fromTicks,
  randomKey,
  type SellReceipt,
  sell,
} from '../../../client/index.js';
import type { OutcomeName } from '../model/book.js';
import { exchangeTimeIn } from '../model/clock.js';
import { api } from '../model/exchange.js';
import { asset, market } from '../model/markets.js';
import { isLimit, order, outcome, price, size } from '../model/ticket.js';
import { cents } from '../parts/format.js';
import { t } from '../words/words.js';
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

/** Whether a market has just replaced another one, for which a click now may have been meant. */
export const isRolling = signal(false);
const ROLL_MS = 1_000;

let shown: { asset: string; marketId: string | undefined } = { asset: '', marketId: undefined };
let rolling: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  const before = shown;
  shown = { asset: asset.value, marketId: market.value?.id };
  const isOtherAsset = before.asset !== '' && shown.asset !== before.asset;
  const isEnd = before.marketId !== undefined && shown.marketId !== before.marketId;
  // An amount and a limit are meant for one market. A receipt stays true.
  if (isOtherAsset || isEnd)
    batch(() => {
      size.value = '';
      price.value = '';
      if (isOtherAsset) clear();
      else refusal.value = null;
    });
  if (before.asset === '' || shown.marketId === undefined || shown.marketId === before.marketId)
    return;
  isRolling.value = true;
  clearTimeout(rolling);
  rolling = setTimeout(() => {
    isRolling.value = false;
  }, ROLL_MS);
});

/** Real time after which an order that has not arrived is no longer wanted. */
const VALID_MS = 10_000;
const ASK_AGAIN_MS = 1_000;

export async function send(): Promise<void> {
  const sent = order.peek();
  const of = market.peek();
  refusal.value = firstProblem();
  if (refusal.value !== null || sent === null || of === null || isSending.peek()) return;
  takeBack();
  isSending.value = true;
  receipt.value = null;
  try {
    const placed = await place(of.id, outcome.peek(), sent);
    batch(() => {
      refusal.value = null;
      receipt.value = { ...placed, sent };
      // The amount was meant for one order. If nothing happened, the user may try again.
      if (placed.shares > 0 || placed.restingShares > 0) size.value = '';
    });
  } catch (error) {
    refusal.value = refusalOf(error);
    if (refusal.value.code === 'price_not_met' && !isLimit.peek())
      refusal.value = { field: 'order', sentence: missed(sent), code: 'moved' };
  } finally {
    isSending.value = false;
  }
}

/**
 * If the answer is lost, asks with the same key until the first execution's answer arrives. An
 * order that has not arrived by then is too late, so it never trades unexpectedly.
 */
async function place(marketId: string, of: OutcomeName, sent: PlannedOrder) {
  const { limitTicks, timeInForce, postOnly, lots, budgetMicros } = sent;
  const options = { idempotencyKey: randomKey() };
  const terms = {
    outcome: of,
    timeInForce,
    validUntilMs: exchangeTimeIn(VALID_MS),
    // A market order also has a limit, except in a book without offers.
    price: fromTicks(limitTicks!),
    ...(postOnly ? { postOnly } : {}),
  };
  const ask = () => {
    if (budgetMicros !== null)
      return buy(api, marketId, { ...terms, amount: fromMicros(budgetMicros) }, options);
    const order = { ...terms, shares: fromLots(lots!) };
    return (sent.side === 'BUY' ? buy : sell)(api, marketId, order, options);
  };
  for (;;)
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ConnectionError && error.mayBeExecuted)) throw error;
      refusal.value = { field: 'order', sentence: LOST_ANSWER, code: 'unreachable' };
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
}

const LOST_ANSWER = t('No answer came. Asking the exchange what happened to your order.');

function missed({ side, limitTicks }: PlannedOrder): string {
  const past = side === 'BUY' ? t('above') : t('below');
  return t('The price moved {0} {1}. Nothing was traded.', past, cents(limitTicks!));
}
