/** Public routes of markets: lists, one market, its order book, and quotes. */
import type { Engine } from '../../../engine/engine.js';
import { hasEnded, Side } from '../../../engine/interface/domain.js';
import {
  MAX_ORDER_LOTS,
  MAX_PRICE_TICKS,
  MIN_PRICE_TICKS,
} from '../../../engine/interface/limits.js';
import { asOfJson } from '../../../persistence/history/as-of.js';
import type { HashedText } from '../../../persistence/history/requests.js';
import { unitsOfSeen } from '../../access/fair-use/charges.js';
import { HISTORY_UNAVAILABLE } from '../../commands/errors.js';
import { endedAnswer } from '../../commands/past-market-errors.js';
import { answerEncoded } from '../../http/answers/encoded-answer.js';
import { hashTag } from '../../http/answers/entity-tags.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { refuseWithoutMarket, requireListed } from '../find.js';
import { readHistory } from '../history/read.js';
import { marketNumber } from '../last-market.js';
import { startOf } from '../paging.js';
import { cardPage, HTML_TYPE } from './card.js';
import { answerMarkets, listName } from './list.js';
import { orderbookBytes } from './orderbook.js';
import * as schemas from './schemas.js';
import { SharedTexts } from './shared-texts.js';
import { marketText, quoteText } from './views.js';

/** Above every depth, so that market and depth form one key. */
const DEPTHS = 1_000;
const bookTexts = new SharedTexts<number, Uint8Array>();
const activeTexts = new SharedTexts<string, string>();

export const marketRoutes: Route[] = [
  defineRoute('GET', '/markets', {
    access: 'public',
    summary: 'All markets, including upcoming and past ones, newest first',
    query: schemas.MarketsQuery,
    responses: { 200: schemas.Markets },
    errors: ['history_unavailable'],
    handle(call) {
      const { asset } = call.query;
      if (asset !== undefined && !requireListed(call, asset)) return;
      const after = startOf(call, listName(call.query));
      if (after !== undefined) answerMarkets(call, after);
    },
  }),

  defineRoute('GET', '/markets/15m', {
    access: 'public',
    summary: 'The active 15-minute markets',
    query: schemas.ActiveMarketsQuery,
    responses: { 200: schemas.ActiveMarkets },
    handle(call) {
      const { engine } = call;
      const { asset = '' } = call.query;
      if (asset !== '' && !requireListed(call, asset)) return;
      const markets = activeTexts.get(engine, asset, () => activeMarkets(engine, asset));
      const end = `"serverTimeMs":${engine.nowMs},${asOfJson(call.asOf)}`;
      call.answerWhenDurable(200, `{"markets":[${markets}],${end}`);
    },
  }),

  defineRoute('GET', '/markets/:id', {
    access: 'public',
    summary: 'One market, upcoming, active or past, with its price history',
    caching: 'public',
    responses: { 200: schemas.MarketDetail },
    errors: ['market_not_found', 'history_unavailable'],
    handle(call) {
      const respond = ({ bytes, contentHash }: HashedText, sequence: number) =>
        answerEncoded(call, sequence, bytes, hashTag(contentHash));
      const withoutHistory = (marketId: number) => answerWithoutHistory(call, marketId);
      readMarket(call, { withPrices: true, respond, withoutHistory });
    },
  }),

  defineRoute('GET', '/markets/:id/card', {
    access: 'public',
    summary:
      'A page for link previews of the market (Open Graph); browsers are redirected to the site',
    caching: 'public',
    produces: [HTML_TYPE],
    responses: { 200: schemas.MarketCard },
    errors: ['market_not_found', 'history_unavailable'],
    handle(call) {
      const respond = ({ bytes }: HashedText, sequence: number) => {
        const scheme = call.isSecure ? 'https' : 'http';
        const market = JSON.parse(Buffer.from(bytes).toString());
        answerEncoded(call, sequence, cardPage(market, { scheme, host: call.request.host }));
      };
      const withoutHistory = () => call.refuseNow(HISTORY_UNAVAILABLE);
      readMarket(call, { withPrices: false, respond, withoutHistory });
    },
  }),

  defineRoute('GET', '/markets/15m/:marketId/orderbook', {
    access: 'public',
    summary: 'The order book of a market, best prices first',
    query: schemas.DepthQuery,
    responses: { 200: schemas.Orderbook },
    errors: ['market_not_found', 'market_not_active', 'history_unavailable'],
    handle(call) {
      const { engine } = call;
      const marketId = marketNumber(engine, call.parameter('marketId'));
      if (!engine.hasMarket(marketId)) {
        refuseWithoutMarket(call, marketId);
        return;
      }
      const { depth } = call.query;
      const bytes = bookTexts.get(engine, marketId * DEPTHS + depth, () =>
        orderbookBytes(engine, marketId, engine.depth(marketId, depth)!, call.asOf),
      );
      call.answerWhenDurable(200, bytes);
    },
  }),

  defineRoute('GET', '/markets/15m/:marketId/quote', {
    access: 'public',
    summary: 'What an order would do now, without your own resting orders',
    query: schemas.QuoteQuery,
    missing: schemas.missingOfQuote,
    responses: { 200: schemas.Quote },
    errors: ['market_not_found', 'market_not_active', 'history_unavailable'],
    handle(call) {
      const marketId = marketNumber(call.engine, call.parameter('marketId'));
      const market = call.engine.market(marketId);
      if (market === null) {
        refuseWithoutMarket(call, marketId);
        return;
      }
      if (hasEnded(market.status)) {
        call.refuseWhenDurable(endedAnswer(market));
        return;
      }
      const { side, outcome, amount = 0, shares = MAX_ORDER_LOTS, price } = call.query;
      const worstTicks = side === Side.BUY ? MAX_PRICE_TICKS : MIN_PRICE_TICKS;
      const order = { marketId: market.marketId, side, outcome };
      const { engine, userId } = call;
      const limits = { budgetMicros: amount, sizeLots: shares, priceTicks: price ?? worstTicks };
      const quote = engine.quote({ ...order, ...limits, userId })!;
      call.owe(unitsOfSeen(engine.makersSeen));
      call.answerWhenDurable(200, quoteText(engine, order, quote, call.asOf));
    },
  }),
];

interface MarketReading {
  withPrices: boolean;
  respond: (text: HashedText, sequence: number) => void;
  withoutHistory: (marketId: number) => void;
}

function readMarket(call: Call, { withPrices, respond, withoutHistory }: MarketReading): void {
  const marketId = marketNumber(call.engine, call.parameter('id'));
  readHistory(
    call,
    { kind: 'marketText', marketId, withPrices },
    (text, { sequence }) => {
      if (call.require(text, 'market_not_found')) respond(text, sequence);
    },
    () => withoutHistory(marketId),
  );
}

/** Without the history, only markets that have not ended are complete. */
function answerWithoutHistory(call: Call, marketId: number): void {
  const { engine } = call;
  const market = engine.market(marketId);
  if (market === null || hasEnded(market.status)) call.refuseNow(HISTORY_UNAVAILABLE);
  else call.answerWhenDurable(200, marketText(engine, market, null));
}

/** By asset, as JSON without brackets. An empty `symbol` means all assets. */
function activeMarkets(engine: Engine, symbol: string): string {
  const texts: string[] = [];
  for (let asset = 0; asset < engine.assetCount; asset++) {
    if (symbol !== '' && engine.assetSymbol(asset) !== symbol) continue;
    const market = engine.market(engine.activeMarket(asset));
    if (market !== null) texts.push(marketText(engine, market));
  }
  return texts.join(',');
}
