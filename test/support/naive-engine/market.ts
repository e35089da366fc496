/**
 * A market's life in the naive engine: deadlines, opening, ending, resolving, settling, payouts and
 * claims. Deadlines are found by searching the whole state, and pending work is done immediately.
 */
import type { CommandOf } from '../../../engine/interface/commands.js';
import {
  CancelReason,
  MarketStatus,
  marketIdOf,
  PointsReason,
  Resolution,
  WINDOW_MS,
} from '../../../engine/interface/domain.js';
import { fireTimers, nextTimerMs } from './access/cancel-after.js';
import { expireTokens, nextTokenDueMs } from './access/tokens.js';
import { bestFirst } from './book.js';
import { type Dollars, floorToMicros, micros, sum, tradeValue, ZERO } from './decimal.js';
import { cancelOrder } from './orders.js';
import { referencePrice } from './prices.js';
import {
  type Answer,
  emit,
  marketOf,
  type NaiveMarket,
  type NaiveOrder,
  type NaivePosition,
  type NaiveState,
  ok,
  positionOf,
  reject,
  takesOrders,
  userOf,
} from './state.js';
import { shareWithVault } from './vault.js';

const RESOLVES_AFTER_MS = 2_000;
const VOID_AFTER_MS = 60_000;
const PAYOUT_AFTER_MS = 24 * 3_600_000;
/** A market that opens late has at least this much time left. */
const OPEN_MIN_MS = 60_000;

/** The kinds of deadlines, in the order in which deadlines at the same time are processed. */
const DEADLINES = ['boundary', 'fixOrResolve', 'void', 'payout', 'tokens', 'timers'] as const;

interface Deadline {
  atMs: number;
  kind: (typeof DEADLINES)[number];
  /** The order at equal time and kind: by asset; payouts by resolution. */
  turn: number;
  meet: () => void;
}

function deadlines(state: NaiveState): Deadline[] {
  const all: Deadline[] = state.assets.map((one, asset) => ({
    atMs: one.nextBoundaryMs,
    kind: 'boundary',
    turn: asset,
    meet: () => crossBoundary(state, asset),
  }));
  for (const market of state.markets) {
    const { asset } = market;
    const add = (kind: Deadline['kind'], atMs: number, meet: () => void, turn = asset) =>
      all.push({ atMs, kind, turn, meet });
    const ended = market.status === MarketStatus.ENDED;
    if (!market.startPriceFixed) {
      add('fixOrResolve', market.startsAtMs + RESOLVES_AFTER_MS, () =>
        fixStartPrice(state, market),
      );
    }
    if (ended && !market.resolutionTried) {
      add('fixOrResolve', market.endsAtMs + RESOLVES_AFTER_MS, () => {
        market.resolutionTried = true;
        resolveIfPriced(state, market);
      });
    }
    if (ended) {
      add('void', market.endsAtMs + VOID_AFTER_MS, () =>
        resolve(state, market, Resolution.VOID, null),
      );
    }
    if (market.status === MarketStatus.RESOLVED && !market.payingOut) {
      const payOut = () => {
        market.payingOut = true;
        state.work.push({ kind: 'payOut', marketId: market.marketId });
      };
      add('payout', market.resolvedAtMs + PAYOUT_AFTER_MS, payOut, market.resolutionNumber);
    }
  }
  if (!state.work.some(({ kind }) => kind === 'expireTokens')) {
    const meet = () => void state.work.push({ kind: 'expireTokens', marketId: 0 });
    all.push({ atMs: nextTokenDueMs(state), kind: 'tokens', turn: 0, meet });
  }
  if (!state.work.some(({ kind }) => kind === 'fireTimers')) {
    const meet = () => void state.work.push({ kind: 'fireTimers', marketId: 0 });
    all.push({ atMs: nextTimerMs(state), kind: 'timers', turn: 0, meet });
  }
  // Markets are listed oldest first and the sort is stable, so an ended market resolves before the
  // next one's start price is fixed.
  return all.sort(
    (a, b) =>
      a.atMs - b.atMs || DEADLINES.indexOf(a.kind) - DEADLINES.indexOf(b.kind) || a.turn - b.turn,
  );
}

