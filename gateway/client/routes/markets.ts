/** Markets, their books and trades. Public. */
import type * as dayFileRoutes from '../../resources/day-files/routes.js';
import type * as history from '../../resources/history/views.js';
import type * as eventRoutes from '../../resources/market-events/routes.js';
import type * as marketSchemas from '../../resources/markets/schemas.js';
import type { Amount } from '../amounts.js';
import type { Answer } from '../answer.js';
import { type Api, type CallOptions, path } from '../api.js';
import type { AccountFilter, OutcomeName, Paging } from '../terms.js';

export type MarketStatus = 'upcoming' | 'active' | 'ended' | 'resolved';
export type Market = Answer<typeof marketSchemas.Market>;
export type MarketWithHistory = Answer<typeof marketSchemas.MarketWithHistory>;
export type MarketDetail = Answer<typeof marketSchemas.MarketDetail>;
export type Markets = Answer<typeof marketSchemas.Markets>;
export type ActiveMarkets = Answer<typeof marketSchemas.ActiveMarkets>;
export type DayFiles = Answer<typeof dayFileRoutes.DayFiles>;
export type Orderbook = Answer<typeof marketSchemas.Orderbook>;
export type BuyQuote = Answer<typeof marketSchemas.BuyQuote>;
export type SellQuote = Answer<typeof marketSchemas.SellQuote>;
export type PastMarkets = Answer<typeof history.PastMarkets>;
export type MarketTrades = Answer<typeof history.MarketTrades>;
export type MarketEvents = Answer<typeof eventRoutes.MarketEvents>;
export type MarketEvent = MarketEvents['events'][number];
export type MarketTicks = Answer<typeof eventRoutes.MarketTicks>;

/** All markets, newest first. */
export function markets(
  api: Api,
  query: Paging & { status?: MarketStatus | undefined; asset?: string | undefined } = {},
  options?: CallOptions,
): Promise<Markets> {
  return api.call({ method: 'GET', path: '/markets', query: { ...query }, options });
}

export function market(api: Api, marketId: string, options?: CallOptions): Promise<MarketDetail> {
  return api.call({ method: 'GET', path: path`/markets/${marketId}`, options });
}

/** The markets that trade now, with the exchange's time. */
export function activeMarkets(
  api: Api,
  query: { asset?: string | undefined } = {},
  options?: CallOptions,
): Promise<ActiveMarkets> {
  return api.call({ method: 'GET', path: '/markets/15m', query: { ...query }, options });
}

/**
 * Ended markets, newest first, with their price histories. `fromMs` and `toMs` refer to the start
 * of a market. `priceHistory` `off` omits the price histories.
 */
export function pastMarkets(
  api: Api,
  query: Paging & {
    asset?: string | undefined;
    fromMs?: number | undefined;
    toMs?: number | undefined;
    priceHistory?: 'on' | 'off' | undefined;
  } = {},
  options?: CallOptions,
): Promise<PastMarkets> {
  return api.call({ method: 'GET', path: '/markets/15m/history', query: { ...query }, options });
}

/** @param query `depth`: price levels on each side, 1 to 999, default 20 */
export function orderbook(
  api: Api,
  marketId: string,
  query: { depth?: number | undefined } = {},
  options?: CallOptions,
): Promise<Orderbook> {
  const ofMarket = path`/markets/15m/${marketId}/orderbook`;
  return api.call({ method: 'GET', path: ofMarket, query: { ...query }, options });
}

/** Quotes a buy for an amount. */
export function buyQuote(
  api: Api,
  marketId: string,
  order: { outcome: OutcomeName; amount: Amount; price?: Amount | undefined },
  options?: CallOptions,
): Promise<BuyQuote> {
  const query = { side: 'BUY', ...order };
  return api.call({ method: 'GET', path: path`/markets/15m/${marketId}/quote`, query, options });
}

/** Quotes a sale of shares. */
export function sellQuote(
  api: Api,
  marketId: string,
  order: { outcome: OutcomeName; shares: Amount; price?: Amount | undefined },
  options?: CallOptions,
): Promise<SellQuote> {
  const query = { side: 'SELL', ...order };
  return api.call({ method: 'GET', path: path`/markets/15m/${marketId}/quote`, query, options });
}

/** A market's trades, newest first. The time range includes both ends. */
export function marketTrades(
  api: Api,
  marketId: string,
  query: Paging & Pick<AccountFilter, 'fromMs' | 'toMs'> = {},
  options?: CallOptions,
): Promise<MarketTrades> {
  const ofMarket = path`/markets/15m/${marketId}/trades`;
  return api.call({ method: 'GET', path: ofMarket, query: { ...query }, options });
}

/** A resolved market's events, oldest first. */
export function marketEvents(
  api: Api,
  marketId: string,
  paging: Paging = {},
  options?: CallOptions,
): Promise<MarketEvents> {
  const ofMarket = path`/markets/15m/${marketId}/events`;
  return api.call({ method: 'GET', path: ofMarket, query: { ...paging }, options });
}

/** The prices whose averages are the start price and the end price. */
export function marketTicks(
  api: Api,
  marketId: string,
  options?: CallOptions,
): Promise<MarketTicks> {
  return api.call({ method: 'GET', path: path`/markets/15m/${marketId}/ticks`, options });
}

/** The files with all events of an asset on a UTC day: gzipped lines of JSON at `path`. */
export function dayFiles(
  api: Api,
  query: { asset?: string | undefined } = {},
  options?: CallOptions,
): Promise<DayFiles> {
  return api.call({ method: 'GET', path: '/history', query: { ...query }, options });
}
