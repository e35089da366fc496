/**
 * Buying, selling and cancelling in the naive engine. Every command is checked in full before
 * anything changes, and each change of money or shares is recorded where it happens.
 */
import type { Buy, Cancel, CommandOf, Sell } from '../../../engine/interface/commands.js';
import {
  CancelReason,
  MatchType,
  OrderEnd,
  OrderStatus,
  Outcome,
  SelfTrade,
  Side,
  TimeInForce,
} from '../../../engine/interface/domain.js';
import type { EventRecord } from '../../../engine/interface/events.js';
import { MAX_ORDER_LOTS, MAX_TIME_MS, UNSIZED_LOTS } from '../../../engine/interface/limits.js';
import { isFull, mayTakeOne } from './access/room.js';
import {
  bestFirst,
  filledNow,
  isBid,
  ordersIn,
  type Plan,
  planOrder,
  type Step,
  type Taker,
  upTicksOf,
} from './book.js';
import {
  curvedPart,
  type Dollars,
  dollars,
  feeOn,
  floorToMicros,
  lotsFor,
  micros,
  proRata,
  sum,
  tradeValue,
  ZERO,
} from './decimal.js';
import { orderWithClientId, rememberClientOrder } from './memory.js';
import {
  type Answer,
  emit,
  heldLotsOf,
  lotsOf,
  marketOf,
  type NaiveGroup,
  type NaiveMarket,
  type NaiveOrder,
  type NaivePosition,
  type NaiveState,
  type NaiveUser,
  ok,
  positionOf,
  reject,
  rejectLimit,
  takesOrders,
  userOf,
} from './state.js';

/** Fees earn points only on trades within these prices. */
const POINTS_TICKS_MIN = 30;
const POINTS_TICKS_MAX = 970;

export function placeOrder(state: NaiveState, command: Buy | Sell): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  if (typeof command.clientOrderId === 'string') {
    const first = orderWithClientId(state, user.userId, command.clientOrderId);
    if (first !== 0)
      return reject('client_order_id_reused', first > state.lastKeptOrderId ? 0 : first);
  }
  const market = marketOf(state, command.marketId);
  if (market === undefined) return reject('market_not_found');
  const { groupId = 0 } = command;
  const group = groupOf(state, user.userId, groupId);
  if (groupId !== 0 && group === undefined) return reject('order_group_not_found');
  if (user.frozen) return reject('user_frozen');
  if (command.validUntilMs < state.nowMs) return reject('deadline_passed', 0, state.nowMs);
  const expiresAtMs = command.expiresAtMs ?? MAX_TIME_MS;
  if (expiresAtMs <= state.nowMs) return reject('deadline_passed', 1, state.nowMs);
  if (!takesOrders(market)) return reject('market_not_active');
  if (market.paused || state.everythingPaused || state.pausedAssets.includes(market.asset))
    return reject('market_paused');
  if (group?.tripped) return reject('order_group_tripped');
  const rests = command.timeInForce === TimeInForce.GTC;
  if (state.fillsLeft <= 0) return rejectLimit('trades');
  if (command.kind === 'buy' && command.budgetMicros > state.rules.maxOrderMicros)
    return rejectLimit('orderAmount');
  if (isFull(state, 'positions')) return rejectLimit('positions');
  if (positionOf(market, user.userId) === undefined && !mayTakeOne(state, 'positions', user.userId))
    return rejectLimit('positions');
  if (rests && countOfOrders(state, command.userId) >= state.rules.maxOpenOrders)
    return rejectLimit('openOrders');
  if (rests && !mayTakeOne(state, 'orders', user.userId)) return rejectLimit('openOrders');
  const missing =
    command.kind === 'buy'
      ? missingMoney(state, market, command, user.available)
      : missingShares(command, market);
  if (missing !== null) return missing;

  const taker: Taker = {
    userId: command.userId,
    side: command.kind === 'buy' ? Side.BUY : Side.SELL,
    outcome: command.outcome,
    budget: command.kind === 'buy' ? dollars(command.budgetMicros) : null,
    sizeLots: command.sizeLots,
    priceTicks: command.priceTicks,
    selfTrade: command.selfTrade ?? SelfTrade.CANCEL_RESTING,
    groupId,
  };
  const plan = planOrder(state, market, taker, state.fillsLeft);
  const refused = refusal(command, taker, plan) ?? (rests ? tooSmall(state, taker, plan) : null);
  if (refused === null) return accept(state, market, { command, taker, plan });
  // A refused FOK order uses up the makers that it would have traded with.
  if (command.timeInForce === TimeInForce.FOK && !plan.filled) state.fillsLeft -= plan.fills.length;
  return refused;
}

