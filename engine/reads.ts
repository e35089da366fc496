/** Queries of the engine's state. Invariant: no query affects the digest or the archive. */

import {
  MarketStatus,
  Outcome,
  Privacy,
  Resolution,
  type SelfTrade,
  Side,
  startOfMarketMs,
  TokenState,
  WINDOW_MS,
} from './interface/domain.js';
import {
  type LimitName,
  MAX_DEPOSITED_MICROS,
  MAX_FILLS_PER_ORDER,
  MAX_GRANTED_MICROS,
  MAX_PARTNERS,
  MAX_PASSES_PER_COMMAND,
  MAX_QUEUE_ROWS,
  MAX_TIME_MS,
  MAX_TRANSFERS,
  MAX_USERS,
  MICROS_PER_SET,
} from './interface/limits.js';
import { REFERENCE_WINDOW_MS } from './interface/parameters.js';
import type { Rules } from './interface/rule-sets.js';
import type {
  AccessTokenView,
  AccountView,
  DepthLevel,
  DepthView,
  FundsView,
  HeldPriceView,
  MarketFundsView,
  MarketView,
  OperatorActionView,
  OrderGroupView,
  OrderView,
  PositionView,
  QuoteView,
  ReferralView,
  VaultDepositView,
  VaultView,
} from './interface/views.js';
import { nextMarkets } from './rules/markets/market-life.js';
import { orderNamed } from './rules/orders/find-order.js';
import { walk } from './rules/orders/place-order.js';
import { placedAtMs } from './rules/orders/rest-order.js';
import { Taker } from './rules/orders/taker.js';
import { Pool } from './state/access/room.js';
import { Metric, Period } from './state/accounts.js';
import { Pot } from './state/ledger.js';
import { type Levels, levelRow } from './state/levels.js';
import { bookSideOf, kindOf, outcomeOf, priceTicksOf, sideOf } from './state/orders.js';
import type { State } from './state/state.js';

/** An order whose effect is asked for: the fields of Buy or Sell; a sell has no budget. */
export interface QuoteRequest {
  marketId: number;
  side: Side;
  outcome: Outcome;
  budgetMicros: number;
  sizeLots: number;
  priceTicks: number;
  /** Orders of this user's family are ignored; 0 if none. */
  userId: number;
}

const POOLS_OF_LIMITS: readonly [LimitName, Pool][] = [
  ['openOrders', Pool.orders],
  ['positions', Pool.positions],
  ['vaultDeposits', Pool.vaultDeposits],
  ['tokens', Pool.tokens],
  ['referralCodes', Pool.referralCodes],
  ['orderGroups', Pool.orderGroups],
  ['subAccounts', Pool.subAccounts],
];

interface OwnBids {
  userId: number;
  sequence: number;
  lots: Map<number, Map<number, number>>;
}

export class Reads {
  private ownBids: OwnBids = { userId: 0, sequence: -1, lots: new Map() };

  constructor(protected readonly state: State) {}

  /** The sequence of the last command; 0 before the first. */
  get sequence(): number {
    return this.state.sequence;
  }

  get nowMs(): number {
    return this.state.nowMs;
  }

  get userCount(): number {
    return this.state.users.count;
  }

  /** The id of a user by name, in any case; 0 if there is no such user. */
  findUser(username: string): number {
    return this.state.users.find(username);
  }

  /** The pauses of everything and of assets. Excludes those of single markets. */
  pauses(): { everything: boolean; assets: number[] } {
    return this.state.pauses.view();
  }

  /** The frozen users, by id. Scans every account. */
  frozenUsers(): number[] {
    const frozen: number[] = [];
    for (let userId = 1; userId <= this.userCount; userId++)
      if (this.state.accounts.isFrozen(userId)) frozen.push(userId);
    return frozen;
  }

  /** The rate tiers other than 1, by user. Sub-accounts have their parent's. */
  rateTiers(): [userId: number, tier: number][] {
    return this.state.rateTiers.view();
  }

