/**
 * Partners: money in and out of accounts, once per partner and reference. Anybody can be paid but the exchange itself; money is
 * withdrawn from, and balances are shown of, the users whom the partner registered. A partner is its name in the configuration:
 * another key under the same name is the same partner.
 */
import type { z } from 'zod';
import { idNumber } from '../../../engine/interface/notation.js';
import { errorAnswer } from '../../http/errors.js';
import type { RequestContext } from '../../http/request-context.js';
import { defineRoute, type Route } from '../../http/route.js';
import * as answers from '../../json/answers.js';
import { microsText } from '../../json/decimal.js';
import { balanceText, type ReceiptWriter, resultFields } from '../../json/receipts.js';
import * as requests from '../../json/requests.js';
import { moneyFieldsText } from '../../json/views.js';
import * as examples from './examples.js';

export const partnerRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/partner/deposits',
    access: 'partner',
    summary:
      'Money comes in, for any user; the same reference again gets the first answer. Accounts of the exchange take none',
    query: requests.PartnerQuery,
    body: requests.TransferBody,
    responses: { 200: answers.TransferReceipt },
    errors: ['user_not_found', 'idempotency_key_reused', 'limit_reached'],
    example: examples.deposit,
    handle(call) {
      transfer(call, 'deposit');
    },
  }),

  defineRoute({
    method: 'POST',
    path: '/partner/withdrawals',
    access: 'partner',
    summary:
      'Money goes out, of a user who was registered with this key; the same reference again gets the first answer',
    query: requests.PartnerQuery,
    body: requests.TransferBody,
    responses: { 200: answers.TransferReceipt },
    errors: ['user_not_found', 'idempotency_key_reused', 'insufficient_balance', 'limit_reached'],
    example: examples.withdrawal,
    handle(call) {
      transfer(call, 'withdraw');
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/partner/users/:id',
    access: 'partner',
    summary: 'A user, and the balance of one who was registered with this key',
    query: requests.PartnerQuery,
    responses: { 200: answers.PartnerUser },
    errors: ['user_not_found'],
    example: examples.user,
    handle(call) {
      const { engine } = call;
      const account = engine.account(idNumber('u', call.parameter('id')));
      if (account === null) {
        call.answerError(errorAnswer('user_not_found'));
        return;
      }
      call.answer(
        200,
        `{"userId":"u${account.userId}","username":"${account.username}","createdAtMs":${account.createdAtMs}` +
          `,${account.partner === call.partner ? moneyFieldsText(account) : UNKNOWN_MONEY},"sequence":${engine.sequence}}`,
      );
    },
  }),
];

/** What {@link moneyFieldsText} gives, of a user whose balance is none of the partner's business. */
const UNKNOWN_MONEY = '"currency":"USD","available":null,"held":null,"total":null';

function transfer(
  call: RequestContext<z.output<typeof requests.TransferBody>>,
  kind: 'deposit' | 'withdraw',
): void {
  const { amount: amountMicros, reference } = call.body;
  const partner = call.partner!;
  const userId = idNumber('u', call.body.userId);
  if (userId === 0) {
    call.answerError(errorAnswer('user_not_found'));
    return;
  }
  const isOwn = call.engine.account(userId)?.partner === partner;
  const receipt: ReceiptWriter = (_assets, result, at) => {
    const fields = resultFields(kind, result, at);
    const balance = isOwn ? balanceText(fields.availableMicros, fields.heldMicros) : 'null';
    return (
      `{"partner":"${partner}","reference":"${reference}","userId":"u${fields.userId}"` +
      `,"amount":${microsText(fields.amountMicros)},"balance":${balance}` +
      `,"sequence":${fields.sequence},"atMs":${fields.atMs}}`
    );
  };
  call.execute({ kind, userId, amountMicros, partner, reference }, 200, receipt);
}
