/** Sub-accounts: list, named tokens, and transfers of money. */

import { z } from 'zod';
import {
  MAX_SUB_ACCOUNTS_PER_USER,
  MAX_TRANSFER_MICROS,
} from '../../../engine/interface/limits.js';
import { idNumber, MICRO_SCALE } from '../../../engine/interface/notation.js';
import type { AccountView } from '../../../engine/interface/views.js';
import { errorAnswer, invalidRequest } from '../../commands/errors.js';
import { receiptOf } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { isNameOfHouse } from '../../inputs/house/house.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { Json, Writer } from '../../json/writer.js';
import { balance } from '../accounts/views.js';
import { defineChange } from '../change.js';
import { CreatedToken, createToken, listTokens, TokenBody, Tokens } from '../sign-in/tokens.js';

const SubAccountBody = bodyObject('SubAccountBody', 'A new sub-account', {
  ...request.own,
  username: request.username,
});
export const SubAccount = responseObject('SubAccount', 'An account that belongs to another user', {
  userId: response.userId,
  username: response.username,
  ...response.state,
});
export const SubAccounts = responseObject(
  'SubAccounts',
  'The sub-accounts of a user, and all money',
  {
    subAccounts: z
      .array(
        responseObject('SubAccountBalance', 'A sub-account and its money', {
          userId: response.userId,
          username: response.username,
          createdAtMs: response.timeMs,
          balance: z.strictObject(response.balanceFields).describe('The sub-account’s money'),
        }),
      )
      .describe(`The sub-accounts, oldest first; at most ${MAX_SUB_ACCOUNTS_PER_USER}`),
    allAccounts: z
      .strictObject(response.balanceFields)
      .describe('The total money of the user and all sub-accounts'),
    ...response.state,
  },
);

const account = z
  .string()
  .regex(/^u[1-9]\d{0,9}$/, 'must be the id of a user, such as u12')
  .describe('Your id, or a sub-account’s id');
const MoneyTransferBody = bodyObject('MoneyTransferBody', 'A transfer of available money', {
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
    from: response.userId,
    to: response.userId,
    amount: response.money,
    fromAvailable: response.money,
    toAvailable: response.money,
    ...response.state,
  },
);

const SUB_ACCOUNT = new Writer<AccountView>(SubAccounts.shape.subAccounts.element, {
  balance,
});
const SUB_ACCOUNTS = new Writer<{ accounts: AccountView[]; all: AccountView }>(SubAccounts, {
  subAccounts: ({ accounts }, names) => SUB_ACCOUNT.all(accounts, names),
  allAccounts: ({ all }, names) => new Json(balance.text(all, names)),
});
const created = receiptOf('createSubAccount', SubAccount, {
  username: ({ command }) => command.username,
});
const moved = receiptOf('transferMoney', MoneyTransfer, { from: 'fromUserId', to: 'toUserId' });

export const subAccountRoutes: Route[] = [
  defineChange('POST', '/users/:id/sub-accounts', {
    handlesCredentials: true,
    summary: 'Create a sub-account: a separate account without a password',
    quota: 'signIns',
    body: SubAccountBody,
    responses: { 201: SubAccount },
    errors: ['username_taken', 'user_frozen', 'limit_reached'],
    receipt: created,
    commandOf(call) {
      const { username } = call.body;
      if (!isNameOfHouse(username)) return { kind: 'createSubAccount', username };
      call.refuseWhenDurable(errorAnswer('username_taken'));
      return null;
    },
  }),

  defineRoute('GET', '/users/:id/sub-accounts', {
    access: 'session',
    summary: 'Your sub-accounts with their balances, oldest first',
    responses: { 200: SubAccounts },
    handle(call) {
      const { engine, userId } = call;
      const own = engine.account(userId)!;
      const accounts = engine.subAccounts(userId).map((id) => engine.account(id)!);
      const all = { ...own };
      for (const { availableMicros, heldMicros } of accounts) {
        all.availableMicros += availableMicros;
        all.heldMicros += heldMicros;
      }
      call.answer(SUB_ACCOUNTS, { accounts, all, ...call.asOf });
    },
  }),

  defineChange('POST', '/users/:id/transfers', {
    summary:
      'Move available money between your account and a sub-account, or between two sub-accounts',
    body: MoneyTransferBody,
    responses: { 201: MoneyTransfer },
    errors: ['user_not_found', 'user_frozen', 'insufficient_balance'],
    receipt: moved,
    commandOf(call) {
      const { from, to, amount: amountMicros } = call.body;
      const [fromUserId, toUserId] = [idNumber('u', from), idNumber('u', to)];
      if (from !== to) return { kind: 'transferMoney', fromUserId, toUserId, amountMicros };
      call.refuseNow(invalidRequest({ to: 'must be another account than from' }));
      return null;
    },
  }),

  defineRoute('POST', '/users/:id/sub-accounts/:subAccountId/tokens', {
    access: 'session',
    handlesCredentials: true,
    summary: 'Create a named token for a sub-account; the token is shown only in this answer',
    quota: 'signIns',
    body: TokenBody,
    responses: { 201: CreatedToken },
    errors: ['user_not_found', 'limit_reached'],
    async handle(call) {
      const userId = subAccountOf(call);
      if (userId !== 0) await createToken(call, userId);
    },
  }),

  defineRoute('GET', '/users/:id/sub-accounts/:subAccountId/tokens', {
    access: 'session',
    answeredBy: 'leader',
    summary: 'The named tokens of a sub-account, oldest first',
    responses: { 200: Tokens },
    errors: ['user_not_found'],
    handle(call) {
      const userId = subAccountOf(call);
      if (userId !== 0) listTokens(call, userId);
    },
  }),
];

/** Refuses the request and returns 0 if the path names no sub-account of the user. */
function subAccountOf(call: Call): number {
  const userId = idNumber('u', call.parameter('subAccountId'));
  if (userId !== 0 && call.engine.parent(userId) === call.userId) return userId;
  call.refuseWhenDurable(errorAnswer('user_not_found'));
  return 0;
}