/** A buy's terms, in a new order or an amended one. */
type Terms = Pick<Buy, 'budgetMicros' | 'outcome' | 'priceTicks' | 'postOnly'>;

export function missingMoney(
  state: NaiveState,
  market: NaiveMarket,
  { budgetMicros, outcome, priceTicks, postOnly }: Terms,
  available: Dollars,
): Answer | null {
  const budget = dollars(budgetMicros);
  const best = bestFirst(market, outcome === Outcome.DOWN)[0];
  const bestTicks =
    best === undefined ? 999 : upTicksOf(outcome, upTicksOf(best.outcome, best.priceTicks));
  const curved = curvedPart(budget, Math.min(bestTicks, priceTicks));
  const required = postOnly ? budget : budget.plus(feeOn(state.rules, budget, curved));
  return required.gt(available)
    ? reject('insufficient_balance', micros(required), micros(available))
    : null;
}

function missingShares(command: Sell, market: NaiveMarket): Answer | null {
  const { userId, outcome, sizeLots } = command;
  const free = lotsOf(market, userId, outcome) - heldLotsOf(market, userId, outcome);
  return free < sizeLots ? reject('insufficient_shares', sizeLots, free) : null;
}

/** A refusal because of the book, or null. */
export function refusal(
  command: Pick<Buy, 'postOnly' | 'timeInForce' | 'priceTicks'>,
  taker: Taker,
  plan: Plan,
): Answer | null {
  if (command.postOnly && plan.hasMaker) return reject('post_only_would_trade');
  if (command.timeInForce === TimeInForce.FOK && !plan.filled) {
    const worstTicks = taker.side === Side.BUY ? 999 : 1;
    const code = command.priceTicks === worstTicks ? 'insufficient_liquidity' : 'price_not_met';
    return reject(code, micros(plan.value), plan.filledLots);
  }
  if (command.timeInForce !== TimeInForce.GTC && !plan.hasMaker && !plan.stopped)
    return reject('insufficient_liquidity');
  if (plan.filled && plan.filledLots === 0) return reject('amount_too_small');
  return null;
}

/** The refusal of an order that would rest completely and is worth too little, or null. */
export function tooSmall(state: NaiveState, taker: Taker, plan: Plan): Answer | null {
  if (plan.hasMaker || plan.stopped) return null;
  return smallRest(state, taker, leftoverLots(taker, plan));
}

/** Refuses lots that are worth too little to rest. */
export function smallRest(
  state: NaiveState,
  { priceTicks }: Pick<Taker, 'priceTicks'>,
  lots: number,
): Answer | null {
  const least = state.rules.minRestingMicros;
  const value = micros(tradeValue(lots, priceTicks));
  return value < least ? reject('too_small_to_rest', least, value) : null;
}

/** The remainder of an order, limited to what its money buys at its own price. */
function leftoverLots({ priceTicks }: Taker, { lotsLeft, budgetLeft }: Plan): number {
  return budgetLeft === null ? lotsLeft : Math.min(lotsLeft, lotsFor(budgetLeft, priceTicks));
}

interface Accepted {
  command: Buy | Sell;
  taker: Taker;
  plan: Plan;
}

/** Gives the order its id and executes it. */
function accept(state: NaiveState, market: NaiveMarket, { command, taker, plan }: Accepted) {
  state.ordersAccepted++;
  const orderId = state.ordersAccepted;
  const { userId } = taker;
  state.history.push({ userId, marketId: market.marketId, end: OrderEnd.RESTING });
  const clientOrderId = command.clientOrderId ?? null;
  if (clientOrderId !== null) rememberClientOrder(state, { userId, clientOrderId, orderId });
  const { timeInForce, postOnly, expiresAtMs = MAX_TIME_MS } = command;
  const before = { isAnew: false, filledLots: 0, value: ZERO, fee: ZERO, placedAtMs: state.nowMs };
  const order = { orderId, clientOrderId, timeInForce, postOnly, expiresAtMs, before };
  const { fields, fills } = carryOut(state, market, { order, taker, plan });
  return ok(fields, fills);
}

