/**
 * Orders meet: the checks of a buy or sell, the walk through the makers, the trades, and what rests.
 *
 * With the ladders of book.ts one loop serves all four kinds of match. A taker of lean d trades with the ladder of lean
 * 1 − d, best level first; at a maker's level j the taker's side of the price is 1000 − j:
 *
 * | taker | maker | match | taker's money | maker's money | collateral |
 * |---|---|---|---|---|---|
 * | buys 10 lots UP | sells UP at 400 (level 600) | transfer | −4,000 | +4,000 | |
 * | buys 10 lots UP | buys DOWN at 600 (level 600) | mint | −4,000 | −6,000 | +10,000 |
 * | sells 10 lots UP | sells DOWN at 600 (level 400) | merge | +4,000 | +6,000 | −10,000 |
 * | sells 10 lots UP | buys UP at 400 (level 400) | transfer | +4,000 | −4,000 | |
 */
import { addSaturating, feeOn, isIntegerBetween } from './arithmetic.js';
import { kindOf, leanOf, outcomeOf, ownTicks, sideOf } from './book.js';
import { Code } from './codes.js';
import type { Buy, Sell } from './commands.js';
import { CancelReason, MarketStatus, MatchType, OrderStatus, Outcome, Side, TimeInForce } from './domain.js';
import { EVENT_LENGTHS, EventType } from './events.js';
import type { Ladder } from './ladder.js';
import {
  MAX_FILLS_PER_ORDER,
  MAX_OPEN_ORDERS,
  MAX_OPEN_ORDERS_PER_USER,
  MAX_ORDER_LOTS,
  MAX_ORDER_MICROS,
  MAX_POSITIONS,
  MAX_PRICE_TICKS,
  MAX_TIME_MS,
  MICROS_PER_SET,
  MIN_PRICE_TICKS,
} from './limits.js';
import { ORDER_RESULT_LENGTH, OrderResult, RESULT_HEAD_LENGTH } from './results.js';
import type { State } from './state.js';

/** The least price, in ticks of the taker's outcome, at which fees earn points, and the greatest. */
const POINTS_FROM_TICKS = 30;
const POINTS_TO_TICKS = 970;

/** The order that is being placed. One object serves all orders, so that placing one allocates nothing. */
export class Taker {
  userId = 0;
  marketId = 0;
  slot = 0;
  side: Side = Side.BUY;
  outcome: Outcome = Outcome.UP;
  kind = 0;
  lean: 0 | 1 = 0;
  level = 0;
  priceTicks = 0;
  orderId = 0;
  positionRow = 0;
  budgetLeft = 0;
  lotsLeft = 0;
  filledLots = 0;
  valueMicros = 0;
  feeMicros = 0;
  fillCount = 0;
  /** Of the last fill, in the taker's outcome; later fills are never better. */
  worstTicks = 0;

  set(command: Buy | Sell, slot: number): void {
    this.userId = command.userId;
    this.marketId = command.marketId;
    this.slot = slot;
    this.side = command.kind === 'buy' ? Side.BUY : Side.SELL;
    // Not the command's own value, which might be -0.
    this.outcome = command.outcome === Outcome.UP ? Outcome.UP : Outcome.DOWN;
    this.kind = kindOf(this.side, this.outcome);
    this.lean = leanOf(this.kind);
    this.priceTicks = command.priceTicks;
    this.level = ownTicks(this.kind, command.priceTicks);
    this.orderId = 0;
    this.positionRow = 0;
    this.budgetLeft = command.kind === 'buy' ? command.budgetMicros : 0;
    this.lotsLeft = command.sizeLots;
    this.filledLots = 0;
    this.valueMicros = 0;
    this.feeMicros = 0;
    this.fillCount = 0;
    this.worstTicks = 0;
  }

  /** What the taker pays or gets per lot from a maker at a level. */
  ticksAt(makerLevel: number): number {
    return this.side === Side.BUY ? MICROS_PER_SET - makerLevel : makerLevel;
  }

  /** How many of a maker's lots the order takes. */
  lotsAt(makerLevel: number, makerLots: number): number {
    const lots = Math.min(makerLots, this.lotsLeft);
    if (this.side === Side.SELL) return lots;
    const affordable = Math.floor(this.budgetLeft / (MICROS_PER_SET - makerLevel));
    return Math.min(affordable, lots);
  }

