/** Response bodies of vaults and deposits; receipts of staking, unstaking and claiming yield. */

import { z } from 'zod';
import { MAX_TRANSFER_MICROS, MIN_STAKE_MICROS } from '../../../engine/interface/limits.js';
import { MICRO_SCALE } from '../../../engine/interface/notation.js';
import type { VaultDepositView } from '../../../engine/interface/views.js';
import { receiptOf } from '../../commands/receipt.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { Writer } from '../../json/writer.js';

export const StakeBody = bodyObject('StakeBody', 'Money to stake', {
  ...request.own,
  amount: request
    .dollars({ min: MIN_STAKE_MICROS / MICRO_SCALE, max: MAX_TRANSFER_MICROS / MICRO_SCALE })
    .describe('US dollars, at most 6 decimal places'),
});

const vaultId = z.literal('flex').describe('The id of the vault');

export const Vaults = responseObject('Vaults', 'The vaults', {
  vaults: z
    .array(
      responseObject('Vault', 'A vault', {
        id: vaultId.describe('The id'),
        name: z.string().describe('The name'),
        currency: response.currency,
        staked: response.money,
        deposits: response.count.describe('The number of deposits'),
        feeShare: response.decimal.describe(
          'The vault’s fraction of markets’ fees; a market pays at most 1/1,000 of a stake',
        ),
        yieldPaid: response.money,
        apr: response.decimal
          .min(0)
          .nullable()
          .describe(
            'Yield of the last 24 hours, times 365, per dollar now staked: 0.05 is 5% a year; null if nothing is staked',
          ),
        minimumStake: response.money,
      }),
    )
    .describe('The vaults'),
  ...response.state,
});

const deposit = {
  depositId: response.depositId,
  vaultId,
  userId: response.userId,
  amount: response.money,
  accruedYield: response.money,
  claimedYield: response.money,
  status: z.enum(['active', 'closed']).describe('The state'),
  stakedAtMs: response.timeMs,
  earnsFromMs: response.timeMs,
};
export const Deposit = responseObject('Deposit', 'A vault deposit', deposit);
const change = { balance: response.balance, ...response.state };

export const Deposits = responseObject('Deposits', 'Vault deposits of a user', {
  deposits: z.array(Deposit).describe('The vault deposits'),
  ...response.pageEnd,
});
export const StakeReceipt = responseObject('StakeReceipt', 'A new vault deposit', {
  ...deposit,
  ...change,
});
export const UnstakeReceipt = responseObject('UnstakeReceipt', 'A closed vault deposit', {
  ...deposit,
  returned: response.money,
  yieldPaid: response.money,
  ...change,
});
export const ClaimYieldReceipt = responseObject(
  'ClaimYieldReceipt',
  'A deposit whose yield was claimed',
  { ...deposit, claimed: response.money, ...change },
);

export const depositText = new Writer<VaultDepositView>(Deposit, {
  status: ({ closed }) => (closed ? 'closed' : 'active'),
}).text;

/** A new deposit has earned nothing. */
export const stakeReceipt = receiptOf('stake', StakeReceipt, {
  accruedYield: () => 0,
  claimedYield: () => 0,
  status: () => 'active',
});
/** The accrued yield was paid out with the principal. */
export const unstakeReceipt = receiptOf('unstake', UnstakeReceipt, {
  accruedYield: () => 0,
  status: () => 'closed',
  returned: 'amountMicros',
  yieldPaid: 'yieldMicros',
});
export const claimYieldReceipt = receiptOf('claimYield', ClaimYieldReceipt, {
  accruedYield: () => 0,
  status: () => 'active',
  claimed: 'yieldMicros',
});
