/** Response bodies of markets and quotes. */
import { Side } from '../../../engine/interface/domain.js';
import type { Assets } from '../../../engine/interface/notation.js';
import type { MarketView, QuoteView } from '../../../engine/interface/views.js';
import type { AsOf } from '../../../persistence/history/as-of.js';
import {
  type ChanceReads,
  indicativeTicks,
} from '../../../persistence/history/market-json/chance.js';
import {
  type MarketAssets,
  marketParts,
  marketText as writeMarket,
} from '../../../persistence/history/market-json/market.js';
import { averagePriceMicros } from '../../json/decimal.js';
import { type From, Writer } from '../../json/writer.js';
import { BuyQuote, SellQuote } from './schemas.js';

interface MarketReads extends MarketAssets, ChanceReads {
  readonly sequence: number;
}

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

type Quoted = QuotedOrder & QuoteView & AsOf;
const QUOTE: From<Quoted, Assets> = {
  shares: 'filledLots',
  filled: 'filledLots',
  averagePrice: ({ valueMicros, filledLots }) => averagePriceMicros(valueMicros, filledLots),
  worstPrice: 'worstTicks',
};
const buyQuote = new Writer<Quoted>(BuyQuote, { ...QUOTE, spent: 'valueMicros' });
const sellQuote = new Writer<Quoted>(SellQuote, { ...QUOTE, received: 'valueMicros' });

export function quoteText(reads: Assets, order: QuotedOrder, quote: QuoteView, at: AsOf): string {
  const { text } = order.side === Side.BUY ? buyQuote : sellQuote;
  return text({ ...order, ...quote, ...at }, reads);
}