/** An order as it enters the book. `before`: its fills before this command. */
export interface Placed {
  orderId: number;
  clientOrderId: string | null;
  timeInForce: TimeInForce;
  postOnly: boolean;
  expiresAtMs: number;
  before: { isAnew: boolean; filledLots: number; value: Dollars; fee: Dollars; placedAtMs: number };
}

/** Trades and rests as planned; returns the fields of an order's result. */
export function carryOut(
  state: NaiveState,
  market: NaiveMarket,
  { order, taker, plan }: { order: Placed; taker: Taker; plan: Plan },
): { fields: Record<string, number>; fills: number[] } {
  const user = userOf(state, taker.userId)!;
  state.fillsLeft -= plan.fills.length + plan.groupCancels;
  const { orderId } = order;
  const fee = feeOfPlan(state, taker, plan);
  const last = plan.fills.at(-1);
  let spent = ZERO;
  let curved = ZERO;
  let charged = ZERO;
  const fills: number[] = [];
  for (const step of plan.steps) {
    if (step.own) {
      cancelOrder(state, market, step.maker, CancelReason.SELF_TRADE);
      continue;
    }
    if (taker.side === Side.BUY) {
      spent = spent.plus(tradeValue(step.lots, step.takerTicks));
      curved = curved.plus(curvedOf(step));
    }
    const growth = feeOn(state.rules, spent, curved).minus(charged);
    const part = step === last ? fee.minus(charged) : growth;
    charged = charged.plus(part);
    trade(state, market, { orderId, taker, step, fee: part, sharedFee: growth });
    fills.push(state.tradesMade, step.takerTicks, step.lots);
    countFill(state, step.maker.groupId, step.lots);
    countFill(state, taker.groupId, step.lots);
  }
  const mayRest = order.timeInForce === TimeInForce.GTC;
  const restingLots = mayRest ? rest(state, market, { order, taker, plan, fee: charged }) : 0;
  if (restingLots === 0) state.history[orderId - 1]!.end = endOf(plan, order);
  const aheadLots = restingLots === 0 ? 0 : lotsAhead(state, orderId);
  emitPlaced(state, market, { order, taker, plan, restingLots, aheadLots });
  const heldByRest = taker.side === Side.BUY ? tradeValue(restingLots, taker.priceTicks) : ZERO;
  const unspent = taker.budget === null ? 0 : micros(taker.budget.minus(spent).minus(heldByRest));
  return {
    fields: {
      orderId,
      marketId: market.marketId,
      outcome: taker.outcome,
      status: statusOf(plan, restingLots, order),
      filledLots: plan.filledLots,
      valueMicros: micros(plan.value),
      feeMicros: micros(charged),
      unspentMicros: unspent,
      restingLots,
      aheadLots,
      fillCount: plan.fills.length,
      ...holdings(market, user),
    },
    fills,
  };
}

/** The user's money and shares after a command. */
export function holdings(market: NaiveMarket, user: NaiveUser): Record<string, number> {
  return {
    userId: user.userId,
    availableMicros: micros(user.available),
    heldMicros: micros(user.held),
    upLots: lotsOf(market, user.userId, Outcome.UP),
    downLots: lotsOf(market, user.userId, Outcome.DOWN),
  };
}

/** The reason why an order that does not rest ends. */
function endOf(plan: Plan, { timeInForce }: Placed): number {
  if (plan.stopped) return OrderEnd.CANCELLED + CancelReason.SELF_TRADE;
  if (plan.filled) return OrderEnd.FILLED;
  if (plan.tripped) return OrderEnd.CANCELLED + CancelReason.ORDER_GROUP;
  if (plan.exhausted) return OrderEnd.TRADE_LIMIT;
  return timeInForce === TimeInForce.GTC ? OrderEnd.TOO_SMALL_TO_REST : OrderEnd.UNFILLED;
}

