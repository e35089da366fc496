/** The flex vault: staking, unstaking and claiming yield. */
import type { Engine } from '../../../engine/engine.js';
import { MIN_STAKE_MICROS } from '../../../engine/interface/limits.js';
import { idNumber, MICRO_SCALE } from '../../../engine/interface/notation.js';
import { PAYOUT_DELAY_MS } from '../../../engine/interface/parameters.js';
import { mulDivFloor } from '../../../engine/storage/arithmetic.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { type Decimal, micros } from '../../json/decimal.js';
import { EmptyBody, PagedQuery } from '../../json/fields.js';
import { defineChange } from '../change.js';
import { findShownAccount, requireId } from '../find.js';
import { answerPageOf } from '../paging.js';
import { rulesOf } from '../status/limits.js';
import * as receipts from './receipts.js';

export const vaultRoutes: Route[] = [
  defineRoute('GET', '/vaults', {
    access: 'public',
    summary: 'The vaults',
    responses: { 200: receipts.Vaults },
    handle(call) {
      const { engine } = call;
      const vault = engine.vault();
      const flex = {
        id: 'flex',
        name: 'Flex vault',
        currency: 'USD',
        staked: micros(vault.stakedMicros),
        deposits: vault.depositCount,
        feeShare: rulesOf(engine.rules()).vaultShare,
        yieldPaid: micros(vault.yieldPaidMicros),
        apr: aprOf(engine),
        minimumStake: micros(MIN_STAKE_MICROS),
      } as const;
      call.answerJson<typeof receipts.Vaults>({ vaults: [flex], ...call.asOf });
    },
  }),

  defineChange('POST', '/vaults/flex/stake', {
    summary: 'Stake dollars in the flex vault',
    body: receipts.StakeBody,
    responses: { 201: receipts.StakeReceipt },
    errors: ['user_frozen', 'insufficient_balance', 'limit_reached'],
    receipt: receipts.stakeReceipt,
    commandOf: ({ body }) => ({ kind: 'stake', amountMicros: body.amount }),
  }),

  defineChange('POST', '/vaults/deposits/:depositId/unstake', {
    summary: 'Close a vault deposit; principal and yield return to the balance',
    body: EmptyBody,
    responses: { 200: receipts.UnstakeReceipt },
    errors: ['deposit_not_found', 'deposit_closed'],
    receipt: receipts.unstakeReceipt,
    commandOf: (call) => ofDeposit(call, 'unstake'),
  }),

  defineChange('POST', '/vaults/deposits/:depositId/claim', {
    summary: 'Claim the yield that a vault deposit has accrued',
    body: EmptyBody,
    responses: { 200: receipts.ClaimYieldReceipt },
    errors: ['deposit_not_found', 'deposit_closed', 'nothing_to_claim'],
    receipt: receipts.claimYieldReceipt,
    commandOf: (call) => ofDeposit(call, 'claimYield'),
  }),

  defineRoute('GET', '/users/:userId/vaults', {
    access: 'public',
    summary: 'A user’s active vault deposits, oldest first',
    query: PagedQuery,
    responses: { 200: receipts.Deposits },
    errors: ['missing_token', 'user_not_found'],
    handle(call) {
      const { engine } = call;
      const userId = findShownAccount(call, 'userId')?.userId;
      if (userId === undefined) return;
      answerPageOf(call, engine.vaultDepositIds(userId), {
        list: `deposits/u${userId}`,
        positionOf: (depositId) => depositId,
        newestFirst: false,
        name: 'deposits',
        text: (depositId) => receipts.depositText(engine.vaultDeposit(depositId)!, engine),
      });
    },
  }),
];

function ofDeposit<Kind extends 'unstake' | 'claimYield'>(call: Call, kind: Kind) {
  const depositId = idNumber('d', call.parameter('depositId'));
  return requireId(call, depositId, 'deposit_not_found') ? { kind, depositId } : null;
}

/** A whole day's fees are known, because the engine removes a market a day after resolution. */
const DAY_MS = PAYOUT_DELAY_MS;
const DAYS_PER_YEAR = 365;

/** If all days were like the last one; `null` if nothing is staked. */
function aprOf(engine: Engine): Decimal | null {
  const { stakedMicros } = engine.vault();
  if (stakedMicros === 0) return null;
  const yearMicros = engine.vaultShareMicros(engine.nowMs - DAY_MS) * DAYS_PER_YEAR;
  return micros(mulDivFloor(yearMicros, MICRO_SCALE, stakedMicros));
}
