/**
 * The naive engine's views of its state, in the shapes of engine/interface/views.ts, so that the
 * whole states of the two engines can be compared.
 */

import {
  MarketStatus,
  type Outcome,
  type Privacy,
  Resolution,
  SelfTrade,
  Side,
} from '../../../engine/interface/domain.js';
import { MAX_FILLS_PER_ORDER, MAX_TIME_MS } from '../../../engine/interface/limits.js';
import type {
  AccountView,
  DepthView,
  MarketView,
  OrderGroupView,
  OrderView,
  PositionView,
  QuoteView,
  ReferralView,
  VaultDepositView,
  VaultView,
} from '../../../engine/interface/views.js';
import { isPaused } from './access/operators.js';
import { referralFields } from './accounts.js';
import { bestFirst, depthOf, planOrder, upTicksOf } from './book.js';
import { type Dollars, dollars, micros, sum } from './decimal.js';
import { feeOfPlan, ordersOf } from './orders.js';
import { AVERAGED_MS, averagePrice } from './prices.js';
import {
  heldLotsOf,
  marketOf,
  type NaiveDeposit,
  type NaiveMarket,
  type NaivePosition,
  type NaiveState,
  takesOrders,
  userOf,
} from './state.js';
import { accruedYield, openDeposits } from './vault.js';

export function accountView(state: NaiveState, userId: number): AccountView | null {
  const user = userOf(state, userId);
  if (user === undefined) return null;
  return {
    userId,
    username: user.username,
    createdAtMs: user.createdAtMs,
    availableMicros: micros(user.available),
    heldMicros: micros(user.held),
    volumeMicros: micros(user.volume),
    realizedProfitMicros: micros(user.realizedProfit),
    tradeCount: user.tradeCount,
    microPoints: user.microPoints,
    partner: user.partner,
    parentId: user.parentId,
    frozen: user.frozen,
    privacy: user.privacy as Privacy,
    autoClaim: user.autoClaim,
    rateTier: (userOf(state, user.parentId) ?? user).rateTier,
  };
}

export function referralView(state: NaiveState, userId: number): ReferralView | null {
  const user = userOf(state, userId);
  if (user === undefined) return null;
  return { ...referralFields(state, user), code: user.referralCodes.at(-1)! };
}

export function marketView(state: NaiveState, marketId: number): MarketView | null {
  const market = marketOf(state, marketId);
  if (market === undefined) return null;
  return {
    marketId,
    asset: market.asset,
    status: market.status,
    resolution: market.resolution,
    startsAtMs: market.startsAtMs,
    endsAtMs: market.endsAtMs,
    startPriceMicros: market.startPrice === null ? null : micros(market.startPrice),
    startPriceFinal: market.status !== MarketStatus.UPCOMING && market.startPriceFixed,
    endPriceMicros: market.endPrice === null ? null : micros(market.endPrice),
    resolvedAtMs: market.status === MarketStatus.RESOLVED ? market.decidedAtMs : null,
    averageSoFarMicros: averageSoFar(state, market),
    paused: isPaused(state, market),
    feeBasisPoints: takesOrders(market) ? state.rules.takerFeeBasisPoints : null,
    curveFeeBasisPoints: takesOrders(market) ? state.rules.curveFeeBasisPoints : null,
    volumeMicros: micros(market.volume),
    openInterestLots: market.setLots,
    bestBidTicks: bestTicks(market, true),
    bestAskTicks: bestTicks(market, false),
    lastTradeTicks: market.lastTradeTicks,
  };
}

/** The average price of the last minute so far; null outside that minute, or without a price. */
function averageSoFar(state: NaiveState, market: NaiveMarket): number | null {
  if (market.status !== MarketStatus.ACTIVE) return null;
  const average = averagePrice(state.assets[market.asset]!, {
    fromMs: market.endsAtMs - AVERAGED_MS,
    toMs: state.nowMs,
  });
  return average === null ? null : micros(average);
}

/** An ended market has no resting orders, even if their cancellation is pending. */
function bestTicks(market: NaiveMarket, bids: boolean): number | null {
  if (!takesOrders(market)) return null;
  const best = bestFirst(market, bids)[0];
  return best === undefined ? null : upTicksOf(best.outcome, best.priceTicks);
}

export function depthView(state: NaiveState, marketId: number, levels: number): DepthView | null {
  const market = marketOf(state, marketId);
  if (market === undefined) return null;
  if (!takesOrders(market)) return { bids: [], asks: [] };
  return {
    bids: depthOf(market, true).slice(0, levels),
    asks: depthOf(market, false).slice(0, levels),
  };
}

export interface QuoteRequest {
  marketId: number;
  side: Side;
  outcome: Outcome;
  budgetMicros: number;
  sizeLots: number;
  priceTicks: number;
  userId: number;
}

