/** Entries of the history as responses show them. */
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
import { lots, micros, ticks } from '../../json/decimal.js';
import type { Writable } from '../../json/serializer.js';
import type { LeaderboardEntry, MarketTrade, PointsCredit, UserTrade } from './schemas.js';

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

/** Every metric is counted in millionths, of dollars or of points. */
export function leaderboardEntryOf(
  entry: entries.LeaderboardEntry,
): Writable<typeof LeaderboardEntry> {
  const { rank, userId, username, value } = entry;
  return { rank, userId: `u${userId}`, username, value: micros(value) };
}
