/**
 * Batches: up to 100 operations of one user in one command. Without `atomic`, the response is 200
 * with a receipt or an error for each operation. With `atomic`, one refused operation fails the
 * batch: the response is that operation's error, with its index in the details.
 */
import type { z } from 'zod';
import type { Batch } from '../../../engine/interface/commands.js';
import { onlyCancels } from '../../commands/cancels.js';
import { invalidRequest, ORDER_ERRORS } from '../../commands/errors.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { executeFor } from '../../http/submission.js';
import { batchReceipt } from './receipts.js';
import {
  BatchBody,
  BatchReader,
  missingOfOperations,
  operationNamesAnotherUser,
  readOperations,
} from './requests.js';
import { BatchReceipt } from './schemas.js';

const reader = new BatchReader();

export const batchRoutes: Route[] = [
  defineRoute('POST', '/batch', {
    access: 'session',
    summary:
      'Up to 100 orders, amendments, cancels, splits, merges and claims, executed in order without interruption, independently or all or none',
    body: BatchBody,
    missing: missingOfOperations,
    namesAnotherUser: operationNamesAnotherUser,
    idempotent: true,
    responses: { 200: BatchReceipt },
    // An atomic batch fails with an operation's error.
    errors: [
      ...ORDER_ERRORS,
      'order_not_found',
      'order_closed',
      'market_not_resolved',
      'nothing_to_claim',
      'already_paid',
      'insufficient_balance',
      'insufficient_shares',
      'amount_too_small',
    ],
    command: {
      kind: 'batch',
      receipt: batchReceipt,
      read: ({ assets, userId, idempotencyKey }, body) =>
        reader.read(assets, body, userId, idempotencyKey),
      admit: (call, command) => chargeBatch(call, command as Batch),
    },
    // Checked by {@link chargeBatch} after parsing.
    quota: ({ cost }) => cost.quota,
    units: (_query, { cost }) => cost.units,
    handle(call) {
      const batch = parsedBatch(call);
      if (batch !== null && chargeBatch(call, batch)) executeFor(call, batch, 200, batchReceipt);
    },
  }),
];

/** If not only cancels, the whole batch counts as orders and must be admitted as orders. */
function chargeBatch(call: Call, batch: Batch): boolean {
  if (call.wallet.quota === 'cancels' && !onlyCancels(batch)) {
    if (call.gateway.overload.refuse('change')) {
      call.refuseOverloaded();
      return false;
    }
    call.wallet.quota = 'orders';
  }
  return call.charge(batch.operations.length);
}

/** Refuses an invalid body and returns `null`. */
function parsedBatch(call: Call<z.output<typeof BatchBody>, unknown>): Batch | null {
  const { body, engine, userId, idempotencyKey } = call;
  const { commands: operations, problems } = readOperations(engine, userId, body.operations);
  if (problems !== null) {
    call.refuseNow(invalidRequest(problems));
    return null;
  }
  return { kind: 'batch', userId, idempotencyKey, operations, atomic: body.atomic ?? false };
}