/** The fee: on the whole amount if the buy used it up, otherwise on what the order spent. */
export function feeOfPlan(state: NaiveState, { side, budget }: Taker, plan: Plan): Dollars {
  if (side === Side.SELL || budget === null || plan.fills.length === 0) return ZERO;
  const amount = plan.filled && plan.lotsLeft > 0 ? budget : plan.value;
  return feeOn(state.rules, amount, sum(plan.fills.map(curvedOf)));
}

function curvedOf({ lots, takerTicks }: Step): Dollars {
  return curvedPart(tradeValue(lots, takerTicks), takerTicks);
}

function statusOf(plan: Plan, restingLots: number, { timeInForce }: Placed): OrderStatus {
  if (plan.stopped)
    return plan.filledLots === 0 ? OrderStatus.STOPPED_UNFILLED : OrderStatus.STOPPED;
  if (plan.filledLots === 0) return OrderStatus.RESTING;
  if (restingLots > 0) return OrderStatus.PARTIALLY_FILLED;
  if (plan.filled) return OrderStatus.FILLED;
  if (plan.tripped) return OrderStatus.ORDER_GROUP;
  if (plan.exhausted) return OrderStatus.TRADE_LIMIT;
  return timeInForce === TimeInForce.GTC
    ? OrderStatus.TOO_SMALL_TO_REST
    : OrderStatus.PARTIALLY_FILLED;
}

interface Carried {
  order: Placed;
  taker: Taker;
  plan: Plan;
  restingLots: number;
  aheadLots: number;
}

/** The lots of older orders at the same price, on the same side of the book. */
export function lotsAhead({ markets }: NaiveState, orderId: number): number {
  const ticksOf = ({ outcome, priceTicks }: NaiveOrder) => upTicksOf(outcome, priceTicks);
  const isIt = (order: NaiveOrder) => order.orderId === orderId;
  const { orders } = markets.find((market) => market.orders.some(isIt))!;
  const order = orders.find(isIt)!;
  let lots = 0;
  for (const other of orders) {
    const isLevel = isBid(other) === isBid(order) && ticksOf(other) === ticksOf(order);
    if (isLevel && other.restNumber < order.restNumber) lots += other.sizeLots;
  }
  return lots;
}

function emitPlaced(
  state: NaiveState,
  { marketId }: NaiveMarket,
  { order, taker, plan, restingLots, aheadLots }: Carried,
): void {
  const { orderId, clientOrderId, expiresAtMs, timeInForce, before } = order;
  const { userId, side, outcome, priceTicks, selfTrade } = taker;
  const status = statusOf(plan, restingLots, order);
  const isEnded =
    taker.sizeLots === UNSIZED_LOTS || restingLots > 0 || status === OrderStatus.FILLED;
  emit(state, {
    type: 'orderPlaced',
    orderId,
    marketId,
    userId,
    side,
    outcome,
    priceTicks,
    restingLots,
    sizeLots: isEnded ? plan.filledLots + restingLots : taker.sizeLots,
    status,
    timeInForce,
    postOnly: Number(order.postOnly),
    selfTrade,
    expiresAtMs: expiresAtMs === MAX_TIME_MS ? 0 : expiresAtMs,
    anew: Number(before.isAnew),
    aheadLots,
  });
  if (clientOrderId !== null && !before.isAnew)
    emit(state, { type: 'orderNamed', orderId, userId, ...namePieces(clientOrderId) });
  if (taker.groupId !== 0 && !before.isAnew)
    emit(state, { type: 'orderGrouped', orderId, userId, groupId: taker.groupId });
}

/** Packs six characters into each integer, the first in its lowest byte. */
function namePieces(name: string): Omit<EventRecord<'orderNamed'>, 'type' | 'orderId' | 'userId'> {
  const pieces = Array.from({ length: 11 }, (_, i) => {
    const bytes = Buffer.alloc(6);
    bytes.write(name.slice(6 * i, 6 * i + 6), 'latin1');
    return [`name${i + 1}`, bytes.readUIntLE(0, 6)];
  });
  return Object.fromEntries(pieces) as ReturnType<typeof namePieces>;
}

