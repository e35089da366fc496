/**
 * The second click. It is about what the first one showed: the order with its limit, and what it
 * would do. If the market has moved past that limit meanwhile, it has to be asked again.
 */
import { batch, computed, effect, signal } from '@preact/signals';
import type { OutcomeName } from '../model/book.js';
import { market } from '../model/markets.js';
import { order, outcome, plan, tolerance, written } from '../model/ticket.js';
import { cents, dollars, shares } from '../parts/format.js';
import type { Plan, PlannedOrder } from './plan.js';
import { refusal } from './refusal.js';

/** What the first click was about. */
export interface Asked {
  order: PlannedOrder;
  plan: Plan | null;
  written: PlannedOrder | null;
  tolerance: string;
  outcome: OutcomeName;
  marketId: string | undefined;
}

const first = signal<Asked | null>(null);

/** The first click, while what is written is still the same. */
export const asked = computed(() => {
  const of = first.value;
  const isSame =
    of !== null &&
    of.written === written.value &&
    of.tolerance === tolerance.value &&
    of.outcome === outcome.value &&
    of.marketId === market.value?.id;
  return isSame ? of : null;
});

export function ask(): void {
  const now = order.peek();
  first.value = now && {
    order: now,
    plan: plan.peek(),
    written: written.peek(),
    tolerance: tolerance.peek(),
    outcome: outcome.peek(),
    marketId: market.peek()?.id,
  };
}

export function takeBack(): void {
  first.value = null;
}

/** What the second click would do, with the whole amount: "$30.15 for 37.4 UP". */
export function summary({ order: of, plan: expected, outcome: name }: Asked): string {
  const lots = (expected?.lots ?? 0) + (expected?.restingLots ?? 0);
  const verb = of.side === 'BUY' ? 'buy' : 'sell';
  if (expected === null || lots === 0) return `${verb} ${name}`;
  const { valueMicros, feeMicros, restingLots } = expected;
  const restingMicros = restingLots * (of.limitTicks ?? 0);
  const micros = valueMicros + feeMicros + restingMicros;
  // To a cent, never to one's favour.
  const toCents = of.side === 'BUY' ? Math.ceil(micros / 10_000) : Math.floor(micros / 10_000);
  const money = dollars(toCents * 10_000);
  const what = `${shares(lots)} ${name}`;
  return of.side === 'BUY' ? `${money} for ${what}` : `sell ${what} for ${money}`;
}

/** Why the first click does not hold any more; empty: it does. */
function change(of: Asked, expected: Plan | null): string {
  const before = of.plan?.taken.at(-1)?.priceTicks;
  const now = expected?.taken.at(-1)?.priceTicks;
  const limit = of.order.limitTicks;
  if (before === undefined || limit === null || expected === null) return '';
  if (now === undefined) return 'What you were about to trade with is gone. Nothing was sent.';
  if (of.order.side === 'BUY' ? now > limit : now < limit)
    return `The price moved from ${cents(before)} to ${cents(now)}. Nothing was sent.`;
  return expected.isShort && of.plan?.isShort === false
    ? 'Less can fill now than before. Nothing was sent.'
    : '';
}

effect(() => {
  const of = asked.value;
  const sentence = of === null ? '' : change(of, plan.value);
  if (sentence === '') return;
  batch(() => {
    takeBack();
    refusal.value = { field: 'order', sentence, code: 'moved' };
  });
});
