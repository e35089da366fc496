/**
 * The naive engine's remembered client order ids: a plain list, oldest first, of those that fit,
 * beside the ids that resting orders have.
 */
import {
  CLIENT_ORDER_ID_BOUNDS,
  type ClientOrderIdBounds,
} from '../../../engine/state/book/client-order-ids.js';
import type { NaiveClientOrder, NaiveState } from './state.js';

/** The user's resting or remembered order with the id, 0: none. */
export function orderWithClientId(
  state: NaiveState,
  userId: number,
  clientOrderId: string,
): number {
  const resting = state.markets
    .flatMap((market) => market.orders)
    .find((order) => order.userId === userId && order.clientOrderId === clientOrderId);
  if (resting !== undefined) return resting.orderId;
  const remembered = state.clientOrders.find(
    (one) => one.userId === userId && one.clientOrderId === clientOrderId,
  );
  return remembered?.orderId ?? 0;
}

/** Forgets the user's oldest id if the user has as many as fit, else the oldest of all. */
export function rememberClientOrder(
  state: NaiveState,
  order: NaiveClientOrder,
  bounds: ClientOrderIdBounds = CLIENT_ORDER_ID_BOUNDS,
): void {
  const { clientOrders } = state;
  const own = clientOrders.filter((one) => one.userId === order.userId);
  if (own.length >= bounds.perUser) clientOrders.splice(clientOrders.indexOf(own[0]!), 1);
  else if (clientOrders.length >= bounds.inAll) clientOrders.shift();
  clientOrders.push(order);
}
