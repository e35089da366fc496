/**
 * The effect of an order on the current book, by the engine's rules (engine/RULES.md), in the same
 * integers, so that the ticket shows the exact fee before the order is sent. The book may change
 * before the order arrives. Only the receipt is final.
 */
import type { Level } from '../../../client/index.js';

/** Prices are in the traded outcome. */
export interface PlannedOrder {
  side: 'BUY' | 'SELL';
  /** What a buy may spend, without the fee; `null` if the order has `lots`. */
  budgetMicros: number | null;
  lots: number | null;
  limitTicks: number | null;
  timeInForce: 'IOC' | 'FOK' | 'GTC';
  postOnly: boolean;
}

export interface Plan {
  /** The levels that the order would take from, best first, with the lots taken from each. */
  taken: Level[];
  lots: number;
  valueMicros: number;
  feeMicros: number;
  restingLots: number;
  heldMicros: number;
  /** Whether less would trade than was ordered, without a resting remainder. */
  isShort: boolean;
  /** Why the exchange would refuse the order, or `null`. */
  refusal: 'empty' | 'too_small' | 'not_filled' | 'would_trade' | null;
}

/** In basis points: of the amount, and of each share × price × (1 − price). */
export interface FeeRates {
  flat: number;
  curve: number;
}

const BASIS_POINTS = 10_000;
const PRICE_TICKS_MAX = 999;
const ORDER_LOTS_MAX = 10_000_000_000;

/** `levels` is the other side of the book, best first, without the user's own orders. */
export function planOrder(order: PlannedOrder, levels: readonly Level[], rates: FeeRates): Plan {
  const acceptable = levels.filter(({ priceTicks }) => isAcceptable(order, priceTicks));
  const { taken, lots, valueMicros, curveNanos } = take(order, acceptable);
  const feeBase = feeBaseOf(order, acceptable, lots, valueMicros);
  const plan: Plan = {
    taken,
    lots,
    valueMicros,
    feeMicros: feeBase === 0 ? 0 : feeOn(rates, feeBase, curveNanos),
    restingLots: restingLots(order, lots, valueMicros),
    heldMicros: 0,
    isShort: false,
    refusal: null,
  };
  plan.refusal = refusalOf(order, plan, acceptable);
  plan.isShort = plan.restingLots === 0 && !isFilled(order, plan, acceptable);
  if (order.side === 'BUY') plan.heldMicros = plan.restingLots * (order.limitTicks ?? 0);
  return plan;
}

function isAcceptable({ side, limitTicks }: PlannedOrder, priceTicks: number): boolean {
  if (limitTicks === null) return true;
  return side === 'BUY' ? priceTicks <= limitTicks : priceTicks >= limitTicks;
}

function take(order: PlannedOrder, acceptable: readonly Level[]) {
  const taken: Level[] = [];
  let lotsLeft = order.lots ?? ORDER_LOTS_MAX;
  let moneyLeft = order.budgetMicros;
  let lots = 0;
  let valueMicros = 0;
  let curveNanos = 0;
  for (const level of acceptable) {
    const affordable = moneyLeft === null ? lotsLeft : Math.floor(moneyLeft / level.priceTicks);
    const part = Math.min(lotsLeft, level.lots, affordable);
    if (part === 0) break;
    taken.push({ priceTicks: level.priceTicks, lots: part });
    lots += part;
    lotsLeft -= part;
    valueMicros += part * level.priceTicks;
    curveNanos += part * level.priceTicks * (1_000 - level.priceTicks);
    if (moneyLeft !== null) moneyLeft -= part * level.priceTicks;
  }
  return { taken, lots, valueMicros, curveNanos };
}

/** A budget is used up when the next lot costs more than the remainder. */
function isUsedUp(
  { budgetMicros, limitTicks }: PlannedOrder,
  acceptable: readonly Level[],
  lots: number,
  valueMicros: number,
): boolean {
  if (budgetMicros === null || lots === 0 || lots === ORDER_LOTS_MAX) return false;
  let passed = lots;
  const next = acceptable.find((level) => {
    passed -= level.lots;
    return passed < 0;
  });
  const nextTicks = next?.priceTicks ?? limitTicks ?? PRICE_TICKS_MAX;
  return budgetMicros - valueMicros < nextTicks;
}

