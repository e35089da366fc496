/** Accounts: profile, balance, positions, referral. */

import { type ReceiptWriter, resultFields } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { jsonText } from '../../json/serializer.js';
import { filterOf, findAccount, findShownAccount } from '../find.js';
import { readHistory } from '../history/read.js';
import { pageOf } from '../paging.js';
import * as views from './views.js';

export const userRoutes: Route[] = [
  defineRoute('GET', '/users/:id', {
    access: 'public',
    summary: 'The profile of a user',
    userParameter: 'id',
    responses: { 200: views.Profile },
    errors: ['user_not_found', 'unavailable'],
    handle(call) {
      const account = findAccount(call, 'id');
      if (account === null) return;
      const { userId } = account;
      const request = { kind: 'rank', userId, metric: 'profit', period: 'all' } as const;
      readHistory(call, request, ({ account: shown, rank }, at) => {
        // The registration of a new account may not be durable yet.
        if (call.finds(shown, 'user_not_found'))
          call.answerJson<typeof views.Profile>(
            { ...views.profileOf(shown), rank, ...at },
            at.sequence,
          );
      });
    },
  }),

  defineRoute('GET', '/users/:id/balance', {
    access: 'session',
    summary: 'Your balance',
    userParameter: 'id',
    responses: { 200: views.Balance },
    handle(call) {
      const balance = views.balanceFieldsOf(call.engine.account(call.userId)!);
      call.answerJson<typeof views.Balance>({
        userId: `u${call.userId}`,
        ...balance,
        ...call.trueAt,
      });
    },
  }),

  defineRoute('GET', '/users/:id/positions', {
    access: 'public',
    summary: 'The open and claimable positions of a user, newest market first',
    userParameter: 'id',
    query: views.PositionsQuery,
    responses: { 200: views.Positions },
    errors: ['missing_token', 'user_not_found'],
    handle(call) {
      const account = findShownAccount(call, 'id');
      if (account === null) return;
      const filter = filterOf(call);
      if (filter === null) return;
      const { engine, query } = call;
      const { marketId } = filter.bounds;
      const listed = positionsOf(call, account.userId).filter(
        ({ market }) =>
          (marketId === null || market.marketId === marketId) &&
          (query.status === undefined || views.positionStatus(market) === query.status),
      );
      const page = pageOf(call, listed, {
        list: `positions/u${account.userId}${filter.name}${query.status ?? ''}`,
        positionOf: placeOf,
        newestFirst: true,
      });
      if (page === null) return;
      const positions = page.entries.map((position) => views.positionOf(engine, position));
      const { nextCursor } = page;
      call.answerJson<typeof views.Positions>({ positions, nextCursor, ...call.trueAt });
    },
  }),

  defineRoute('GET', '/users/:id/privacy', {
    access: 'session',
    summary: 'Whether your account is private',
    userParameter: 'id',
    responses: { 200: views.Privacy },
    handle(call) {
      const { isPrivate } = call.engine.account(call.userId)!;
      call.answerJson<typeof views.Privacy>({ private: isPrivate, ...call.trueAt });
    },
  }),

  defineRoute('PUT', '/users/:id/privacy', {
    access: 'session',
    summary: 'Choose whether anybody may read your positions, trades and vault deposits',
    userParameter: 'id',
    body: views.PrivacyBody,
    idempotent: true,
    responses: { 200: views.Privacy },
    handle(call) {
      const { userId, idempotencyKey } = call;
      const receipt: ReceiptWriter = (_assets, result, at) => {
        const { isPrivate, sequence, atMs } = resultFields('setPrivate', result, at);
        return jsonText<typeof views.Privacy>({ private: isPrivate === 1, sequence, atMs });
      };
      const { private: isPrivate } = call.body;
      call.execute(
        { kind: 'setPrivate', userId, idempotencyKey, private: isPrivate },
        200,
        receipt,
      );
    },
  }),

  defineRoute('GET', '/users/:id/referral', {
    access: 'public',
    summary: 'The referral data of a user; earnings are shown only to that user',
    userParameter: 'id',
    responses: { 200: views.Referral },
    errors: ['user_not_found'],
    handle(call) {
      const account = findAccount(call, 'id');
      if (account === null) return;
      const { engine } = call;
      const referral = views.ownReferralOf(engine.referral(account.userId)!);
      const { userId, code, referredUsers } = referral;
      const isOwn = call.userId === account.userId;
      const shown = isOwn ? referral : { userId, code, referredUsers };
      call.answerJson<typeof views.Referral>({ ...shown, ...call.trueAt });
    },
  }),

  defineRoute('PUT', '/users/:id/referral/code', {
    access: 'session',
    summary: 'Change your referral code; the old code still refers to you',
    userParameter: 'id',
    body: views.ReferralCodeBody,
    idempotent: true,
    responses: { 200: views.OwnReferral },
    errors: ['referral_code_taken', 'limit_reached'],
    handle(call) {
      const { userId, idempotencyKey } = call;
      const code = call.body.code.toUpperCase();
      const receipt: ReceiptWriter = (_assets, result, at) => {
        const fields = resultFields('setReferralCode', result, at);
        const { sequence, atMs } = fields;
        const referral = views.ownReferralOf({ ...fields, code });
        return jsonText<typeof views.OwnReferral>({ ...referral, sequence, atMs });
      };
      call.execute({ kind: 'setReferralCode', userId, idempotencyKey, code }, 200, receipt);
    },
  }),
];

/** Orders positions by market, UP before DOWN. */
function placeOf(position: views.OpenPosition): number {
  return position.marketId * 2 + (1 - position.outcome);
}

function positionsOf(call: Call, userId: number): views.OpenPosition[] {
  const { engine } = call;
  return engine
    .positions(userId)
    .flatMap((position) => views.openPositions(position, engine.market(position.marketId)!))
    .sort((a, b) => placeOf(b) - placeOf(a));
}
