/** The order in the ticket's fields, and its expected effect. */
import { batch, computed, signal } from '@preact/signals';
import type { Level } from '../../../client/index.js';
import { readLots, readMicros, readTicks } from '../parts/amount.js';
import { exactDollars, shares, typedCents } from '../parts/format.js';
import {
  type FeeRates,
  neededMicros,
  type Plan,
  type PlannedOrder,
  planOrder,
  withLimit,
  withoutOwn,
} from '../ticket/plan.js';
import { t } from '../words/words.js';
import { balance, held, orders } from './account.js';
import { best, book, type OutcomeName } from './book.js';
import { market } from './markets.js';
import { kept } from './settings.js';

export type Side = 'BUY' | 'SELL';
export type Terms = 'GTC' | 'IOC' | 'FOK';

export const side = signal<Side>('BUY');
export const outcome = signal<OutcomeName>('UP');
export const isLimit = signal(false);
/** Whether the ticket covers the page, on a phone. */
export const isOpen = signal(false);
/** The unit of a buy's size. A sale's size is always in shares. */
export const unit = kept<'dollars' | 'shares'>('unit', 'dollars', ['dollars', 'shares']);
export const size = signal('');
export const price = signal('');
export const terms = signal<Terms>('GTC');
export const postOnly = signal(false);
/** How many ticks beyond the quote's worst price a market order may trade. */
export const TOLERANCES = ['0', '10', '20', '50', '100'] as const;
export const tolerance = kept('tolerance', '20', TOLERANCES);
/** Whether orders are sent without a second click. */
export const oneClick = kept<'on' | 'off'>('one-click', 'off', ['on', 'off']);

/** Whether a new user is led to the first trade (ticket/guide.tsx). */
export const isGuided = kept<'yes' | 'no'>('guided', 'no', ['yes', 'no']);
/** Whether the user has picked an outcome instead of keeping the ticket's. */
export const hasChosen = signal(false);

export const isInShares = computed(() => side.value === 'SELL' || unit.value === 'shares');

/** Changes the side or the unit. An amount in dollars is not a number of shares. */
export function choose(chosen: { side?: Side; unit?: 'dollars' | 'shares' }): void {
  const before = isInShares.peek();
  batch(() => {
    if (chosen.side !== undefined) side.value = chosen.side;
    if (chosen.unit !== undefined) unit.value = chosen.unit;
    if (isInShares.value !== before) size.value = '';
  });
}

export const sizeLots = computed(() => (isInShares.value ? readLots(size.value) : null));
export const sizeMicros = computed(() => (isInShares.value ? null : readMicros(size.value)));
export const priceTicks = computed(() => readTicks(price.value));

/** The levels that the order would meet, without the user's own orders. */
export const opposing = computed<readonly Level[] | null>(() => {
  const known = book.value;
  if (known === null) return null;
  const buys = side.value === 'BUY';
  return withoutOwn(known.levels(outcome.value, buys ? 'asks' : 'bids'), ownOpposing(buys));
});

/** The user's own orders on that side: a sale of UP at p counts like a buy of DOWN at 1 - p. */
function ownOpposing(buys: boolean): Level[] {
  const marketId = market.value?.id;
  const wanted = buys ? 'SELL' : 'BUY';
  return orders.value
    .filter((each) => each.marketId === marketId)
    .map((each) => {
      const isSame = each.outcome === outcome.value;
      const mirrored = each.side === 'BUY' ? 'SELL' : 'BUY';
      return {
        side: isSame ? each.side : mirrored,
        priceTicks: isSame ? each.priceTicks : 1_000 - each.priceTicks,
        lots: each.lots,
      };
    })
    .filter((each) => each.side === wanted);
}

const unsized = computed(() => {
  const timeInForce = isLimit.value ? terms.value : 'IOC';
  return {
    side: side.value,
    limitTicks: isLimit.value ? priceTicks.value : null,
    timeInForce,
    postOnly: timeInForce === 'GTC' && postOnly.value,
  };
});

