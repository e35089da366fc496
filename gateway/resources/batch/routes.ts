/**
 * Batches: up to 100 operations of one user in one request and one command, run in order with nothing between.
 *
 * Each for itself, the answer is 200 with a receipt or an error for each operation. With `atomic`, a batch that one operation
 * stops has failed as a whole: the answer is that operation's error, status and code, with its place as a detail.
 *
 * For fair use each operation counts; the request itself has counted as one already.
 */
import { Code } from '../../../engine/interface/codes.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { batchRejection, invalidRequest } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import { NoQuery } from '../../json/fields.js';
import * as examples from './examples.js';
import { quickCheck } from './quick-check.js';
import { batchReceipt, refusedOperation } from './receipts.js';
import { BatchBody, operationNamesAnother, readOperations } from './requests.js';
import { BatchReceipt } from './schemas.js';

export const batchRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/batch',
    access: 'session',
    summary:
      'Up to 100 orders, cancels and claims, in order and with nothing between; each for itself, or all or none',
    query: NoQuery,
    body: BatchBody,
    quickCheck: quickCheck(BatchBody),
    namesAnother: operationNamesAnother,
    idempotent: true,
    responses: { 200: BatchReceipt },
    // What stops one of its operations stops an atomic batch.
    errors: [
      'market_not_found',
      'order_not_found',
      'deadline_passed',
      'market_not_active',
      'market_not_resolved',
      'nothing_to_claim',
      'limit_reached',
      'insufficient_balance',
      'insufficient_shares',
      'price_not_met',
      'insufficient_liquidity',
      'amount_too_small',
    ],
    example: examples.batch,
    handle(call) {
      const { body, engine, userId, idempotencyKey } = call;
      const { commands: operations, problems } = readOperations(engine, userId, body.operations);
      if (problems !== null) {
        call.refuse(invalidRequest(problems));
        return;
      }
      const more = operations.length - 1;
      if (!call.allowsFromSession(call.session!, more)) return;
      const atomic = body.atomic ?? false;
      const result = call.submit({ kind: 'batch', userId, idempotencyKey, operations, atomic });
      if (result === null) return;
      if (result.values[ResultHead.code] !== Code.ok) {
        call.answerRejected(result);
        return;
      }
      const refused = atomic ? refusedOperation(result) : null;
      if (refused === null) call.answer(200, batchReceipt(engine, result));
      else {
        const { operation, code, required, available } = refused;
        call.answerError(batchRejection(operation, code, required, available));
      }
    },
  }),
];
