/**
 * The story of an account: its statement, and its orders, open and closed. Both come from the
 * history, and say all that was durable when the request came. The list of resting orders without
 * a filter comes from the engine, at once.
 */
import { idNumber } from '../../../engine/interface/notation.js';
import type { OrdersRequest } from '../../../persistence/history/account/orders.js';
import type { TrueAt } from '../../../persistence/history/true-at.js';
import type { Call } from '../../http/call.js';
import { errorAnswer } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import { jsonText } from '../../json/serializer.js';
import { answerList, type Columns, columnsOf, LIST_TYPES } from '../csv.js';
import { type Filter, filterOf } from '../filters.js';
import { readHistory } from '../history/read.js';
import { cursorOf, type PageRequest, pageOf, refuseCursor, startOf } from '../paging.js';
import { Ledger, LedgerQuery, ListedOrder, OrderRecord, Orders, OrdersQuery } from './schemas.js';
import { ledgerEntryOf, orderRecordOf, restingOrderOf, type WritableOrder } from './views.js';

const LEDGER_COLUMNS: Columns = [
  ['sequence', 'sequence'],
  ['atMs', 'atMs'],
  ['cause', 'cause'],
  ['marketId', 'marketId'],
  ['orderId', 'orderId'],
  ['tradeId', 'tradeId'],
  ['depositId', 'depositId'],
  ['available', 'available'],
  ['held', 'held'],
  ['outcome', 'shares', 'outcome'],
  ['shares', 'shares', 'change'],
  ['balanceAvailable', 'balance', 'available'],
  ['balanceHeld', 'balance', 'held'],
];
const ORDER_COLUMNS = columnsOf(ListedOrder);

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
    produces: LIST_TYPES,
    errors: ['unavailable'],
    handle(call) {
      const { userId, engine, query } = call;
      const filter = filterOf(call);
      if (filter === null) return;
      const list = `ledger/u${userId}/${query.cause ?? ''}${filter.name}`;
      const cursor = startOf(call, list);
      if (cursor === undefined) return;
      const { limit, cause = null } = query;
      const request = { kind: 'ledger', userId, limit, cursor, cause, ...filter.bounds } as const;
      readHistory(call, request, (page, at) => {
        const nextCursor = page.nextCursor === null ? null : cursorOf(list, page.nextCursor);
        const entries = page.entries.map((line) => ledgerEntryOf(engine, line));
        const end = { nextCursor, ...at };
        const listed = {
          path: `/users/u${userId}/ledger`,
          columns: LEDGER_COLUMNS,
          entries,
          ...end,
        };
        answerList(call, listed, () => jsonText<typeof Ledger>({ entries, ...end }));
      });
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/orders',
    access: 'session',
    summary:
      'Your orders, newest first; without a filter, those that rest, oldest first and at once; as CSV with `Accept: text/csv`',
    userParameter: 'id',
    caching: 'private',
    query: OrdersQuery,
    responses: { 200: Orders },
    produces: LIST_TYPES,
    errors: ['unavailable'],
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
    handle(call) {
      const { userId, engine } = call;
      const orderId = idNumber('o', call.parameter('orderId'));
      if (orderId === 0) {
        call.refuseWhenDurable(errorAnswer('order_not_found'));
        return;
      }
      readHistory(call, { kind: 'userOrder', userId, orderId }, (order, at) => {
        if (order === null) call.refuseWhenDurable(errorAnswer('order_not_found'));
        else
          call.answerWhenDurable(
            200,
            jsonText<typeof OrderRecord>({ ...orderRecordOf(engine, order), ...at }),
            at.sequence,
          );
      });
    },
  }),
];

type OrdersCall = Call<unknown, PageRequest>;

function answerResting(call: OrdersCall): void {
  const { engine, userId } = call;
  const page = pageOf(call, engine.orders(userId), {
    list: `orders/u${userId}`,
    positionOf: (order) => order.orderId,
    newestFirst: false,
  });
  if (page === null) return;
  const orders = page.entries.map((order) => restingOrderOf(engine, order));
  answerOrders(call, orders, page.nextCursor, call.trueAt);
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
  readHistory(call, request, (page, at) => {
    const nextCursor = page.nextCursor === null ? null : cursorOf(list, page.nextCursor);
    const orders = page.entries.map((order) => orderRecordOf(engine, order));
    answerOrders(call, orders, nextCursor, at);
  });
}

function answerOrders(
  call: OrdersCall,
  orders: WritableOrder[],
  nextCursor: string | null,
  at: TrueAt,
): void {
  const path = `/users/u${call.userId}/orders`;
  const listed = { path, columns: ORDER_COLUMNS, entries: orders, nextCursor, ...at };
  answerList(call, listed, () => jsonText<typeof Orders>({ orders, nextCursor, ...at }));
}
