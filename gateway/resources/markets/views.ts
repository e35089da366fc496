/** Markets and quotes as responses show them. */
import { Side } from '../../../engine/interface/domain.js';
import { type Assets, marketIdText, outcomeName } from '../../../engine/interface/notation.js';
import type { MarketView, QuoteView } from '../../../engine/interface/views.js';
import {
  type ChanceReads,
  indicativeTicks,
} from '../../../persistence/history/market-json/chance.js';
import {
  type MarketAssets,
  marketParts,
  marketText as writeMarket,
} from '../../../persistence/history/market-json/market.js';
import type { TrueAt } from '../../../persistence/history/true-at.js';
import { averagePriceMicros, lots, micros, microsOrNull, ticks } from '../../json/decimal.js';
import { jsonText, type Writable } from '../../json/serializer.js';
import type { Quote } from './schemas.js';

interface MarketReads extends MarketAssets, ChanceReads {
  readonly sequence: number;
}

/** The current state of one of the engine's markets. */
export function marketText(reads: MarketReads, market: MarketView, points?: null): string {
  const priceMicros = reads.assetPriceMicros(market.asset);
  const { sequence, nowMs: atMs } = reads;
  const parts = marketParts(reads, market, indicativeTicks(reads, market), points);
  return writeMarket(parts, priceMicros, { sequence, atMs });
}

interface QuotedOrder {
  marketId: number;
  side: Side;
  outcome: number;
}

export function quoteText(reads: Assets, order: QuotedOrder, quote: QuoteView, at: TrueAt): string {
  const isBuy = order.side === Side.BUY;
  const value = micros(quote.valueMicros);
  return jsonText<typeof Quote>({
    marketId: marketIdText(reads, order.marketId),
    ...(isBuy ? { side: 'BUY' } : { side: 'SELL' }),
    outcome: outcomeName(order.outcome),
    shares: lots(quote.filledLots),
    filled: lots(quote.filledLots),
    averagePrice: microsOrNull(averagePriceMicros(quote.valueMicros, quote.filledLots)),
    worstPrice: quote.worstTicks === null ? null : ticks(quote.worstTicks),
    ...(isBuy ? { spent: value } : { received: value }),
    fee: micros(quote.feeMicros),
    unspent: micros(quote.unspentMicros),
    ...at,
  } as Writable<typeof Quote>);
}
