/** Queries, bodies and entries of the routes that read the history. */

import { z } from 'zod';
import { ticksIn } from '../../../engine/interface/domain.js';
import {
  type Assets,
  marketIdText,
  matchTypeName,
  outcomeName,
  pointsReasonName,
  sideName,
} from '../../../engine/interface/notation.js';
import type * as entries from '../../../persistence/history/requests.js';
import { responseObject } from '../../json/components.js';
import { lots, micros, ticks } from '../../json/decimal.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import type { Writable } from '../../json/serializer.js';
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
export const MarketTradesQuery = request.ownQuery({ ...request.timeFilters, ...request.paging });
export const UserTradesQuery = request.ownQuery({
  orderId: z.string().optional().describe('Only of this order of the user'),
  ...request.accountFilters,
  ...request.paging,
});
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
  ...response.pageEnd,
});

export const UserTrade = responseObject('UserTrade', 'A trade of a user', {
  tradeId: response.tradeId,
  orderId: response.orderId,
  marketId: response.marketId,
  outcome: response.outcome,
  side: response.side,
  price: response.price,
  shares: response.shares,
  value: response.money,
  fee: response.money,
  role: response.role,
  atMs: response.timeMs,
});
export const UserTrades = responseObject('UserTrades', 'The trades of a user', {
  trades: z.array(UserTrade).describe('The trades'),
  ...response.pageEnd,
});

export const MarketTrade = responseObject(
  'MarketTrade',
  'A trade; outcome, side and price are the taker’s',
  {
    ...response.tradeFields,
    atMs: response.timeMs,
  },
);
export const MarketTrades = responseObject('MarketTrades', 'The public trades of a market', {
  trades: z.array(MarketTrade).describe('The trades'),
  ...response.pageEnd,
});

export const PointsCredit = responseObject('PointsCredit', 'Points that were credited', {
  atMs: response.timeMs,
  points: response.decimal.min(0).describe('Points, at most 6 decimal places'),
  reason: z.enum(['fees', 'referral']).describe('What the points were credited for'),
  marketId: response.marketId,
});
export const Points = responseObject('Points', 'The points of a user', {
  userId: response.userId,
  balance: response.decimal.min(0).describe('Points, at most 6 decimal places'),
  history: z.array(PointsCredit).describe('The credits, newest first'),
  ...response.pageEnd,
});

export const LeaderboardEntry = responseObject('LeaderboardEntry', 'A ranked user', {
  rank: z.int().min(1).describe('The rank, from 1; null if the user is not ranked'),
  userId: response.userId,
  username: response.username,
  value: response.decimal.describe('US dollars, or points'),
});
export const Leaderboard = responseObject('Leaderboard', 'Ranked users', {
  metric: z.enum(['profit', 'volume', 'points']).describe('What the users are ranked by'),
  period: z.enum(['all', 'day', 'week']).describe('The time that counts'),
  entries: z.array(LeaderboardEntry).describe('The entries, the highest value first'),
  ...response.pageEnd,
});

export function userTradeOf(assets: Assets, trade: entries.UserTrade): Writable<typeof UserTrade> {
  const { sizeLots, priceTicks } = trade;
  return {
    tradeId: `t${trade.tradeId}`,
    orderId: `o${trade.orderId}`,
    marketId: marketIdText(assets, trade.marketId),
    outcome: outcomeName(trade.outcome),
    side: sideName(trade.side),
    price: ticks(priceTicks),
    shares: lots(sizeLots),
    value: micros(sizeLots * priceTicks),
    fee: micros(trade.feeMicros),
    role: trade.role === 0 ? 'taker' : 'maker',
    atMs: trade.atMs,
  };
}

export function marketTradeOf(trade: entries.MarketTradeEntry): Writable<typeof MarketTrade> {
  const { sizeLots, upTicks, takerOutcome } = trade;
  const priceTicks = ticksIn(takerOutcome, upTicks);
  const matchType = matchTypeName(trade.matchType);
  return {
    tradeId: `t${trade.tradeId}`,
    outcome: outcomeName(takerOutcome),
    side: sideName(trade.takerSide),
    price: ticks(priceTicks),
    shares: lots(sizeLots),
    value: micros(sizeLots * priceTicks),
    matchType,
    atMs: trade.atMs,
  };
}

export function pointsCreditOf(
  assets: Assets,
  credit: entries.PointsCredit,
): Writable<typeof PointsCredit> {
  return {
    atMs: credit.atMs,
    points: micros(credit.microPoints),
    reason: pointsReasonName(credit.reason),
    marketId: marketIdText(assets, credit.marketId),
  };
}

/** All metrics are in millionths, of dollars or of points. */
export function leaderboardEntryOf(
  entry: entries.LeaderboardEntry,
): Writable<typeof LeaderboardEntry> {
  const { rank, userId, username, value } = entry;
  return { rank, userId: `u${userId}`, username, value: micros(value) };
}
