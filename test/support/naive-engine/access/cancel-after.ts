/** The naive engine's dead man's switches: all due switches fire together, the earliest first. */
import type { CommandOf } from '../../../../engine/interface/commands.js';
import { CancelReason } from '../../../../engine/interface/domain.js';
import { cancelOrder, ordersOf } from '../orders.js';
import { type Answer, emit, marketOf, type NaiveState, ok, reject, userOf } from '../state.js';

export function setCancelAfter(state: NaiveState, command: CommandOf<'setCancelAfter'>): Answer {
  const { userId, timeoutMs } = command;
  const user = userOf(state, userId);
  if (user === undefined) return reject('user_not_found');
  user.cancelAtMs = timeoutMs === 0 ? null : state.nowMs + timeoutMs;
  return ok({ userId, cancelAtMs: user.cancelAtMs ?? 0 });
}

export function nextTimerMs(state: NaiveState): number {
  const times = state.users.map(({ cancelAtMs }) => cancelAtMs ?? Number.POSITIVE_INFINITY);
  return Math.min(Number.POSITIVE_INFINITY, ...times);
}

export function fireTimers(state: NaiveState): void {
  const due = state.users.filter(
    ({ cancelAtMs }) => cancelAtMs !== null && cancelAtMs <= state.nowMs,
  );
  due.sort((a, b) => a.cancelAtMs! - b.cancelAtMs! || a.userId - b.userId);
  for (const user of due) {
    const { userId } = user;
    const own = ordersOf(state, userId).sort((a, b) => a.restNumber - b.restNumber);
    for (const order of own) {
      const market = marketOf(state, order.marketId)!;
      const resting = market.orders.find(({ orderId }) => orderId === order.orderId)!;
      cancelOrder(state, market, resting, CancelReason.CANCEL_AFTER);
    }
    emit(state, { type: 'cancelAfterFired', userId, dueAtMs: user.cancelAtMs! });
    user.cancelAtMs = null;
  }
}
