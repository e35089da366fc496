/**
 * The order that is being placed: its terms, its remainder, and its fills so far. Levels are as in
 * state/orders.ts. This file never changes the state of the exchange.
 */

import type { CommandRecord } from '../../interface/command-record.js';
import { CommandKind } from '../../interface/commands.js';
import { Outcome, Side } from '../../interface/domain.js';
import { MAX_ORDER_LOTS, MAX_TIME_MS, MICROS_PER_SET } from '../../interface/limits.js';
import { type FeeRates, feeOn } from '../../interface/parameters.js';
import { OrderField } from '../../interface/records.js';
import { isForAmount } from '../../interface/results.js';
import { bookSideOf, kindOf, priceTicksOf } from '../../state/orders.js';

/** Sentinel below every valid offset; offsets are negative before the market opens. */
export const WITH_THIS_COMMAND = -(2 ** 31);

/** Reused, so that placing an order allocates nothing. */
export class Taker {
  /** The terms of the command, unchecked until placeOrder checks them. */
  userId = 0;
  /** The user's family; 0 if none. Set by the caller. */
  family = 0;
  marketId = 0;
  side: Side = Side.BUY;
  outcome: Outcome = Outcome.UP;
  budgetMicros = 0;
  sizeLots = 0;
  priceTicks = 0;
  timeInForce = 0;
  postOnly = false;
  validUntilMs = 0;
  expiresAtMs = MAX_TIME_MS;
  selfTrade = 0;
  /** The order group (0: none), and its row after look-up. */
  groupId = 0;
  groupRow = 0;
  /** When the order was first placed, from the market's start; or WITH_THIS_COMMAND. */
  placedAfterMs = WITH_THIS_COMMAND;
  /** The clientOrderId: its place in the record, and its length; -1 if none. */
  nameFrom = 0;
  nameLength = -1;
  /** The hash of the name, after look-up. */
  nameLow = 0;
  nameHigh = 0;

  slot = 0;
  kind = 0;
  /** The ladder with the makers, and the ladder for the remainder. */
  makerLadder = 0;
  ladder = 0;
  level = 0;
  orderId = 0;
  /** The user's position in the market; 0 if none. Set by the caller. */
  positionRow = 0;
  /** The lots of the outcome that the user could sell before this order. */
  freeLots = 0;
  /** The row of the order's details; 0 if none. Set by the caller. */
  detailsRow = 0;
  budgetLeft = 0;
  lotsLeft = 0;
  filledLots = 0;
  valueMicros = 0;
  feeMicros = 0;
  /** Σ value × (1 − price) of the fills, for the fee curve. */
  curveNanos = 0;
  fillCount = 0;
  /** Lots ahead of the remainder at its price when it begins to rest. */
  aheadLots = 0;
  isStopped = false;
  /** Whether the order's fills have tripped its group, which stops the order. */
  hasTripped = false;
  /** The offset of the event of the order's last trade. */
  lastTradeAt = 0;
  /** The price of the last fill in the taker's outcome; later fills are never better. */
  worstTicks = 0;

  /** Reads the terms from a record. A sell has no budget. */
  read(command: CommandRecord): void {
    const isBuy = command.kind === CommandKind.buy;
    this.userId = command.userId;
    this.marketId = command.number(OrderField.marketId);
    this.side = isBuy ? Side.BUY : Side.SELL;
    this.outcome = command.outcome as Outcome;
    this.budgetMicros = isBuy ? command.number(OrderField.budgetMicros) : 0;
    this.sizeLots = command.number(OrderField.sizeLots);
    this.priceTicks = command.number(OrderField.priceTicks);
    this.timeInForce = command.timeInForce;
    this.postOnly = command.isSet;
    this.validUntilMs = command.validUntilMs;
    this.expiresAtMs = command.expiresAtMs;
    this.selfTrade = command.selfTrade;
    this.groupId = command.groupId;
    this.groupRow = 0;
    this.placedAfterMs = WITH_THIS_COMMAND;
    this.detailsRow = 0;
    this.nameLength = -1;
    if (!command.isNamed) return;
    this.nameFrom = command.nameFrom;
    this.nameLength = command.nameLength;
  }

