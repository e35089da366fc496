/** What belongs to a user: profile, balance, positions, referral. */
import { idNumber } from '../../../engine/interface/notation.js';
import type { AccountView } from '../../../engine/interface/views.js';
import { errorAnswer } from '../../http/errors.js';
import { pageOf } from '../../http/paging.js';
import type { RequestContext } from '../../http/request-context.js';
import { defineRoute, type Route } from '../../http/route.js';
import * as answers from '../../json/answers.js';
import {
  ownReferralText,
  publicReferralText,
  type ReceiptWriter,
  resultFields,
} from '../../json/receipts.js';
import * as requests from '../../json/requests.js';
import {
  moneyFieldsText,
  type OpenPosition,
  openPositions,
  positionText,
  profileText,
} from '../../json/views.js';
import { readHistory } from '../history/read.js';
import * as examples from './examples.js';

export const userRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/users/:id',
    access: 'public',
    summary: 'The profile of a user',
    userParameter: 'id',
    query: requests.NoQuery,
    responses: { 200: answers.Profile },
    errors: ['user_not_found', 'unavailable'],
    example: examples.profile,
    handle(call) {
      const account = findAccount(call);
      if (account === null) return;
      const { userId } = account;
      const request = { kind: 'rank', userId, metric: 'profit', period: 'all' } as const;
      readHistory(call, request, ({ account: shown, rank }, sequence) => {
        // Who has just registered may not be durable yet.
        if (shown !== null) call.answerAt(sequence, 200, profileText(shown, rank, sequence));
        else call.answerError(errorAnswer('user_not_found'));
      });
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/balance',
    access: 'session',
    summary: 'The own balance',
    userParameter: 'id',
    query: requests.NoQuery,
    responses: { 200: answers.Balance },
    example: examples.balance,
    handle(call) {
      const account = call.engine.account(call.userId)!;
      call.answer(
        200,
        `{"userId":"u${call.userId}",${moneyFieldsText(account)},"sequence":${call.engine.sequence}}`,
      );
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/positions',
    access: 'public',
    summary: 'The open and the claimable positions of a user, newest market first',
    userParameter: 'id',
    query: requests.PagedQuery,
    responses: { 200: answers.Positions },
    errors: ['user_not_found'],
    example: examples.positions,
    handle(call) {
      const account = findAccount(call);
      if (account === null) return;
      const { engine } = call;
      const page = pageOf(call, positionsOf(call, account.userId), {
        list: `positions/u${account.userId}`,
        positionOf,
        newestFirst: true,
      });
      if (page === null) return;
      const texts = page.entries.map((position) => positionText(engine, position));
      call.answer(
        200,
        `{"positions":[${texts.join(',')}],"nextCursor":${page.nextCursorText},"sequence":${engine.sequence}}`,
      );
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:id/referral',
    access: 'public',
    summary: 'The referral data of a user; what it earns is shown to the user only',
    userParameter: 'id',
    query: requests.NoQuery,
    responses: { 200: answers.Referral },
    errors: ['user_not_found'],
    example: examples.referral,
    handle(call) {
      const account = findAccount(call);
      if (account === null) return;
      const { engine } = call;
      const referral = engine.referral(account.userId)!;
      const write = call.userId === account.userId ? ownReferralText : publicReferralText;
      call.answer(200, write(referral, engine.sequence));
    },
  }),

  defineRoute({
    method: 'PUT',
    path: '/users/:id/referral/code',
    access: 'session',
    summary: 'Change the own referral code; the old one keeps leading to the same user',
    userParameter: 'id',
    query: requests.NoQuery,
    body: requests.ReferralCodeBody,
    idempotent: true,
    responses: { 200: answers.OwnReferral },
    errors: ['referral_code_taken', 'limit_reached'],
    example: examples.referralCode,
    handle(call) {
      const { userId, idempotencyKey } = call;
      const code = call.body.code.toUpperCase();
      const receipt: ReceiptWriter = (_assets, result, at) => {
        const fields = resultFields('setReferralCode', result, at);
        return ownReferralText({ ...fields, code }, fields.sequence);
      };
      call.execute({ kind: 'setReferralCode', userId, idempotencyKey, code }, 200, receipt);
    },
  }),
];

/** The account that the path names, or null after telling the client that there is none. */
function findAccount(call: RequestContext<unknown, unknown>): AccountView | null {
  const account = call.engine.account(idNumber('u', call.parameter('id')));
  if (account === null) call.answerError(errorAnswer('user_not_found'));
  return account;
}

/** UP before DOWN in one market; the number keeps this order. */
function positionOf(position: OpenPosition): number {
  return position.marketId * 2 + (1 - position.outcome);
}

function positionsOf(call: RequestContext<unknown, unknown>, userId: number): OpenPosition[] {
  const { engine } = call;
  return engine
    .positions(userId)
    .flatMap((position) => openPositions(position, engine.market(position.marketId)!))
    .sort((a, b) => positionOf(b) - positionOf(a));
}
