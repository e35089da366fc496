/** The naive engine's order groups. */
import type { CommandOf } from '../../../../engine/interface/commands.js';
import { micros } from '../decimal.js';
import { cancelGroup, groupOf } from '../orders.js';
import { type Answer, emit, type NaiveState, ok, reject, rejectLimit, userOf } from '../state.js';
import { mayTakeOne } from './room.js';

export function createOrderGroup(
  state: NaiveState,
  command: CommandOf<'createOrderGroup'>,
): Answer {
  const { userId, maxFilledLots, windowMs } = command;
  if (userOf(state, userId) === undefined) return reject('user_not_found');
  if (!mayTakeOne(state, 'orderGroups', userId)) return rejectLimit('orderGroups');
  const terms = { groupId: ++state.groupsMade, userId, maxFilledLots, windowMs };
  state.groups.push({ ...terms, filledLots: 0, windowEndsAtMs: 0, tripped: false });
  emit(state, { type: 'orderGroupCreated', ...terms });
  return ok(terms);
}

export function resetOrderGroup(state: NaiveState, command: CommandOf<'resetOrderGroup'>): Answer {
  const { userId, groupId } = command;
  if (userOf(state, userId) === undefined) return reject('user_not_found');
  const group = groupOf(state, userId, groupId);
  if (group === undefined) return reject('order_group_not_found');
  Object.assign(group, { filledLots: 0, windowEndsAtMs: 0, tripped: false });
  emit(state, { type: 'orderGroupReset', groupId, userId });
  return ok({ groupId, userId, maxFilledLots: group.maxFilledLots, windowMs: group.windowMs });
}

export function removeOrderGroup(
  state: NaiveState,
  command: CommandOf<'removeOrderGroup'>,
): Answer {
  const { userId, groupId } = command;
  const user = userOf(state, userId);
  if (user === undefined) return reject('user_not_found');
  const group = groupOf(state, userId, groupId);
  if (group === undefined) return reject('order_group_not_found');
  const cancelled = cancelGroup(state, groupId);
  state.groups.splice(state.groups.indexOf(group), 1);
  emit(state, { type: 'orderGroupRemoved', groupId, userId });
  const availableMicros = micros(user.available);
  const heldMicros = micros(user.held);
  const fields = { groupId, userId, availableMicros, heldMicros };
  return ok({ ...fields, cancelledOrders: cancelled.length }, cancelled);
}
