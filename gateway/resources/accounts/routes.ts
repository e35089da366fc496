/** Accounts: profile, balance, positions, referral. */

import type { z } from 'zod';
import { Privacy } from '../../../engine/interface/domain.js';
import type { PositionView } from '../../../engine/interface/views.js';
import { unitsOfSeen } from '../../access/fair-use/charges.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { EmptyBody } from '../../json/fields.js';
import { defineChange } from '../change.js';
import { type Filter, findAccount, findShownAccount, withFilter } from '../find.js';
import { readHistory } from '../history/read.js';
import { answerPageOf, ROWS_OF_MARKET, startOf } from '../paging.js';
import * as views from './views.js';

export const userRoutes: Route[] = [
  defineRoute('GET', '/users/:id', {
    access: 'public',
    summary: 'A user’s profile; for a private account, only the name and the date',
    responses: { 200: views.Profile },
    errors: ['user_not_found', 'history_unavailable'],
    handle(call) {
      const account = findAccount(call, 'id');
      if (account === null) return;
      const { userId } = account;
      const request = { kind: 'rank', userId, metric: 'profit', period: 'all' } as const;
      readHistory(call, request, ({ account: shown, rank }, at) => {
        // A new account's registration may not be durable yet.
        if (!call.require(shown, 'user_not_found')) return;
        // With a session, the account is the user's own: reading.ts refuses any other.
        const isHidden = shown.privacy !== Privacy.OPEN && call.session === null;
        const source = { ...shown, ...at, ...(isHidden ? {} : { rank }) };
        call.answer(views.profile, source, at.sequence);
      });
    },
  }),

  defineRoute('GET', '/users/:id/balance', {
    access: 'session',
    summary: 'Your balance',
    responses: { 200: views.Balance },
    handle(call) {
      call.answer(views.ownBalance, { ...call.engine.account(call.userId)!, ...call.asOf });
    },
  }),

  defineRoute('GET', '/users/:id/positions', {
    access: 'public',
    summary: 'A user’s open and claimable positions, newest market first',
    query: views.PositionsQuery,
    responses: { 200: views.Positions },
    errors: ['missing_token', 'user_not_found', 'market_not_found', 'history_unavailable'],
    handle(call) {
      const account = findShownAccount(call, 'id');
      if (account !== null)
        withFilter(call, (filter) => answerPositions(call, account.userId, filter));
    },
  }),

  defineRoute('GET', '/users/:id/privacy', {
    access: 'session',
    summary: 'What others may read of your account',
    responses: { 200: views.Privacy },
    handle(call) {
      call.answer(views.privacy, { ...call.engine.account(call.userId)!, ...call.asOf });
    },
  }),

  defineChange('PUT', '/users/:id/privacy', {
    summary: 'Choose what others may read of your account',
    body: views.PrivacyBody,
    responses: { 200: views.Privacy },
    receipt: views.privacyReceipt,
    commandOf({ body }) {
      const hidden = body.listed ? Privacy.LISTED : Privacy.PRIVATE;
      return { kind: 'setPrivacy', privacy: body.private ? hidden : Privacy.OPEN };
    },
  }),

  defineRoute('GET', '/users/:id/auto-claim', {
    access: 'session',
    summary: 'Your setting for automatic claims',
    responses: { 200: views.AutoClaim },
    handle(call) {
      const { autoClaim: enabled } = call.engine.account(call.userId)!;
      call.answer(views.autoClaim, { enabled, ...call.asOf });
    },
  }),

  defineChange('PUT', '/users/:id/auto-claim', {
    summary:
      'Turn automatic claims on or off: winnings and refunds are paid when a market is settled',
    body: views.AutoClaimBody,
    responses: { 200: views.AutoClaim },
    receipt: views.autoClaimReceipt,
    commandOf: ({ body }) => ({ kind: 'setAutoClaim', enabled: body.enabled }),
  }),

  defineChange('POST', '/users/:id/start-again', {
    summary: 'Start again with the starting balance of play money, once a day',
    body: EmptyBody,
    responses: { 200: views.StartedAgain },
    errors: ['user_not_found', 'user_frozen', 'too_much_to_start_again', 'limit_reached'],
    receipt: views.startedAgain,
    commandOf({ gateway }) {
      const { startAgain, startingBalanceMicros } = gateway.config;
      return { kind: 'startAgain', grantMicros: startAgain ? startingBalanceMicros : 0 };
    },
  }),

  defineRoute('GET', '/users/:id/referral', {
    access: 'public',
    summary: 'A user’s referral data; only that user sees the earnings',
    responses: { 200: views.Referral },
    errors: ['missing_token', 'user_not_found'],
    handle(call) {
      const account = findShownAccount(call, 'id');
      if (account === null) return;
      const { engine } = call;
      const shown = call.userId === account.userId ? views.ownReferral : views.othersReferral;
      call.answer(shown, { ...engine.referral(account.userId)!, ...call.asOf });
    },
  }),

  defineChange('PUT', '/users/:id/referral/code', {
    summary: 'Change your referral code; the old code still refers to you',
    body: views.ReferralCodeBody,
    responses: { 200: views.OwnReferral },
    errors: ['referral_code_taken', 'limit_reached'],
    receipt: views.referralReceipt,
    commandOf: ({ body }) => ({ kind: 'setReferralCode', code: body.code.toUpperCase() }),
  }),
];

type PositionsCall = Call<unknown, z.output<typeof views.PositionsQuery>>;

function answerPositions(call: PositionsCall, userId: number, filter: Filter): void {
  const { engine, query } = call;
  const list = `positions/u${userId}${filter.name}${query.status ?? ''}`;
  const after = startOf(call, list);
  if (after === undefined) return;
  const listed: views.OpenPosition[] = [];
  let seen = 0;
  const isAfter = (position: views.OpenPosition) => after === null || placeOf(position) < after;
  for (const position of newestFirst(engine.positions(userId), filter.bounds.marketId, after)) {
    if (listed.length > query.limit) break;
    seen++;
    const market = engine.market(position.marketId)!;
    if (query.status === undefined || views.positionStatus(market) === query.status)
      listed.push(...views.openPositions(position, market).filter(isAfter));
  }
  listed.sort((a, b) => placeOf(b) - placeOf(a));
  call.owe(unitsOfSeen(seen * ROWS_OF_MARKET + engine.orderCount(call.userId)));
  answerPageOf(call, listed, {
    list,
    positionOf: placeOf,
    newestFirst: true,
    name: 'positions',
    text: (position) => views.positionText(engine, position, call.userId),
  });
}

/** By market, then refundable fees, UP, DOWN. */
function placeOf({ marketId, outcome }: views.OpenPosition): number {
  return marketId * 3 + (outcome === null ? 2 : 1 - outcome);
}

/** `marketId`: null for all. */
function newestFirst(
  positions: readonly PositionView[],
  marketId: number | null,
  after: number | null,
): PositionView[] {
  return positions
    .filter(
      (position) =>
        (marketId === null || position.marketId === marketId) &&
        (after === null || position.marketId * 3 < after),
    )
    .sort((a, b) => b.marketId - a.marketId);
}
