/** Queries, bodies and entries of the routes that read the history. */
import { z } from 'zod';
import { ticksIn } from '../../../engine/interface/domain.js';
import { pointsReasonName } from '../../../engine/interface/notation.js';
import type * as entries from '../../../persistence/history/requests.js';
import { responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { Writer } from '../../json/writer.js';
import { asset, MarketWithHistory } from '../markets/schemas.js';

export const PastMarketsQuery = request.ownQuery({
  asset,
  fromMs: request.timeFilters.fromMs.describe(
    'Only markets that start at this time or later, in milliseconds since the epoch',
  ),
  toMs: request.timeFilters.toMs.describe('Only markets that start at this time or earlier'),
  priceHistory: z.enum(['on', 'off']).default('on').meta({
    description: 'off: `priceHistory` is null in each market, for smaller pages',
    default: 'on',
  }),
  ...request.paging,
});
export const MarketTradesQuery = request.ownQuery({ ...request.timeFilters, ...request.paging });
export const UserTradesQuery = request.ownQuery({
  orderId: z.string().optional().describe('Only trades of this order of the user'),
  ...request.accountFilters,
  ...request.paging,
});
export const LeaderboardQuery = request.ownQuery({
  metric: z.enum(['profit', 'volume', 'points']).default('profit').meta({
    description:
      'Realized profit net of fees, dollars spent on purchases that paid a fee, or points',
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
  points: response.points,
  reason: z.enum(['fees', 'referral']).describe('Source of the points'),
  marketId: response.marketId,
});
export const Points = responseObject('Points', 'The points of a user', {
  userId: response.userId,
  balance: response.points,
  history: z.array(PointsCredit).describe('The credits, newest first'),
  ...response.pageEnd,
});

export const LeaderboardEntry = responseObject('LeaderboardEntry', 'A ranked user', {
  rank: z.int().min(1).describe('The rank, from 1; null if the user is not ranked'),
  userId: response.userId,
  username: response.username,
  value: response.millionths.describe('US dollars, or points'),
});
export const Leaderboard = responseObject('Leaderboard', 'Ranked users', {
  metric: z.enum(['profit', 'volume', 'points']).describe('The figure by which users are ranked'),
  period: z.enum(['all', 'day', 'week']).describe('The period that counts'),
  entries: z.array(LeaderboardEntry).describe('The entries, highest value first'),
  ...response.pageEnd,
});

export const userTrade = new Writer<entries.UserTrade>(UserTrade, {
  shares: 'sizeLots',
  value: ({ sizeLots, priceTicks }) => sizeLots * priceTicks,
  role: ({ role }) => (role === 0 ? 'taker' : 'maker'),
});

type TakerTrade = Omit<entries.MarketTradeEntry, 'sequence' | 'ordinal'>;
const takerTicks = (trade: TakerTrade) => ticksIn(trade.takerOutcome, trade.upTicks);
/** Also for trades of the stream. */
export const marketTrade = new Writer<TakerTrade>(MarketTrade, {
  outcome: 'takerOutcome',
  side: 'takerSide',
  price: takerTicks,
  shares: 'sizeLots',
  value: (trade) => trade.sizeLots * takerTicks(trade),
});

export const pointsCredit = new Writer<entries.PointsCredit>(PointsCredit, {
  points: 'microPoints',
  reason: ({ reason }) => pointsReasonName(reason),
});

/** All metrics are in millionths of dollars or points. */
export const leaderboardEntry = new Writer<entries.LeaderboardEntry>(LeaderboardEntry);
