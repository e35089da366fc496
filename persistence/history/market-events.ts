/**
 * The events of one market, oldest first: its trades, the changes of its book, and the prices of
 * its asset, from three minutes before its window until it was resolved; and the prices of its two
 * settlement minutes. All of it comes from the lists of the history.
 *
 * Events are in the order of their sequences. Within one command, each trade comes with the change
 * of the book that it made, then come the orders that entered the book or left it, then prices.
 */
import { assetOfMarket, startOfMarketMs, WINDOW_MS } from '../../engine/interface/domain.js';
import { MAX_TIME_MS } from '../../engine/interface/limits.js';
import {
  REFERENCE_PRICE_AGE_MAX_MS,
  REFERENCE_WINDOW_MS,
  RESOLVE_DELAY_MS,
} from '../../engine/interface/parameters.js';
import {
  ASSET_PRICE,
  type EntryOf,
  type ListLayout,
  MARKET_BOOK,
  MARKET_TRADE,
  type MarketRecord,
} from './runs/format.js';
import type { ListReader, Page } from './runs/reader.js';

type Trade = EntryOf<typeof MARKET_TRADE>;
type Book = EntryOf<typeof MARKET_BOOK>;
type Price = EntryOf<typeof ASSET_PRICE>;

export type MarketEvent =
  | { type: 'trade'; entry: Trade }
  /** A level of UP's book; `changeLots` is below 0 when it shrinks. */
  | { type: 'book'; entry: Omit<Book, 'marketId' | 'ordinal'> }
  | { type: 'price'; entry: Price };

/**
 * The sequence of the last event returned, and how many events with that sequence were returned.
 */
export interface EventCursor {
  sequence: number;
  events: number;
}

export type MarketEventsPage = Page<MarketEvent, EventCursor>;

export interface MarketEventsRequest {
  marketId: number;
  limit: number;
  cursor: EventCursor | null;
}

/** The settlement prices, in the order in which they count. */
export interface MarketTicks {
  market: MarketRecord;
  start: Price[];
  end: Price[];
}

/** The prices that arrived, and may count, during the life of a market. */
interface PriceSpan {
  asset: number;
  /** The number of the asset's prices. */
  count: number;
  /** The first price that may count, and the last. */
  first: number;
  last: number;
}

export async function readMarketEvents(
  lists: ListReader,
  market: MarketRecord,
  priceCount: number,
  { limit, cursor }: MarketEventsRequest,
): Promise<MarketEventsPage> {
  const { marketId: id, tradeCount, bookCount } = market;
  const from = cursor ?? { sequence: 0, events: 0 };
  const prices = await priceSpan(lists, market, priceCount);
  /**
   * The ordinal at which a list continues, and how many of its events have the cursor's sequence.
   */
  const startIn = async <Layout extends ListLayout & { columns: readonly string[] }>(
    layout: Layout,
    list: { id: number; first: number; last: number },
  ) => {
    const at = { id: list.id, count: list.last, column: 'sequence' } as const;
    const first = await lists.firstFrom(layout, { ...at, value: from.sequence });
    const after =
      cursor === null
        ? first
        : await lists.firstFrom(layout, { ...at, value: cursor.sequence + 1 });
    return { ...list, first: Math.max(list.first, first), atCursor: after - first };
  };
  const tradeList = await startIn(MARKET_TRADE, { id, first: 1, last: tradeCount });
  const bookList = await startIn(MARKET_BOOK, { id, first: 1, last: bookCount });
  const priceList = await startIn(ASSET_PRICE, { ...prices, id: prices.asset });
  // A cursor skips no more events than its sequence has, so a forged cursor costs no more than a
  // valid one.
  const all = 2 * tradeList.atCursor + bookList.atCursor + priceList.atCursor;
  const skipped = Math.min(from.events, all);
  // The whole page may come from any one of the lists.
  const most = limit + skipped + 1;
  const pageOf = <Layout extends ListLayout>(
    layout: Layout,
    { id, first, last }: { id: number; first: number; last: number },
  ) => lists.oldestFirst(layout, { id, first, last: Math.min(last, first + most - 1) });
  const trades = await pageOf(MARKET_TRADE, tradeList);
  const books = await pageOf(MARKET_BOOK, bookList);
  const observed = await pageOf(ASSET_PRICE, priceList);
  const events = inOrder(trades, books, observed);
  const start = Math.min(events.length, skipped);
  const entries = events.slice(start, start + limit);
  const hasMore = events.length > start + limit;
  return { entries, nextCursor: hasMore ? cursorAfter(entries, from) : null };
}