/** Rests the remainder of an order; returns its lots. */
function rest(
  state: NaiveState,
  market: NaiveMarket,
  { order, taker, plan, fee }: { order: Placed; taker: Taker; plan: Plan; fee: Dollars },
): number {
  const { orderId, clientOrderId, postOnly, expiresAtMs, before } = order;
  if (plan.exhausted || plan.stopped || plan.tripped || plan.lotsLeft === 0) return 0;
  const { userId, side, outcome, priceTicks } = taker;
  const sizeLots = leftoverLots(taker, plan);
  if (sizeLots === 0 || smallRest(state, taker, sizeLots) !== null) return 0;
  if (side === Side.BUY) {
    const user = userOf(state, userId)!;
    user.available = user.available.minus(tradeValue(sizeLots, priceTicks));
    user.held = user.held.plus(tradeValue(sizeLots, priceTicks));
  }
  const { marketId } = market;
  market.orders.push({
    orderId,
    marketId,
    userId,
    side,
    outcome,
    priceTicks,
    sizeLots,
    placedAtMs: before.placedAtMs,
    clientOrderId,
    groupId: taker.groupId,
    amountMicros:
      taker.sizeLots !== UNSIZED_LOTS
        ? null
        : plan.filledLots + sizeLots === MAX_ORDER_LOTS
          ? micros(plan.value.plus(tradeValue(sizeLots, priceTicks)))
          : micros(taker.budget!),
    originalLots: before.filledLots + plan.filledLots + sizeLots,
    filledLots: before.filledLots + plan.filledLots,
    value: before.value.plus(plan.value),
    fee: before.fee.plus(fee),
    postOnly,
    selfTrade: taker.selfTrade,
    expiresAtMs,
    restNumber: ++state.ordersRested,
  });
  return sizeLots;
}

interface Trade {
  orderId: number;
  taker: Taker;
  step: Step;
  /** This trade's part of the taker's fee. */
  fee: Dollars;
  /** The same without the rest that the last trade also pays: what the maker gets a share of. */
  sharedFee: Dollars;
}

/** Exchanges the money and shares of one trade. */
function trade(
  state: NaiveState,
  market: NaiveMarket,
  { orderId, taker, step, fee, sharedFee }: Trade,
): void {
  const { maker, lots, takerTicks } = step;
  const matchType =
    taker.side !== maker.side
      ? MatchType.TRANSFER
      : taker.side === Side.BUY
        ? MatchType.MINT
        : MatchType.MERGE;
  if (matchType === MatchType.MINT) addSets(market, lots);
  if (matchType === MatchType.MERGE) addSets(market, -lots);

  const takerPosition = findOrMakePosition(state, market, taker.userId);
  const makerPosition = findOrMakePosition(state, market, maker.userId);
  const takerProfit = exchange(state, market, {
    ...taker,
    lots,
    ticks: takerTicks,
    fromHeld: false,
  }).minus(fee);
  const makerProfit = exchange(state, market, {
    ...maker,
    lots,
    ticks: maker.priceTicks,
    fromHeld: true,
  });
  maker.sizeLots -= lots;
  maker.filledLots += lots;
  maker.value = maker.value.plus(tradeValue(lots, maker.priceTicks));
  if (maker.sizeLots === 0) {
    market.orders.splice(market.orders.indexOf(maker), 1);
    state.history[maker.orderId - 1]!.end = OrderEnd.FILLED;
  }

  const user = userOf(state, taker.userId)!;
  user.available = user.available.minus(fee);
  user.realizedProfit = user.realizedProfit.minus(fee);
  const { takerFeeBasisPoints, curveFeeBasisPoints, makerSharePercent } = state.rules;
  if (taker.side === Side.BUY && takerFeeBasisPoints + curveFeeBasisPoints > 0)
    user.volume = user.volume.plus(tradeValue(lots, takerTicks));
  market.feeEscrow = market.feeEscrow.plus(fee);
  takerPosition.fees = takerPosition.fees.plus(fee);
  const makerShare = floorToMicros(sharedFee.times(makerSharePercent).times('0.01'));
  makerPosition.makerShare = makerPosition.makerShare.plus(makerShare);
  if (takerTicks >= POINTS_TICKS_MIN && takerTicks <= POINTS_TICKS_MAX) {
    takerPosition.pointFees = takerPosition.pointFees.plus(fee);
  }
  market.volume = market.volume.plus(tradeValue(lots, takerTicks));
  market.lastTradeTicks = upTicksOf(maker.outcome, maker.priceTicks);
  state.tradesMade++;
  emit(state, {
    type: 'trade',
    tradeId: state.tradesMade,
    marketId: market.marketId,
    matchType,
    upTicks: market.lastTradeTicks,
    sizeLots: lots,
    takerOrderId: orderId,
    takerId: taker.userId,
    takerSide: taker.side,
    takerOutcome: taker.outcome,
    makerOrderId: maker.orderId,
    makerId: maker.userId,
    makerSide: maker.side,
    makerOutcome: maker.outcome,
    feeMicros: micros(fee),
    takerProfitMicros: micros(takerProfit),
    makerProfitMicros: micros(makerProfit),
  });
}

