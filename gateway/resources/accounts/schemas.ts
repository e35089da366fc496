/** The bodies of requests and responses of accounts: profile, balance, positions, referral. */
import { z } from 'zod';
import { bodyObject, responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  asset,
  balanceFields,
  count,
  marketId,
  money,
  outcome,
  pageEnd,
  price,
  shares,
  state,
  timeMs,
  userId,
  username,
} from '../../json/response-fields.js';

export const ReferralCodeBody = bodyObject('ReferralCodeBody', 'A new referral code', {
  ...request.own,
  code: request.referralCode.describe('The code'),
});

export const Profile = responseObject('Profile', 'The public part of an account', {
  userId,
  username,
  createdAtMs: timeMs,
  volume: money.describe('US dollars spent on purchases that paid a fee'),
  realizedProfit: money,
  trades: count.describe('The number of trades'),
  rank: z.int().min(1).nullable().describe('The rank, from 1; null if the user is not ranked'),
  ...state,
});
const isPrivate = z
  .boolean()
  .describe('Whether only you may read your positions, trades and vault deposits');
export const PrivacyBody = bodyObject('PrivacyBody', 'Who may read what an account holds', {
  ...request.own,
  private: isPrivate,
});
export const Privacy = responseObject('Privacy', 'Who may read what an account holds', {
  private: isPrivate,
  ...state,
});
export const Balance = responseObject('Balance', 'The money of a user', {
  userId,
  ...balanceFields,
  ...state,
});

const positionStatus = z.enum(['open', 'claimable']);
export const PositionsQuery = request.ownQuery({
  marketId: request.accountFilters.marketId,
  status: positionStatus
    .optional()
    .describe('open: the market is not resolved; claimable: it is, and pays'),
  ...request.paging,
});
export const Position = responseObject('Position', 'Shares of one outcome of a market', {
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
});
export const Positions = responseObject('Positions', 'The positions of a user', {
  positions: z.array(Position).describe('The positions'),
  ...pageEnd,
});

const referral = {
  userId,
  code: z.string().describe('The code'),
  referredUsers: count.describe('The number of users who registered with the code'),
};
export const OwnReferral = responseObject('OwnReferral', 'The referrals of the signed-in user', {
  ...referral,
  earned: money,
  pending: money,
  referredBy: userId.nullable().describe('The user who referred this one; null: nobody'),
  ...state,
});
const { earned, pending, referredBy } = OwnReferral.shape;
export const Referral = responseObject('Referral', 'The referrals of a user', {
  ...referral,
  earned: earned.optional().describe('US dollars; only of your own'),
  pending: pending.optional().describe('US dollars; only of your own'),
  referredBy: referredBy
    .optional()
    .describe('The user who referred you; null: nobody; only of your own'),
  ...state,
});