  /** Whether nothing is left to do, when `nextMakerLevel` is the next acceptable level (0: none). */
  isDone(nextMakerLevel: number): boolean {
    if (this.lotsLeft === 0) return true;
    if (this.side === Side.SELL) return false;
    return this.budgetLeft < (nextMakerLevel === 0 ? this.priceTicks : MICROS_PER_SET - nextMakerLevel);
  }

  fill(lots: number, priceTicks: number, valueMicros: number): void {
    this.worstTicks = priceTicks;
    this.lotsLeft -= lots;
    this.filledLots += lots;
    this.valueMicros += valueMicros;
    this.fillCount++;
    if (this.side === Side.BUY) this.budgetLeft -= valueMicros;
  }
}

/** Places an order; writes the fields of its result, whose head is at `base`, when the code is `ok`. */
export function placeOrder(state: State, taker: Taker, command: Buy | Sell, base: number): number {
  const code = checkOrder(state, command);
  if (code !== Code.ok) return code;
  taker.set(command, state.markets.find(command.marketId));
  const liquidity = checkLiquidity(state, taker, command);
  if (liquidity !== Code.ok) return liquidity;

  // The fills follow the fields as they happen.
  state.result.reserve(ORDER_RESULT_LENGTH - RESULT_HEAD_LENGTH);
  taker.orderId = state.lastOrderId.value + 1;
  state.lastOrderId.set(taker.orderId);
  const nextMakerLevel = takeLiquidity(state, taker);
  const done = taker.isDone(nextMakerLevel);
  settleTaker(state, taker);
  state.fillsLeft -= taker.fillCount;
  const restingLots =
    command.timeInForce === TimeInForce.GTC && !done ? rest(state, taker, nextMakerLevel) : 0;
  writeResult(state, taker, base, restingLots, done);
  return Code.ok;
}

/** All that can be said about an order without looking at the book, in the order of the codes. */
function checkOrder(state: State, command: Buy | Sell): number {
  if (!isWellFormed(command)) return Code.invalid_command;
  if (!state.users.exists(command.userId)) return Code.user_not_found;
  const slot = state.markets.find(command.marketId);
  if (slot === 0) return Code.market_not_found;
  if (command.validUntilMs < state.nowMs) return Code.deadline_passed;
  if (state.markets.status.values[slot] !== MarketStatus.ACTIVE) return Code.market_not_active;
  if (isLimitReached(state, command)) return Code.limit_reached;
  return command.kind === 'buy' ? checkMoney(state, command) : checkShares(state, command, slot);
}

function isWellFormed(command: Buy | Sell): boolean {
  return (
    (command.outcome === Outcome.UP || command.outcome === Outcome.DOWN) &&
    (command.kind === 'sell' || isIntegerBetween(command.budgetMicros, 1, MAX_ORDER_MICROS)) &&
    isIntegerBetween(command.sizeLots, 1, MAX_ORDER_LOTS) &&
    isIntegerBetween(command.priceTicks, MIN_PRICE_TICKS, MAX_PRICE_TICKS) &&
    isIntegerBetween(command.timeInForce, TimeInForce.IOC, TimeInForce.GTC) &&
    isIntegerBetween(command.validUntilMs, 0, MAX_TIME_MS) &&
    (!command.postOnly || command.timeInForce === TimeInForce.GTC)
  );
}

function isLimitReached(state: State, command: Buy | Sell): boolean {
  if (state.fillsLeft === 0) return true;
  if (state.positions.count + MAX_FILLS_PER_ORDER + 1 > MAX_POSITIONS) return true;
  if (command.timeInForce !== TimeInForce.GTC) return false;
  return (
    state.orders.countOfUser.values[command.userId]! >= MAX_OPEN_ORDERS_PER_USER ||
    state.orders.count >= MAX_OPEN_ORDERS
  );
}

function checkMoney(state: State, command: Buy): number {
  const fee = command.postOnly ? 0 : feeOn(command.budgetMicros);
  const required = command.budgetMicros + fee;
  const available = state.ledger.available.values[command.userId]!;
  return available < required ? state.refuse(Code.insufficient_balance, required, available) : Code.ok;
}

function checkShares(state: State, command: Sell, slot: number): number {
  const row = state.positions.find(command.userId, slot);
  const available = row === 0 ? 0 : state.positions.freeLots(row, command.outcome);
  return available < command.sizeLots
    ? state.refuse(Code.insufficient_shares, command.sizeLots, available)
    : Code.ok;
}

