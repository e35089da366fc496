/**
 * Order groups: a maker's orders that are cancelled together, by the engine, once enough of them
 * has been filled.
 */
import { idNumber } from '../../../engine/interface/notation.js';
import { RESULT_FIELDS, RESULT_HEAD_LENGTH } from '../../../engine/interface/results.js';
import {
  orderIdsIn,
  type ReceiptWriter,
  resultFields,
  stateAfter,
} from '../../commands/receipt.js';
import { defineRoute, type Route } from '../../http/route.js';
import { lots } from '../../json/decimal.js';
import { EmptyBody } from '../../json/fields.js';
import { jsonText } from '../../json/serializer.js';
import { OrderGroupBody, OrderGroups, OrderGroupTerms, RemovedOrderGroup } from './schemas.js';

/** A reset has the same fields. */
const termsReceipt: ReceiptWriter = (_assets, result, at) => {
  const group = resultFields('createOrderGroup', result, at);
  const { groupId, maxFilledLots, windowMs, sequence, atMs } = group;
  return jsonText<typeof OrderGroupTerms>({
    groupId: `g${groupId}`,
    maxFilledShares: lots(maxFilledLots),
    windowMs,
    sequence,
    atMs,
  });
};

const REMOVED_LENGTH = RESULT_HEAD_LENGTH + RESULT_FIELDS.removeOrderGroup.length;

const removedReceipt: ReceiptWriter = (_assets, result, at) => {
  const removed = resultFields('removeOrderGroup', result, at);
  return jsonText<typeof RemovedOrderGroup>({
    groupId: `g${removed.groupId}`,
    cancelled: orderIdsIn(result, at + REMOVED_LENGTH, removed.cancelledOrders),
    ...stateAfter(removed),
  });
};

export const orderGroupRoutes: Route[] = [
  defineRoute('POST', '/users/:id/order-groups', {
    access: 'session',
    summary: 'Make an order group: once enough of its orders is filled, the rest is cancelled',
    userParameter: 'id',
    body: OrderGroupBody,
    idempotent: true,
    responses: { 201: OrderGroupTerms },
    errors: ['limit_reached'],
    handle(call) {
      const { userId, idempotencyKey, body } = call;
      const { maxFilledShares: maxFilledLots, windowMs } = body;
      const own = { userId, idempotencyKey, maxFilledLots, windowMs };
      call.execute({ kind: 'createOrderGroup', ...own }, 201, termsReceipt);
    },
  }),

  defineRoute('GET', '/users/:id/order-groups', {
    access: 'session',
    summary: 'Your order groups, oldest first',
    userParameter: 'id',
    responses: { 200: OrderGroups },
    handle(call) {
      const orderGroups = call.engine.orderGroups(call.userId).map((group) => ({
        groupId: `g${group.groupId}`,
        maxFilledShares: lots(group.maxFilledLots),
        windowMs: group.windowMs,
        filledShares: lots(group.filledLots),
        windowEndsAtMs: group.windowEndsAtMs,
        tripped: group.tripped,
        openOrders: group.orderCount,
      }));
      call.answerJson<typeof OrderGroups>({ orderGroups, ...call.trueAt });
    },
  }),

  defineRoute('POST', '/users/:id/order-groups/:groupId/reset', {
    access: 'session',
    summary: 'Let an order group take orders again, with nothing filled',
    userParameter: 'id',
    body: EmptyBody,
    idempotent: true,
    responses: { 200: OrderGroupTerms },
    errors: ['order_group_not_found'],
    handle(call) {
      const { userId, idempotencyKey } = call;
      const groupId = idNumber('g', call.parameter('groupId'));
      call.execute({ kind: 'resetOrderGroup', userId, idempotencyKey, groupId }, 200, termsReceipt);
    },
  }),

  defineRoute('DELETE', '/users/:id/order-groups/:groupId', {
    quota: 'cancels',
    access: 'session',
    summary: 'Remove an order group, and cancel its resting orders',
    userParameter: 'id',
    body: EmptyBody,
    idempotent: true,
    responses: { 200: RemovedOrderGroup },
    errors: ['order_group_not_found'],
    handle(call) {
      const { userId, idempotencyKey } = call;
      const groupId = idNumber('g', call.parameter('groupId'));
      const command = { kind: 'removeOrderGroup', userId, idempotencyKey, groupId } as const;
      call.execute(command, 200, removedReceipt);
    },
  }),
];
