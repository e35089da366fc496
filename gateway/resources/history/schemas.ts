/** The queries and the response bodies of the routes that read the history. */
import { z } from 'zod';
import { responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import {
  decimal,
  marketId,
  matchType,
  money,
  nextCursor,
  orderId,
  outcome,
  price,
  sequence,
  shares,
  side,
  timeMs,
  tradeId,
  userId,
} from '../../json/response-fields.js';
import { asset, MarketWithHistory } from '../markets/schemas.js';

export const PastMarketsQuery = z.strictObject({
  ...request.own,
  asset,
  fromMs: request.timeFilters.fromMs.meta({
    description: 'Only markets that start at this time or later, in milliseconds since the epoch',
  }),
  toMs: request.timeFilters.toMs.meta({
    description: 'Only markets that start at this time or earlier',
  }),
  priceHistory: z.enum(['on', 'off']).default('on').meta({
    description: 'off: `priceHistory` of each market is null, which makes pages short',
    default: 'on',
  }),
  ...request.paging,
});
export const UserTradesQuery = z.strictObject({
  ...request.own,
  ...request.accountFilters,
  ...request.paging,
});
export const LeaderboardQuery = z.strictObject({
  ...request.own,
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

export const PastMarkets = responseSchema(
  'PastMarkets',
  z.strictObject({ markets: z.array(MarketWithHistory), nextCursor, sequence }),
);

export const UserTrade = z.strictObject({
  tradeId,
  orderId,
  marketId,
  outcome,
  side,
  price,
  shares,
  value: money,
  fee: money,
  role: z.enum(['taker', 'maker']),
  atMs: timeMs,
});
export const UserTrades = responseSchema(
  'UserTrades',
  z.strictObject({ trades: z.array(UserTrade), nextCursor, sequence }),
);

/** Outcome, side and price are the taker's. */
export const MarketTrade = z.strictObject({
  tradeId,
  outcome,
  side,
  price,
  shares,
  value: money,
  matchType,
  atMs: timeMs,
});
export const MarketTrades = responseSchema(
  'MarketTrades',
  z.strictObject({ trades: z.array(MarketTrade), nextCursor, sequence }),
);

export const PointsCredit = z.strictObject({
  atMs: timeMs,
  points: decimal.min(0),
  reason: z.enum(['fees', 'referral']),
  marketId,
});
export const Points = responseSchema(
  'Points',
  z.strictObject({
    userId,
    balance: decimal.min(0).meta({ description: 'Points, at most 6 decimal places' }),
    history: z.array(PointsCredit),
    nextCursor,
    sequence,
  }),
);

export const LeaderboardEntry = z.strictObject({
  rank: z.int().min(1),
  userId,
  username: z.string(),
  value: decimal,
});
export const Leaderboard = responseSchema(
  'Leaderboard',
  z.strictObject({
    metric: z.enum(['profit', 'volume', 'points']),
    period: z.enum(['all', 'day', 'week']),
    entries: z.array(LeaderboardEntry),
    nextCursor,
    atMs: timeMs,
    sequence,
  }),
);
