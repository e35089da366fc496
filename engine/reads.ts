/**
 * Queries of the engine's state. They change nothing, so reading an engine never affects its digest
 * or its archive.
 */

import {
  type MarketStatus,
  type Outcome,
  Resolution,
  Side,
  MarketStatus as Status,
  startOfMarketMs,
  WINDOW_MS,
} from './interface/domain.js';
import { MAX_FILLS_PER_ORDER, MICROS_PER_SET } from './interface/limits.js';
import type {
  AccountView,
  DepthLevel,
  DepthView,
  FundsView,
  MarketFundsView,
  MarketView,
  OrderView,
  PositionView,
  QuoteView,
  ReferralView,
  VaultDepositView,
  VaultView,
} from './interface/views.js';
import { walk } from './rules/place-order.js';
import { Taker } from './rules/taker.js';
import type { Ladder } from './state/ladder.js';
import { bookSideOf, kindOf, outcomeOf, ownTicks, sideOf } from './state/orders.js';
import type { State } from './state/state.js';
import { Metric, Period } from './state/user-statistics.js';
import type { VaultDeposit } from './state/vault-deposits.js';

/** Fields as in the commands Buy and Sell; a sell has no budget. */
export interface QuoteRequest {
  marketId: number;
  side: Side;
  outcome: Outcome;
  budgetMicros: number;
  sizeLots: number;
  priceTicks: number;
  /** The user whose own orders are ignored; 0: none. */
  userId: number;
}

export class Reads {
  constructor(protected readonly state: State) {}

  /** The sequence of the last command, 0 before the first. */
  get sequence(): number {
    return this.state.sequence;
  }

  /** The time of the last command. */
  get nowMs(): number {
    return this.state.nowMs;
  }

  get userCount(): number {
    return this.state.users.count;
  }

  /** The id of a user by name, in any case; 0: no such user. */
  findUser(username: string): number {
    return this.state.users.find(username);
  }

  account(userId: number): AccountView | null {
    const { users, ledger, userStatistics } = this.state;
    if (!users.exists(userId)) return null;
    return {
      userId,
      username: users.username(userId),
      createdAtMs: users.createdAtMs.values[userId]!,
      availableMicros: ledger.available.values[userId]!,
      heldMicros: ledger.held.values[userId]!,
      volumeMicros: userStatistics.value(userId, Metric.volume, Period.all),
      realizedProfitMicros: userStatistics.value(userId, Metric.profit, Period.all),
      tradeCount: userStatistics.tradeCount(userId),
      microPoints: userStatistics.value(userId, Metric.points, Period.all),
      partner: users.partners.nameOf(users.partner.values[userId]!),
    };
  }

  /** The number that a leaderboard ranks the user by; null if the user has none in the period. */
  standing(userId: number, metric: Metric, period: Period): number | null {
    const { users, userStatistics } = this.state;
    if (!users.exists(userId) || !userStatistics.isListed(userId, period)) return null;
    return userStatistics.value(userId, metric, period);
  }

  credential(userId: number): string | null {
    return this.state.users.exists(userId) ? this.state.users.credential(userId) : null;
  }

  /** 0: no such user. */
  credentialVersion(userId: number): number {
    return this.state.users.exists(userId) ? this.state.users.credentialVersion.values[userId]! : 0;
  }

  referral(userId: number): ReferralView | null {
    const { users } = this.state;
    if (!users.exists(userId)) return null;
    return {
      userId,
      code: users.codes.of(userId),
      referredUsers: users.referredUsers.values[userId]!,
      earnedMicros: users.referralEarned.values[userId]!,
      pendingMicros: users.pendingReferralMicros(userId),
      referrerId: users.referrer.values[userId]!,
    };
  }

  /** The name of a partner by its number in events; null: none. */
  partnerName(partner: number): string | null {
    return this.state.users.partners.nameOf(partner);
  }

  get assetCount(): number {
    return this.state.prices.assetCount;
  }

  assetSymbol(asset: number): string {
    return this.state.prices.symbol(asset);
  }

  /** -1: no such asset. */
  findAsset(symbol: string): number {
    return this.state.prices.find(symbol);
  }

  /** The last observed price; null: none yet. */
  assetPriceMicros(asset: number): number | null {
    return this.state.prices.last(asset);
  }

  /** When that price was observed; null: none yet. */
  assetPriceObservedAtMs(asset: number): number | null {
    return this.state.prices.lastObserved(asset);
  }

  /** All markets that the engine knows, oldest window first, then by asset. */
  marketIds(): number[] {
    return this.state.markets.ids();
  }

