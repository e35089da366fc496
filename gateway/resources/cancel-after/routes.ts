/** The dead man's switch: the engine cancels a user's orders if this request is not repeated. */

import { z } from 'zod';
import { MAX_CANCEL_AFTER_MS, MIN_CANCEL_AFTER_MS } from '../../../engine/interface/parameters.js';
import { receiptOf } from '../../commands/receipt.js';
import type { Route } from '../../http/route.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { state, timeMs } from '../../json/response-fields.js';
import { defineChange } from '../change.js';

const RANGE = `must be 0, or from ${MIN_CANCEL_AFTER_MS} to ${MAX_CANCEL_AFTER_MS}`;

const CancelAfterBody = bodyObject(
  'CancelAfterBody',
  'A time after which resting orders are cancelled',
  {
    ...request.own,
    timeoutMs: z
      .int('must be a whole number')
      .min(0, RANGE)
      .max(MAX_CANCEL_AFTER_MS, RANGE)
      .refine((ms) => ms === 0 || ms >= MIN_CANCEL_AFTER_MS, RANGE)
      .meta({
        not: { minimum: 1, maximum: MIN_CANCEL_AFTER_MS - 1 },
        description: `Milliseconds until your resting orders are cancelled, unless you send this again; 0: never, otherwise at least ${MIN_CANCEL_AFTER_MS}`,
      }),
  },
);

export const CancelAfter = responseObject(
  'CancelAfter',
  'When the resting orders of a user are cancelled',
  {
    cancelAtMs: timeMs
      .nullable()
      .describe('When all your resting orders are cancelled; null if the switch is off'),
    ...state,
  },
);

const receipt = receiptOf('setCancelAfter', CancelAfter, {
  cancelAtMs: ({ cancelAtMs }) => cancelAtMs || null,
});

export const cancelAfterRoutes: Route[] = [
  defineChange('PUT', '/users/:id/cancel-after', {
    quota: 'cancels',
    summary:
      'Cancel all your resting orders after a time, unless you repeat the request before then; 0 turns this off',
    body: CancelAfterBody,
    responses: { 200: CancelAfter },
    receipt,
    commandOf: ({ body }) => ({ kind: 'setCancelAfter', timeoutMs: body.timeoutMs }),
  }),
];
