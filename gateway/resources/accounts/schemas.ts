/** The bodies of requests and responses of accounts: profile, balance, positions, referral. */
import { z } from 'zod';
import { bodySchema, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  balanceFields,
  count,
  marketId,
  money,
  nextCursor,
  outcome,
  price,
  sequence,
  shares,
  timeMs,
  userId,
} from '../../json/response-fields.js';

export const ReferralCodeBody = bodySchema(
  'ReferralCodeBody',
  z.strictObject({ ...request.own, code: request.referralCode }),
);

export const Profile = responseSchema(
  'Profile',
  z.strictObject({
    userId,
    username: z.string(),
    createdAtMs: timeMs,
    volume: money.meta({ description: 'US dollars spent on purchases that paid a fee' }),
    realizedProfit: money,
    trades: count,
    rank: z.int().min(1).nullable(),
    sequence,
  }),
);
export const Balance = responseSchema(
  'Balance',
  z.strictObject({ userId, ...balanceFields, sequence }),
);

const positionStatus = z.enum(['open', 'claimable']);
export const PositionsQuery = z.strictObject({
  ...request.own,
  marketId: request.accountFilters.marketId,
  status: positionStatus
    .optional()
    .meta({ description: 'open: the market is not resolved; claimable: it is, and pays' }),
  ...request.paging,
});
export const Position = z.strictObject({
  marketId,
  asset: z.string(),
  outcome,
  shares,
  averagePrice: price,
  cost: money,
  price,
  value: money,
  unrealizedProfit: money,
  status: positionStatus,
  endsAtMs: timeMs,
});
export const Positions = responseSchema(
  'Positions',
  z.strictObject({ positions: z.array(Position), nextCursor, sequence }),
);

const referral = { userId, code: z.string(), referredUsers: count };
export const OwnReferral = responseSchema(
  'OwnReferral',
  z.strictObject({
    ...referral,
    earned: money,
    pending: money,
    referredBy: userId.nullable(),
    sequence,
  }),
);
const { earned, pending, referredBy } = OwnReferral.shape;
export const Referral = responseSchema(
  'Referral',
  z.strictObject({
    ...referral,
    earned: earned.optional().meta({ description: 'US dollars; only of your own' }),
    pending: pending.optional().meta({ description: 'US dollars; only of your own' }),
    referredBy: referredBy
      .optional()
      .meta({ description: 'The user who referred you; null: nobody; only of your own' }),
    sequence,
  }),
);
