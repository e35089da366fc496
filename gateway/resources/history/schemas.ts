/** The queries and the response bodies of the routes that read the history. */
import { z } from 'zod';
import { responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  decimal,
  marketId,
  money,
  orderId,
  outcome,
  pageEnd,
  price,
  shares,
  side,
  timeMs,
  tradeFields,
  tradeId,
  userId,
  username,
} from '../../json/response-fields.js';
import { asset, MarketWithHistory } from '../markets/schemas.js';

export const PastMarketsQuery = request.ownQuery({
  asset,
  fromMs: request.timeFilters.fromMs.describe(
    'Only markets that start at this time or later, in milliseconds since the epoch',
  ),
  toMs: request.timeFilters.toMs.describe('Only markets that start at this time or earlier'),
  priceHistory: z.enum(['on', 'off']).default('on').meta({
    description: 'off: `priceHistory` of each market is null, which makes pages short',
    default: 'on',
  }),
  ...request.paging,
});
export const UserTradesQuery = request.ownQuery({ ...request.accountFilters, ...request.paging });
export const LeaderboardQuery = request.ownQuery({
  metric: z.enum(['profit', 'volume', 'points']).default('profit').meta({
    description:
      'Realised profit net of fees, dollars spent on purchases that paid a fee, or points',
    default: 'profit',
  }),
  period: z.enum(['all', 'day', 'week']).default('all').meta({
    description: 'All time, the current UTC day, or the current UTC week',
    default: 'all',
  }),
  ...request.paging,
});

export const PastMarkets = responseObject('PastMarkets', 'Markets that have ended', {
  markets: z.array(MarketWithHistory).describe('The markets'),
  ...pageEnd,
});

export const UserTrade = responseObject('UserTrade', 'A trade of a user', {
  tradeId,
  orderId,
  marketId,
  outcome,
  side,
  price,
  shares,
  value: money,
  fee: money,
  role: z
    .enum(['taker', 'maker'])
    .describe('Whether the order arrived (taker) or rested in the book (maker)'),
  atMs: timeMs,
});
export const UserTrades = responseObject('UserTrades', 'The trades of a user', {
  trades: z.array(UserTrade).describe('The trades'),
  ...pageEnd,
});

/** Outcome, side and price are the taker's. */
export const MarketTrade = responseObject(
  'MarketTrade',
  'A trade; outcome, side and price are the taker’s',
  {
    ...tradeFields,
    atMs: timeMs,
  },
);
export const MarketTrades = responseObject('MarketTrades', 'The public trades of a market', {
  trades: z.array(MarketTrade).describe('The trades'),
  ...pageEnd,
});

export const PointsCredit = responseObject('PointsCredit', 'Points that were credited', {
  atMs: timeMs,
  points: decimal.min(0).describe('Points, at most 6 decimal places'),
  reason: z.enum(['fees', 'referral']).describe('What the points were credited for'),
  marketId,
});
export const Points = responseObject('Points', 'The points of a user', {
  userId,
  balance: decimal.min(0).describe('Points, at most 6 decimal places'),
  history: z.array(PointsCredit).describe('The credits, newest first'),
  ...pageEnd,
});

export const LeaderboardEntry = responseObject('LeaderboardEntry', 'A ranked user', {
  rank: z.int().min(1).describe('The rank, from 1; null if the user is not ranked'),
  userId,
  username,
  value: decimal.describe('US dollars, or points'),
});
export const Leaderboard = responseObject('Leaderboard', 'Ranked users', {
  metric: z.enum(['profit', 'volume', 'points']).describe('What the users are ranked by'),
  period: z.enum(['all', 'day', 'week']).describe('The time that counts'),
  entries: z.array(LeaderboardEntry).describe('The entries, the highest value first'),
  ...pageEnd,
});
