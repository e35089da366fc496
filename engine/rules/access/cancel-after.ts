/**
 * The dead man's switch: unless a user repeats the command in time, all of the user's resting
 * orders are cancelled.
 *
 * Invariant: it cancels exactly the orders that were placed before its time. Cancelling is
 * pending work, so later orders of the same user may rest before it is done.
 */

import { Code } from '../../interface/codes.js';
import type { CommandOf } from '../../interface/commands.js';
import { CancelReason } from '../../interface/domain.js';
import { EventType } from '../../interface/events.js';
import { MAX_OPEN_ORDERS_PER_USER } from '../../interface/limits.js';
import { MAX_CANCEL_AFTER_MS, MIN_CANCEL_AFTER_MS } from '../../interface/parameters.js';
import type { State } from '../../state/state.js';
import { isIntegerBetween } from '../../storage/arithmetic.js';
import { isOverdue } from '../orders/find-order.js';
import { cancelOrder, placedAtMs } from '../orders/rest-order.js';

/** Sets the timer; a time of 0 turns it off. */
export function setCancelAfter(state: State, command: CommandOf<'setCancelAfter'>): number {
  const { userId, timeoutMs } = command;
  const { timers } = state;
  if (timeoutMs !== 0 && !isIntegerBetween(timeoutMs, MIN_CANCEL_AFTER_MS, MAX_CANCEL_AFTER_MS))
    return Code.invalid_command;
  if (!state.users.exists(userId)) return Code.user_not_found;

  // The old timer is due, but its work may still be pending.
  const dueAtMs = timers.atMs(userId);
  if (dueAtMs !== 0 && dueAtMs <= state.nowMs) fire(state, userId, MAX_OPEN_ORDERS_PER_USER + 1);
  const cancelAtMs = timeoutMs === 0 ? 0 : state.nowMs + timeoutMs;
  timers.set(userId, cancelAtMs);
  state.schedule.findNext();
  state.result.write(userId, cancelAtMs);
  return Code.ok;
}

/** Fires the timers that are due. Returns the units left. */
export function fireTimers(state: State, units: number): number {
  const { deadlines } = state.timers;
  let left = units;
  while (deadlines.firstAtMs <= state.nowMs) {
    if (left === 0) return 0;
    left = fire(state, deadlines.first, left);
  }
  state.schedule.removeWork();
  state.schedule.findNext();
  return left;
}

/** Each order, and the timer itself, takes a unit. Returns the units left. */
function fire(state: State, userId: number, units: number): number {
  const { accounts, orders, timers } = state;
  const dueAtMs = timers.atMs(userId);
  let left = units;
  let row = accounts.firstOrder(userId);
  while (row !== 0) {
    const next = orders.userAfter(row);
    if (placedAtMs(state, row) < dueAtMs && !isOverdue(state, row)) {
      if (left === 0) return 0;
      cancelOrder(state, row, CancelReason.CANCEL_AFTER);
      left--;
    }
    row = next;
  }
  if (left === 0) return 0;
  timers.set(userId, 0);
  state.events.write(EventType.cancelAfterFired, userId, dueAtMs);
  return left - 1;
}
