/** An account's statement and orders, from the history; the engine lists resting orders. */
import { idNumber } from '../../../engine/interface/notation.js';
import type { OrderRecord, OrdersRequest } from '../../../persistence/history/account/orders.js';
import { unitsOfSeen } from '../../access/fair-use/charges.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { answerList, LIST_TYPES } from '../csv.js';
import { type Filter, withFilter } from '../find.js';
import { answerPage, readHistory } from '../history/read.js';
import { type PageEnd, type PageRequest, pageOf, refuseCursor } from '../paging.js';
import * as views from './views.js';

export const accountHistoryRoutes: Route[] = [
  defineRoute('GET', '/users/:id/ledger', {
    access: 'session',
    summary:
      'Your statement: every change of your money and shares, newest first; as CSV with `Accept: text/csv`',
    caching: 'private',
    query: views.LedgerQuery,
    responses: { 200: views.Ledger },
    produces: LIST_TYPES,
    errors: ['market_not_found', 'history_unavailable'],
    handle(call) {
      const { userId, query } = call;
      const { cause = null } = query;
      withFilter(call, ({ name, bounds }) => {
        const list = `ledger/u${userId}/${query.cause ?? ''}${name}`;
        answerPage(call, list, { kind: 'ledger', userId, cause, ...bounds }, (page, end) => {
          answerList(call, views.ledger, `/users/u${userId}/ledger`, page.entries, end);
        });
      });
    },
  }),

  defineRoute('GET', '/users/:id/orders', {
    access: 'session',
    summary:
      'Your orders, newest first; without a filter, your resting orders, oldest first, directly from the engine; as CSV with `Accept: text/csv`',
    caching: 'private',
    query: views.OrdersQuery,
    responses: { 200: views.Orders },
    produces: LIST_TYPES,
    errors: ['market_not_found', 'history_pruned', 'history_unavailable'],
    handle(call) {
      const { status, clientOrderId } = call.query;
      withFilter(call, (filter) => {
        if (clientOrderId !== undefined) answerNamed(call, filter, clientOrderId, status ?? 'all');
        else if (status === undefined && !filter.isSet) answerResting(call);
        else answerHistory(call, filter, status ?? 'open');
      });
    },
  }),

  defineRoute('GET', '/users/:id/orders/:orderId', {
    access: 'session',
    summary: 'One of your orders, open or closed',
    responses: { 200: views.OrderRecord },
    errors: ['order_not_found', 'history_pruned', 'history_unavailable'],
    handle(call) {
      const { userId, engine } = call;
      const orderId = idNumber('o', call.parameter('orderId'));
      if (!call.require(orderId || null, 'order_not_found')) return;
      readHistory(call, { kind: 'userOrder', userId, orderId }, (order, at) => {
        if (!call.require(order, 'order_not_found')) return;
        const text = views.orderRecord.text({ ...order, ...at }, engine);
        call.answerWhenDurable(200, text, at.sequence);
      });
    },
  }),
];

type OrdersCall = Call<unknown, PageRequest>;

function answerResting(call: OrdersCall): void {
  const { engine, userId } = call;
  const page = pageOf(call, Array.from(engine.orderIds(userId)), {
    list: `orders/u${userId}`,
    positionOf: (orderId) => orderId,
    newestFirst: false,
  });
  if (page === null) return;
  const ahead = engine.lotsAhead(page.entries);
  call.owe(unitsOfSeen(engine.makersSeen));
  const orders = Array.from(ahead, ([id, lots]) => views.restingOrder(engine.order(id), lots));
  answerOrders(call, orders, { nextCursor: page.nextCursor, ...call.asOf });
}

/** Answers with at most one order, so the list needs no cursor. */
function answerNamed(
  call: OrdersCall,
  filter: Filter,
  clientOrderId: string,
  status: OrdersRequest['status'],
): void {
  const { query } = call;
  if (query.cursor === undefined) answerHistory(call, filter, status, clientOrderId);
  else refuseCursor(call);
}

function answerHistory(
  call: OrdersCall,
  filter: Filter,
  status: OrdersRequest['status'],
  clientOrderId: string | null = null,
): void {
  const { userId } = call;
  const list = `orders/u${userId}/${status}${filter.name}`;
  const wanted = { userId, status, clientOrderId, ...filter.bounds };
  answerPage(call, list, { kind: 'userOrders', ...wanted }, (page, end) => {
    answerOrders(call, page.entries, end);
  });
}

function answerOrders(call: OrdersCall, orders: readonly OrderRecord[], end: PageEnd): void {
  answerList(call, views.orders, `/users/u${call.userId}/orders`, orders, end);
}