  /** The active market of an asset, 0: none. */
  activeMarket(asset: number): number {
    const slot = this.state.schedule.assets[asset]?.activeSlot ?? 0;
    return slot === 0 ? 0 : this.state.markets.id.values[slot]!;
  }

  market(marketId: number): MarketView | null {
    const { markets } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0) return null;
    const startsAtMs = startOfMarketMs(marketId);
    const resolution = markets.resolution.values[slot]! as Resolution;
    const isPriced = resolution === Resolution.UP || resolution === Resolution.DOWN;
    const isActive = markets.status.values[slot] === Status.ACTIVE;
    const bestBid = isActive ? markets.book(slot)[0].best() : 0;
    const bestAsk = isActive ? markets.book(slot)[1].best() : 0;
    return {
      marketId,
      asset: markets.asset(slot),
      status: markets.status.values[slot]! as MarketStatus,
      resolution,
      startsAtMs,
      endsAtMs: startsAtMs + WINDOW_MS,
      startPriceMicros: markets.startPriceMicros.values[slot]!,
      endPriceMicros: isPriced ? markets.endPriceMicros.values[slot]! : null,
      volumeMicros: markets.volumeMicros.values[slot]!,
      openInterestLots: markets.setLots.values[slot]!,
      bestBidTicks: bestBid === 0 ? null : bestBid,
      bestAskTicks: bestAsk === 0 ? null : MICROS_PER_SET - bestAsk,
      lastTradeTicks: markets.lastTradeTicks.values[slot] || null,
    };
  }

  /** Up to `levels` price levels per side; both sides are empty once the market has ended. */
  depth(marketId: number, levels: number): DepthView | null {
    const { markets } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0) return null;
    if (markets.status.values[slot] !== Status.ACTIVE) return { bids: [], asks: [] };
    const book = markets.book(slot);
    const asks = levelsOf(book[1], levels);
    for (const ask of asks) ask.priceTicks = MICROS_PER_SET - ask.priceTicks;
    return { bids: levelsOf(book[0], levels), asks };
  }

  /** Lots resting at a price of UP, as bids (BUY) or asks (SELL); 0 if the market is not active. */
  levelLots(marketId: number, side: Side, upTicks: number): number {
    const { markets } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0 || markets.status.values[slot] !== Status.ACTIVE) return 0;
    const book = markets.book(slot);
    return side === Side.BUY
      ? book[0].lots.values[upTicks]!
      : book[1].lots.values[MICROS_PER_SET - upTicks]!;
  }

  /** The effect that an order would have now; null if the market is unknown or not active. */
  quote(request: QuoteRequest): QuoteView | null {
    const { markets } = this.state;
    const slot = markets.find(request.marketId);
    if (slot === 0 || markets.status.values[slot] !== Status.ACTIVE) return null;
    const taker = new Taker();
    taker.userId = request.userId;
    taker.slot = slot;
    taker.side = request.side;
    taker.kind = kindOf(request.side, request.outcome);
    taker.bookSide = bookSideOf(taker.kind);
    taker.priceTicks = request.priceTicks;
    taker.level = ownTicks(taker.kind, request.priceTicks);
    taker.budgetLeft = request.side === Side.BUY ? request.budgetMicros : 0;
    taker.lotsLeft = request.sizeLots;
    const nextMakerLevel = walk(this.state, taker, MAX_FILLS_PER_ORDER);
    return {
      filledLots: taker.filledLots,
      valueMicros: taker.valueMicros,
      feeMicros: taker.orderFeeMicros(nextMakerLevel),
      unspentMicros: taker.budgetLeft,
      worstTicks: taker.fillCount === 0 ? null : taker.worstTicks,
      fillCount: taker.fillCount,
    };
  }

  position(userId: number, marketId: number): PositionView | null {
    const { markets, positions } = this.state;
    const row = positions.find(userId, markets.find(marketId));
    return row === 0 ? null : this.positionAt(row);
  }

  /** Positions with shares, oldest first. */
  positions(userId: number): PositionView[] {
    const { users, positions } = this.state;
    const views: PositionView[] = [];
    if (!users.exists(userId)) return views;
    for (let row = positions.firstOfUser(userId); row !== 0; row = positions.nextOfUser(row)) {
      const view = this.positionAt(row);
      if (view.upLots + view.downLots > 0) views.push(view);
    }
    return views;
  }

  /** Resting orders, oldest first. */
  orders(userId: number): OrderView[] {
    const { users, orders, markets } = this.state;
    const views: OrderView[] = [];
    if (!users.exists(userId)) return views;
    for (let row = orders.firstOfUser(userId); row !== 0; row = orders.nextOfUser(row)) {
      const kind = orders.kind.values[row]!;
      views.push({
        orderId: orders.id.values[row]!,
        marketId: markets.id.values[orders.slot.values[row]!]!,
        userId,
        side: sideOf(kind),
        outcome: outcomeOf(kind),
        priceTicks: ownTicks(kind, orders.level.values[row]!),
        sizeLots: orders.lots.values[row]!,
        placedAtMs: orders.placedAtMs.values[row]!,
      });
    }
    return views;
  }

  vault(): VaultView {
    const { ledger, vault } = this.state;
    return {
      stakedMicros: ledger.staked.value,
      depositCount: vault.deposits.liveCount,
      yieldPaidMicros: vault.yieldPaidMicros,
      yieldDueMicros: ledger.yieldDue.value,
    };
  }

  /** Fees shared with vault deposits by the known markets that ended after `sinceMs`. */
  vaultShareMicros(sinceMs: number): number {
    const { markets } = this.state;
    let sharedMicros = 0;
    for (const marketId of markets.ids()) {
      const endsAtMs = startOfMarketMs(marketId) + WINDOW_MS;
      if (endsAtMs > sinceMs) sharedMicros += markets.vaultMicros.values[markets.find(marketId)]!;
    }
    return sharedMicros;
  }

  vaultDeposit(depositId: number): VaultDepositView | null {
    const deposit = this.state.vault.deposits.find(depositId);
    return deposit === null ? null : this.depositView(deposit);
  }

  /** Open deposits, oldest first. */
  vaultDeposits(userId: number): VaultDepositView[] {
    return this.vaultDepositIds(userId).map((depositId) => this.vaultDeposit(depositId)!);
  }

  /** Ids of the open deposits, oldest first. */
  vaultDepositIds(userId: number): number[] {
    const { users, vault } = this.state;
    return users.exists(userId) ? vault.deposits.idsOf(userId) : [];
  }

  funds(): FundsView {
    const { ledger } = this.state;
    return {
      availableMicros: ledger.totalAvailable.value,
      heldMicros: ledger.totalHeld.value,
      collateralMicros: ledger.totalCollateral.value,
      feeEscrowMicros: ledger.totalEscrow.value,
      stakedMicros: ledger.staked.value,
      yieldDueMicros: ledger.yieldDue.value,
      treasuryMicros: ledger.treasury.value,
      netDepositsMicros: ledger.netDeposits.value,
    };
  }

  marketFunds(marketId: number): MarketFundsView | null {
    const { markets, ledger } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0) return null;
    return {
      collateralMicros: ledger.collateral.values[slot]!,
      feeEscrowMicros: ledger.escrow.values[slot]!,
    };
  }

  /** Money that belongs to the exchange. */
  treasuryMicros(): number {
    return this.state.ledger.treasury.value;
  }

  /** Deposits less withdrawals: the sum of all pots. */
  netDepositsMicros(): number {
    return this.state.ledger.netDeposits.value;
  }

  private depositView(deposit: VaultDeposit): VaultDepositView {
    return {
      depositId: deposit.depositId,
      userId: deposit.userId,
      amountMicros: deposit.amountMicros,
      accruedYieldMicros: this.state.vault.accrued(deposit),
      claimedYieldMicros: deposit.paidYieldMicros,
      closed: deposit.closed,
      stakedAtMs: deposit.stakedAtMs,
      earnsFromMs: deposit.earnsFromMs,
    };
  }

  private positionAt(row: number): PositionView {
    const { positions, markets } = this.state;
    const up = row * 2;
    return {
      marketId: markets.id.values[positions.slot.values[row]!]!,
      upLots: positions.lots.values[up]!,
      downLots: positions.lots.values[up + 1]!,
      upHeldLots: positions.heldLots.values[up]!,
      downHeldLots: positions.heldLots.values[up + 1]!,
      upCostMicros: positions.costMicros.values[up]!,
      downCostMicros: positions.costMicros.values[up + 1]!,
    };
  }
}

function levelsOf(ladder: Ladder, maxCount: number): DepthLevel[] {
  const levels: DepthLevel[] = [];
  for (
    let level = ladder.best();
    level !== 0 && levels.length < maxCount;
    level = ladder.nextBelow(level)
  ) {
    levels.push({ priceTicks: level, sizeLots: ladder.lots.values[level]! });
  }
  return levels;
}