export function nextDueMs(state: NaiveState): number {
  if (state.work.length > 0) return state.nowMs;
  const dueAtMs = deadlines(state)[0]?.atMs ?? Number.POSITIVE_INFINITY;
  return Math.min(dueAtMs, expiring(state)[0]?.order.expiresAtMs ?? Number.POSITIVE_INFINITY);
}

/** Processes every deadline up to `atMs`, each at its own time, then all pending work. */
export function passTime(state: NaiveState, atMs: number): void {
  state.commandAtMs = atMs;
  for (
    let due = deadlines(state)[0];
    due !== undefined && due.atMs <= atMs;
    due = deadlines(state)[0]
  ) {
    expireBefore(state, due.atMs);
    state.nowMs = due.atMs;
    due.meet();
  }
  state.nowMs = atMs;
  expireBefore(state, atMs + 1);
  for (let work = state.work.shift(); work !== undefined; work = state.work.shift()) {
    if (work.kind === 'expireOrders') {
      cancelExpired(state, work.beforeMs!);
      continue;
    }
    const market = marketOf(state, work.marketId)!;
    if (work.kind === 'expireTokens') expireTokens(state);
    else if (work.kind === 'fireTimers') fireTimers(state);
    else if (work.kind === 'cancelOrders') cancelResting(state, market);
    else if (work.kind === 'settlePositions') settlePositions(state, market);
    else payOut(state, market);
  }
}

/** Orders that expire while their market is active, the earliest first. */
function expiring(state: NaiveState): { market: NaiveMarket; order: NaiveOrder }[] {
  return state.markets
    .flatMap((market) =>
      market.orders
        .filter((order) => order.expiresAtMs < market.endsAtMs)
        .map((order) => ({ market, order })),
    )
    .sort((a, b) => a.order.expiresAtMs - b.order.expiresAtMs || a.order.orderId - b.order.orderId);
}

function expireBefore(state: NaiveState, beforeMs: number): void {
  state.work.push({ kind: 'expireOrders', marketId: 0, beforeMs });
}

function cancelExpired(state: NaiveState, beforeMs: number): void {
  for (const { market, order } of expiring(state)) {
    if (order.expiresAtMs < beforeMs) cancelOrder(state, market, order, CancelReason.EXPIRED);
  }
}

function crossBoundary(state: NaiveState, asset: number): void {
  passWindow(state, asset);
  if (state.assets[asset]!.listsAhead) listAhead(state, asset);
}

function passWindow(state: NaiveState, asset: number): void {
  const one = state.assets[asset]!;
  const startsAtMs = one.nextBoundaryMs;
  one.nextBoundaryMs += WINDOW_MS;
  const ending = state.markets.find(
    (market) =>
      market.asset === asset &&
      market.endsAtMs === startsAtMs &&
      market.status === MarketStatus.ACTIVE,
  );
  if (ending !== undefined) {
    ending.status = MarketStatus.ENDED;
    emit(state, { type: 'marketEnded', marketId: ending.marketId });
    state.work.push({ kind: 'cancelOrders', marketId: ending.marketId });
  }
  const unopened = state.markets.find(
    (market) =>
      market.asset === asset &&
      market.endsAtMs === startsAtMs &&
      market.status === MarketStatus.UPCOMING,
  );
  if (unopened !== undefined) voidNow(state, unopened);
  one.waitingSinceMs = null;
  const known = marketOf(state, marketIdOf(asset, startsAtMs));
  if (known !== undefined && known.status !== MarketStatus.UPCOMING) return;
  const startPrice = referencePrice(one, startsAtMs);
  if (startPrice === null) one.waitingSinceMs = startsAtMs;
  else open(state, { asset, startsAtMs, startPrice });
}

export function listMarkets(state: NaiveState, command: CommandOf<'listMarkets'>): Answer {
  const { asset, ahead } = command;
  const one = state.assets[asset];
  if (one === undefined) return reject('asset_not_found');
  one.listsAhead = ahead;
  return ok({ listedMarkets: ahead ? listAhead(state, asset) : 0 });
}

