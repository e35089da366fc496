/** Candles of a market, and of an asset over all its markets. */
import { z } from 'zod';
import { assetOfMarket } from '../../../engine/interface/domain.js';
import { type Assets, marketIdNumber, marketIdText } from '../../../engine/interface/notation.js';
import {
  type Candle,
  INTERVALS_MS,
  type PriceRange,
} from '../../../persistence/history/candles.js';
import { answerEncoded } from '../../http/answers/encoded-answer.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { responseObject } from '../../json/components.js';
import * as request from '../../json/fields.js';
import * as response from '../../json/response-fields.js';
import { Json, Writer } from '../../json/writer.js';
import { requireListed, withFilter } from '../find.js';
import { pageText } from '../paging.js';
import { answerPage } from './read.js';

const intervals = z.enum(Object.keys(INTERVALS_MS) as (keyof typeof INTERVALS_MS)[]);
const { fromMs, toMs } = request.timeFilters;
const CandlesQuery = request.ownQuery({
  interval: intervals.default('1m').meta({ description: 'The length of a candle', default: '1m' }),
  fromMs: fromMs.describe('Only candles that begin at this time or later'),
  toMs: toMs.describe('Only candles that begin at this time or earlier'),
  ...request.paging,
});

const rangeOf = (price: typeof response.price | typeof response.money) =>
  z.strictObject({
    open: price.describe('The first price'),
    high: price.describe('The highest price'),
    low: price.describe('The lowest price'),
    close: price.describe('The last price'),
  });
const upRange = rangeOf(response.price);
const assetRange = rangeOf(response.money);

const atMs = response.timeMs.describe('When the candle begins');
const common = {
  assetPrice: assetRange
    .nullable()
    .describe('US dollars: the asset’s prices, in order of arrival; null if none arrived'),
  volume: response.money.describe('US dollars traded'),
  trades: response.count.describe('The number of trades'),
};

const MarketCandle = responseObject('MarketCandle', 'An interval of a market', {
  atMs,
  UP: upRange.nullable().describe('US dollars per share of UP; null if there were no trades'),
  ...common,
});
const AssetCandle = responseObject('AssetCandle', 'An interval of an asset', {
  atMs,
  ...common,
});

const listed = { interval: intervals.describe('The length of a candle') };
export const MarketCandles = responseObject('MarketCandles', 'The candles of a market', {
  marketId: response.marketId,
  ...listed,
  candles: z.array(MarketCandle).describe('A candle for every interval, newest first'),
  ...response.pageEnd,
});
export const AssetCandles = responseObject('AssetCandles', 'The candles of an asset', {
  asset: response.asset,
  ...listed,
  candles: z.array(AssetCandle).describe('A candle for every interval, newest first'),
  ...response.pageEnd,
});

export const candleRoutes: Route[] = [
  defineRoute('GET', '/markets/15m/:marketId/candles', {
    access: 'public',
    summary:
      'Candles of a market, newest first: open, high, low and close of UP and of the asset, volume and trades',
    caching: 'public',
    query: CandlesQuery,
    responses: { 200: MarketCandles },
    errors: ['market_not_found', 'history_unavailable'],
    handle(call) {
      const marketId = marketIdNumber(call.engine, call.parameter('marketId'));
      const of = { marketId, asset: assetOfMarket(marketId) };
      answerCandles(call, of, MARKET_CANDLE, () => {
        return `"marketId":"${marketIdText(call.engine, marketId)}"`;
      });
    },
  }),

  defineRoute('GET', '/assets/:symbol/candles', {
    access: 'public',
    summary:
      'Candles of an asset, newest first: open, high, low and close, and volume and trades of all its markets',
    caching: 'public',
    query: CandlesQuery,
    responses: { 200: AssetCandles },
    errors: ['history_unavailable'],
    handle(call) {
      const symbol = call.parameter('symbol').toUpperCase();
      if (!requireListed(call, symbol)) return;
      const of = { marketId: null, asset: call.engine.findAsset(symbol) };
      answerCandles(call, of, ASSET_CANDLE, () => `"asset":"${symbol}"`);
    },
  }),
];

type Query = z.output<typeof CandlesQuery>;

function answerCandles(
  call: Call<unknown, Query>,
  of: { marketId: number | null; asset: number },
  candle: Writer<Candle>,
  head: () => string,
): void {
  const { interval } = call.query;
  withFilter(call, ({ name, bounds: { fromMs, toMs } }) => {
    const list = `candles/${of.marketId ?? ''}/${of.asset}/${interval}${name}`;
    const intervalMs = INTERVALS_MS[interval];
    answerPage(call, list, { kind: 'candles', ...of, intervalMs, fromMs, toMs }, (page, end) => {
      const texts = page.entries.map((each) => candle.text(each, call.engine));
      const text = pageText('candles', texts, end, `${head()},"interval":"${interval}",`);
      answerEncoded(call, end.sequence, text);
    });
  });
}

const RANGE = { open: 'open', high: 'high', low: 'low', close: 'close' } as const;
const UP_RANGE = new Writer<PriceRange>(upRange, RANGE);
const ASSET_RANGE = new Writer<PriceRange>(assetRange, RANGE);
const ASSET_FIELDS = {
  assetPrice: ({ assetPrice: range }: Candle, names: Assets) =>
    range && new Json(ASSET_RANGE.text(range, names)),
};
const ASSET_CANDLE = new Writer<Candle>(AssetCandle, ASSET_FIELDS);
const MARKET_CANDLE = new Writer<Candle>(MarketCandle, {
  ...ASSET_FIELDS,
  UP: ({ up: range }, names) => range && new Json(UP_RANGE.text(range, names)),
});
