/** The bodies of requests and responses of the vault. */
import { z } from 'zod';
import { MAX_TRANSFER_MICROS, MIN_STAKE_MICROS } from '../../../engine/interface/limits.js';
import { MICRO_SCALE } from '../../../engine/interface/notation.js';
import { bodySchema, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  balance,
  count,
  currency,
  decimal,
  depositId,
  money,
  nextCursor,
  sequence,
  timeMs,
  userId,
} from '../../json/response-fields.js';

export const StakeBody = bodySchema(
  'StakeBody',
  z.strictObject({
    ...request.own,
    amount: request
      .dollars({ min: MIN_STAKE_MICROS / MICRO_SCALE, max: MAX_TRANSFER_MICROS / MICRO_SCALE })
      .meta({ description: 'US dollars, at most 6 decimal places' }),
  }),
);

const vaultId = z.literal('flex');

export const Vaults = responseSchema(
  'Vaults',
  z.strictObject({
    vaults: z.array(
      z.strictObject({
        id: vaultId,
        name: z.string(),
        currency,
        staked: money,
        deposits: count,
        feeShare: decimal,
        yieldPaid: money,
        apr: decimal.min(0).nullable().meta({
          description:
            'Yield of the last 24 hours, times 365, per dollar that is staked now: 0.05 is 5% a year; null when nothing is staked',
        }),
        minimumStake: money,
      }),
    ),
    sequence,
  }),
);

const deposit = {
  depositId,
  vaultId,
  userId,
  amount: money,
  accruedYield: money,
  claimedYield: money,
  status: z.enum(['active', 'closed']),
  stakedAtMs: timeMs,
  earnsFromMs: timeMs,
};
const Deposit = z.strictObject(deposit);
export type Deposit = z.output<typeof Deposit>;
const change = { balance, sequence, atMs: timeMs };

export const Deposits = responseSchema(
  'Deposits',
  z.strictObject({ deposits: z.array(Deposit), nextCursor, sequence }),
);
export const StakeReceipt = responseSchema(
  'StakeReceipt',
  z.strictObject({ ...deposit, ...change }),
);
export const UnstakeReceipt = responseSchema(
  'UnstakeReceipt',
  z.strictObject({ ...deposit, returned: money, yieldPaid: money, ...change }),
);
export const ClaimYieldReceipt = responseSchema(
  'ClaimYieldReceipt',
  z.strictObject({ ...deposit, claimed: money, ...change }),
);