/** Adds the markets of the current window and of the next four. */
function listAhead(state: NaiveState, asset: number): number {
  const one = state.assets[asset]!;
  const starts = [-1, 0, 1, 2, 3]
    .map((window) => one.nextBoundaryMs + window * WINDOW_MS)
    .filter((startsAtMs) => startsAtMs + WINDOW_MS - state.commandAtMs >= OPEN_MIN_MS);
  const isNew = (startsAtMs: number) =>
    marketOf(state, marketIdOf(asset, startsAtMs)) === undefined;
  const listed = starts.filter(isNew);
  for (const startsAtMs of listed) {
    const { marketId } = add(state, asset, startsAtMs);
    emit(state, { type: 'marketListed', marketId });
    emitPaused(state, asset, marketId);
  }
  return listed.length;
}

function emitPaused(state: NaiveState, asset: number, marketId: number): void {
  if (state.everythingPaused || state.pausedAssets.includes(asset))
    emit(state, { type: 'marketPaused', marketId, paused: 1 });
}

function open(
  state: NaiveState,
  opening: { asset: number; startsAtMs: number; startPrice: Dollars },
): void {
  const { asset, startsAtMs, startPrice } = opening;
  const marketId = marketIdOf(asset, startsAtMs);
  const isBoundary = startsAtMs >= state.assets[asset]!.firstBoundaryMs;
  const known = marketOf(state, marketId);
  const market = known ?? add(state, asset, startsAtMs);
  market.status = MarketStatus.ACTIVE;
  market.startPrice = startPrice;
  market.startPriceFixed = !isBoundary || state.nowMs >= startsAtMs + RESOLVES_AFTER_MS;
  emit(state, { type: 'marketOpened', marketId, startPriceMicros: micros(startPrice) });
  if (known === undefined) emitPaused(state, asset, marketId);
}

function add(state: NaiveState, asset: number, startsAtMs: number): NaiveMarket {
  const market: NaiveMarket = {
    marketId: marketIdOf(asset, startsAtMs),
    asset,
    startsAtMs,
    endsAtMs: startsAtMs + WINDOW_MS,
    status: MarketStatus.UPCOMING,
    resolution: Resolution.NONE,
    startPrice: null,
    endPrice: null,
    startPriceFixed: true,
    resolutionTried: false,
    resolvedAtMs: 0,
    decidedAtMs: 0,
    resolutionNumber: 0,
    payingOut: false,
    paused: false,
    orders: [],
    positions: [],
    setLots: 0,
    collateral: ZERO,
    feeEscrow: ZERO,
    vaultPart: ZERO,
    unearnedPart: ZERO,
    referrersPart: ZERO,
    makersPart: ZERO,
    volume: ZERO,
    lastTradeTicks: null,
  };
  state.markets.push(market);
  return market;
}

function fixStartPrice(state: NaiveState, market: NaiveMarket): void {
  market.startPriceFixed = true;
  const price = referencePrice(state.assets[market.asset]!, market.startsAtMs);
  if (price === null || price.eq(market.startPrice!)) return;
  market.startPrice = price;
  emit(state, {
    type: 'startPriceFixed',
    marketId: market.marketId,
    startPriceMicros: micros(price),
  });
}

/** A new price of an asset opens a window that waited, and resolves an ended market. */
export function priceArrived(state: NaiveState, asset: number, price: Dollars): void {
  const one = state.assets[asset]!;
  const startsAtMs = one.waitingSinceMs;
  if (startsAtMs !== null && startsAtMs + WINDOW_MS - state.nowMs >= OPEN_MIN_MS) {
    one.waitingSinceMs = null;
    open(state, { asset, startsAtMs, startPrice: referencePrice(one, startsAtMs) ?? price });
  }
  for (const market of state.markets) {
    if (market.asset === asset && market.status === MarketStatus.ENDED && market.resolutionTried) {
      resolveIfPriced(state, market);
    }
  }
}

/**
 * Makes a market VOID for lack of a price, or by an operator's decision. A market that takes orders
 * ends first.
 */
export function voidNow(state: NaiveState, market: NaiveMarket): void {
  const { marketId } = market;
  const one = state.assets[market.asset]!;
  if (market.startsAtMs === one.waitingSinceMs) one.waitingSinceMs = null;
  if (takesOrders(market)) {
    market.status = MarketStatus.ENDED;
    market.startPriceFixed = true;
    emit(state, { type: 'marketEnded', marketId });
    state.work.push({ kind: 'cancelOrders', marketId });
  }
  resolve(state, market, Resolution.VOID, null);
}

