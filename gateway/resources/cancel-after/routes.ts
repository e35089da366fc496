/**
 * The dead man's switch: a program that no longer repeats this request loses its resting orders.
 * The engine cancels them when the exchange's time comes, whether or not anybody is connected.
 */
import { type ReceiptWriter, resultFields } from '../../commands/receipt.js';
import { defineRoute, type Route } from '../../http/route.js';
import { jsonText } from '../../json/serializer.js';
import { CancelAfter, CancelAfterBody } from './schemas.js';

const receipt: ReceiptWriter = (_assets, result, at) => {
  const { cancelAtMs, sequence, atMs } = resultFields('setCancelAfter', result, at);
  return jsonText<typeof CancelAfter>({
    cancelAtMs: cancelAtMs === 0 ? null : cancelAtMs,
    sequence,
    atMs,
  });
};

export const cancelAfterRoutes: Route[] = [
  defineRoute('PUT', '/users/:id/cancel-after', {
    quota: 'cancels',
    access: 'session',
    summary:
      'Cancel all your resting orders after a time, unless you send this again before; 0 turns it off',
    userParameter: 'id',
    body: CancelAfterBody,
    idempotent: true,
    responses: { 200: CancelAfter },
    handle(call) {
      const { userId, idempotencyKey, body } = call;
      const { timeoutMs } = body;
      call.execute({ kind: 'setCancelAfter', userId, idempotencyKey, timeoutMs }, 200, receipt);
    },
  }),
];
