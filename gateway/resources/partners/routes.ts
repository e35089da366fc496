/**
 * Partners: deposits and withdrawals, each executed once per partner and reference. A partner can
 * deposit for any user except the exchange itself, but withdraws from, and sees the balances of,
 * only users it registered. Two keys with one name are the same partner.
 */

import { z } from 'zod';
import { MAX_TRANSFER_MICROS } from '../../../engine/interface/limits.js';
import { idNumber, MICRO_SCALE } from '../../../engine/interface/notation.js';
import type { AccountView } from '../../../engine/interface/views.js';
import { errorAnswer } from '../../commands/errors.js';
import { receiptOf } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { executeFor } from '../../http/submission.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { Writer } from '../../json/writer.js';
import { findAccount } from '../find.js';

const TransferBody = bodyObject('TransferBody', 'A transfer of a partner', {
  userId: request.userId,
  amount: request
    .dollars({ max: MAX_TRANSFER_MICROS / MICRO_SCALE })
    .describe('US dollars, at most 6 decimal places'),
  reference: request.partnerReference,
});

export const TransferReceipt = responseObject('TransferReceipt', 'An executed transfer', {
  partner: z.string().describe('The partner’s name'),
  reference: z.string().describe('The reference of the transfer'),
  userId: response.userId,
  amount: response.money,
  balance: response.balance
    .nullable()
    .describe('The balance after the transfer; null if the user was not registered with this key'),
  ...response.state,
});

const ownUsersMoney = response.money
  .nullable()
  .describe('US dollars; null if the user was not registered with this key');

export const PartnerUser = responseObject('PartnerUser', 'A user as partners see it', {
  userId: response.userId,
  username: response.username,
  createdAtMs: response.timeMs,
  currency: response.currency,
  available: ownUsersMoney,
  held: ownUsersMoney,
  total: ownUsersMoney,
  ...response.state,
});

export const partnerRoutes: Route[] = [
  defineRoute('POST', '/partner/deposits', {
    access: 'partner',
    summary:
      'Deposit money for any user except the exchange’s own accounts; a repeated reference returns the first response',
    query: request.PartnerQuery,
    body: TransferBody,
    responses: { 200: TransferReceipt },
    errors: ['user_not_found', 'idempotency_key_reused', 'limit_reached'],
    handle(call) {
      transfer(call, 'deposit');
    },
  }),

  defineRoute('POST', '/partner/withdrawals', {
    access: 'partner',
    summary:
      'Withdraw money of a user registered with this key; a repeated reference returns the first response',
    query: request.PartnerQuery,
    body: TransferBody,
    responses: { 200: TransferReceipt },
    errors: [
      'user_not_found',
      'user_frozen',
      'idempotency_key_reused',
      'insufficient_balance',
      'limit_reached',
    ],
    handle(call) {
      transfer(call, 'withdraw');
    },
  }),

  defineRoute('GET', '/partner/users/:id', {
    access: 'partner',
    summary: 'A user; includes the balance if the user was registered with this key',
    query: request.PartnerQuery,
    responses: { 200: PartnerUser },
    errors: ['user_not_found'],
    handle(call) {
      const account = findAccount(call, 'id');
      if (account === null) return;
      const isOwn = account.partner === call.partner;
      call.answer(isOwn ? OWN_USER : OTHER_USER, { ...account, ...call.asOf });
    },
  }),
];

const OWN_USER = new Writer<AccountView>(PartnerUser, {
  total: ({ availableMicros, heldMicros }) => availableMicros + heldMicros,
});
/** This partner did not register the user. */
const OTHER_USER = new Writer<AccountView>(PartnerUser, {
  available: () => null,
  held: () => null,
  total: () => null,
});

const SENT = {
  partner: ({ command }: { command: { partner: string } }) => command.partner,
  reference: ({ command }: { command: { reference: string } }) => command.reference,
};
const RECEIPTS = {
  deposit: receiptOf('deposit', TransferReceipt, SENT),
  withdraw: receiptOf('withdraw', TransferReceipt, SENT),
};
const DEPOSIT_FOR_OTHER = receiptOf('deposit', TransferReceipt, { ...SENT, balance: () => null });

function transfer(call: Call<z.output<typeof TransferBody>>, kind: 'deposit' | 'withdraw'): void {
  const { amount: amountMicros, reference } = call.body;
  const partner = call.partner!;
  const userId = idNumber('u', call.body.userId);
  if (userId === 0) {
    call.refuseWhenDurable(errorAnswer('user_not_found'));
    return;
  }
  const isOwn = call.engine.account(userId)?.partner === partner;
  const receipt = isOwn ? RECEIPTS[kind] : DEPOSIT_FOR_OTHER;
  executeFor(call, { kind, userId, amountMicros, partner, reference }, 200, receipt);
}
