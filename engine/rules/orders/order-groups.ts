/** Order groups: their commands, and the effect of a trade on them. */
import { Code } from '../../interface/codes.js';
import type { CommandOf } from '../../interface/commands.js';
import { CancelReason } from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { Limit, MAX_ORDER_LOTS } from '../../interface/limits.js';
import { MAX_GROUP_WINDOW_MS, MIN_GROUP_WINDOW_MS } from '../../interface/parameters.js';
import { Pool } from '../../state/access/room.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { pendingReason } from './find-order.js';
import { cancelOrder } from './rest-order.js';
import type { Taker } from './taker.js';

export function createOrderGroup(state: State, command: CommandOf<'createOrderGroup'>): number {
  const { userId, maxFilledLots, windowMs } = command;
  if (!isIntegerBetween(maxFilledLots, 1, MAX_ORDER_LOTS)) return Code.invalid_command;
  if (!isIntegerBetween(windowMs, MIN_GROUP_WINDOW_MS, MAX_GROUP_WINDOW_MS))
    return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  if (!state.mayTake(Pool.orderGroups, userId)) return state.refuseLimit(Limit.orderGroups);

  const groupId = state.orderGroups.add(userId, maxFilledLots, windowMs);
  state.events.write(EventType.orderGroupCreated, groupId, userId, maxFilledLots, windowMs);
  state.result.write(groupId, userId, maxFilledLots, windowMs);
  return Code.ok;
}

export function resetOrderGroup(state: State, command: CommandOf<'resetOrderGroup'>): number {
  const { orderGroups } = state;
  const { userId, groupId } = command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  const row = orderGroups.find(userId, groupId);
  if (row === 0) return Code.order_group_not_found;

  orderGroups.reset(row);
  state.events.write(EventType.orderGroupReset, groupId, userId);
  state.result.write(groupId, userId, orderGroups.maxFilledLots(row), orderGroups.windowMs(row));
  return Code.ok;
}

export function removeOrderGroup(state: State, command: CommandOf<'removeOrderGroup'>): number {
  const { ledger, orderGroups, result } = state;
  const { userId, groupId } = command;
  if (!state.users.exists(userId)) return Code.user_not_found;
  const row = orderGroups.find(userId, groupId);
  if (row === 0) return Code.order_group_not_found;

  const at = result.reserve(5);
  const cancelled = cancelOrdersOf(state, row, true);
  orderGroups.remove(userId, row);
  state.events.write(EventType.orderGroupRemoved, groupId, userId);
  const { values } = result;
  values[at] = groupId;
  values[at + 1] = userId;
  values[at + 2] = ledger.available(userId);
  values[at + 3] = ledger.held(userId);
  values[at + 4] = cancelled;
  return Code.ok;
}

/**
 * Counts a trade for the maker's group (0: none) and the taker's. Orders that a trip cancels count
 * as makers that the command has met. Returns whether the taker must stop.
 */
export function countFills(state: State, taker: Taker, makerGroup: number, lots: number): boolean {
  if (makerGroup !== 0) countFill(state, makerGroup, lots);
  if (taker.groupRow !== 0) taker.hasTripped = countFill(state, taker.groupRow, lots);
  return taker.hasTripped;
}

function countFill(state: State, row: number, lots: number): boolean {
  const { orderGroups } = state;
  if (!orderGroups.countFill(row, lots, state.nowMs)) return false;
  state.fillsLeft -= orderGroups.orderCount(row);
  cancelOrdersOf(state, row, false);
  state.events.write(
    EventType.orderGroupTripped,
    orderGroups.groupId(row),
    orderGroups.userId(row),
    orderGroups.filledLots(row),
  );
  return true;
}

/**
 * Cancels the resting orders of a group, in the order in which they began to rest. Expired orders
 * and orders of ended markets count as already cancelled and get that reason. Returns the number of
 * the others, and writes their ids to the result if `listed`.
 */
function cancelOrdersOf(state: State, group: number, listed: boolean): number {
  const { orderDetails, orderGroups } = state;
  let cancelled = 0;
  let details = orderGroups.firstOrder(group);
  for (; details !== 0; details = orderGroups.firstOrder(group)) {
    const row = orderDetails.order(details);
    const reason = pendingReason(state, row) ?? CancelReason.ORDER_GROUP;
    if (reason === CancelReason.ORDER_GROUP) {
      if (listed) state.result.push(orderDetails.orderId(details));
      cancelled++;
    }
    cancelOrder(state, row, reason);
  }
  return cancelled;
}