export function quoteView(state: NaiveState, request: QuoteRequest): QuoteView | null {
  const market = marketOf(state, request.marketId);
  if (market === undefined) return null;
  const buys = request.side === Side.BUY;
  const budget = buys ? dollars(request.budgetMicros) : null;
  const taker = { ...request, budget, selfTrade: SelfTrade.CANCEL_RESTING, groupId: 0 };
  const plan = planOrder(state, market, taker, MAX_FILLS_PER_ORDER);
  return {
    filledLots: plan.filledLots,
    valueMicros: micros(plan.value),
    feeMicros: micros(feeOfPlan(state, taker, plan)),
    unspentMicros: plan.budgetLeft === null ? 0 : micros(plan.budgetLeft),
    worstTicks: plan.fills.at(-1)?.takerTicks ?? null,
    fillCount: plan.fills.length,
  };
}

/** Positions with lots, or with fees that a VOID market gives back, in order of creation. */
export function positionViews(state: NaiveState, userId: number): PositionView[] {
  return state.markets
    .flatMap((market) => market.positions.map((position) => ({ market, position })))
    .filter(({ market, position: { userId: ownerId, lots, fees } }) => {
      const isRefunded = market.resolution === Resolution.VOID && fees.gt(0);
      return ownerId === userId && (lots[0] + lots[1] > 0 || isRefunded);
    })
    .sort((a, b) => a.position.number - b.position.number)
    .map(({ market, position }) => positionView(market, position));
}

function positionView(market: NaiveMarket, position: NaivePosition): PositionView {
  return {
    marketId: market.marketId,
    upLots: position.lots[0],
    downLots: position.lots[1],
    upHeldLots: heldLotsOf(market, position.userId, 0),
    downHeldLots: heldLotsOf(market, position.userId, 1),
    upCostMicros: micros(position.cost[0]),
    downCostMicros: micros(position.cost[1]),
    feesMicros: micros(position.fees),
  };
}

export function orderViews(state: NaiveState, userId: number): OrderView[] {
  return ordersOf(state, userId).map(({ value, fee, restNumber, ...order }) => ({
    ...order,
    valueMicros: micros(value),
    feeMicros: micros(fee),
    expiresAtMs: order.expiresAtMs === MAX_TIME_MS ? null : order.expiresAtMs,
  }));
}

export function groupViews(state: NaiveState, userId: number): OrderGroupView[] {
  return state.groups
    .filter((group) => group.userId === userId)
    .map((group) => {
      const isOver = state.nowMs >= group.windowEndsAtMs;
      return {
        ...group,
        filledLots: isOver && !group.tripped ? 0 : group.filledLots,
        windowEndsAtMs: isOver ? null : group.windowEndsAtMs,
        orderCount: ordersOf(state, userId).filter(({ groupId }) => groupId === group.groupId)
          .length,
      };
    });
}

export function vaultView(state: NaiveState): VaultView {
  const deposits = openDeposits(state);
  return {
    stakedMicros: micros(sum(deposits.map((deposit) => deposit.amount))),
    depositCount: deposits.length,
    yieldPaidMicros: micros(state.vault.yieldPaid),
    yieldDueMicros: micros(state.vault.yieldDue),
  };
}

export function depositView(state: NaiveState, deposit: NaiveDeposit): VaultDepositView {
  return {
    depositId: deposit.depositId,
    userId: deposit.userId,
    amountMicros: micros(deposit.amount),
    accruedYieldMicros: micros(accruedYield(state, deposit)),
    claimedYieldMicros: micros(deposit.claimedYield),
    closed: deposit.closed,
    stakedAtMs: deposit.stakedAtMs,
    earnsFromMs: deposit.earnsFromMs,
  };
}

/** The total of all money in the exchange. It must equal deposits minus withdrawals. */
export function moneyHeld(state: NaiveState): Dollars {
  return sum([
    ...state.users.flatMap((user) => [user.available, user.held]),
    ...state.markets.flatMap((market) => [market.collateral, market.feeEscrow]),
    ...openDeposits(state).map((deposit) => deposit.amount),
    state.vault.yieldDue,
    state.treasury,
  ]);
}

/** Throws if money or shares were created or lost. */
export function assertConserved(state: NaiveState): void {
  const held = moneyHeld(state);
  if (!held.eq(state.total))
    throw new Error(`the naive engine holds ${held} of ${state.total} dollars`);
  for (const market of state.markets) {
    if (market.status === MarketStatus.RESOLVED) continue;
    for (const outcome of [0, 1] as const) {
      const lots = market.positions.reduce((total, position) => total + position.lots[outcome], 0);
      if (lots * 1000 !== micros(market.collateral)) {
        throw new Error(
          `market ${market.marketId}: ${lots} lots of outcome ${outcome} lack their collateral`,
        );
      }
    }
  }
}