  account(userId: number): AccountView | null {
    const { users, ledger, accounts } = this.state;
    if (!users.exists(userId)) return null;
    return {
      userId,
      username: users.username(userId),
      createdAtMs: users.createdAtMs(userId),
      availableMicros: ledger.available(userId),
      heldMicros: ledger.held(userId),
      volumeMicros: accounts.value(userId, Metric.volume, Period.all),
      realizedProfitMicros: accounts.value(userId, Metric.profit, Period.all),
      tradeCount: accounts.tradeCount(userId),
      microPoints: accounts.value(userId, Metric.points, Period.all),
      partner: users.partners.nameOf(users.partner(userId)),
      parentId: users.parent(userId),
      frozen: accounts.isFrozen(userId),
      privacy: users.privacy(userId) as Privacy,
      autoClaim: users.autoClaim(userId) === 1,
      rateTier: this.state.rateTiers.of(this.payer(userId)),
    };
  }

  /** The parent of a sub-account; 0 if the user is not a sub-account, or does not exist. */
  parent(userId: number): number {
    return this.state.users.exists(userId) ? this.state.users.parent(userId) : 0;
  }

  /** The user whose limits apply: a sub-account's parent, otherwise the user. */
  payer(userId: number): number {
    return this.parent(userId) || userId;
  }

  subAccounts(userId: number): number[] {
    return this.state.users.exists(userId) ? this.state.users.subAccounts(userId) : [];
  }

  tradeCount(userId: number): number {
    return this.state.accounts.tradeCount(userId);
  }

  /** The user's money that is not held; the user exists. */
  availableMicros(userId: number): number {
    return this.state.ledger.available(userId);
  }

  heldMicros(userId: number): number {
    return this.state.ledger.held(userId);
  }

  /**
   * The number that a leaderboard ranks the user by; null if the user has none in the period, is
   * private, or is the exchange itself.
   */
  standing(userId: number, metric: Metric, period: Period): number | null {
    const { users, accounts } = this.state;
    if (!users.exists(userId) || !accounts.isListed(userId, period)) return null;
    if (users.isOfExchange(userId)) return null;
    const privacy = users.privacy(userId);
    if (privacy === Privacy.PRIVATE) return null;
    const isLate = privacy === Privacy.LISTED;
    const value = isLate
      ? accounts.valueBeforeToday(userId, metric, period)
      : accounts.value(userId, metric, period);
    // A profit of 0 is ranked, except a LISTED user's: it would reveal that they traded today.
    return value === 0 && (isLate || metric !== Metric.profit) ? null : value;
  }

  credential(userId: number): string | null {
    return this.state.users.exists(userId) ? this.state.users.credential(userId) : null;
  }

  /** The version of the user's credential; 0 if there is no such user. */
  credentialVersion(userId: number): number {
    return this.state.users.exists(userId) ? this.state.users.credentialVersion(userId) : 0;
  }

  /** The token; null if it never existed, or is forgotten. */
  token(tokenId: number): AccessTokenView | null {
    const row = this.state.tokens.find(tokenId);
    return row === 0 ? null : this.state.tokens.view(row);
  }

  /** Whether the account has paid a dollar of fees that earn points; otherwise it is a newcomer. */
  isEstablished(userId: number): boolean {
    return this.state.accounts.isEstablished(userId);
  }

  operatorActions(): OperatorActionView[] {
    return this.state.actions.newestFirst();
  }

  /** Why an operator declared the market VOID; null if no remembered action declared it. */
  voidReason(marketId: number): string | null {
    return this.state.actions.voidReason(marketId);
  }

  rules(): Rules {
    return this.state.rules.view();
  }

  /** When the user's resting orders are cancelled; null if nothing is planned. */
  cancelAtMs(userId: number): number | null {
    const { users, timers } = this.state;
    return users.exists(userId) ? timers.atMs(userId) || null : null;
  }