function feeBaseOf(
  order: PlannedOrder,
  acceptable: readonly Level[],
  lots: number,
  valueMicros: number,
): number {
  if (order.side === 'SELL') return 0;
  return isUsedUp(order, acceptable, lots, valueMicros) ? order.budgetMicros! : valueMicros;
}

/**
 * Rounded up. `curveNanos`: Σ value × (1 − price), in nano-dollars. Amounts are at most a million
 * dollars, so the products are below 2^53.
 */
function feeOn({ flat, curve }: FeeRates, micros: number, curveNanos: number): number {
  return Math.ceil((micros * flat + Math.ceil(curveNanos / 1_000) * curve) / BASIS_POINTS);
}

function restingLots(order: PlannedOrder, lots: number, valueMicros: number): number {
  const { timeInForce, limitTicks, budgetMicros } = order;
  if (timeInForce !== 'GTC' || limitTicks === null) return 0;
  if (budgetMicros === null) return order.lots! - lots;
  return Math.floor((budgetMicros - valueMicros) / limitTicks);
}

function refusalOf(
  order: PlannedOrder,
  { lots, restingLots: resting, valueMicros }: Plan,
  acceptable: readonly Level[],
): Plan['refusal'] {
  if (order.postOnly && acceptable.length > 0) return 'would_trade';
  if (lots === 0 && resting === 0)
    return acceptable.length > 0 || order.timeInForce === 'GTC' ? 'too_small' : 'empty';
  if (order.timeInForce === 'FOK' && !isFilled(order, { lots, valueMicros }, acceptable))
    return 'not_filled';
  return null;
}

function isFilled(
  order: PlannedOrder,
  { lots, valueMicros }: Pick<Plan, 'lots' | 'valueMicros'>,
  acceptable: readonly Level[],
): boolean {
  return order.lots === null ? isUsedUp(order, acceptable, lots, valueMicros) : lots === order.lots;
}

/**
 * The balance that the exchange requires for a buy: the most it could cost. `bestTicks` is the best
 * offer of any user, the buyer included.
 */
export function neededMicros(
  order: Omit<PlannedOrder, 'side' | 'timeInForce'>,
  bestTicks: number | null,
  rates: FeeRates,
): number {
  const limitTicks = order.limitTicks ?? PRICE_TICKS_MAX;
  const mostMicros = order.budgetMicros ?? order.lots! * limitTicks;
  const leastTicks = Math.min(bestTicks ?? limitTicks, limitTicks);
  return (
    mostMicros + (order.postOnly ? 0 : feeOn(rates, mostMicros, mostMicros * (1_000 - leastTicks)))
  );
}

/** Sets a market order's limit: the worst price it would meet now, plus a tolerance. */
export function withLimit(
  order: PlannedOrder,
  levels: readonly Level[],
  toleranceTicks: number,
): PlannedOrder {
  const worst = take(order, levels).taken.at(-1);
  if (worst === undefined) return order;
  const limitTicks =
    order.side === 'BUY'
      ? Math.min(worst.priceTicks + toleranceTicks, PRICE_TICKS_MAX)
      : Math.max(worst.priceTicks - toleranceTicks, 1);
  return { ...order, limitTicks };
}

/** Dollars per share, to the nearest micro-dollar; `null` if nothing trades. */
export function averageMicros({ lots, valueMicros }: Pick<Plan, 'lots' | 'valueMicros'>) {
  if (lots === 0) return null;
  const divisor = BigInt(lots);
  return Number((BigInt(valueMicros) * 2_000n + divisor) / (divisor * 2n));
}

/** A new order cancels the user's own orders instead of trading with them. */
export function withoutOwn(levels: readonly Level[], own: readonly Level[]): Level[] {
  const ownLots = new Map<number, number>();
  for (const { priceTicks, lots } of own)
    ownLots.set(priceTicks, (ownLots.get(priceTicks) ?? 0) + lots);
  return levels
    .map(({ priceTicks, lots }) => ({ priceTicks, lots: lots - (ownLots.get(priceTicks) ?? 0) }))
    .filter(({ lots }) => lots > 0);
}