/** The order in the fields; `null` if they are incomplete. */
export const written = computed<PlannedOrder | null>(() => {
  const budgetMicros = sizeMicros.value;
  const lots = sizeLots.value;
  if (budgetMicros === null && lots === null) return null;
  if (isLimit.value && priceTicks.value === null) return null;
  return { ...unsized.value, budgetMicros, lots };
});

/** The shown market's fee rates. Rules may change between markets and within one. */
export const fees = computed<FeeRates>(() => {
  const { feeRate = null, curveFeeRate = null } = market.value ?? {};
  return { flat: basisPoints(feeRate), curve: basisPoints(curveFeeRate) };
});
const basisPoints = (rate: number | null) => Math.round((rate ?? 0) * 10_000);

/** The order that the first of two clicks confirmed. */
interface Asked {
  order: PlannedOrder;
  plan: Plan | null;
  written: PlannedOrder | null;
  tolerance: string;
  outcome: OutcomeName;
  marketId: string | undefined;
}

export const firstClick = signal<Asked | null>(null);

/** The first click, while the fields are unchanged. */
export const asked = computed(() => {
  const of = firstClick.value;
  const isSame =
    of !== null &&
    of.written === written.value &&
    of.tolerance === tolerance.value &&
    of.outcome === outcome.value &&
    of.marketId === market.value?.id;
  return isSame ? of : null;
});

/**
 * The order to send. A market order also gets a limit. During confirmation, the limit follows
 * better prices and is never worse than at the first click.
 */
export const order = computed<PlannedOrder | null>(() => {
  const bare = written.value;
  // An empty ticket does not depend on the book.
  const levels = bare === null || isLimit.value ? null : opposing.value;
  const first = asked.value?.order;
  if (bare === null || levels === null) return first ?? bare;
  const current = withLimit(bare, levels, Number(tolerance.value));
  return first === undefined ? current : stricter(first, current);
});

function stricter(first: PlannedOrder, current: PlannedOrder): PlannedOrder {
  if (first.limitTicks === null || current.limitTicks === null) return first;
  const pick = first.side === 'BUY' ? Math.min : Math.max;
  return { ...first, limitTicks: pick(first.limitTicks, current.limitTicks) };
}

/** The order's effect on the current book; `null` without an order or a known book. */
export const plan = computed<Plan | null>(() => {
  const sent = order.value;
  const levels = sent === null ? null : opposing.value;
  return sent === null || levels === null ? null : planOrder(sent, levels, fees.value);
});

const needs = (of: Parameters<typeof neededMicros>[0]) =>
  neededMicros(of, best[outcome.value].ask.value, fees.value);

/**
 * The most whole cents that the account can spend and pay the fee; `null` if none. Ten dollars need
 * whole micro-dollars, so a thousandth of them is exactly what a cent needs.
 */
export const mostMicros = computed(() => {
  const centNanos = needs({ ...unsized.value, budgetMicros: 10_000_000, lots: null });
  const cents = Math.floor(((balance.value?.availableMicros ?? 0) * 1_000) / centNanos);
  return cents > 0 ? cents * 10_000 : null;
});

/** Why the account cannot pay for the order, as far as the page knows; empty if it can. */
export const shortage = computed(() => {
  const sent = order.value;
  const money = balance.value;
  if (sent === null || money === null) return '';
  if (sent.side === 'BUY') {
    const needed = needs(sent);
    return needed <= money.availableMicros
      ? ''
      : t(
          'This needs {0} with the fee, but {1} is available.',
          exactDollars(needed),
          exactDollars(money.availableMicros),
        );
  }
  const { freeLots } = held.value[outcome.value];
  return sent.lots! <= freeLots
    ? ''
    : t('You have {0} {1} to sell.', shares(freeLots), outcome.value);
});

export function fillFromLevel(of: OutcomeName, ticks: number): void {
  outcome.value = of;
  isLimit.value = true;
  isOpen.value = true;
  price.value = typedCents(ticks);
}
