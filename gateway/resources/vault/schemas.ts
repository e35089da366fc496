/** The bodies of requests and responses of the vault. */
import { z } from 'zod';
import { MAX_TRANSFER_MICROS, MIN_STAKE_MICROS } from '../../../engine/interface/limits.js';
import { MICRO_SCALE } from '../../../engine/interface/notation.js';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  balance,
  count,
  currency,
  decimal,
  depositId,
  money,
  pageEnd,
  state,
  timeMs,
  userId,
} from '../../json/response-fields.js';

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
        currency,
        staked: money,
        deposits: count.describe('The number of deposits'),
        feeShare: decimal.describe(
          'The part of the fees of markets that goes to the vault; a market pays a stake 1/1,000 of it at most',
        ),
        yieldPaid: money,
        apr: decimal
          .min(0)
          .nullable()
          .describe(
            'Yield of the last 24 hours, times 365, per dollar that is staked now: 0.05 is 5% a year; null when nothing is staked',
          ),
        minimumStake: money,
      }),
    )
    .describe('The vaults'),
  ...state,
});

const deposit = {
  depositId,
  vaultId,
  userId,
  amount: money,
  accruedYield: money,
  claimedYield: money,
  status: z.enum(['active', 'closed']).describe('The state'),
  stakedAtMs: timeMs,
  earnsFromMs: timeMs,
};
const Deposit = responseObject('Deposit', 'A vault deposit', deposit);
export type Deposit = z.output<typeof Deposit>;
const change = { balance, ...state };

export const Deposits = responseObject('Deposits', 'Vault deposits of a user', {
  deposits: z.array(Deposit).describe('The vault deposits'),
  ...pageEnd,
});
export const StakeReceipt = responseObject('StakeReceipt', 'A new vault deposit', {
  ...deposit,
  ...change,
});
export const UnstakeReceipt = responseObject('UnstakeReceipt', 'A closed vault deposit', {
  ...deposit,
  returned: money,
  yieldPaid: money,
  ...change,
});
export const ClaimYieldReceipt = responseObject(
  'ClaimYieldReceipt',
  'A deposit whose yield was claimed',
  { ...deposit, claimed: money, ...change },
);
