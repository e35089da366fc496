/** What the history and the leaderboards show, as JSON text of the API. */
import {
  assetOfMarket,
  type MarketStatus,
  MatchType,
  Outcome,
  PointsReason,
  type Resolution,
  startOfMarketMs,
  WINDOW_MS,
} from '../../engine/domain.js';
import { MICROS_PER_SET } from '../../engine/limits.js';
import { type Assets, marketIdText, outcomeName, sideName } from '../../engine/notation.js';
import type { MarketView } from '../../engine/views.js';
import type {
  LeaderboardEntry,
  MarketEntry,
  MarketTradeEntry,
  PointsCredit,
  UserTrade,
} from '../../persistence/history-requests.js';
import { lotsText, microsText, ticksText } from './decimal.js';

/** A market as the history has it: no book, so its price is that of the last trade. */
export function viewOfPast({ market }: MarketEntry): MarketView {
  const startsAtMs = startOfMarketMs(market.marketId);
  return {
    marketId: market.marketId,
    asset: assetOfMarket(market.marketId),
    status: market.status as MarketStatus,
    resolution: market.resolution as Resolution,
    startsAtMs,
    endsAtMs: startsAtMs + WINDOW_MS,
    startPriceMicros: market.startPriceMicros,
    endPriceMicros: market.endPriceMicros === 0 ? null : market.endPriceMicros,
    volumeMicros: market.volumeMicros,
    openInterestLots: market.openInterestLots,
    bestBidTicks: null,
    bestAskTicks: null,
    lastTradeTicks: market.lastTradeTicks === 0 ? null : market.lastTradeTicks,
  };
}

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
  const priceTicks = takerOutcome === Outcome.UP ? upTicks : MICROS_PER_SET - upTicks;
  return (
    `{"tradeId":"t${trade.tradeId}","outcome":"${outcomeName(takerOutcome)}","side":"${sideName(trade.takerSide)}"` +
    `,"price":${ticksText(priceTicks)},"shares":${lotsText(sizeLots)},"value":${microsText(sizeLots * priceTicks)}` +
    `,"match":"${matchName(trade.matchType)}","atMs":${trade.atMs}}`
  );
}

export function pointsText(assets: Assets, credit: PointsCredit): string {
  return (
    `{"atMs":${credit.atMs},"points":${microsText(credit.microPoints)}` +
    `,"reason":"${credit.reason === PointsReason.FEES ? 'fees' : 'referral'}"` +
    `,"marketId":"${marketIdText(assets, credit.marketId)}"}`
  );
}

/** All metrics are counted in millionths: of dollars, or of points. */
export function leaderboardText({ rank, userId, username, value }: LeaderboardEntry): string {
  return `{"rank":${rank},"userId":"u${userId}","username":${JSON.stringify(username)},"value":${microsText(value)}}`;
}

function matchName(matchType: number): string {
  switch (matchType) {
    case MatchType.TRANSFER:
      return 'transfer';
    case MatchType.MINT:
      return 'mint';
    default:
      return 'merge';
  }
}
