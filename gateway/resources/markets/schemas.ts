/** Queries and response bodies of markets. */
import { z } from 'zod';
import { Side } from '../../../engine/interface/domain.js';
import { responseObject, responseSchema } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { FIELD_TEXTS, MAX_ORDER_DOLLARS, MAX_ORDER_SHARES } from '../orders/fields.js';
import type { Problem } from '../orders/operations.js';

/** Case-insensitive. */
export const asset = z
  .string()
  .regex(/^[A-Za-z0-9]{2,10}$/, 'must be the symbol of an asset, such as BTC')
  .transform((symbol) => symbol.toUpperCase())
  .optional()
  .describe('The symbol of a listed asset, in any case, such as BTC; omit it for all assets');

export const MarketsQuery = request.ownQuery({
  status: z
    .enum(['upcoming', 'active', 'ended', 'resolved'])
    .optional()
    .describe('Only markets with this status'),
  asset,
  ...request.paging,
});
export const ActiveMarketsQuery = request.ownQuery({ asset });
export const BOOK_LEVELS_MAX = 999;
export const DepthQuery = request.ownQuery({
  depth: request.queryInteger({
    min: 1,
    max: BOOK_LEVELS_MAX,
    standard: 20,
    description: 'Price levels on each side',
  }),
});

const amountToSpend = request.dollars({ max: MAX_ORDER_DOLLARS }).describe(FIELD_TEXTS.amount);
const sharesToTrade = request.shares({ max: MAX_ORDER_SHARES }).describe(FIELD_TEXTS.shares);

export const QuoteQuery = z
  .strictObject({
    ...request.own,
    side: request.side
      .default(Side.BUY)
      .meta({ description: 'BUY needs `amount`, SELL needs `shares`', default: 'BUY' }),
    outcome: request.outcome,
    amount: request.queryNumber(amountToSpend).optional(),
    shares: request.queryNumber(sharesToTrade).optional(),
    price: request.queryNumber(request.price).optional().describe(FIELD_TEXTS.price),
  })
  .superRefine((quote, context) => {
    const problem = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: [name], message, input: undefined });
    const side = quote.side === Side.BUY ? 'BUY' : 'SELL';
    missingOfQuote({ ...quote, side }, problem);
    const refused = side === 'BUY' ? 'shares' : 'amount';
    if (quote[refused] !== undefined) problem(refused, `cannot be combined with side ${side}`);
  });

interface GivenQuote {
  side?: unknown;
  amount?: unknown;
  shares?: unknown;
}

/** The quote's fields may be invalid. */
export function missingOfQuote(
  { side = 'BUY', amount, shares }: GivenQuote,
  problem: Problem,
): void {
  if (side === 'BUY' && amount === undefined) problem('amount', 'is required with side BUY');
  if (side === 'SELL' && shares === undefined) problem('shares', 'is required with side SELL');
}

const bestPrices = (text: string) => {
  const best = response.price.nullable();
  return z.strictObject({ UP: best, DOWN: best }).describe(`${text} for each outcome; null: none`);
};