  /** Allocates nothing, because every request with a token calls it. */
  tokenState(tokenId: number): TokenState {
    const { tokens } = this.state;
    const row = tokens.find(tokenId);
    if (row === 0) return TokenState.REVOKED;
    return tokens.isExpired(row) ? TokenState.EXPIRED : TokenState.VALID;
  }

  /** The user's tokens, oldest first, including expired ones that are still known. */
  tokens(userId: number): AccessTokenView[] {
    return this.state.users.exists(userId) ? this.state.tokens.viewsOf(userId) : [];
  }

  referral(userId: number): ReferralView | null {
    const { users, accounts } = this.state;
    if (!users.exists(userId)) return null;
    return {
      userId,
      code: users.codes.of(userId),
      referredUsers: users.referredUsers(userId),
      earnedMicros: users.referralEarned(userId),
      pendingMicros: users.pendingReferralMicros(userId),
      referrerId: accounts.referrer(userId),
    };
  }

  /** The partner's transfer that a command made; null if it made none. */
  transferMadeAt(sequence: number): { partner: string; reference: string } | null {
    return this.state.transfers.madeAt(sequence);
  }

  /** The name of a partner by its number in events; null if none. */
  partnerName(partner: number): string | null {
    return this.state.users.partners.nameOf(partner);
  }

  get assetCount(): number {
    return this.state.prices.assetCount;
  }

  assetSymbol(asset: number): string {
    return this.state.prices.symbol(asset);
  }

  /** The number of an asset; -1 if there is no such asset. */
  findAsset(symbol: string): number {
    return this.state.prices.find(symbol);
  }

  /** The last observed price; null if none yet. */
  assetPriceMicros(asset: number): number | null {
    return this.state.prices.last(asset);
  }

  assetPriceObservedAtMs(asset: number): number | null {
    return this.state.prices.lastObserved(asset);
  }

  /**
   * Changes with each price of the asset. Not part of the state: the count may differ between
   * processes.
   */
  pricesInserted(asset: number): number {
    return this.state.prices.insertedCount(asset);
  }

  /**
   * A sample of the last minutes' prices, at least `everyMs` apart, from the oldest: pairs of
   * observedAtMs and priceMicros.
   */
  sampledPrices(asset: number, everyMs: number): number[] {
    return this.state.prices.sampled(asset, everyMs);
  }

  /**
   * The greatest client sequence executed for a token (0: the password); -1 if there is no such
   * token.
   */
  clientSequence(userId: number, tokenId: number): number {
    return this.state.users.exists(userId) ? this.state.clientSequences.last(userId, tokenId) : -1;
  }

  /** The price of an asset that the guard holds back; null if none is, or `asset` is -1. */
  heldPrice(asset: number): HeldPriceView | null {
    if (asset < 0) return null;
    const { heldMicros: priceMicros, heldSinceMs: sinceMs } = this.state.prices.guard(asset);
    return priceMicros === 0 ? null : { priceMicros, sinceMs };
  }

  /** The sources of the last prices. A single feed has no source name. */
  priceSources(): string[] {
    return this.state.priceSources.names();
  }

  /** All markets that the engine knows, oldest window first, then by asset. */
  marketIds(): number[] {
    return this.state.markets.ids();
  }

  /** The asset's active market; 0 if there is none. */
  activeMarket(asset: number): number {
    const slot = this.state.schedule.assets[asset]!.activeSlot;
    return slot === 0 ? 0 : this.state.markets.id(slot);
  }

  upcomingMarkets(asset: number): number[] {
    const isUpcoming = (marketId: number) =>
      this.market(marketId)?.status === MarketStatus.UPCOMING;
    return nextMarkets(this.state, asset).filter(isUpcoming);
  }

  listsAhead(asset: number): boolean {
    return this.state.schedule.assets[asset]!.listsAhead === 1;
  }

