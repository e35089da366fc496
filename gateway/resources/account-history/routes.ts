/**
 * The story of an account: its statement, and its orders, open and closed. Both come from the
 * history, and say all that was durable when the request came. The list of resting orders without
 * a filter comes from the engine, at once.
 */
import { idNumber } from '../../../engine/interface/notation.js';
import type { OrdersRequest } from '../../../persistence/history/account/orders.js';
import { answerCoded } from '../../coding/coded-answer.js';
import { errorAnswer } from '../../http/errors.js';
import type { RequestContext } from '../../http/request-context.js';
import { defineRoute, type Route } from '../../http/route.js';
import { serializer } from '../../json/serializer.js';
import { type Filter, filterOf } from '../filters.js';
import { readHistory } from '../history/read.js';
import { cursorOf, type PageRequest, pageOf, refuseCursor, startOf } from '../paging.js';
import { CSV_TYPE, ledgerCsv, prefersCsv } from './csv.js';
import * as examples from './examples.js';
import { Ledger, LedgerQuery, OrderRecord, Orders, OrdersQuery } from './schemas.js';
import { ledgerEntryOf, orderRecordOf, restingOrderOf } from './views.js';

const ledgerText = serializer(Ledger);
const orderText = serializer(OrderRecord);
const ordersText = serializer(Orders);

export const accountHistoryRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/users/:id/ledger',
    access: 'session',
    summary:
      'Your statement: every change of your money and shares, newest first; as CSV with `Accept: text/csv`',
    userParameter: 'id',
    caching: 'private',
    query: LedgerQuery,
    responses: { 200: Ledger },
    alsoProduces: CSV_TYPE,
    errors: ['unavailable'],
    example: examples.ledger,
    handle(call) {
      const { userId, engine, query } = call;
      const filter = filterOf(call);
      if (filter === null) return;
      const list = `ledger/u${userId}/${query.cause ?? ''}${filter.name}`;
      const cursor = startOf(call, list);
      if (cursor === undefined) return;
      const isCsv = prefersCsv(call.request.accept);
      call.addHeader('Vary', 'Accept');
      const { limit, cause = null } = query;
      const request = { kind: 'ledger', userId, limit, cursor, cause, ...filter.bounds } as const;
      readHistory(call, request, (page, sequence) => {
        const nextCursor = page.nextCursor === null ? null : cursorOf(list, page.nextCursor);
        if (isCsv) {
          call.produce(CSV_TYPE);
          if (nextCursor !== null) call.addHeader('Link', nextLink(call, nextCursor));
          answerCoded(call, sequence, ledgerCsv(engine, page.entries));
          return;
        }
        const entries = page.entries.map((line) => ledgerEntryOf(engine, line));
        answerCoded(call, sequence, ledgerText({ entries, nextCursor, sequence }));
      });
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/orders',
    access: 'session',
    summary:
      'Your orders, newest first; without a filter, those that rest, oldest first and at once',
    userParameter: 'id',
    caching: 'private',
    query: OrdersQuery,
    responses: { 200: Orders },
    errors: ['unavailable'],
    example: examples.orders,
    handle(call) {
      const filter = filterOf(call);
      if (filter === null) return;
      const { status, clientOrderId } = call.query;
      if (clientOrderId !== undefined) answerNamed(call, filter, clientOrderId, status ?? 'all');
      else if (status === undefined && !filter.isSet) answerResting(call);
      else answerHistory(call, filter, status ?? 'open');
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/orders/:orderId',
    access: 'session',
    summary: 'One of your orders, open or closed',
    userParameter: 'id',
    responses: { 200: OrderRecord },
    errors: ['order_not_found', 'unavailable'],
    example: examples.order,
    handle(call) {
      const { userId, engine } = call;
      const orderId = idNumber('o', call.parameter('orderId'));
      if (orderId === 0) {
        call.answerError(errorAnswer('order_not_found'));
        return;
      }
      readHistory(call, { kind: 'userOrder', userId, orderId }, (order, sequence) => {
        if (order === null) call.answerError(errorAnswer('order_not_found'));
        else call.answerAt(sequence, 200, orderText({ ...orderRecordOf(engine, order), sequence }));
      });
    },
  }),
];

type OrdersCall = RequestContext<unknown, PageRequest>;

function answerResting(call: OrdersCall): void {
  const { engine, userId } = call;
  const page = pageOf(call, engine.orders(userId), {
    list: `orders/u${userId}`,
    positionOf: (order) => order.orderId,
    newestFirst: false,
  });
  if (page === null) return;
  const orders = page.entries.map((order) => restingOrderOf(engine, order));
  const { nextCursor } = page;
  call.answer(200, ordersText({ orders, nextCursor, sequence: engine.sequence }));
}

/** One order or none, so no cursor belongs to this list. */
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
  const { engine, userId } = call;
  const { limit } = call.query;
  const list = `orders/u${userId}/${status}${filter.name}`;
  const cursor = startOf(call, list);
  if (cursor === undefined) return;
  const { bounds } = filter;
  const wanted = { userId, limit, cursor, status, clientOrderId, ...bounds };
  const request = { kind: 'userOrders', ...wanted } as const;
  readHistory(call, request, (page, sequence) => {
    const nextCursor = page.nextCursor === null ? null : cursorOf(list, page.nextCursor);
    const orders = page.entries.map((order) => orderRecordOf(engine, order));
    answerCoded(call, sequence, ordersText({ orders, nextCursor, sequence }));
  });
}

/** The address of the next page of a CSV, as a header (RFC 8288). */
function nextLink(call: RequestContext<unknown, unknown>, cursor: string): string {
  const query = new URLSearchParams(call.request.rawQuery);
  query.set('cursor', cursor);
  return `</api/users/u${call.userId}/ledger?${query}>; rel="next"`;
}