function checkLiquidity(state: State, taker: Taker, command: Buy | Sell): number {
  const firstLevel = firstMakerLevel(state, taker);
  if (command.postOnly && firstLevel !== 0) return Code.price_not_met;
  if (command.timeInForce === TimeInForce.FOK && !wouldFill(state, taker, command)) {
    const worst = command.kind === 'buy' ? MAX_PRICE_TICKS : MIN_PRICE_TICKS;
    return command.priceTicks === worst ? Code.insufficient_liquidity : Code.price_not_met;
  }
  if (firstLevel === 0) {
    if (command.timeInForce !== TimeInForce.GTC) return Code.insufficient_liquidity;
    return taker.isDone(0) ? Code.amount_too_small : Code.ok;
  }
  return taker.isDone(firstLevel) ? Code.amount_too_small : Code.ok;
}

/** The level of the best acceptable maker that is somebody else's; 0: none. */
function firstMakerLevel(state: State, taker: Taker): number {
  const ladder = state.markets.book(taker.slot)[1 - taker.lean]!;
  let level = ladder.best();
  while (level !== 0 && level + taker.level >= MICROS_PER_SET) {
    for (let row = ladder.first.values[level]!; row !== 0; row = state.orders.nextAtLevel(row)) {
      if (state.orders.userId.values[row] !== taker.userId) return level;
    }
    level = ladder.nextBelow(level);
  }
  return 0;
}

/** Whether a FOK order would be filled. Makers that it looked at in vain count as traded with: they cost as much. */
function wouldFill(state: State, taker: Taker, command: Buy | Sell): boolean {
  const nextMakerLevel = walk(state, taker, state.fillsLeft);
  const done = taker.isDone(nextMakerLevel);
  if (!done) state.fillsLeft -= taker.fillCount;
  taker.set(command, taker.slot);
  return done;
}

/**
 * Goes through the makers as the order would, changing only the taker. Returns the level of the next acceptable
 * maker, 0 if there is none. Stops at the greatest number of fills, with the next maker's level.
 */
export function walk(state: State, taker: Taker, mostFills: number): number {
  const { orders } = state;
  const ladder = state.markets.book(taker.slot)[1 - taker.lean]!;
  let level = ladder.best();
  while (level !== 0 && level + taker.level >= MICROS_PER_SET) {
    for (let row = ladder.first.values[level]!; row !== 0; row = orders.nextAtLevel(row)) {
      if (orders.userId.values[row] === taker.userId) continue;
      if (taker.fillCount >= mostFills) return level;
      const lots = taker.lotsAt(level, orders.lots.values[row]!);
      if (lots === 0) return level;
      const priceTicks = taker.ticksAt(level);
      taker.fill(lots, priceTicks, lots * priceTicks);
    }
    level = ladder.nextBelow(level);
  }
  return 0;
}

/** Trades with makers, best first, until the order or the acceptable makers end. Returns as `walk` does. */
function takeLiquidity(state: State, taker: Taker): number {
  const { orders } = state;
  const ladder = state.markets.book(taker.slot)[1 - taker.lean]!;
  for (;;) {
    const level = ladder.best();
    if (level === 0 || level + taker.level < MICROS_PER_SET) return 0;
    const row = ladder.first.values[level]!;
    const lots = taker.lotsAt(level, orders.lots.values[row]!);
    if (lots === 0) return level;
    if (orders.userId.values[row] === taker.userId) {
      cancelOrder(state, row, CancelReason.SELF_TRADE);
      continue;
    }
    if (taker.fillCount >= state.fillsLeft) return level;
    trade(state, taker, ladder, row, level, lots);
  }
}