/** A complete set is one lot of each outcome, with 0.001 dollar of collateral. */
export function addSets(market: NaiveMarket, lots: number): void {
  market.setLots += lots;
  market.collateral = market.collateral.plus(tradeValue(lots, 1000));
}

interface Hand {
  userId: number;
  side: Side;
  outcome: Outcome;
  lots: number;
  /** The price for the user's own outcome. */
  ticks: number;
  /** Whether the order pays from held money, as a resting buy does. */
  fromHeld: boolean;
}

/** Applies one user's side of a trade, without the fee; returns the realized profit. */
function exchange(state: NaiveState, market: NaiveMarket, hand: Hand): Dollars {
  const { side, outcome, lots } = hand;
  const user = userOf(state, hand.userId)!;
  const position = positionOf(market, hand.userId)!;
  const value = tradeValue(lots, hand.ticks);
  user.tradeCount++;
  if (side === Side.BUY) {
    if (hand.fromHeld) user.held = user.held.minus(value);
    else user.available = user.available.minus(value);
    position.lots[outcome] += lots;
    position.cost[outcome] = position.cost[outcome].plus(value);
    return ZERO;
  }
  const cost = proRata(position.cost[outcome], lots, position.lots[outcome]);
  user.available = user.available.plus(value);
  position.lots[outcome] -= lots;
  position.cost[outcome] = position.cost[outcome].minus(cost);
  user.realizedProfit = user.realizedProfit.plus(value.minus(cost));
  return value.minus(cost);
}

export function findOrMakePosition(
  state: NaiveState,
  market: NaiveMarket,
  userId: number,
): NaivePosition {
  const found = positionOf(market, userId);
  if (found !== undefined) return found;
  state.positionsMade++;
  const made: NaivePosition = {
    number: state.positionsMade,
    userId,
    lots: [0, 0],
    cost: [ZERO, ZERO],
    fees: ZERO,
    pointFees: ZERO,
    makerShare: ZERO,
    settled: false,
    payout: ZERO,
    refund: ZERO,
  };
  market.positions.push(made);
  return made;
}

/** All resting orders of a user, oldest first. */
export function ordersOf(state: NaiveState, userId: number): NaiveOrder[] {
  return state.markets
    .flatMap((market) => market.orders.filter((order) => order.userId === userId))
    .sort((a, b) => a.orderId - b.orderId);
}

function countOfOrders(state: NaiveState, userId: number): number {
  let count = 0;
  for (const { orders } of state.markets) {
    for (const order of orders) if (order.userId === userId) count++;
  }
  return count;
}

/**
 * Returns the hold for some of an order's lots. Held shares are only counted, so they need no
 * return.
 */
export function release(state: NaiveState, order: NaiveOrder, lots: number): void {
  if (order.side === Side.SELL) return;
  const user = userOf(state, order.userId)!;
  user.held = user.held.minus(tradeValue(lots, order.priceTicks));
  user.available = user.available.plus(tradeValue(lots, order.priceTicks));
}

/** Removes an order from the book and returns what it held. */
export function cancelOrder(
  state: NaiveState,
  market: NaiveMarket,
  order: NaiveOrder,
  reason: CancelReason,
): void {
  market.orders.splice(market.orders.indexOf(order), 1);
  const { orderId, marketId, userId, side, outcome, priceTicks, sizeLots } = order;
  state.history[orderId - 1]!.end = OrderEnd.CANCELLED + reason;
  release(state, order, sizeLots);
  emit(state, {
    type: 'orderCancelled',
    orderId,
    marketId,
    userId,
    side,
    outcome,
    priceTicks,
    sizeLots,
    reason,
  });
}

