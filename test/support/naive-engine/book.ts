/**
 * The naive engine's book: the makers that an order meets, and the effects that the order would
 * have. Nothing here changes state. An order is planned and checked first, then executed step by
 * step (orders.ts).
 */
import { Outcome, SelfTrade, Side } from '../../../engine/interface/domain.js';
import { MAX_ORDER_LOTS, MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { type Dollars, lotsFor, tradeValue, ZERO } from './decimal.js';
import {
  areFamily,
  type NaiveGroup,
  type NaiveMarket,
  type NaiveOrder,
  type NaiveState,
} from './state.js';

/** An order to match. A sell has no budget. */
export interface Taker {
  userId: number;
  side: Side;
  outcome: Outcome;
  budget: Dollars | null;
  sizeLots: number;
  priceTicks: number;
  selfTrade: SelfTrade;
  /** The order's group; 0 if none. */
  groupId: number;
  /** The order's id if it was removed from the book to be placed again. */
  orderId?: number;
}

/**
 * One maker that the order meets. A maker of the same user or family is cancelled (no lots); any
 * other maker trades.
 */
export interface Step {
  maker: NaiveOrder;
  own: boolean;
  lots: number;
  /** The maker's price, converted to the taker's outcome. */
  takerTicks: number;
}

export interface Plan {
  steps: Step[];
  fills: Step[];
  filledLots: number;
  value: Dollars;
  lotsLeft: number;
  budgetLeft: Dollars | null;
  /** Whether the order is complete, or the rest of its budget does not buy a lot. */
  filled: boolean;
  /** Whether another user's order is at an acceptable price. */
  hasMaker: boolean;
  /** Whether the order has traded with the maximum number of makers. */
  exhausted: boolean;
  /** Whether the order met an order of the same user and stops there. */
  stopped: boolean;
  /** Whether the order tripped its own group and stops there. */
  tripped: boolean;
  /** Orders that would be cancelled because their groups trip. */
  groupCancels: number;
}

/** Buying UP and selling DOWN are both bids: they raise the price of UP. */
export function isBid(order: { side: Side; outcome: Outcome }): boolean {
  return (order.side === Side.BUY) === (order.outcome === Outcome.UP);
}

export function upTicksOf(outcome: Outcome, priceTicks: number): number {
  return outcome === Outcome.UP ? priceTicks : MICROS_PER_SET - priceTicks;
}

/** Resting orders of one side, best price first; at equal prices, oldest first. */
export function bestFirst(market: NaiveMarket, bids: boolean): NaiveOrder[] {
  const sign = bids ? -1 : 1;
  return market.orders
    .filter((order) => isBid(order) === bids)
    .sort(
      (a, b) => sign * (upTicksOf(a.outcome, a.priceTicks) - upTicksOf(b.outcome, b.priceTicks)),
    );
}

function acceptable(market: NaiveMarket, taker: Taker): NaiveOrder[] {
  const limit = upTicksOf(taker.outcome, taker.priceTicks);
  const buysUp = isBid(taker);
  return bestFirst(market, !buysUp).filter((maker) => {
    const upTicks = upTicksOf(maker.outcome, maker.priceTicks);
    return buysUp ? upTicks <= limit : upTicks >= limit;
  });
}

/** Visits the makers, best first, until the order is complete or no maker is acceptable. */
export function planOrder(
  state: NaiveState,
  market: NaiveMarket,
  taker: Taker,
  mostFills: number,
): Plan {
  const groups = new FillsOfGroups(state);
  if (taker.orderId !== undefined) groups.gone.add(taker.orderId);
  const plan: Plan = {
    steps: [],
    fills: [],
    filledLots: 0,
    value: ZERO,
    lotsLeft: Math.min(taker.sizeLots, MAX_ORDER_LOTS),
    budgetLeft: taker.budget,
    filled: false,
    hasMaker: false,
    exhausted: false,
    stopped: false,
    tripped: false,
    groupCancels: 0,
  };
  for (const maker of acceptable(market, taker)) {
    if (plan.lotsLeft === 0) break;
    if (groups.hasTripped(maker.groupId)) continue;
    const takerTicks = upTicksOf(taker.outcome, upTicksOf(maker.outcome, maker.priceTicks));
    const affordable =
      plan.budgetLeft === null ? plan.lotsLeft : lotsFor(plan.budgetLeft, takerTicks);
    if (plan.tripped) {
      plan.filled = affordable === 0;
      return plan;
    }
    const own = areFamily(state, maker.userId, taker.userId);
    if (own && taker.selfTrade !== SelfTrade.CANCEL_RESTING) {
      plan.stopped = affordable > 0;
      plan.filled = affordable === 0;
      if (plan.stopped && taker.selfTrade === SelfTrade.CANCEL_BOTH)
        plan.steps.push({ maker, own, lots: 0, takerTicks });
      return plan;
    }
    if (own) {
      // An order that cannot afford a lot does not cancel the user's resting order.
      if (affordable > 0) {
        plan.steps.push({ maker, own, lots: 0, takerTicks });
        groups.gone.add(maker.orderId);
      }
      continue;
    }
    plan.hasMaker = true;
    if (affordable === 0) {
      plan.filled = true;
      return plan;
    }
    if (plan.fills.length + plan.groupCancels >= mostFills) {
      plan.exhausted = true;
      return plan;
    }
    const lots = Math.min(plan.lotsLeft, maker.sizeLots, affordable);
    const step: Step = { maker, own, lots, takerTicks };
    plan.steps.push(step);
    plan.fills.push(step);
    plan.filledLots += lots;
    plan.lotsLeft -= lots;
    plan.value = plan.value.plus(tradeValue(lots, takerTicks));
    if (plan.budgetLeft !== null)
      plan.budgetLeft = plan.budgetLeft.minus(tradeValue(lots, takerTicks));
    if (lots === maker.sizeLots) groups.gone.add(maker.orderId);
    plan.groupCancels += groups.add(maker.groupId, lots) + groups.add(taker.groupId, lots);
    plan.tripped = groups.hasTripped(taker.groupId);
  }
  plan.filled =
    plan.lotsLeft === 0 ||
    (plan.budgetLeft !== null && lotsFor(plan.budgetLeft, taker.priceTicks) === 0);
  return plan;
}

/** Lots by price of UP, best first, as in a view of the book. */
export function depthOf(
  market: NaiveMarket,
  bids: boolean,
): { priceTicks: number; sizeLots: number }[] {
  const levels: { priceTicks: number; sizeLots: number }[] = [];
  for (const order of bestFirst(market, bids)) {
    const priceTicks = upTicksOf(order.outcome, order.priceTicks);
    const level = levels.find((one) => one.priceTicks === priceTicks);
    if (level === undefined) levels.push({ priceTicks, sizeLots: order.sizeLots });
    else level.sizeLots += order.sizeLots;
  }
  return levels;
}

/** The resting orders of a group, oldest first. */
export function ordersIn(state: NaiveState, groupId: number): NaiveOrder[] {
  return state.markets
    .flatMap(({ orders }) => orders.filter((order) => order.groupId === groupId))
    .sort((a, b) => a.restNumber - b.restNumber);
}

/** The group's filled lots in the present window. */
export function filledNow({ nowMs }: NaiveState, group: NaiveGroup): number {
  return nowMs < group.windowEndsAtMs ? group.filledLots : 0;
}

/** Counts the fills of groups by a planned order. */
export class FillsOfGroups {
  /** Orders that the planned order would fill completely. */
  readonly gone = new Set<number>();
  private readonly lots = new Map<NaiveGroup, number>();

  constructor(private readonly state: NaiveState) {}

  hasTripped(groupId: number): boolean {
    const group = this.find(groupId);
    return group !== undefined && (this.lots.get(group) ?? 0) >= group.maxFilledLots;
  }

  /** Adds a fill. Returns how many orders the group would then cancel. */
  add(groupId: number, lots: number): number {
    const group = this.find(groupId);
    if (group === undefined) return 0;
    this.lots.set(group, (this.lots.get(group) ?? filledNow(this.state, group)) + lots);
    if (!this.hasTripped(groupId)) return 0;
    return ordersIn(this.state, groupId).filter(({ orderId }) => !this.gone.has(orderId)).length;
  }

  private find(groupId: number): NaiveGroup | undefined {
    return this.state.groups.find((one) => one.groupId === groupId);
  }
}