  /** A buy with a budget and without a size, placed for the first time. */
  get isForAmount(): boolean {
    return isForAmount(this.sizeLots);
  }

  get isNamed(): boolean {
    return this.nameLength !== -1;
  }

  start(slot: number, bidLadder: number): void {
    this.slot = slot;
    this.kind = kindOf(this.side, this.outcome);
    const bookSide = bookSideOf(this.kind);
    this.ladder = bidLadder + bookSide;
    this.makerLadder = bidLadder + 1 - bookSide;
    this.level = priceTicksOf(this.kind, this.priceTicks);
    this.orderId = 0;
    this.budgetLeft = this.budgetMicros;
    this.lotsLeft = Math.min(this.sizeLots, MAX_ORDER_LOTS);
    this.filledLots = 0;
    this.valueMicros = 0;
    this.feeMicros = 0;
    this.curveNanos = 0;
    this.fillCount = 0;
    this.aheadLots = 0;
    this.isStopped = false;
    this.hasTripped = false;
    this.lastTradeAt = 0;
    this.worstTicks = 0;
  }

  /** The price that the taker pays or gets per lot from a maker at a level. */
  ticksAt(makerLevel: number): number {
    return this.side === Side.BUY ? MICROS_PER_SET - makerLevel : makerLevel;
  }

  lotsAt(makerLevel: number, makerLots: number): number {
    const lots = Math.min(makerLots, this.lotsLeft);
    if (this.side === Side.SELL) return lots;
    return affordable(lots, MICROS_PER_SET - makerLevel, this.budgetLeft);
  }

  /** The lots that would rest: for a buy at most what its budget left buys at its own price. */
  remainderLots(): number {
    if (this.side === Side.SELL) return this.lotsLeft;
    return affordable(this.lotsLeft, this.priceTicks, this.budgetLeft);
  }

  /** Whether the order is complete, given the level of the next acceptable maker (0: none). */
  isDone(nextMakerLevel: number): boolean {
    return this.lotsLeft === 0 || this.isBudgetUsed(nextMakerLevel);
  }

  /** The fee on the order before its remainder rests: on a used-up budget, else on spending. */
  orderFeeMicros(nextMakerLevel: number, rates: FeeRates): number {
    if (this.side === Side.SELL || this.filledLots === 0) return 0;
    return feeOn(
      rates,
      this.isBudgetUsed(nextMakerLevel) ? this.valueMicros + this.budgetLeft : this.valueMicros,
      this.curveNanos,
    );
  }

  /** The fee on the spending so far and one more trade at a maker's level. */
  feeMicrosWith(valueMicros: number, makerLevel: number, rates: FeeRates): number {
    const curveNanos = this.curveNanos + valueMicros * makerLevel;
    return feeOn(rates, this.valueMicros + valueMicros, curveNanos);
  }

  /** Whether the budget ended the order: lots are left, but the budget left buys no next lot. */
  private isBudgetUsed(nextMakerLevel: number): boolean {
    if (this.side === Side.SELL || this.lotsLeft === 0) return false;
    return (
      this.budgetLeft < (nextMakerLevel === 0 ? this.priceTicks : MICROS_PER_SET - nextMakerLevel)
    );
  }

  fill(lots: number, priceTicks: number, valueMicros: number): void {
    this.worstTicks = priceTicks;
    this.lotsLeft -= lots;
    this.filledLots += lots;
    this.valueMicros += valueMicros;
    this.fillCount++;
    if (this.side === Side.SELL) return;
    this.budgetLeft -= valueMicros;
    this.curveNanos += valueMicros * (MICROS_PER_SET - priceTicks);
  }
}

/** The part of `lots` that the budget buys. Multiplies first, because division is slower. */
function affordable(lots: number, ticks: number, budgetMicros: number): number {
  return lots * ticks <= budgetMicros ? lots : Math.floor(budgetMicros / ticks);
}
