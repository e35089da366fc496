/**
 * The naive engine's book: which makers an order meets, and what it would do. Nothing here changes
 * state. An order is planned and checked first, then executed step by step (orders.ts).
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

/** An order that is matched. A sell has no budget. */
export interface Taker {
  userId: number;
  side: Side;
  outcome: Outcome;
  budget: Dollars | null;
  sizeLots: number;
  priceTicks: number;
  selfTrade: SelfTrade;
  /** 0: none. */
  groupId: number;
  /** Of an order that is placed anew, and rests no longer when it is matched. */
  orderId?: number;
}

/**
 * One maker on the order's way: one of the user or its family is cancelled (no lots), another is
 * traded with.
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
  /** Nothing is left of the order, or the rest of the budget does not buy a lot. */
  filled: boolean;
  /** Another user's order is at an acceptable price. */
  hasMaker: boolean;
  /** The order has traded with the maximum of makers. */
  exhausted: boolean;
  /** It met an order of the same user, and ends there. */
  stopped: boolean;
  /** It has tripped its own group, and ends there. */
  tripped: boolean;
  /** Orders that the groups would cancel that it trips. */
  groupCancels: number;
}

/** Buying UP and selling DOWN raise the price of UP: both are bids. */
export function isBid(order: { side: Side; outcome: Outcome }): boolean {
  return (order.side === Side.BUY) === (order.outcome === Outcome.UP);
}

export function upTicksOf(outcome: Outcome, priceTicks: number): number {
  return outcome === Outcome.UP ? priceTicks : MICROS_PER_SET - priceTicks;
}

/** Resting orders of one side, best price first, then in the order in which they came to rest. */
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

/**
 * Walks through the makers, best first, until the order is complete or no acceptable maker is left.
 */
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
      // An order that cannot afford a lot does not cancel the user's own order.
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

/** Lots by price of UP, best first, as in a view of the book's depth. */
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

/** The resting orders of a group, the first that came to rest first. */
export function ordersIn(state: NaiveState, groupId: number): NaiveOrder[] {
  return state.markets
    .flatMap(({ orders }) => orders.filter((order) => order.groupId === groupId))
    .sort((a, b) => a.restNumber - b.restNumber);
}

/** What counts in the window of now. */
export function filledNow({ nowMs }: NaiveState, group: NaiveGroup): number {
  return nowMs < group.windowEndsAtMs ? group.filledLots : 0;
}

/** What an order that is planned would fill of groups. */
export class FillsOfGroups {
  /** Orders that it would fill completely. */
  readonly gone = new Set<number>();
  private readonly lots = new Map<NaiveGroup, number>();

  constructor(private readonly state: NaiveState) {}

  hasTripped(groupId: number): boolean {
    const group = this.find(groupId);
    return group !== undefined && (this.lots.get(group) ?? 0) >= group.maxFilledLots;
  }

  /** Returns how many orders it would cancel. */
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