function resolveIfPriced(state: NaiveState, market: NaiveMarket): void {
  const endPrice = referencePrice(state.assets[market.asset]!, market.endsAtMs);
  if (endPrice === null) return;
  resolve(
    state,
    market,
    endPrice.gte(market.startPrice!) ? Resolution.UP : Resolution.DOWN,
    endPrice,
  );
}

function resolve(
  state: NaiveState,
  market: NaiveMarket,
  resolution: Resolution,
  endPrice: Dollars | null,
): void {
  const { marketId } = market;
  market.status = MarketStatus.RESOLVED;
  market.resolution = resolution;
  market.endPrice = endPrice;
  market.resolvedAtMs = state.nowMs;
  market.decidedAtMs = state.commandAtMs;
  state.marketsResolved++;
  market.resolutionNumber = state.marketsResolved;
  const endPriceMicros = endPrice === null ? 0 : micros(endPrice);
  emit(state, { type: 'marketResolved', marketId, resolution, endPriceMicros });
  if (resolution !== Resolution.VOID) {
    const ofVault = floorToMicros(
      market.feeEscrow.times(state.rules.vaultSharePercent).times('0.01'),
    );
    const ofMakers = sum(market.positions.map(({ makerShare }) => makerShare));
    const left = market.feeEscrow
      .minus(ofMakers)
      .minus(floorToMicros(market.feeEscrow.times('0.1')));
    const share = ofVault.gt(left) ? left : ofVault;
    market.vaultPart = shareWithVault(state, share);
    market.unearnedPart = share.minus(market.vaultPart);
    market.feeEscrow = market.feeEscrow.minus(share);
    state.treasury = state.treasury.plus(market.unearnedPart);
  }
  state.work.push({ kind: 'settlePositions', marketId });
}

function cancelResting(state: NaiveState, market: NaiveMarket): void {
  for (const order of [...bestFirst(market, true), ...bestFirst(market, false)]) {
    cancelOrder(state, market, order, CancelReason.MARKET_ENDED);
  }
}

function settlePositions(state: NaiveState, market: NaiveMarket): void {
  for (const position of [...market.positions]) settle(state, market, position);
  const { marketId } = market;
  const isVoid = market.resolution === Resolution.VOID;
  const rest = isVoid ? ZERO : market.feeEscrow;
  market.feeEscrow = market.feeEscrow.minus(rest);
  state.treasury = state.treasury.plus(rest);
  emit(state, {
    type: 'feesShared',
    marketId,
    vaultMicros: micros(market.vaultPart),
    referrersMicros: micros(market.referrersPart),
    makersMicros: micros(market.makersPart),
    treasuryMicros: micros(rest.plus(market.unearnedPart)),
  });
}

function settle(state: NaiveState, market: NaiveMarket, position: NaivePosition): void {
  const { userId } = position;
  const isVoid = market.resolution === Resolution.VOID;
  const [upLots, downLots] = position.lots;
  position.settled = true;
  const [upWon, downWon] = winningLots(market, position);
  position.payout = tradeValue(upWon + downWon, isVoid ? 500 : 1000);
  position.refund = isVoid ? position.fees : ZERO;
  const cost = position.cost[0].plus(position.cost[1]);
  const profit = position.payout.plus(position.refund).minus(cost);
  const user = userOf(state, userId)!;
  user.realizedProfit = user.realizedProfit.plus(profit);
  if (upLots > 0 || downLots > 0 || position.refund.gt(ZERO)) {
    emit(state, {
      type: 'positionSettled',
      userId,
      marketId: market.marketId,
      resolution: market.resolution,
      upLots,
      downLots,
      upCostMicros: micros(position.cost[0]),
      downCostMicros: micros(position.cost[1]),
      feesMicros: micros(position.fees),
      payoutMicros: micros(position.payout),
      refundMicros: micros(position.refund),
      profitMicros: micros(profit),
    });
  }
  if (!isVoid) {
    rewardFees(state, market, position);
    payMaker(state, market, position);
  }
  if (position.payout.plus(position.refund).eq(ZERO)) forget(market, position);
  else if (user.autoClaim) pay(state, market, position, 1);
}

