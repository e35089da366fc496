/**
 * One trade between the taker and a resting order. A trade moves everything except the taker's
 * money, which place-order.ts moves once per order, after the last trade.
 */

import { MatchType, Side, ticksIn } from '../../interface/domain.js';
import { beginEvent, EventSlot, EventType } from '../../interface/events.js';
import { MICROS_PER_SET } from '../../interface/limits.js';
import { POINTS_MAX_TICKS, POINTS_MIN_TICKS } from '../../interface/parameters.js';
import { outcomeOf, priceTicksOf, sideOf } from '../../state/orders.js';
import type { State } from '../../state/state.js';
import { addSaturating, mulDivFloor } from '../../storage/arithmetic.js';
import type { Taker } from './taker.js';

const Slot = EventSlot.trade;

/**
 * Executes one trade with the maker in `row`: moves the shares, the maker's money and the
 * collateral.
 */
export function executeTrade(
  state: State,
  taker: Taker,
  row: number,
  level: number,
  lots: number,
): void {
  const { orders, positions, accounts, result } = state;
  const makerId = orders.userId(row);
  const makerKind = orders.kind(row);
  const makerOrderId = orders.id(row);
  const makerSide = sideOf(makerKind);
  const makerOutcome = outcomeOf(makerKind);
  const takerTicks = taker.ticksAt(level);
  const takerValue = lots * takerTicks;
  const makerValue = lots * priceTicksOf(makerKind, level);

  if (taker.positionRow === 0) taker.positionRow = positions.add(taker.userId, taker.slot);
  const feePart =
    taker.side === Side.BUY
      ? taker.feeMicrosWith(takerValue, level, state.rules) - taker.feeMicros
      : 0;
  const takerSale = moveShares(state, taker.positionRow, taker.kind, lots, takerValue);
  const takerProfit = takerSale - feePart;
  const known = orders.position(row);
  const makerRow = known !== 0 ? known : positions.findOrAdd(makerId, taker.slot);
  const makerProfit = moveShares(state, makerRow, makerKind, lots, makerValue);
  releaseHold(state, makerId, makerRow, makerKind, lots, makerValue);
  const matchType = moveCollateral(state, taker, makerSide, lots);

  taker.fill(lots, takerTicks, takerValue);
  chargeFee(state, taker, takerTicks, feePart);
  if (state.rules.makerSharePercent !== 0) oweMaker(state, taker.slot, makerRow, feePart);
  orders.fill(row, taker.marketId, lots);
  // Only trades with a fee count as volume: otherwise wash trades would climb for free.
  accounts.addTrade(taker.userId, takerProfit, taker.feeMicros > 0 ? takerValue : 0);
  accounts.addTrade(makerId, makerProfit, 0);
  const upTicks = ticksIn(taker.outcome, takerTicks);
  countTrade(state, taker.slot, upTicks, takerValue);
  const tradeId = state.nextTradeId();
  const fillAt = result.reserve(3);
  result.values[fillAt] = tradeId;
  result.values[fillAt + 1] = takerTicks;
  result.values[fillAt + 2] = lots;

  const at = beginEvent(state.events, EventType.trade);
  taker.lastTradeAt = at;
  const { values } = state.events;
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

/** Adds the uncharged part of the order's fee to the last trade. */
export function chargeFeeRemainder(state: State, taker: Taker, restMicros: number): void {
  if (restMicros === 0) return;
  chargeFee(state, taker, taker.worstTicks, restMicros);
  state.accounts.addProfit(taker.userId, 0 - restMicros);
  const { values } = state.events;
  values[taker.lastTradeAt + Slot.feeMicros]! += restMicros;
  values[taker.lastTradeAt + Slot.takerProfitMicros]! -= restMicros;
}

function releaseHold(
  state: State,
  userId: number,
  positionRow: number,
  kind: number,
  lots: number,
  valueMicros: number,
): void {
  if (sideOf(kind) === Side.BUY) {
    state.ledger.addHeld(userId, 0 - valueMicros);
    return;
  }
  state.positions.addHeldLots(positionRow, outcomeOf(kind), 0 - lots);
  state.ledger.addAvailable(userId, valueMicros);
}

function countTrade({ markets }: State, slot: number, upTicks: number, valueMicros: number): void {
  markets.touch(slot);
  markets.setLastTradeTicks(slot, upTicks);
  markets.setVolumeMicros(slot, addSaturating(markets.volumeMicros(slot), valueMicros));
}

/** Moves a side's shares; returns the profit that a sale realizes. */
function moveShares(
  { positions }: State,
  row: number,
  kind: number,
  lots: number,
  valueMicros: number,
): number {
  const outcome = outcomeOf(kind);
  positions.touch(row);
  if (sideOf(kind) === Side.SELL) return valueMicros - positions.removeShares(row, outcome, lots);
  positions.addShares(row, outcome, lots, valueMicros);
  return 0;
}

/** Two buyers mint complete sets; two sellers merge them. */
function moveCollateral(state: State, taker: Taker, makerSide: Side, lots: number): MatchType {
  if (taker.side !== makerSide) return MatchType.TRANSFER;
  addSets(state, taker.slot, taker.side === Side.BUY ? lots : 0 - lots);
  return taker.side === Side.BUY ? MatchType.MINT : MatchType.MERGE;
}

/** Adds complete sets and their collateral to a market; negative lots remove them. */
export function addSets(state: State, slot: number, lots: number): void {
  state.ledger.addCollateral(slot, lots * MICROS_PER_SET);
  state.markets.addSetLots(slot, lots);
}

/** Moves a user's fee into the market's escrow, until the settlement shares it. */
export function escrowFee(state: State, slot: number, userId: number, feeMicros: number): void {
  state.ledger.addEscrow(slot, feeMicros);
  const referrer = state.accounts.referrer(userId);
  if (referrer === 0) return;
  state.users.touch(referrer);
  state.users.addReferralPendingFees(referrer, feeMicros);
}

/** Records the maker's share of a trade's fee in its position, which the settlement pays. */
function oweMaker({ rules, markets, positions }: State, slot: number, row: number, fee: number) {
  const shareMicros = mulDivFloor(fee, rules.makerSharePercent, 100);
  if (shareMicros === 0) return;
  positions.makerShares.touch(row);
  positions.makerShares.addMicros(row, shareMicros);
  markets.touch(slot);
  markets.addMakersDueMicros(slot, shareMicros);
}

/** Records a trade's part of the fee in the taker's position, for the settlement. */
function chargeFee(state: State, taker: Taker, takerTicks: number, feePart: number): void {
  if (feePart === 0) return;
  taker.feeMicros += feePart;
  state.positions.touch(taker.positionRow);
  state.positions.addFeesMicros(taker.positionRow, feePart);
  if (takerTicks >= POINTS_MIN_TICKS && takerTicks <= POINTS_MAX_TICKS) {
    state.positions.addPointFeesMicros(taker.positionRow, feePart);
  }
}
