/**
 * Partners: deposits and withdrawals, each executed once per partner and reference. A partner can
 * deposit for any user but the exchange itself. It can withdraw from, and see the balances of, only
 * the users that it registered. A partner is a name in the configuration: two keys under one name
 * are the same partner.
 */
import type { z } from 'zod';
import { idNumber } from '../../../engine/interface/notation.js';
import { balanceOf, type ReceiptWriter, resultFields } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { errorAnswer } from '../../http/errors.js';
import { defineRoute, type Route } from '../../http/route.js';
import { micros } from '../../json/decimal.js';
import { PartnerQuery } from '../../json/fields.js';
import { jsonText } from '../../json/serializer.js';
import { balanceFieldsOf } from '../accounts/views.js';
import { findAccount } from '../find.js';
import { PartnerUser, TransferBody, TransferReceipt } from './schemas.js';

export const partnerRoutes: Route[] = [
  defineRoute('POST', '/partner/deposits', {
    access: 'partner',
    summary:
      'Deposit money for any user; the same reference again gets the first response. Accounts of the exchange take no deposits',
    query: PartnerQuery,
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
      'Withdraw money of a user who was registered with this key; the same reference again gets the first response',
    query: PartnerQuery,
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
    summary: 'A user, with the balance if the user was registered with this key',
    query: PartnerQuery,
    responses: { 200: PartnerUser },
    errors: ['user_not_found'],
    handle(call) {
      const account = findAccount(call, 'id');
      if (account === null) return;
      const { username, createdAtMs } = account;
      const userId = `u${account.userId}`;
      const isOwn = account.partner === call.partner;
      const balance = isOwn ? balanceFieldsOf(account) : UNKNOWN_BALANCE;
      const fields = { userId, username, createdAtMs, ...balance, ...call.trueAt };
      call.answerJson<typeof PartnerUser>(fields);
    },
  }),
];

/** The balance of a user that this partner did not register. */
const UNKNOWN_BALANCE = { currency: 'USD', available: null, held: null, total: null } as const;

function transfer(call: Call<z.output<typeof TransferBody>>, kind: 'deposit' | 'withdraw'): void {
  const { amount: amountMicros, reference } = call.body;
  const partner = call.partner!;
  const userId = idNumber('u', call.body.userId);
  if (userId === 0) {
    call.refuseWhenDurable(errorAnswer('user_not_found'));
    return;
  }
  const isOwn = call.engine.account(userId)?.partner === partner;
  const receipt: ReceiptWriter = (_assets, result, at) => {
    const fields = resultFields(kind, result, at);
    return jsonText<typeof TransferReceipt>({
      partner,
      reference,
      userId: `u${fields.userId}`,
      amount: micros(fields.amountMicros),
      balance: isOwn ? balanceOf(fields) : null,
      sequence: fields.sequence,
      atMs: fields.atMs,
    });
  };
  call.execute({ kind, userId, amountMicros, partner, reference }, 200, receipt);
}