/** In a VOID market, every lot wins a half. */
function winningLots({ resolution }: NaiveMarket, position: NaivePosition): [number, number] {
  const [upLots, downLots] = position.lots;
  return [resolution === Resolution.DOWN ? 0 : upLots, resolution === Resolution.UP ? 0 : downLots];
}

function payMaker(state: NaiveState, market: NaiveMarket, position: NaivePosition): void {
  const { userId, makerShare } = position;
  if (makerShare.eq(ZERO)) return;
  const user = userOf(state, userId)!;
  market.feeEscrow = market.feeEscrow.minus(makerShare);
  market.makersPart = market.makersPart.plus(makerShare);
  user.available = user.available.plus(makerShare);
  const amountMicros = micros(makerShare);
  emit(state, { type: 'makerShareEarned', userId, marketId: market.marketId, amountMicros });
}

/** Credits the referrer's part of a taker's fees, and the points of both. */
function rewardFees(state: NaiveState, market: NaiveMarket, position: NaivePosition): void {
  const { marketId } = market;
  const user = userOf(state, position.userId)!;
  const referrer = userOf(state, user.referrerId);
  const part = referrersPartOf(position.fees);
  if (referrer !== undefined && part.gt(ZERO)) {
    market.feeEscrow = market.feeEscrow.minus(part);
    market.referrersPart = market.referrersPart.plus(part);
    referrer.available = referrer.available.plus(part);
    referrer.referralEarned = referrer.referralEarned.plus(part);
    const amountMicros = micros(part);
    const referrerId = referrer.userId;
    emit(state, {
      type: 'referralEarned',
      referrerId,
      userId: user.userId,
      marketId,
      amountMicros,
    });
  }
  const microPoints = micros(position.pointFees.times(100));
  credit(state, { userId: user.userId, marketId, reason: PointsReason.FEES, microPoints });
  const tenth = Math.floor(microPoints / 10);
  if (referrer !== undefined) {
    credit(state, {
      userId: referrer.userId,
      marketId,
      reason: PointsReason.REFERRAL,
      microPoints: tenth,
    });
  }
}

/** The part of the fees that goes to the payer's referrer. */
export function referrersPartOf(fees: Dollars): Dollars {
  return floorToMicros(fees.times('0.1'));
}

interface Points {
  userId: number;
  marketId: number;
  reason: PointsReason;
  microPoints: number;
}

function credit(state: NaiveState, points: Points): void {
  if (points.microPoints === 0) return;
  userOf(state, points.userId)!.microPoints += points.microPoints;
  emit(state, { type: 'pointsCredited', ...points });
}

function forget(market: NaiveMarket, position: NaivePosition): void {
  market.positions.splice(market.positions.indexOf(position), 1);
}

/** Adds payout and refund to the balance and forgets the position. Returns what was paid. */
function pay(state: NaiveState, market: NaiveMarket, position: NaivePosition, automatic: number) {
  const user = userOf(state, position.userId)!;
  user.available = user.available.plus(position.payout).plus(position.refund);
  market.collateral = market.collateral.minus(position.payout);
  market.feeEscrow = market.feeEscrow.minus(position.refund);
  forget(market, position);
  const paid = {
    marketId: market.marketId,
    userId: user.userId,
    payoutMicros: micros(position.payout),
    refundMicros: micros(position.refund),
  };
  const [upLots, downLots] = winningLots(market, position);
  emit(state, { type: 'claimed', ...paid, upLots, downLots, automatic });
  return { ...paid, lots: upLots + downLots };
}

function payOut(state: NaiveState, market: NaiveMarket): void {
  for (const position of [...market.positions]) pay(state, market, position, 1);
  state.markets.splice(state.markets.indexOf(market), 1);
  emit(state, { type: 'marketClosed', marketId: market.marketId });
}

export function claim(state: NaiveState, command: CommandOf<'claim'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const market = marketOf(state, command.marketId);
  if (market === undefined) return reject('market_not_found');
  if (market.status !== MarketStatus.RESOLVED) return reject('market_not_resolved');
  const position = positionOf(market, user.userId);
  if (position === undefined) return reject('nothing_to_claim');
  const paid = pay(state, market, position, 0);
  return ok({
    ...paid,
    resolution: market.resolution,
    availableMicros: micros(user.available),
    heldMicros: micros(user.held),
  });
}
