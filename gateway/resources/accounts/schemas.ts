/** The bodies of requests and responses of accounts: profile, balance, positions, referral. */
import { z } from 'zod';
import { bodySchema, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  asset,
  balanceFields,
  count,
  marketId,
  money,
  nextCursor,
  outcome,
  price,
  shares,
  state,
  timeMs,
  userId,
  username,
} from '../../json/response-fields.js';

export const ReferralCodeBody = bodySchema(
  'ReferralCodeBody',
  'A new referral code',
  z.strictObject({ ...request.own, code: request.referralCode.describe('The code') }),
);

export const Profile = responseSchema(
  'Profile',
  'The public part of an account',
  z.strictObject({
    userId,
    username,
    createdAtMs: timeMs,
    volume: money.meta({ description: 'US dollars spent on purchases that paid a fee' }),
    realizedProfit: money,
    trades: count.describe('The number of trades'),
    rank: z.int().min(1).nullable().describe('The rank, from 1; null if the user is not ranked'),
    ...state,
  }),
);
const isPrivate = z
  .boolean()
  .describe('Whether only you may read your positions, trades and vault deposits');
export const PrivacyBody = bodySchema(
  'PrivacyBody',
  'Who may read what an account holds',
  z.strictObject({ ...request.own, private: isPrivate }),
);
export const Privacy = responseSchema(
  'Privacy',
  'Who may read what an account holds',
  z.strictObject({ private: isPrivate, ...state }),
);
export const Balance = responseSchema(
  'Balance',
  'The money of a user',
  z.strictObject({ userId, ...balanceFields, ...state }),
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
export const Position = responseSchema(
  'Position',
  'Shares of one outcome of a market',
  z.strictObject({
    marketId,
    asset,
    outcome,
    shares,
    averagePrice: price,
    cost: money,
    price,
    value: money,
    unrealizedProfit: money,
    status: positionStatus.describe('The state'),
    endsAtMs: timeMs,
  }),
);
export const Positions = responseSchema(
  'Positions',
  'The positions of a user',
  z.strictObject({ positions: z.array(Position).describe('The positions'), nextCursor, ...state }),
);

const referral = {
  userId,
  code: z.string().describe('The code'),
  referredUsers: count.describe('The number of users who registered with the code'),
};
export const OwnReferral = responseSchema(
  'OwnReferral',
  'The referrals of the signed-in user',
  z.strictObject({
    ...referral,
    earned: money,
    pending: money,
    referredBy: userId.nullable().describe('The user who referred this one; null: nobody'),
    ...state,
  }),
);
const { earned, pending, referredBy } = OwnReferral.shape;
export const Referral = responseSchema(
  'Referral',
  'The referrals of a user',
  z.strictObject({
    ...referral,
    earned: earned.optional().meta({ description: 'US dollars; only of your own' }),
    pending: pending.optional().meta({ description: 'US dollars; only of your own' }),
    referredBy: referredBy
      .optional()
      .meta({ description: 'The user who referred you; null: nobody; only of your own' }),
    ...state,
  }),
);
