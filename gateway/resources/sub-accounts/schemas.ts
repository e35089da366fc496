/** The bodies of requests and responses of sub-accounts and of transfers between them. */
import { z } from 'zod';
import {
  MAX_SUB_ACCOUNTS_PER_USER,
  MAX_TRANSFER_MICROS,
} from '../../../engine/interface/limits.js';
import { MICRO_SCALE } from '../../../engine/interface/notation.js';
import { bodySchema, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  balanceFields,
  money,
  state,
  timeMs,
  userId,
  username,
} from '../../json/response-fields.js';

export const SubAccountBody = bodySchema(
  'SubAccountBody',
  'A new sub-account',
  z.strictObject({ ...request.own, username: request.username }),
);
export const SubAccount = responseSchema(
  'SubAccount',
  'An account that belongs to another user',
  z.strictObject({ userId, username, ...state }),
);
export const SubAccounts = responseSchema(
  'SubAccounts',
  'The sub-accounts of a user, and all money',
  z.strictObject({
    subAccounts: z
      .array(
        responseSchema(
          'SubAccountBalance',
          'A sub-account and its money',
          z.strictObject({
            userId,
            username,
            createdAtMs: timeMs,
            balance: z.strictObject(balanceFields).describe('The money of the sub-account'),
          }),
        ),
      )
      .describe(`The sub-accounts, oldest first; at most ${MAX_SUB_ACCOUNTS_PER_USER}`),
    allAccounts: z
      .strictObject(balanceFields)
      .describe('The money of the user and of all sub-accounts together'),
    ...state,
  }),
);

const account = z
  .string()
  .regex(/^u[1-9]\d{0,9}$/, 'must be the id of a user, such as u12')
  .meta({ description: 'Your id, or that of a sub-account of yours' });
export const MoneyTransferBody = bodySchema(
  'MoneyTransferBody',
  'A transfer of available money',
  z.strictObject({
    ...request.own,
    from: account,
    to: account,
    amount: request
      .dollars({ min: 1 / MICRO_SCALE, max: MAX_TRANSFER_MICROS / MICRO_SCALE })
      .meta({ description: 'US dollars, at most 6 decimal places' }),
  }),
);
export const MoneyTransfer = responseSchema(
  'MoneyTransfer',
  'A transfer between accounts of one user',
  z.strictObject({
    from: userId,
    to: userId,
    amount: money,
    fromAvailable: money,
    toAvailable: money,
    ...state,
  }),
);
