/**
 * Complete sets: `split` turns a dollar into an UP and a DOWN share, and `merge` turns the two back
 * into a dollar. A split pays the fee of a purchase, because splitting and selling one half is the
 * same as buying the other: the flat fee on all of it, and the curve at its highest, half a dollar.
 */

import { Code } from '../../interface/codes.js';
import type { CommandRecord } from '../../interface/command-record.js';
import { Outcome } from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { Limit, MAX_ORDER_LOTS, MICROS_PER_SET } from '../../interface/limits.js';
import { feeOn } from '../../interface/parameters.js';
import { SplitField } from '../../interface/records.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { checkCollateral } from '../invariants.js';
import { mayHavePosition } from '../orders/place-order.js';
import { addSets, escrowFee } from '../orders/trade.js';

export function split(state: State, command: CommandRecord): number {
  const { ledger, positions, rules } = state;
  const { userId } = command;
  const sizeLots = command.number(SplitField.sizeLots);
  const slot = state.markets.find(command.number(SplitField.marketId));
  const code = checkSets(state, userId, slot, sizeLots);
  if (code !== Code.ok) return code;
  const valueMicros = sizeLots * MICROS_PER_SET;
  if (valueMicros > rules.maxOrderMicros) return state.refuseLimit(Limit.orderAmount);
  if (!mayHavePosition(state, userId, state.positions.find(userId, slot)))
    return state.refuseLimit(Limit.positions);
  // The curve charges one share of each pair, at half a dollar.
  const feeMicros = feeOn(rules, valueMicros, sizeLots * (MICROS_PER_SET / 2) ** 2);
  const available = ledger.available(userId);
  if (available < valueMicros + feeMicros)
    return state.refuse(Code.insufficient_balance, valueMicros + feeMicros, available);

  const row = positions.findOrAdd(userId, slot);
  positions.touch(row);
  positions.addShares(row, Outcome.UP, sizeLots, valueMicros / 2);
  positions.addShares(row, Outcome.DOWN, sizeLots, valueMicros / 2);
  positions.addFeesMicros(row, feeMicros);
  ledger.addAvailable(userId, 0 - valueMicros - feeMicros);
  addSets(state, slot, sizeLots);
  escrowFee(state, slot, userId, feeMicros);
  state.accounts.addProfit(userId, 0 - feeMicros);
  return finish(state, EventType.setsSplit, slot, row, sizeLots, feeMicros);
}

export function merge(state: State, command: CommandRecord): number {
  const { positions } = state;
  const { userId } = command;
  const sizeLots = command.number(SplitField.sizeLots);
  const slot = state.markets.find(command.number(SplitField.marketId));
  const code = checkSets(state, userId, slot, sizeLots);
  if (code !== Code.ok) return code;
  const row = positions.find(userId, slot);
  const free = (outcome: Outcome) => (row === 0 ? 0 : positions.freeLots(row, outcome));
  const pairs = Math.min(free(Outcome.UP), free(Outcome.DOWN));
  if (pairs < sizeLots) return state.refuse(Code.insufficient_shares, sizeLots, pairs);

  positions.touch(row);
  const costMicros =
    positions.removeShares(row, Outcome.UP, sizeLots) +
    positions.removeShares(row, Outcome.DOWN, sizeLots);
  const valueMicros = sizeLots * MICROS_PER_SET;
  addSets(state, slot, 0 - sizeLots);
  state.ledger.addAvailable(userId, valueMicros);
  state.accounts.addProfit(userId, valueMicros - costMicros);
  return finish(state, EventType.setsMerged, slot, row, sizeLots, costMicros);
}

/** The checks of both commands, in the order of the codes. */
function checkSets(state: State, userId: number, slot: number, sizeLots: number): number {
  if (!isIntegerBetween(sizeLots, 1, MAX_ORDER_LOTS)) return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  if (slot === 0) return Code.market_not_found;
  if (state.accounts.isFrozen(userId)) return Code.user_frozen;
  if (!state.markets.takesOrders(slot)) return Code.market_not_active;
  return state.markets.pausedBy(slot) === 0 ? Code.ok : Code.market_paused;
}

/** Writes the event and the result. `micros`: a split's fee, or a merge's cost of the shares. */
function finish(
  state: State,
  event: number,
  slot: number,
  row: number,
  sizeLots: number,
  micros: number,
): number {
  checkCollateral(state, slot);
  const { positions } = state;
  const userId = positions.owners.userId(row);
  const marketId = state.markets.id(slot);
  state.events.write(event, marketId, userId, sizeLots, micros);
  state.result.write(marketId, userId, sizeLots, micros);
  state.writeBalance(userId);
  state.result.write(positions.lots(row, Outcome.UP), positions.lots(row, Outcome.DOWN));
  return Code.ok;
}