/** One trade: moves the shares, the maker's money and the collateral; the taker's money moves once, at the end. */
function trade(state: State, taker: Taker, ladder: Ladder, row: number, level: number, lots: number): void {
  const { orders, ledger } = state;
  const makerId = orders.userId.values[row]!;
  const makerKind = orders.kind.values[row]!;
  const makerOrderId = orders.id.values[row]!;
  const makerTicks = ownTicks(makerKind, level);
  const takerTicks = taker.ticksAt(level);
  const takerValue = lots * takerTicks;
  const makerValue = lots * makerTicks;
  const makerSide = sideOf(makerKind);
  const makerOutcome = outcomeOf(makerKind);

  if (taker.positionRow === 0) taker.positionRow = state.positions.findOrAdd(taker.userId, taker.slot);
  const feePart = taker.side === Side.BUY ? feeOn(taker.valueMicros + takerValue) - taker.feeMicros : 0;
  const takerProfit =
    moveShares(state, taker.positionRow, taker.side, taker.outcome, lots, takerValue) - feePart;
  const makerRow = state.positions.findOrAdd(makerId, taker.slot);
  if (makerSide === Side.SELL) state.positions.heldLots.add(makerRow * 2 + makerOutcome, 0 - lots);
  const makerProfit = moveShares(state, makerRow, makerSide, makerOutcome, lots, makerValue);

  if (makerSide === Side.BUY) ledger.addHeld(makerId, 0 - makerValue);
  else ledger.addAvailable(makerId, makerValue);
  const matchType = moveCollateral(state, taker, makerSide, lots);
  state.standings.addTrade(taker.userId, takerProfit, takerValue);
  state.standings.addTrade(makerId, makerProfit, makerValue);

  taker.fill(lots, takerTicks, takerValue);
  chargeFee(state, taker, takerTicks, feePart);
  orders.reduce(ladder, row, lots);
  const upTicks = taker.outcome === Outcome.UP ? takerTicks : MICROS_PER_SET - takerTicks;
  state.markets.lastTradeTicks.set(taker.slot, upTicks);
  const volume = state.markets.volumeMicros;
  volume.set(taker.slot, addSaturating(volume.values[taker.slot]!, takerValue));

  const tradeId = state.lastTradeId.value + 1;
  state.lastTradeId.set(tradeId);
  const fillAt = state.result.reserve(3);
  state.result.values[fillAt] = tradeId;
  state.result.values[fillAt + 1] = takerTicks;
  state.result.values[fillAt + 2] = lots;

  const at = state.events.reserve(EVENT_LENGTHS[EventType.trade]!);
  const tape = state.events.values;
  tape[at] = EventType.trade;
  tape[at + 1] = tradeId;
  tape[at + 2] = taker.marketId;
  tape[at + 3] = matchType;
  tape[at + 4] = upTicks;
  tape[at + 5] = lots;
  tape[at + 6] = taker.orderId;
  tape[at + 7] = taker.userId;
  tape[at + 8] = taker.side;
  tape[at + 9] = taker.outcome;
  tape[at + 10] = makerOrderId;
  tape[at + 11] = makerId;
  tape[at + 12] = makerSide;
  tape[at + 13] = makerOutcome;
  tape[at + 14] = feePart;
  tape[at + 15] = takerProfit;
  tape[at + 16] = makerProfit;
}

/** Gives shares to a buyer or takes them from a seller; returns the profit that a sale realises. */
function moveShares(
  state: State,
  row: number,
  side: Side,
  outcome: Outcome,
  lots: number,
  valueMicros: number,
): number {
  if (side === Side.SELL) return valueMicros - state.positions.giveUp(row, outcome, lots);
  state.positions.receive(row, outcome, lots, valueMicros);
  return 0;
}

/** Two buyers make complete sets, two sellers end them. */
function moveCollateral(state: State, taker: Taker, makerSide: Side, lots: number): MatchType {
  if (taker.side !== makerSide) return MatchType.TRANSFER;
  const minted = taker.side === Side.BUY ? lots : 0 - lots;
  state.markets.setLots.add(taker.slot, minted);
  state.ledger.addCollateral(taker.slot, minted * MICROS_PER_SET);
  return taker.side === Side.BUY ? MatchType.MINT : MatchType.MERGE;
}

/** Notes a trade's part of the fee where settlement will look for it. */
function chargeFee(state: State, taker: Taker, takerTicks: number, feePart: number): void {
  if (feePart === 0) return;
  taker.feeMicros += feePart;
  state.positions.feesMicros.add(taker.positionRow, feePart);
  if (takerTicks >= POINTS_FROM_TICKS && takerTicks <= POINTS_TO_TICKS) {
    state.positions.pointFeesMicros.add(taker.positionRow, feePart);
  }
}

/** Moves the taker's money for all of its trades, and the fee. */
function settleTaker(state: State, taker: Taker): void {
  if (taker.side === Side.SELL) {
    state.ledger.addAvailable(taker.userId, taker.valueMicros);
    return;
  }
  state.ledger.addAvailable(taker.userId, 0 - taker.valueMicros - taker.feeMicros);
  if (taker.feeMicros === 0) return;
  state.ledger.addEscrow(taker.slot, taker.feeMicros);
  const referrer = state.users.referrer.values[taker.userId]!;
  if (referrer !== 0) state.users.referralPendingFees.add(referrer, taker.feeMicros);
}

