/** What the engine shows of its state, as JSON text of the API: markets, books, quotes, accounts, positions, orders. */

import { MarketStatus, Outcome, Resolution, Side } from '../../engine/interface/domain.js';
import { type Assets, marketIdText, outcomeName, sideName } from '../../engine/interface/notation.js';
import type {
  AccountView,
  MarketView,
  OrderView,
  PositionView,
  QuoteView,
} from '../../engine/interface/views.js';
import { mulDivFloor } from '../../engine/storage/arithmetic.js';
import {
  HALVES_PER_SET,
  halfTicksText,
  marketParts,
  upHalfTicks,
  marketText as writeMarket,
} from '../../persistence/market-json/market.js';
import { averagePriceMicros, lotsText, microsText, microsTextOrNull, ticksText } from './decimal.js';

export interface MarketReads extends Assets {
  assetPriceMicros(asset: number): number | null;
}

/** A market of the engine, as of `sequence`, at which the engine stands. */
export function marketText(reads: MarketReads, market: MarketView, sequence: number): string {
  return writeMarket(marketParts(reads, market, null), reads.assetPriceMicros(market.asset), sequence);
}

export interface QuotedOrder {
  marketId: number;
  side: Side;
  outcome: Outcome;
}

export function quoteText(reads: Assets, order: QuotedOrder, quote: QuoteView, sequence: number): string {
  const average = averagePriceMicros(quote.valueMicros, quote.filledLots);
  return (
    `{"marketId":"${marketIdText(reads, order.marketId)}","side":"${sideName(order.side)}"` +
    `,"outcome":"${outcomeName(order.outcome)}","shares":${lotsText(quote.filledLots)}` +
    `,"averagePrice":${microsTextOrNull(average)}` +
    `,"worstPrice":${quote.worstTicks === null ? 'null' : ticksText(quote.worstTicks)}` +
    `,"${order.side === Side.BUY ? 'spent' : 'received'}":${microsText(quote.valueMicros)}` +
    `,"fee":${microsText(quote.feeMicros)},"unspent":${microsText(quote.unspentMicros)},"sequence":${sequence}}`
  );
}

/** What everybody may see of an account. `rank` is its place by realised profit, null while it has none. */
export function profileText(account: AccountView, rank: number | null, sequence: number): string {
  return (
    `{"userId":"u${account.userId}","username":${JSON.stringify(account.username)}` +
    `,"createdAtMs":${account.createdAtMs},"volume":${microsText(account.volumeMicros)}` +
    `,"realizedProfit":${microsText(account.realizedProfitMicros)},"trades":${account.tradeCount}` +
    `,"rank":${rank},"sequence":${sequence}}`
  );
}

/** `"currency":…,"available":…,"held":…,"total":…`, without the braces. */
export function moneyFieldsText({ availableMicros, heldMicros }: AccountView): string {
  return (
    `"currency":"USD","available":${microsText(availableMicros)},"held":${microsText(heldMicros)}` +
    `,"total":${microsText(availableMicros + heldMicros)}`
  );
}

/** One outcome of a position. */
export interface OpenPosition {
  marketId: number;
  outcome: Outcome;
  lots: number;
  costMicros: number;
  market: MarketView;
}

/**
 * The outcomes that the user holds shares of in one market. The losing outcome of a resolved market is no position any
 * more: it is worth nothing and there is nothing to claim.
 */
export function openPositions(position: PositionView, market: MarketView): OpenPosition[] {
  const { marketId, upLots, downLots, upCostMicros, downCostMicros } = position;
  const up = { marketId, outcome: Outcome.UP, lots: upLots, costMicros: upCostMicros, market };
  const down = { marketId, outcome: Outcome.DOWN, lots: downLots, costMicros: downCostMicros, market };
  return [up, down].filter(({ outcome, lots }) => lots > 0 && priceHalfTicks(market, outcome) > 0);
}

/** What a share is worth now, in half ticks: its price, or after the resolution what it pays. */
function priceHalfTicks(market: MarketView, outcome: Outcome): number {
  const up = resolvedHalfTicks(market.resolution) ?? upHalfTicks(market);
  return outcome === Outcome.UP ? up : HALVES_PER_SET - up;
}

/** Of UP; null while the market is not resolved. */
function resolvedHalfTicks(resolution: Resolution): number | null {
  switch (resolution) {
    case Resolution.UP:
      return HALVES_PER_SET;
    case Resolution.DOWN:
      return 0;
    case Resolution.VOID:
      return HALVES_PER_SET / 2;
    case Resolution.NONE:
      return null;
  }
}

export function positionText(reads: Assets, position: OpenPosition): string {
  const { marketId, outcome, lots, costMicros, market } = position;
  const price = priceHalfTicks(market, outcome);
  const valueMicros = mulDivFloor(lots, price, 2);
  const status = market.status === MarketStatus.RESOLVED ? 'claimable' : 'open';
  return (
    `{"marketId":"${marketIdText(reads, marketId)}","asset":"${reads.assetSymbol(market.asset)}"` +
    `,"outcome":"${outcomeName(outcome)}","shares":${lotsText(lots)}` +
    `,"averagePrice":${microsTextOrNull(averagePriceMicros(costMicros, lots))},"cost":${microsText(costMicros)}` +
    `,"price":${halfTicksText(price)},"value":${microsText(valueMicros)}` +
    `,"unrealizedProfit":${microsText(valueMicros - costMicros)}` +
    `,"status":"${status}","endsAtMs":${market.endsAtMs}}`
  );
}

export function orderText(reads: Assets, order: OrderView): string {
  return (
    `{"orderId":"o${order.orderId}","marketId":"${marketIdText(reads, order.marketId)}","userId":"u${order.userId}"` +
    `,"side":"${sideName(order.side)}","outcome":"${outcomeName(order.outcome)}"` +
    `,"price":${ticksText(order.priceTicks)},"shares":${lotsText(order.sizeLots)}` +
    `,"placedAtMs":${order.placedAtMs}}`
  );
}
