/** The bodies of requests and responses of partners. */
import { z } from 'zod';
import { MAX_TRANSFER_MICROS } from '../../../engine/interface/limits.js';
import { MICRO_SCALE } from '../../../engine/interface/notation.js';
import { bodyObject, responseObject } from '../../json/components.js';
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

export const TransferBody = bodyObject('TransferBody', 'A transfer of a partner', {
  userId: request.userId,
  amount: request
    .dollars({ max: MAX_TRANSFER_MICROS / MICRO_SCALE })
    .describe('US dollars, at most 6 decimal places'),
  reference: request.partnerReference,
});

export const TransferReceipt = responseObject('TransferReceipt', 'An executed transfer', {
  partner: z.string().describe('The name of the partner'),
  reference: z.string().describe('The reference of the transfer'),
  userId,
  amount: money,
  balance: balance
    .nullable()
    .describe(
      'The balance after the transfer; null for a user who was not registered with this key',
    ),
  ...state,
});

const ownUsersMoney = money
  .nullable()
  .describe('US dollars; null for a user who was not registered with this key');

export const PartnerUser = responseObject('PartnerUser', 'A user as partners see it', {
  userId,
  username,
  createdAtMs: timeMs,
  currency,
  available: ownUsersMoney,
  held: ownUsersMoney,
  total: ownUsersMoney,
  ...state,
});
