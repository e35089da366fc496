/** The bodies of requests and responses of the dead man's switch. */
import { z } from 'zod';
import { MAX_CANCEL_AFTER_MS, MIN_CANCEL_AFTER_MS } from '../../../engine/interface/parameters.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import { state, timeMs } from '../../json/response-fields.js';

const RANGE = `must be 0, or from ${MIN_CANCEL_AFTER_MS} to ${MAX_CANCEL_AFTER_MS}`;

export const CancelAfterBody = bodyObject(
  'CancelAfterBody',
  'A time after which resting orders are cancelled',
  {
    ...request.own,
    timeoutMs: z
      .int('must be a whole number')
      .min(0, RANGE)
      .max(MAX_CANCEL_AFTER_MS, RANGE)
      .refine((ms) => ms === 0 || ms >= MIN_CANCEL_AFTER_MS, RANGE)
      .describe(
        `Milliseconds until your resting orders are cancelled, unless you send this again; 0: never, otherwise at least ${MIN_CANCEL_AFTER_MS}`,
      ),
  },
);

export const CancelAfter = responseObject(
  'CancelAfter',
  'When the resting orders of a user are cancelled',
  {
    cancelAtMs: timeMs
      .nullable()
      .describe('When all your resting orders are cancelled; null: never'),
    ...state,
  },
);
