/**
 * One trade between the taker and a resting order. It moves everything but the taker's money, which
 * place-order.ts moves once per order, after the last trade.
 */

import { MatchType, type Outcome, Side, ticksIn } from '../interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../interface/events.js';
import { MICROS_PER_SET } from '../interface/limits.js';
import { feeOn, POINTS_MAX_TICKS, POINTS_MIN_TICKS } from '../interface/parameters.js';
import type { Ladder } from '../state/ladder.js';
import { outcomeOf, ownTicks, sideOf } from '../state/orders.js';
import type { State } from '../state/state.js';
import { addSaturating } from '../storage/arithmetic.js';
import type { Taker } from './taker.js';

const TRADE_LENGTH = EVENT_LENGTHS[EventType.trade]!;
const Slot = EventSlot.trade;

/** Trades with the maker in a row: moves the shares, the maker's money and the collateral. */
export function executeTrade(
  state: State,
  taker: Taker,
  ladder: Ladder,
  row: number,
  lots: number,
): void {
  const { orders } = state;
  const level = orders.level.values[row]!;
  const makerId = orders.userId.values[row]!;
  const makerKind = orders.kind.values[row]!;
  const makerOrderId = orders.id.values[row]!;
  const makerSide = sideOf(makerKind);
  const makerOutcome = outcomeOf(makerKind);
  const takerTicks = taker.ticksAt(level);
  const takerValue = lots * takerTicks;
  const makerValue = lots * ownTicks(makerKind, level);

  if (taker.positionRow === 0)
    taker.positionRow = state.positions.findOrAdd(taker.userId, taker.slot);
  const feePart =
    taker.side === Side.BUY ? feeOn(taker.valueMicros + takerValue) - taker.feeMicros : 0;
  const takerSale = moveShares(
    state,
    taker.positionRow,
    taker.side,
    taker.outcome,
    lots,
    takerValue,
  );
  const takerProfit = takerSale - feePart;
  const makerRow = state.positions.findOrAdd(makerId, taker.slot);
  const makerProfit = moveShares(state, makerRow, makerSide, makerOutcome, lots, makerValue);
  releaseHold(state, makerRow, makerKind, lots, makerValue);
  const matchType = moveCollateral(state, taker, makerSide, lots);

  taker.fill(lots, takerTicks, takerValue);
  chargeFee(state, taker, takerTicks, feePart);
  orders.reduce(ladder, row, lots);
  state.userStatistics.addTrade(taker.userId, takerProfit, takerValue);
  state.userStatistics.addTrade(makerId, makerProfit, makerValue);
  const upTicks = ticksIn(taker.outcome, takerTicks);
  countTrade(state, taker.slot, upTicks, takerValue);
  const tradeId = state.lastTradeId.value + 1;
  state.lastTradeId.set(tradeId);
  writeFill(state, tradeId, takerTicks, lots);

  const at = state.events.reserve(TRADE_LENGTH);
  taker.lastTradeAt = at;
  const { values } = state.events;
  values[at] = EventType.trade;
  values[at + Slot.tradeId] = tradeId;
  values[at + Slot.marketId] = taker.marketId;
  values[at + Slot.matchType] = matchType;
  values[at + Slot.upTicks] = upTicks;
  values[at + Slot.sizeLots] = lots;
  values[at + Slot.takerOrderId] = taker.orderId;
  values[at + Slot.takerId] = taker.userId;
  values[at + Slot.takerSide] = taker.side;
  values[at + Slot.takerOutcome] = taker.outcome;
  values[at + Slot.makerOrderId] = makerOrderId;
  values[at + Slot.makerId] = makerId;
  values[at + Slot.makerSide] = makerSide;
  values[at + Slot.makerOutcome] = makerOutcome;
  values[at + Slot.feeMicros] = feePart;
  values[at + Slot.takerProfitMicros] = takerProfit;
  values[at + Slot.makerProfitMicros] = makerProfit;
}

/** Adds the part of the order's fee that no trade was charged to the last trade. */
export function chargeFeeRemainder(state: State, taker: Taker, restMicros: number): void {
  if (restMicros === 0) return;
  chargeFee(state, taker, taker.worstTicks, restMicros);
  state.userStatistics.addProfit(taker.userId, 0 - restMicros);
  const { values } = state.events;
  values[taker.lastTradeAt + Slot.feeMicros]! += restMicros;
  values[taker.lastTradeAt + Slot.takerProfitMicros]! -= restMicros;
}

/** A resting buy pays out of its held money. A resting sell gives up held shares and is paid. */
function releaseHold(
  state: State,
  row: number,
  kind: number,
  lots: number,
  valueMicros: number,
): void {
  const userId = state.positions.userId.values[row]!;
  if (sideOf(kind) === Side.BUY) {
    state.ledger.addHeld(userId, 0 - valueMicros);
    return;
  }
  state.positions.heldLots.add(row * 2 + outcomeOf(kind), 0 - lots);
  state.ledger.addAvailable(userId, valueMicros);
}

function countTrade({ markets }: State, slot: number, upTicks: number, valueMicros: number): void {
  markets.lastTradeTicks.set(slot, upTicks);
  markets.volumeMicros.set(slot, addSaturating(markets.volumeMicros.values[slot]!, valueMicros));
}

/** Appends a fill to the order's result. */
function writeFill({ result }: State, tradeId: number, priceTicks: number, lots: number): void {
  const at = result.reserve(3);
  result.values[at] = tradeId;
  result.values[at + 1] = priceTicks;
  result.values[at + 2] = lots;
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
  if (side === Side.SELL) return valueMicros - state.positions.removeShares(row, outcome, lots);
  state.positions.addShares(row, outcome, lots, valueMicros);
  return 0;
}

/** Two buyers mint complete sets; two sellers merge them. */
function moveCollateral(state: State, taker: Taker, makerSide: Side, lots: number): MatchType {
  if (taker.side !== makerSide) return MatchType.TRANSFER;
  const minted = taker.side === Side.BUY ? lots : 0 - lots;
  state.markets.setLots.add(taker.slot, minted);
  state.ledger.addCollateral(taker.slot, minted * MICROS_PER_SET);
  return taker.side === Side.BUY ? MatchType.MINT : MatchType.MERGE;
}

/** Records a trade's part of the fee in the position, for settlement. */
function chargeFee(state: State, taker: Taker, takerTicks: number, feePart: number): void {
  if (feePart === 0) return;
  taker.feeMicros += feePart;
  state.positions.feesMicros.add(taker.positionRow, feePart);
  if (takerTicks >= POINTS_MIN_TICKS && takerTicks <= POINTS_MAX_TICKS) {
    state.positions.pointFeesMicros.add(taker.positionRow, feePart);
  }
}
