/** The flex vault: what it is, staking, unstaking, and claiming yield. */

import type { Engine } from '../../../engine/engine.js';
import { MIN_STAKE_MICROS } from '../../../engine/interface/limits.js';
import { idNumber, MICRO_SCALE } from '../../../engine/interface/notation.js';
import { PAYOUT_DELAY_MS } from '../../../engine/rules/market-life.js';
import { mulDivFloor } from '../../../engine/storage/arithmetic.js';
import { errorAnswer } from '../../http/errors.js';
import { pageOf } from '../../http/paging.js';
import type { RequestContext } from '../../http/request-context.js';
import { defineRoute, type Route } from '../../http/route.js';
import * as answers from '../../json/answers.js';
import { microsText } from '../../json/decimal.js';
import { claimYieldReceipt, depositText, stakeReceipt, unstakeReceipt } from '../../json/receipts.js';
import * as requests from '../../json/requests.js';
import * as examples from './examples.js';

export const vaultRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/vaults',
    access: 'public',
    summary: 'The vaults',
    query: requests.NoQuery,
    responses: { 200: answers.Vaults },
    example: examples.vaults,
    handle(call) {
      const { engine } = call;
      const vault = engine.vault();
      call.answer(
        200,
        `{"vaults":[{"id":"flex","name":"Flex vault","currency":"USD","staked":${microsText(vault.stakedMicros)}` +
          `,"deposits":${vault.depositCount},"feeShare":0.4,"yieldPaid":${microsText(vault.yieldPaidMicros)}` +
          `,"apr":${aprText(engine)},"minimumStake":${microsText(MIN_STAKE_MICROS)}}],"sequence":${engine.sequence}}`,
      );
    },
  }),

  defineRoute({
    method: 'POST',
    path: '/vaults/flex/stake',
    access: 'session',
    summary: 'Stake dollars in the flex vault',
    query: requests.NoQuery,
    body: requests.StakeBody,
    idempotent: true,
    responses: { 201: answers.StakeReceipt },
    errors: ['insufficient_balance', 'limit_reached'],
    example: examples.stake,
    handle(call) {
      const { userId, idempotencyKey, body } = call;
      call.execute({ kind: 'stake', userId, idempotencyKey, amountMicros: body.amount }, 201, stakeReceipt);
    },
  }),

  defineRoute({
    method: 'POST',
    path: '/vaults/deposits/:depositId/unstake',
    access: 'session',
    summary: 'Close a vault deposit: principal and yield go back to the balance',
    query: requests.NoQuery,
    body: requests.EmptyBody,
    idempotent: true,
    responses: { 200: answers.UnstakeReceipt },
    errors: ['deposit_not_found', 'deposit_closed'],
    example: examples.unstake,
    handle(call) {
      const { userId, idempotencyKey } = call;
      const depositId = depositOf(call);
      if (depositId === null) return;
      call.execute({ kind: 'unstake', userId, idempotencyKey, depositId }, 200, unstakeReceipt);
    },
  }),

  defineRoute({
    method: 'POST',
    path: '/vaults/deposits/:depositId/claim',
    access: 'session',
    summary: 'Claim the yield that a vault deposit has accrued',
    query: requests.NoQuery,
    body: requests.EmptyBody,
    idempotent: true,
    responses: { 200: answers.ClaimYieldReceipt },
    errors: ['deposit_not_found', 'deposit_closed', 'nothing_to_claim'],
    example: examples.claimYield,
    handle(call) {
      const { userId, idempotencyKey } = call;
      const depositId = depositOf(call);
      if (depositId === null) return;
      call.execute({ kind: 'claimYield', userId, idempotencyKey, depositId }, 200, claimYieldReceipt);
    },
  }),

  defineRoute({
    method: 'GET',
    path: '/users/:userId/vaults',
    access: 'public',
    summary: 'The active vault deposits of a user, oldest first',
    userParameter: 'userId',
    query: requests.PagedQuery,
    responses: { 200: answers.Deposits },
    errors: ['user_not_found'],
    example: examples.deposits,
    handle(call) {
      const { engine } = call;
      const userId = idNumber('u', call.parameter('userId'));
      if (engine.account(userId) === null) {
        call.answerError(errorAnswer('user_not_found'));
        return;
      }
      const page = pageOf(call, engine.depositIds(userId), {
        list: `deposits/u${userId}`,
        positionOf: (depositId) => depositId,
        newestFirst: false,
      });
      if (page === null) return;
      const texts = page.entries.map((depositId) => `{${depositText(engine.deposit(depositId)!)}}`);
      call.answer(
        200,
        `{"deposits":[${texts.join(',')}],"nextCursor":${page.nextCursorText},"sequence":${engine.sequence}}`,
      );
    },
  }),
];

/** What is known of a day is all of it: the engine forgets a market a day after it is resolved. */
const DAY_MS = PAYOUT_DELAY_MS;
const DAYS_PER_YEAR = 365;

/**
 * What a staked dollar would earn in a year if every day was like the last 24 hours, with the money that is staked now, floored
 * to 6 places; null when nothing is staked.
 */
function aprText(engine: Engine): string {
  const { stakedMicros } = engine.vault();
  if (stakedMicros === 0) return 'null';
  const yearMicros = engine.vaultShareMicros(engine.nowMs - DAY_MS) * DAYS_PER_YEAR;
  return microsText(mulDivFloor(yearMicros, MICRO_SCALE, stakedMicros));
}

/** null after telling the client that no deposit can have this id; under an idempotency key the engine does not find 0. */
function depositOf(call: RequestContext<unknown, unknown>): number | null {
  const depositId = idNumber('d', call.parameter('depositId'));
  if (depositId !== 0 || call.idempotencyKey !== null) return depositId;
  call.answerError(errorAnswer('deposit_not_found'));
  return null;
}