export function cancel(state: NaiveState, command: Cancel): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const market = marketOf(state, command.marketId);
  if (market === undefined) return reject('market_not_found');
  const orderId =
    typeof command.clientOrderId === 'string'
      ? orderWithClientId(state, user.userId, command.clientOrderId)
      : command.orderId;
  const order = market.orders.find((one) => one.orderId === orderId && one.userId === user.userId);
  if (order === undefined || !takesOrders(market))
    return gone(state, command.userId, command.marketId, orderId);
  cancelOrder(state, market, order, CancelReason.REQUESTED);
  return ok({
    orderId: order.orderId,
    marketId: market.marketId,
    userId: user.userId,
    cancelledLots: order.sizeLots,
    availableMicros: micros(user.available),
    heldMicros: micros(user.held),
  });
}

/** The reason why an order that does not rest can be neither cancelled nor amended. */
export function gone(state: NaiveState, userId: number, marketId: number, orderId: number): Answer {
  const known = state.history[orderId - 1];
  if (known === undefined || known.userId !== userId || known.marketId !== marketId)
    return reject('order_not_found');
  return reject('order_closed', orderId, known.end);
}

export function cancelAll(state: NaiveState, command: CommandOf<'cancelAll'>): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const market = marketOf(state, command.marketId);
  if (market === undefined) return reject('market_not_found');
  return cancelThose(state, user, [market], { marketId: market.marketId });
}

export function cancelEverywhere(
  state: NaiveState,
  command: CommandOf<'cancelEverywhere'>,
): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  return cancelThose(state, user, state.markets, {});
}

export function cancelDisconnected(
  state: NaiveState,
  command: CommandOf<'cancelDisconnected'>,
): Answer {
  const user = userOf(state, command.userId);
  if (user === undefined) return reject('user_not_found');
  const { lastOrderId } = command;
  return cancelThose(state, user, state.markets, {}, lastOrderId, CancelReason.DISCONNECTED);
}

function cancelThose(
  state: NaiveState,
  user: NaiveUser,
  markets: NaiveMarket[],
  fields: Record<string, number>,
  lastOrderId = Number.POSITIVE_INFINITY,
  reason: CancelReason = CancelReason.REQUESTED,
): Answer {
  const own = markets
    .flatMap((market) => market.orders.map((order) => ({ market, order })))
    .filter(({ order }) => order.userId === user.userId && order.orderId <= lastOrderId)
    .sort((a, b) => a.order.restNumber - b.order.restNumber);
  for (const { market, order } of own) cancelOrder(state, market, order, reason);
  return ok(
    {
      ...fields,
      userId: user.userId,
      cancelledOrders: own.length,
      availableMicros: micros(user.available),
      heldMicros: micros(user.held),
    },
    own.map(({ order }) => order.orderId),
  );
}

export function groupOf(
  state: NaiveState,
  userId: number,
  groupId: number,
): NaiveGroup | undefined {
  return state.groups.find((one) => one.groupId === groupId && one.userId === userId);
}

/** Cancels the resting orders of a group; returns their ids. */
export function cancelGroup(state: NaiveState, groupId: number): number[] {
  const orders = ordersIn(state, groupId);
  for (const order of orders)
    cancelOrder(state, marketOf(state, order.marketId)!, order, CancelReason.ORDER_GROUP);
  return orders.map(({ orderId }) => orderId);
}

/** Counts a trade for a group, if `groupId` is not 0. */
function countFill(state: NaiveState, groupId: number, lots: number): void {
  const group = state.groups.find((one) => one.groupId === groupId);
  if (group === undefined) return;
  group.filledLots = filledNow(state, group) + lots;
  if (state.nowMs >= group.windowEndsAtMs) group.windowEndsAtMs = state.nowMs + group.windowMs;
  if (group.filledLots < group.maxFilledLots) return;
  group.tripped = true;
  cancelGroup(state, groupId);
  const { userId, filledLots } = group;
  emit(state, { type: 'orderGroupTripped', groupId, userId, filledLots });
}
