/** The bodies of requests and responses of sub-accounts and of transfers between them. */
import { z } from 'zod';
import {
  MAX_SUB_ACCOUNTS_PER_USER,
  MAX_TRANSFER_MICROS,
} from '../../../engine/interface/limits.js';
import { MICRO_SCALE } from '../../../engine/interface/notation.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  balanceFields,
  money,
  state,
  timeMs,
  userId,
  username,
} from '../../json/response-fields.js';

export const SubAccountBody = bodyObject('SubAccountBody', 'A new sub-account', {
  ...request.own,
  username: request.username,
});
export const SubAccount = responseObject('SubAccount', 'An account that belongs to another user', {
  userId,
  username,
  ...state,
});
export const SubAccounts = responseObject(
  'SubAccounts',
  'The sub-accounts of a user, and all money',
  {
    subAccounts: z
      .array(
        responseObject('SubAccountBalance', 'A sub-account and its money', {
          userId,
          username,
          createdAtMs: timeMs,
          balance: z.strictObject(balanceFields).describe('The money of the sub-account'),
        }),
      )
      .describe(`The sub-accounts, oldest first; at most ${MAX_SUB_ACCOUNTS_PER_USER}`),
    allAccounts: z
      .strictObject(balanceFields)
      .describe('The money of the user and of all sub-accounts together'),
    ...state,
  },
);

const account = z
  .string()
  .regex(/^u[1-9]\d{0,9}$/, 'must be the id of a user, such as u12')
  .describe('Your id, or that of a sub-account of yours');
export const MoneyTransferBody = bodyObject('MoneyTransferBody', 'A transfer of available money', {
  ...request.own,
  from: account,
  to: account,
  amount: request
    .dollars({ min: 1 / MICRO_SCALE, max: MAX_TRANSFER_MICROS / MICRO_SCALE })
    .describe('US dollars, at most 6 decimal places'),
});
export const MoneyTransfer = responseObject(
  'MoneyTransfer',
  'A transfer between accounts of one user',
  {
    from: userId,
    to: userId,
    amount: money,
    fromAvailable: money,
    toAvailable: money,
    ...state,
  },
);
