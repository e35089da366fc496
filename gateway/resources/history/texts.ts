/** What the history and the leaderboards show, as JSON text of the API. */
import { ticksIn } from '../../../engine/interface/domain.js';
import {
  type Assets,
  marketIdText,
  matchTypeName,
  outcomeName,
  pointsReasonName,
  sideName,
} from '../../../engine/interface/notation.js';
import type {
  LeaderboardEntry,
  MarketTradeEntry,
  PointsCredit,
  UserTrade,
} from '../../../persistence/history/requests.js';
import { lotsText, microsText, ticksText } from '../../json/decimal.js';

export function userTradeText(assets: Assets, trade: UserTrade): string {
  const { sizeLots, priceTicks } = trade;
  return (
    `{"tradeId":"t${trade.tradeId}","orderId":"o${trade.orderId}"` +
    `,"marketId":"${marketIdText(assets, trade.marketId)}","outcome":"${outcomeName(trade.outcome)}"` +
    `,"side":"${sideName(trade.side)}","price":${ticksText(priceTicks)},"shares":${lotsText(sizeLots)}` +
    `,"value":${microsText(sizeLots * priceTicks)},"fee":${microsText(trade.feeMicros)}` +
    `,"role":"${trade.role === 0 ? 'taker' : 'maker'}","atMs":${trade.atMs}}`
  );
}

export function marketTradeText(trade: MarketTradeEntry): string {
  const { sizeLots, upTicks, takerOutcome } = trade;
  const priceTicks = ticksIn(takerOutcome, upTicks);
  return (
    `{"tradeId":"t${trade.tradeId}","outcome":"${outcomeName(takerOutcome)}","side":"${sideName(trade.takerSide)}"` +
    `,"price":${ticksText(priceTicks)},"shares":${lotsText(sizeLots)},"value":${microsText(sizeLots * priceTicks)}` +
    `,"match":"${matchTypeName(trade.matchType)}","atMs":${trade.atMs}}`
  );
}

export function pointsText(assets: Assets, credit: PointsCredit): string {
  return (
    `{"atMs":${credit.atMs},"points":${microsText(credit.microPoints)}` +
    `,"reason":"${pointsReasonName(credit.reason)}"` +
    `,"marketId":"${marketIdText(assets, credit.marketId)}"}`
  );
}

/** All metrics are counted in millionths: of dollars, or of points. */
export function leaderboardText({ rank, userId, username, value }: LeaderboardEntry): string {
  return `{"rank":${rank},"userId":"u${userId}","username":${JSON.stringify(username)},"value":${microsText(value)}}`;
}
