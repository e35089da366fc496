/**
 * The second click. It confirms what the first one showed: the order with its limit, and its
 * effect. The first click must be repeated if a field was changed, if the market has moved past
 * that limit, after 10 s, or after a lost connection.
 */
import { batch, effect } from '@preact/signals';
import { isLost } from '../model/exchange.js';
import { market } from '../model/markets.js';
import {
  asked,
  firstClick,
  opposing,
  order,
  outcome,
  plan,
  tolerance,
  written,
} from '../model/ticket.js';
import { cents, dollars, shares } from '../parts/format.js';
import { t } from '../words/words.js';
import { withLimit } from './plan.js';
import { refusal } from './refusal.js';

export function ask(): void {
  const now = order.peek();
  firstClick.value = now && {
    order: now,
    plan: plan.peek(),
    written: written.peek(),
    tolerance: tolerance.peek(),
    outcome: outcome.peek(),
    marketId: market.peek()?.id,
  };
}

export function takeBack(): void {
  firstClick.value = null;
}

/** After this time, the user no longer remembers the price. */
const CONFIRM_WITHIN_MS = 10_000;

function expire(sentence: string): void {
  batch(() => {
    takeBack();
    refusal.value = { field: 'order', sentence, code: 'expired' };
  });
}

// The user sees the field that they have changed.
effect(() => {
  if (asked.value === null) takeBack();
});

effect(() => {
  if (firstClick.value === null) return undefined;
  const sentence = t('You did not confirm within 10 seconds. Nothing was sent.');
  const timer = setTimeout(() => expire(sentence), CONFIRM_WITHIN_MS);
  return () => clearTimeout(timer);
});

effect(() => {
  if (isLost.value && firstClick.peek() !== null)
    expire(t('The connection was lost before you confirmed. Nothing was sent.'));
});

/** The second click's effect with the total, such as "$30.15 for 37.4 UP". */
export function summary(): string {
  const [of, expected, name] = [order.value, plan.value, outcome.value];
  if (of === null) return '';
  const lots = (expected?.lots ?? 0) + (expected?.restingLots ?? 0);
  const verb = of.side === 'BUY' ? t('buy') : t('sell');
  if (expected === null || lots === 0) return `${verb} ${name}`;
  const { valueMicros, feeMicros, restingLots } = expected;
  const restingMicros = restingLots * (of.limitTicks ?? 0);
  const micros = valueMicros + feeMicros + restingMicros;
  const money = dollars(micros);
  const what = `${shares(lots)} ${name}`;
  return of.side === 'BUY' ? t('{0} for {1}', money, what) : t('sell {0} for {1}', what, money);
}

/** The worst price that the order would meet, if any. */
function worstTicks(): number | undefined {
  const bare = written.value;
  // A limit order has the user's price, so only the part of the book within it counts.
  if (bare === null || bare.limitTicks !== null) return plan.value?.taken.at(-1)?.priceTicks;
  return withLimit(bare, opposing.value ?? [], 0).limitTicks ?? undefined;
}

/** Why the first click is no longer valid; empty if it is. */
function change(): string {
  const of = asked.value;
  const expected = plan.value;
  const before = of?.plan?.taken.at(-1)?.priceTicks;
  const limit = of?.order.limitTicks;
  if (of == null || before === undefined || limit == null || expected === null) return '';
  const buys = of.order.side === 'BUY';
  const now = worstTicks();
  if (now === undefined)
    return t('The {0} that you wanted are gone. Nothing was sent.', buys ? t('offers') : t('bids'));
  if (buys ? now > limit : now < limit)
    return t('The price moved from {0} to {1}. Nothing was sent.', cents(before), cents(now));
  return expected.isShort && of.plan?.isShort === false
    ? t('Less can fill now than before. Nothing was sent.')
    : '';
}

effect(() => {
  const sentence = change();
  if (sentence !== '') expire(sentence);
});