function inOrder(
  trades: readonly Trade[],
  books: readonly Book[],
  prices: readonly Price[],
): MarketEvent[] {
  const events: (MarketEvent & { rank: number })[] = [];
  for (const entry of trades) {
    events.push({ type: 'trade', entry, rank: 0 });
    events.push({ type: 'book', entry: bookChangeOf(entry), rank: 0 });
  }
  for (const { marketId: _, ordinal: __, ...entry } of books)
    events.push({ type: 'book', entry, rank: 1 });
  for (const entry of prices) events.push({ type: 'price', entry, rank: 2 });
  // The sort is stable, so the events of a list stay in its order.
  return events.sort((a, b) => a.entry.sequence - b.entry.sequence || a.rank - b.rank);
}

/** The change of the book that a trade made: a taker who bids meets asks, and vice versa. */
function bookChangeOf(trade: Trade): Omit<Book, 'marketId' | 'ordinal'> {
  const { takerSide, takerOutcome, upTicks, sizeLots, atMs, sequence } = trade;
  const bookSide = takerSide === takerOutcome ? 1 : 0;
  return { bookSide, upTicks, changeLots: 0 - sizeLots, atMs, sequence };
}

function cursorAfter(entries: readonly MarketEvent[], from: EventCursor): EventCursor {
  const { sequence } = entries.at(-1)!.entry;
  const events = entries.filter(({ entry }) => entry.sequence === sequence).length;
  return { sequence, events: events + (sequence === from.sequence ? from.events : 0) };
}

export async function readMarketTicks(
  lists: ListReader,
  market: MarketRecord,
  priceCount: number,
): Promise<MarketTicks> {
  const startsAtMs = startOfMarketMs(market.marketId);
  const endsAtMs = startsAtMs + WINDOW_MS;
  const span = await priceSpan(lists, market, priceCount);
  const prices = await lists.oldestFirst(ASSET_PRICE, { ...span, id: span.asset });
  const finalAtMs = startsAtMs + RESOLVE_DELAY_MS;
  // Without a price before its window, the first one that arrives opens the market.
  const opening = prices.find(({ atMs }) => atMs >= startsAtMs);
  const isForStart = ({ atMs, sequence }: Price) =>
    atMs < finalAtMs || sequence <= (opening?.sequence ?? 0);
  const start = countingAt(startsAtMs, prices.filter(isForStart));
  const startTicks = start.length === 0 && opening !== undefined ? [opening] : start;
  return {
    market,
    start: market.startPriceMicros === 0 ? [] : startTicks,
    end: market.resolvedAtMs === 0 ? [] : countingAt(endsAtMs, prices),
  };
}

/**
 * The prices that enter the average at `atMs`: the price in force 60 s earlier, unless that price
 * is too old, and every later price before `atMs`.
 */
function countingAt(atMs: number, prices: readonly Price[]): Price[] {
  const fromMs = atMs - REFERENCE_WINDOW_MS;
  const observed = [...prices].sort((a, b) => a.observedAtMs - b.observedAtMs);
  const inForce = observed.findLast(({ observedAtMs }) => observedAtMs <= fromMs);
  const within = observed.filter(
    ({ observedAtMs }) => observedAtMs > fromMs && observedAtMs < atMs,
  );
  const isFresh =
    inForce !== undefined && inForce.observedAtMs >= fromMs - REFERENCE_PRICE_AGE_MAX_MS;
  return isFresh ? [inForce, ...within] : within;
}

/** The prices from the oldest that can count for the start to the last known at the resolution. */
async function priceSpan(
  lists: ListReader,
  market: MarketRecord,
  count: number,
): Promise<PriceSpan> {
  const asset = assetOfMarket(market.marketId);
  const firstFrom = (column: 'atMs' | 'sequence', value: number) =>
    lists.firstFrom(ASSET_PRICE, { id: asset, count, column, value });
  const oldestMs =
    startOfMarketMs(market.marketId) - REFERENCE_WINDOW_MS - REFERENCE_PRICE_AGE_MAX_MS;
  const first = await firstFrom('atMs', oldestMs);
  const resolvedAtMs = market.resolvedAtMs === 0 ? MAX_TIME_MS - 1 : market.resolvedAtMs;
  const last = (await firstFrom('atMs', resolvedAtMs + 1)) - 1;
  return { asset, count, first, last };
}