const marketFields = {
  id: response.marketId.describe('The id'),
  type: z.literal('15m').describe('The length of the window'),
  asset: response.asset,
  title: z.string().describe('The market in words'),
  status: z.enum(['upcoming', 'active', 'ended', 'resolved']).describe('The state'),
  paused: z
    .boolean()
    .describe(
      'Whether an operator has paused the upcoming or active market: it takes no new orders',
    ),
  resolution: response.resolution.nullable(),
  voidReason: z
    .string()
    .nullable()
    .describe('Why an operator declared the market VOID; null if none did'),
  startsAtMs: response.timeMs,
  endsAtMs: response.timeMs,
  startPrice: response.money
    .nullable()
    .describe('US dollars: the asset’s price at the start; null until the market opens'),
  startPriceFinal: z
    .boolean()
    .describe('Whether `startPrice` is fixed: late prices no longer change it'),
  endPrice: response.money.nullable().describe('US dollars: the asset’s price at the end'),
  resolvedAtMs: response.timeMs
    .nullable()
    .describe('When the market was resolved; null until then'),
  averageSoFar: response.money
    .nullable()
    .describe(
      'US dollars: in the last minute, the average so far, which becomes `endPrice`; otherwise null',
    ),
  assetPrice: response.money.nullable().describe('US dollars: the asset’s current price'),
  indicative: z
    .strictObject({ UP: response.price, DOWN: response.price })
    .nullable()
    .describe(
      'The estimated chance of each outcome, from the asset’s price, its average so far, its volatility and the time left; not a quote. null if the market is not active or there is no recent price',
    ),
  prices: z
    .strictObject({ UP: response.price, DOWN: response.price })
    .nullable()
    .describe(
      'The middle of the book if its best bid and ask are at most 0.1 apart, otherwise the last trade, otherwise null. Once the market is resolved, what a share pays: 1 and 0, or 0.5 each if VOID',
    ),
  pricesFrom: z
    .enum(['book', 'trade'])
    .nullable()
    .describe('The source of `prices`; null if there are none, or once the market is resolved'),
  bestBid: bestPrices('The highest price that a buyer offers'),
  bestAsk: bestPrices('The lowest price that a seller asks'),
  volume: response.money.describe('US dollars traded'),
  openInterest: response.shares.describe('Shares of each outcome that users own'),
  feeRate: response.decimal
    .nullable()
    .describe('The fee rate on what a buy spends; null once the market has ended'),
  curveFeeRate: response.curveFeeRate.nullable(),
  makerFeeRate: response.makerFeeRate.nullable(),
  tickSize: z.literal(0.001).describe('The price step in US dollars; every price is a multiple'),
  lotSize: z.literal(0.001).describe('The size step in shares; every size is a multiple'),
};
export const Market = responseObject('Market', 'A market', { ...marketFields, ...response.state });
/** Every 5 s and at both ends of the market's window. */
const PricePoint = responseObject('PricePoint', 'The prices of a market at a time', {
  atMs: response.timeMs,
  UP: response.price.nullable().describe('As in `prices`; null if there was no price'),
  DOWN: response.price.nullable().describe('As in `prices`; null if there was no price'),
  assetPrice: response.money
    .nullable()
    .describe('US dollars: the asset’s price; null before the first price'),
});
export const MarketWithHistory = responseObject(
  'MarketWithHistory',
  'A market that has ended, with its price history',
  {
    ...marketFields,
    priceHistory: z.array(PricePoint).nullable().describe('null with `priceHistory=off`'),
    ...response.state,
  },
);
export const MarketDetail = responseObject('MarketDetail', 'A market with its price history', {
  ...marketFields,
  priceHistory: z
    .array(PricePoint)
    .nullable()
    .describe(
      'Price points, oldest first; null while the history of an active market is unavailable',
    ),
  ...response.state,
});
export const MarketCard = responseSchema(
  'MarketCard',
  'A page of HTML with the result for previews of links (Open Graph)',
  z.string(),
);
export const Markets = responseObject('Markets', 'Markets', {
  markets: z.array(Market).describe('The markets'),
  ...response.pageEnd,
});
export const ActiveMarkets = responseObject('ActiveMarkets', 'The active markets', {
  markets: z.array(Market).describe('The markets'),
  serverTimeMs: response.timeMs.describe('The same as `atMs`'),
  ...response.state,
});

const level = responseObject('PriceLevel', 'What rests at a price', {
  price: response.price,
  shares: response.shares,
});
const bookSide = z
  .strictObject({
    bids: z.array(level).describe('Price levels of buyers, the highest price first'),
    asks: z.array(level).describe('Price levels of sellers, the lowest price first'),
  })
  .describe('Best prices first');
export const Orderbook = responseObject(
  'Orderbook',
  'The order book of a market, as each outcome sees it',
  { marketId: response.marketId, ...response.state, UP: bookSide, DOWN: bookSide },
);

const quoted = {
  outcome: response.outcome,
  shares: response.shares,
  filled: response.shares.describe(
    'Shares that the order would fill immediately, as in `shares`; if 0, an IOC or FOK order would fail with `insufficient_liquidity`',
  ),
  averagePrice: response.averagePrice
    .nullable()
    .describe('US dollars per share; null if there are no shares'),
  worstPrice: response.price
    .nullable()
    .describe('US dollars per share of the last trade; null if there is none'),
};
const charged = {
  fee: response.money.describe('US dollars that the order would be charged'),
  unspent: response.money,
  ...response.state,
};
export const BuyQuote = responseObject('BuyQuote', 'What a buy would do now', {
  marketId: response.marketId,
  side: response.sideOf('BUY'),
  ...quoted,
  spent: response.money,
  ...charged,
});
export const SellQuote = responseObject('SellQuote', 'What a sale would do now', {
  marketId: response.marketId,
  side: response.sideOf('SELL'),
  ...quoted,
  received: response.money,
  ...charged,
});
export const Quote = responseSchema(
  'Quote',
  'What an order would do now',
  z.discriminatedUnion('side', [BuyQuote, SellQuote]),
);
