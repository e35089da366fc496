/** A resting order as responses and stream messages show it. */
import {
  type Assets,
  marketIdText,
  outcomeName,
  sideName,
} from '../../../engine/interface/notation.js';
import type { OrderView } from '../../../engine/interface/views.js';
import { lots, ticks } from '../../json/decimal.js';
import { jsonText, type Writable } from '../../json/serializer.js';
import type { Order } from './schemas.js';

export function orderOf(assets: Assets, order: OrderView): Writable<typeof Order> {
  return {
    orderId: `o${order.orderId}`,
    clientOrderId: order.clientOrderId,
    marketId: marketIdText(assets, order.marketId),
    userId: `u${order.userId}`,
    side: sideName(order.side),
    outcome: outcomeName(order.outcome),
    price: ticks(order.priceTicks),
    shares: lots(order.sizeLots),
    placedAtMs: order.placedAtMs,
  };
}

export function orderText(assets: Assets, order: OrderView): string {
  return jsonText<typeof Order>(orderOf(assets, order));
}
