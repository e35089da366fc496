/** Order groups: when enough of a maker's grouped orders is filled, the engine cancels the rest. */

import { z } from 'zod';
import { idNumber } from '../../../engine/interface/notation.js';
import { MAX_GROUP_WINDOW_MS, MIN_GROUP_WINDOW_MS } from '../../../engine/interface/parameters.js';
import type { OrderGroupView } from '../../../engine/interface/views.js';
import { receiptOf } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { Writer } from '../../json/writer.js';
import { defineChange } from '../change.js';
import { MAX_ORDER_SHARES } from '../orders/fields.js';

const WINDOW = `must be a whole number from ${MIN_GROUP_WINDOW_MS} to ${MAX_GROUP_WINDOW_MS}`;

const OrderGroupBody = bodyObject('OrderGroupBody', 'How much the orders of a group may fill', {
  ...request.own,
  maxFilledShares: request
    .shares({ max: MAX_ORDER_SHARES })
    .describe(
      'Shares, at most 3 decimal places. Once the group’s orders have filled this many within a window, the group’s remaining orders are cancelled',
    ),
  windowMs: z
    .int(WINDOW)
    .min(MIN_GROUP_WINDOW_MS, WINDOW)
    .max(MAX_GROUP_WINDOW_MS, WINDOW)
    .describe('The length of a window in milliseconds; a window begins with its first fill'),
});

const terms = {
  groupId: response.groupId,
  maxFilledShares: response.shares.describe(
    'The group trips once its orders have filled this many shares within a window',
  ),
  windowMs: response.count.describe('The length of a window in milliseconds'),
};

export const OrderGroupTerms = responseObject(
  'OrderGroupTerms',
  'An order group that accepts orders and has no fills',
  { ...terms, ...response.state },
);

const OrderGroup = responseObject('OrderGroup', 'An order group', {
  ...terms,
  filledShares: response.shares.describe(
    'Shares filled by the group’s orders in this window; if the group has tripped, until then',
  ),
  windowEndsAtMs: response.timeMs
    .nullable()
    .describe('When this window ends; null if the next fill begins a window'),
  tripped: z
    .boolean()
    .describe(
      'Whether the group has tripped: its orders were cancelled, and it takes none until it is reset',
    ),
  openOrders: response.count.describe('The number of the group’s resting orders'),
});
export const OrderGroups = responseObject('OrderGroups', 'The order groups of a user', {
  orderGroups: z.array(OrderGroup).describe('The groups, oldest first'),
  ...response.state,
});

export const RemovedOrderGroup = responseObject(
  'RemovedOrderGroup',
  'An order group that was removed',
  {
    groupId: response.groupId,
    cancelled: z
      .array(response.orderId)
      .describe('The ids of the cancelled orders, in the order in which they began to rest'),
    balance: response.balance,
    ...response.state,
  },
);

const ORDER_GROUP = new Writer<OrderGroupView>(OrderGroup, { openOrders: 'orderCount' });
const ORDER_GROUPS = new Writer<{ groups: OrderGroupView[] }>(OrderGroups, {
  orderGroups: ({ groups }, names) => ORDER_GROUP.all(groups, names),
});

/** A reset's result has the same fields. */
const termsReceipt = receiptOf('createOrderGroup', OrderGroupTerms);
const removedReceipt = receiptOf('removeOrderGroup', RemovedOrderGroup);

export const orderGroupRoutes: Route[] = [
  defineChange('POST', '/users/:id/order-groups', {
    summary:
      'Create an order group: once its orders have filled enough, its remaining orders are cancelled',
    body: OrderGroupBody,
    responses: { 201: OrderGroupTerms },
    errors: ['limit_reached'],
    receipt: termsReceipt,
    commandOf: ({ body: { maxFilledShares: maxFilledLots, windowMs } }) => ({
      kind: 'createOrderGroup',
      maxFilledLots,
      windowMs,
    }),
  }),

  defineRoute('GET', '/users/:id/order-groups', {
    access: 'session',
    summary: 'Your order groups, oldest first',
    responses: { 200: OrderGroups },
    handle(call) {
      const groups = call.engine.orderGroups(call.userId);
      call.answer(ORDER_GROUPS, { groups, ...call.asOf });
    },
  }),

  defineChange('POST', '/users/:id/order-groups/:groupId/reset', {
    summary: 'Reset an order group: it takes orders again, with nothing filled',
    body: request.EmptyBody,
    responses: { 200: OrderGroupTerms },
    errors: ['order_group_not_found'],
    receipt: termsReceipt,
    commandOf: (call) => ({ kind: 'resetOrderGroup', groupId: groupOf(call) }),
  }),

  defineChange('DELETE', '/users/:id/order-groups/:groupId', {
    quota: 'cancels',
    summary: 'Remove an order group, and cancel its resting orders',
    body: request.EmptyBody,
    responses: { 200: RemovedOrderGroup },
    errors: ['order_group_not_found'],
    receipt: removedReceipt,
    commandOf: (call) => ({ kind: 'removeOrderGroup', groupId: groupOf(call) }),
  }),
];

function groupOf(call: Call): number {
  return idNumber('g', call.parameter('groupId'));
}
