/** The bodies of requests and responses of partners. */
import { z } from 'zod';
import { MAX_TRANSFER_MICROS } from '../../../engine/interface/limits.js';
import { MICRO_SCALE } from '../../../engine/interface/notation.js';
import { bodySchema, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  balance,
  currency,
  money,
  state,
  timeMs,
  userId,
  username,
} from '../../json/response-fields.js';

export const TransferBody = bodySchema(
  'TransferBody',
  'A transfer of a partner',
  z.strictObject({
    userId: request.userId,
    amount: request
      .dollars({ max: MAX_TRANSFER_MICROS / MICRO_SCALE })
      .meta({ description: 'US dollars, at most 6 decimal places' }),
    reference: request.partnerReference,
  }),
);

export const TransferReceipt = responseSchema(
  'TransferReceipt',
  'An executed transfer',
  z.strictObject({
    partner: z.string().describe('The name of the partner'),
    reference: z.string().describe('The reference of the transfer'),
    userId,
    amount: money,
    balance: balance.nullable().meta({
      description:
        'The balance after the transfer; null for a user who was not registered with this key',
    }),
    ...state,
  }),
);

const ownUsersMoney = money
  .nullable()
  .meta({ description: 'US dollars; null for a user who was not registered with this key' });

export const PartnerUser = responseSchema(
  'PartnerUser',
  'A user as partners see it',
  z.strictObject({
    userId,
    username,
    createdAtMs: timeMs,
    currency,
    available: ownUsersMoney,
    held: ownUsersMoney,
    total: ownUsersMoney,
    ...state,
  }),
);