  hasMarket(marketId: number): boolean {
    return this.state.markets.find(marketId) !== 0;
  }

  market(marketId: number): MarketView | null {
    const { markets, levels, schedule } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0) return null;
    const asset = markets.asset(slot);
    const startsAtMs = startOfMarketMs(marketId);
    const resolution = markets.resolution(slot) as Resolution;
    const isPriced = resolution === Resolution.UP || resolution === Resolution.DOWN;
    const status = markets.status(slot) as MarketStatus;
    const isActive = status === MarketStatus.ACTIVE;
    const takesOrders = markets.takesOrders(slot);
    const bestBid = takesOrders ? levels.best(markets.ladder(slot, 0)) : 0;
    const bestAsk = takesOrders ? levels.best(markets.ladder(slot, 1)) : 0;
    return {
      marketId,
      asset,
      status,
      resolution,
      startsAtMs,
      endsAtMs: startsAtMs + WINDOW_MS,
      startPriceMicros: markets.startPriceMicros(slot) || null,
      startPriceFinal: status !== MarketStatus.UPCOMING && !schedule.isStartPriceOpen(asset, slot),
      endPriceMicros: isPriced ? markets.endPriceMicros(slot) : null,
      resolvedAtMs: resolution === Resolution.NONE ? null : markets.resolvedAtMs(slot),
      averageSoFarMicros: isActive ? this.averageSoFarMicros(slot, startsAtMs + WINDOW_MS) : null,
      paused: takesOrders && markets.pausedBy(slot) !== 0,
      feeBasisPoints: takesOrders ? this.state.rules.takerFeeBasisPoints : null,
      curveFeeBasisPoints: takesOrders ? this.state.rules.curveFeeBasisPoints : null,
      volumeMicros: markets.volumeMicros(slot),
      openInterestLots: markets.setLots(slot),
      bestBidTicks: bestBid === 0 ? null : bestBid,
      bestAskTicks: bestAsk === 0 ? null : MICROS_PER_SET - bestAsk,
      lastTradeTicks: markets.lastTradeTicks(slot) || null,
    };
  }

  private averageSoFarMicros(slot: number, endsAtMs: number): number | null {
    const { markets, prices, nowMs } = this.state;
    if (nowMs <= endsAtMs - REFERENCE_WINDOW_MS) return null;
    return prices.averageSoFar(markets.asset(slot), endsAtMs, nowMs);
  }

  /** Up to `levels` price levels per side; both sides are empty once the market has ended. */
  depth(marketId: number, levels: number): DepthView | null {
    const { markets } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0) return null;
    if (!markets.takesOrders(slot)) return { bids: [], asks: [] };
    const asks = levelsOf(this.state.levels, markets.ladder(slot, 1), levels);
    for (const ask of asks) ask.priceTicks = MICROS_PER_SET - ask.priceTicks;
    return { bids: levelsOf(this.state.levels, markets.ladder(slot, 0), levels), asks };
  }

  /** Lots resting at a price of UP, as bids (BUY) or asks (SELL); 0 if the market has ended. */
  levelLots(marketId: number, side: Side, upTicks: number): number {
    const { markets, levels } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0 || !markets.takesOrders(slot)) return 0;
    const level = side === Side.BUY ? upTicks : MICROS_PER_SET - upTicks;
    return levels.lots(levelRow(markets.ladder(slot, side === Side.BUY ? 0 : 1), level));
  }

  /** The effect that an order would have now; null if the market is unknown or has ended. */
  quote(request: QuoteRequest): QuoteView | null {
    const { markets } = this.state;
    const slot = markets.find(request.marketId);
    if (slot === 0 || !markets.takesOrders(slot)) return null;
    const taker = new Taker();
    taker.userId = request.userId;
    taker.family = this.state.accounts.family(request.userId);
    taker.slot = slot;
    taker.side = request.side;
    taker.kind = kindOf(request.side, request.outcome);
    taker.makerLadder = markets.ladder(slot, bookSideOf(taker.kind) === 0 ? 1 : 0);
    taker.priceTicks = request.priceTicks;
    taker.level = priceTicksOf(taker.kind, request.priceTicks);
    taker.budgetLeft = request.side === Side.BUY ? request.budgetMicros : 0;
    taker.lotsLeft = request.sizeLots;
    this.state.passesLeft = MAX_PASSES_PER_COMMAND;
    this.state.makersSeen = 0;
    const nextMakerLevel = walk(this.state, taker, MAX_FILLS_PER_ORDER);
    return {
      filledLots: taker.filledLots,
      valueMicros: taker.valueMicros,
      feeMicros: taker.orderFeeMicros(nextMakerLevel, this.state.rules),
      unspentMicros: taker.budgetLeft,
      worstTicks: taker.fillCount === 0 ? null : taker.worstTicks,
      fillCount: taker.fillCount,
    };
  }

  /** Resting orders that the last command, or a quote or `lotsAhead` since, only examined. */
  get makersSeen(): number {
    return this.state.makersSeen;
  }

  position(userId: number, marketId: number): PositionView | null {
    const { markets, positions } = this.state;
    const row = positions.find(userId, markets.find(marketId));
    return row === 0 ? null : this.positionAt(row);
  }

  /**
   * What a sale of `lots` would bring now, by the bids for the outcome. Bids of the family of
   * `ownId` (0: none) do not count. null: no bids.
   */
  proceedsMicros(marketId: number, outcome: Outcome, lots: number, ownId: number): number | null {
    const { markets, levels } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0 || !markets.takesOrders(slot)) return null;
    // A bid for DOWN rests as an ask of UP, at a level equal to its own price.
    const side = outcome === Outcome.UP ? 0 : 1;
    const ladder = markets.ladder(slot, side);
    let level = levels.best(ladder);
    if (level === 0) return null;
    const own = this.ownBidLots(ownId).get(slot * 2 + side);
    let leftLots = lots;
    let micros = 0;
    for (; level !== 0 && leftLots > 0; level = levels.nextBelow(ladder, level)) {
      const bidLots = levels.lots(levelRow(ladder, level)) - (own?.get(level) ?? 0);
      const soldLots = Math.min(leftLots, bidLots);
      leftLots -= soldLots;
      micros += soldLots * level;
    }
    return micros === 0 ? null : micros;
  }

  /**
   * The family's bid lots by market, side and level. Cached, because each position of the same user
   * would otherwise scan all of the family's orders.
   */
  private ownBidLots(userId: number): OwnBids['lots'] {
    const { users, orders, accounts, sequence } = this.state;
    if (this.ownBids.userId === userId && this.ownBids.sequence === sequence)
      return this.ownBids.lots;
    const lots: OwnBids['lots'] = new Map();
    this.ownBids = { userId, sequence, lots };
    if (!users.exists(userId)) return lots;
    const parentId = users.parent(userId) || userId;
    for (const ownerId of users.withSubAccounts(parentId))
      for (let row = accounts.firstOrder(ownerId); row !== 0; row = orders.userAfter(row)) {
        const book = orders.slot(row) * 2 + bookSideOf(orders.kind(row));
        const level = orders.level(row);
        const ofBook = lots.get(book) ?? new Map<number, number>();
        lots.set(book, ofBook);
        ofBook.set(level, (ofBook.get(level) ?? 0) + orders.lots(row));
      }
    return lots;
  }

  /** Positions with shares or with fees to refund; oldest first. */
  positions(userId: number): PositionView[] {
    const { users, positions, accounts, markets } = this.state;
    const views: PositionView[] = [];
    if (!users.exists(userId)) return views;
    for (
      let row = accounts.firstPosition(userId);
      row !== 0;
      row = positions.owners.userAfter(row)
    ) {
      const view = this.positionAt(row);
      const isVoid = markets.resolution(positions.owners.slot(row)) === Resolution.VOID;
      if (view.upLots + view.downLots > 0 || (isVoid && view.feesMicros > 0)) views.push(view);
    }
    return views;
  }

  /** The fills in the details of an order, and their fee; `details` 0: none. */
  private fillsIn(details: number) {
    if (details === 0) return { filledLots: 0, valueMicros: 0, feeMicros: 0 };
    const { orderDetails } = this.state;
    return {
      filledLots: orderDetails.filledLots(details),
      valueMicros: orderDetails.valueMicros(details),
      feeMicros: orderDetails.feeMicros(details),
    };
  }

  /** The fills of a resting order. A maker's fills are at its own price. */
  private fillsOf(row: number) {
    const { orders } = this.state;
    const before = this.fillsIn(orders.details(row));
    const filledLots = orders.originalLots(row) - orders.lots(row);
    const restedMicros =
      (filledLots - before.filledLots) * priceTicksOf(orders.kind(row), orders.level(row));
    return { ...before, filledLots, valueMicros: before.valueMicros + restedMicros };
  }

  private expiryOf(row: number): number | null {
    const { orders, orderDetails } = this.state;
    const details = orders.details(row);
    const expiresAtMs = details === 0 ? MAX_TIME_MS : orderDetails.expiresAtMs(details);
    return expiresAtMs === MAX_TIME_MS ? null : expiresAtMs;
  }

  /** The amount for which an order was placed; null if it was not, or was amended since. */
  private amountOf(row: number): number | null {
    const { orders } = this.state;
    const unspent = orders.unspentMicros(row);
    if (unspent < 0) return null;
    const { filledLots, valueMicros } = this.fillsIn(orders.details(row));
    const restedLots = orders.originalLots(row) - filledLots;
    return valueMicros + restedLots * orders.level(row) + unspent;
  }

  /** The amount of an order that the last command placed; 0 if it was for lots. */
  amountPlaced(orderId: number): number {
    const { values, length } = this.state.amounts;
    for (let at = 0; at < length; at += 2) if (values[at] === orderId) return values[at + 1]!;
    return 0;
  }

  orderCount(userId: number): number {
    return this.state.users.exists(userId) ? this.state.accounts.orderCount(userId) : 0;
  }

  /** The id of the last placed order; 0 if none was placed. */
  get lastOrderId(): number {
    return this.state.lastOrderId;
  }

  /** The ids of resting orders, oldest first. */
  orderIds(userId: number): Float64Array {
    const { orders, accounts } = this.state;
    const ids = new Float64Array(this.orderCount(userId));
    let row = ids.length === 0 ? 0 : accounts.firstOrder(userId);
    for (let i = 0; row !== 0; row = orders.userAfter(row)) ids[i++] = orders.id(row);
    return ids.sort();
  }

  rests(orderId: number): boolean {
    return this.state.orders.find(orderId) !== 0;
  }

  /**
   * The fills of an order before it last began to rest, and their fee. The order must rest, or
   * have ended in the last command.
   */
  filledBeforeRest(orderId: number) {
    const { orders, orderDetails } = this.state;
    const row = orders.find(orderId);
    const details = row === 0 ? orderDetails.findEnded(orderId) : orders.details(row);
    return this.fillsIn(details);
  }

  orders(userId: number): OrderView[] {
    return Array.from(this.orderIds(userId), (orderId) => this.order(orderId));
  }

  /** A view of an order, which must rest. */
  order(orderId: number): OrderView {
    const { orders, orderGroups, markets } = this.state;
    const row = orders.find(orderId);
    const kind = orders.kind(row);
    return {
      orderId,
      clientOrderId: orders.nameAt(row),
      marketId: markets.id(orders.slot(row)),
      userId: orders.userId(row),
      side: sideOf(kind),
      outcome: outcomeOf(kind),
      priceTicks: priceTicksOf(kind, orders.level(row)),
      sizeLots: orders.lots(row),
      amountMicros: this.amountOf(row),
      originalLots: orders.originalLots(row),
      ...this.fillsOf(row),
      expiresAtMs: this.expiryOf(row),
      groupId: orders.group(row) === 0 ? 0 : orderGroups.groupId(orders.group(row)),
      postOnly: orders.postOnly(row),
      selfTrade: orders.selfTrade(row) as SelfTrade,
      placedAtMs: placedAtMs(this.state, row),
    };
  }

  /**
   * The lots that trade before each of the orders at its price, by order id; null if that would
   * take more than MAX_QUEUE_ROWS other orders. All must rest.
   */
  lotsAhead(orderIds: Iterable<number>): Map<number, number | null> {
    this.state.makersSeen = 0;
    const lots = new Map<number, number | null>();
    for (const orderId of orderIds) lots.set(orderId, this.lotsAheadOf(orderId));
    return lots;
  }

  /** Looks in both directions from the order, because the nearer end of the queue is enough. */
  private lotsAheadOf(orderId: number): number | null {
    const { state } = this;
    const { orders } = state;
    const row = orders.find(orderId);
    let aheadLots = 0;
    let restLots = state.levels.lots(orders.levelRow(row)) - orders.lots(row);
    let before = orders.before(row);
    let after = orders.after(row);
    while (before !== 0 && after !== 0) {
      if (state.makersSeen >= MAX_QUEUE_ROWS) return null;
      state.makersSeen += 2;
      aheadLots += orders.lots(before);
      restLots -= orders.lots(after);
      before = orders.before(before);
      after = orders.after(after);
    }
    return before === 0 ? aheadLots : restLots;
  }

  orderGroups(userId: number): OrderGroupView[] {
    const { users, orderGroups, nowMs } = this.state;
    return users.exists(userId) ? orderGroups.viewsOf(userId, nowMs) : [];
  }

  /**
   * The client order id of an order that rests or is in an event of the last command; null if it
   * has none.
   */
  clientOrderId(orderId: number): string | null {
    return this.state.orders.nameOf(orderId);
  }

  /** The user's resting or remembered order with this clientOrderId; 0 if none. */
  orderNamed(userId: number, clientOrderId: string): number {
    if (!this.state.hash.hasKey) return 0;
    const { length } = clientOrderId;
    const ints = new Int32Array(1 + Math.ceil(length / 4));
    const bytes = new Uint8Array(ints.buffer);
    for (let i = 0; i < length; i++) bytes[2 + i] = clientOrderId.charCodeAt(i);
    return orderNamed(this.state, userId, ints, 2, length);
  }

  vault(): VaultView {
    const { ledger, vault } = this.state;
    return {
      stakedMicros: ledger.of(Pot.staked),
      depositCount: vault.deposits.liveCount,
      yieldPaidMicros: vault.yieldPaidMicros,
      yieldDueMicros: ledger.of(Pot.yieldDue),
    };
  }

  /** Fees shared with vault deposits by the known markets that ended after `sinceMs`. */
  vaultShareMicros(sinceMs: number): number {
    const { markets } = this.state;
    let sharedMicros = 0;
    for (const marketId of markets.ids()) {
      const endsAtMs = startOfMarketMs(marketId) + WINDOW_MS;
      if (endsAtMs > sinceMs) sharedMicros += markets.vaultMicros(markets.find(marketId));
    }
    return sharedMicros;
  }

  vaultDeposit(depositId: number): VaultDepositView | null {
    const { vault } = this.state;
    const { deposits } = vault;
    const row = deposits.find(depositId);
    if (row === 0) return null;
    return {
      depositId,
      userId: deposits.userId(row),
      amountMicros: deposits.amountMicros(row),
      accruedYieldMicros: vault.accrued(row),
      claimedYieldMicros: deposits.paidYieldMicros(row),
      closed: deposits.closed(row) === 1,
      stakedAtMs: deposits.stakedAtMs(row),
      earnsFromMs: deposits.earnsFromMs(row),
    };
  }

  /** Open deposits, oldest first. */
  vaultDeposits(userId: number): VaultDepositView[] {
    return this.vaultDepositIds(userId).map((depositId) => this.vaultDeposit(depositId)!);
  }

  vaultDepositIds(userId: number): number[] {
    const { users, vault } = this.state;
    return users.exists(userId) ? vault.deposits.idsOf(userId) : [];
  }

  funds(): FundsView {
    const { ledger } = this.state;
    return {
      availableMicros: ledger.of(Pot.available),
      heldMicros: ledger.of(Pot.held),
      collateralMicros: ledger.of(Pot.collateral),
      feeEscrowMicros: ledger.of(Pot.escrow),
      stakedMicros: ledger.of(Pot.staked),
      yieldDueMicros: ledger.of(Pot.yieldDue),
      treasuryMicros: ledger.of(Pot.treasury),
      netDepositsMicros: ledger.of(Pot.netDeposits),
    };
  }

  /** An estimate of the archive's size. It depends on the commands alone. */
  archiveBytes(): number {
    const { users, transfers, room } = this.state;
    return (
      users.count * 450 +
      transfers.count * 100 +
      room.usedOf(Pool.keys) * 20 +
      room.usedOf(Pool.positions) * 80 +
      room.usedOf(Pool.orders) * 100 +
      room.usedOf(Pool.vaultDeposits) * 64
    );
  }

  /** The use and the maximum of each limit that all users share. */
  limitUses(): { limit: LimitName; used: number; maximum: number }[] {
    const { users, transfers, ledger, room } = this.state;
    const deposited = ledger.of(Pot.netDeposits) - ledger.of(Pot.granted);
    const pools = POOLS_OF_LIMITS.map(([limit, pool]) => {
      return { limit, used: room.usedOf(pool), maximum: room.sizeOf(pool) };
    });
    return [
      { limit: 'accounts', used: users.count, maximum: MAX_USERS },
      { limit: 'partners', used: users.partners.count, maximum: MAX_PARTNERS },
      { limit: 'transfers', used: transfers.count, maximum: MAX_TRANSFERS },
      { limit: 'deposits', used: deposited, maximum: MAX_DEPOSITED_MICROS },
      { limit: 'playMoney', used: ledger.of(Pot.granted), maximum: MAX_GRANTED_MICROS },
      ...pools,
    ];
  }

  marketFunds(marketId: number): MarketFundsView | null {
    const { markets } = this.state;
    const slot = markets.find(marketId);
    if (slot === 0) return null;
    return {
      collateralMicros: markets.collateralMicros(slot),
      feeEscrowMicros: markets.escrowMicros(slot),
    };
  }

  private positionAt(row: number): PositionView {
    const { positions, markets } = this.state;
    return {
      marketId: markets.id(positions.owners.slot(row)),
      upLots: positions.lots(row, Outcome.UP),
      downLots: positions.lots(row, Outcome.DOWN),
      upHeldLots: positions.heldLots(row, Outcome.UP),
      downHeldLots: positions.heldLots(row, Outcome.DOWN),
      upCostMicros: positions.costMicros(row, Outcome.UP),
      downCostMicros: positions.costMicros(row, Outcome.DOWN),
      feesMicros: positions.feesMicros(row),
    };
  }
}

function levelsOf(levels: Levels, ladder: number, maxCount: number): DepthLevel[] {
  const found: DepthLevel[] = [];
  let level = levels.best(ladder);
  for (; level !== 0 && found.length < maxCount; level = levels.nextBelow(ladder, level))
    found.push({ priceTicks: level, sizeLots: levels.lots(levelRow(ladder, level)) });
  return found;
}