/** Puts what is left into the book; nothing if the order stopped short of an acceptable maker. */
function rest(state: State, taker: Taker, nextMakerLevel: number): number {
  if (nextMakerLevel !== 0) return 0;
  const isBuy = taker.side === Side.BUY;
  const affordable = isBuy ? Math.floor(taker.budgetLeft / taker.priceTicks) : taker.lotsLeft;
  const lots = Math.min(affordable, taker.lotsLeft);
  if (isBuy) {
    state.ledger.hold(taker.userId, lots * taker.priceTicks);
    taker.budgetLeft -= lots * taker.priceTicks;
  } else {
    const row = state.positions.find(taker.userId, taker.slot);
    state.positions.heldLots.add(row * 2 + taker.outcome, lots);
  }
  state.orders.add(state.markets.book(taker.slot)[taker.lean], taker, lots, state.nowMs);
  writeOrderEvent(
    state,
    EventType.orderRested,
    taker.orderId,
    taker.userId,
    taker.kind,
    taker.level,
    lots,
    taker.marketId,
  );
  return lots;
}

/** Takes a resting order out of the book and releases what it held. */
export function cancelOrder(state: State, row: number, reason: CancelReason): void {
  const { orders } = state;
  const kind = orders.kind.values[row]!;
  const userId = orders.userId.values[row]!;
  const slot = orders.slot.values[row]!;
  const level = orders.level.values[row]!;
  const lots = orders.lots.values[row]!;
  const marketId = state.markets.id.values[slot]!;
  if (sideOf(kind) === Side.BUY) {
    state.ledger.hold(userId, 0 - lots * level);
  } else {
    const position = state.positions.find(userId, slot);
    state.positions.heldLots.add(position * 2 + outcomeOf(kind), 0 - lots);
  }
  writeOrderEvent(
    state,
    EventType.orderCancelled,
    orders.id.values[row]!,
    userId,
    kind,
    level,
    lots,
    marketId,
  );
  state.events.push(reason);
  orders.remove(state.markets.book(slot)[leanOf(kind)], row);
}

function writeOrderEvent(
  state: State,
  type: number,
  orderId: number,
  userId: number,
  kind: number,
  level: number,
  lots: number,
  marketId: number,
): void {
  const at = state.events.reserve(8);
  const tape = state.events.values;
  tape[at] = type;
  tape[at + 1] = orderId;
  tape[at + 2] = marketId;
  tape[at + 3] = userId;
  tape[at + 4] = sideOf(kind);
  tape[at + 5] = outcomeOf(kind);
  tape[at + 6] = ownTicks(kind, level);
  tape[at + 7] = lots;
}

function writeResult(state: State, taker: Taker, base: number, restingLots: number, done: boolean): void {
  const tape = state.result.values;
  const row = taker.positionRow !== 0 ? taker.positionRow : state.positions.find(taker.userId, taker.slot);
  const lots = state.positions.lots.values;
  const partly = taker.filledLots > 0 || restingLots === 0;
  const status = done ? OrderStatus.FILLED : partly ? OrderStatus.PARTIALLY_FILLED : OrderStatus.RESTING;
  tape[base + OrderResult.orderId] = taker.orderId;
  tape[base + OrderResult.marketId] = taker.marketId;
  tape[base + OrderResult.userId] = taker.userId;
  tape[base + OrderResult.outcome] = taker.outcome;
  tape[base + OrderResult.status] = status;
  tape[base + OrderResult.filledLots] = taker.filledLots;
  tape[base + OrderResult.valueMicros] = taker.valueMicros;
  tape[base + OrderResult.feeMicros] = taker.feeMicros;
  tape[base + OrderResult.unspentMicros] = taker.budgetLeft;
  tape[base + OrderResult.restingLots] = restingLots;
  tape[base + OrderResult.availableMicros] = state.ledger.available.values[taker.userId]!;
  tape[base + OrderResult.heldMicros] = state.ledger.held.values[taker.userId]!;
  tape[base + OrderResult.upLots] = row === 0 ? 0 : lots[row * 2]!;
  tape[base + OrderResult.downLots] = row === 0 ? 0 : lots[row * 2 + 1]!;
  tape[base + OrderResult.fillCount] = taker.fillCount;
}
