/**
 * Requests to the history and the leaderboards, and their answers, in engine units. Lists are in
 * pages, newest first: `cursor` is the `nextCursor` of the previous page, or null. A cursor names
 * an entry, so new entries do not shift a page.
 */
import {
  assetOfMarket,
  type MarketStatus,
  type Resolution,
  startOfMarketMs,
  WINDOW_MS,
} from '../../engine/interface/domain.js';
import type { AccountView, MarketView } from '../../engine/interface/views.js';
import type { LedgerPage, LedgerRequest } from './account/ledger.js';
import type { OrderRecord, OrdersPage, OrdersRequest } from './account/orders.js';
import type { Payment } from './account/payment.js';
import type { AsOf } from './as-of.js';
import type { Candle, CandlesRequest } from './candles.js';
import type {
  LeaderboardCursor,
  MetricName,
  PeriodName,
  RankedEntry,
} from './leaderboard/leaderboard.js';
import type { MarketEventsPage, MarketEventsRequest, MarketTicks } from './market-events.js';
import type {
  EntryOf,
  MARKET_TRADE,
  MarketRecord,
  POINTS_CREDIT,
  USER_TRADE,
} from './runs/format.js';
import type { Page, PageRequest } from './runs/reader.js';

/**
 * Only entries of a time or a market are wanted; both times are included. null or a missing field:
 * no bound.
 */
export interface EntryFilter {
  fromMs?: number | null;
  toMs?: number | null;
  marketId?: number | null;
}

interface PastMarketsRequest extends PageRequest {
  asset: number | null;
  /** The first and last start of wanted markets, both included. */
  fromMs?: number | null;
  toMs?: number | null;
}

export type HistoryRequest =
  /** `orderId`: only trades of this order, which must be the user's. */
  | ({ kind: 'userTrades'; userId: number; orderId?: number | null } & PageRequest & EntryFilter)
  /** The lines of an account's statement. */
  | ({ kind: 'ledger' } & LedgerRequest)
  | ({ kind: 'userOrders' } & OrdersRequest)
  | { kind: 'userOrder'; userId: number; orderId: number }
  /** The payment of a resolved market to a user. */
  | { kind: 'payment'; userId: number; marketId: number }
  | ({ kind: 'pointsCredits'; userId: number } & PageRequest)
  | ({ kind: 'marketTrades'; marketId: number } & PageRequest & Omit<EntryFilter, 'marketId'>)
  /** The events of a market, oldest first. */
  | ({ kind: 'marketEvents' } & MarketEventsRequest)
  /** Candles of a market or of an asset, newest first. */
  | ({ kind: 'candles' } & CandlesRequest)
  /** The prices that a market's start and end are averages of. */
  | { kind: 'marketTicks'; marketId: number }
  /** Markets that have ended, of one asset or (null) of all, newest first. */
  | ({ kind: 'pastMarkets' } & PastMarketsRequest)
  /** Past markets as JSON; `priceHistory` is null unless `withPrices`. */
  | ({ kind: 'pastMarketTexts'; withPrices: boolean } & PastMarketsRequest)
  /** Any market that ever opened; `priceHistory` is null unless `withPrices`. */
  | { kind: 'marketText'; marketId: number; withPrices: boolean }
  /** The result of a command with an idempotency key. */
  | { kind: 'keyedResult'; sequence: number }
  /** The batch of the journal that holds a durable sequence. */
  | { kind: 'journalBatch'; sequence: number }
  | {
      kind: 'leaderboard';
      metric: MetricName;
      period: PeriodName;
      limit: number;
      cursor: LeaderboardCursor | null;
    }
  /** The public part of an account, and its rank. */
  | { kind: 'rank'; userId: number; metric: MetricName; period: PeriodName };

export type HistoryKind = HistoryRequest['kind'];
export type RequestOf<Kind extends HistoryKind> = Extract<HistoryRequest, { kind: Kind }>;

/** One side of a trade: price of the user's outcome; role 0 taker, 1 maker; makers pay no fee. */
export type UserTrade = EntryOf<typeof USER_TRADE>;
export type MarketTradeEntry = EntryOf<typeof MARKET_TRADE>;
export type PointsCredit = EntryOf<typeof POINTS_CREDIT>;

/** A market that has ended, as the engine shows it. */
export function viewOfPast(market: MarketRecord): MarketView {
  const startsAtMs = startOfMarketMs(market.marketId);
  return {
    marketId: market.marketId,
    asset: assetOfMarket(market.marketId),
    status: market.status as MarketStatus,
    resolution: market.resolution as Resolution,
    startsAtMs,
    endsAtMs: startsAtMs + WINDOW_MS,
    startPriceMicros: market.startPriceMicros === 0 ? null : market.startPriceMicros,
    startPriceFinal: true,
    endPriceMicros: market.endPriceMicros === 0 ? null : market.endPriceMicros,
    resolvedAtMs: market.resolvedAtMs === 0 ? null : market.resolvedAtMs,
    averageSoFarMicros: null,
    paused: false,
    feeBasisPoints: null,
    curveFeeBasisPoints: null,
    volumeMicros: market.volumeMicros,
    openInterestLots: market.openInterestLots,
    bestBidTicks: null,
    bestAskTicks: null,
    lastTradeTicks: market.lastTradeTicks === 0 ? null : market.lastTradeTicks,
  };
}

/** Unused bytes at the end of a page of markets. */
export const PAGE_END_BYTES = 512;

/**
 * JSON, and the SHA-256 of its contents without the asset's price and the sequence, which change
 * with every command.
 */
export interface HashedText {
  bytes: Uint8Array<SharedArrayBuffer>;
  /** The hash, in base64url. */
  contentHash: string;
}

/** The bytes are `{"markets":[…]`, then PAGE_END_BYTES for the rest of the page. */
export interface MarketTextsPage extends HashedText {
  nextCursor: number | null;
}

export type { Page } from './runs/reader.js';

export type LeaderboardPage = Page<LeaderboardEntry, LeaderboardCursor>;

export interface LeaderboardEntry extends RankedEntry {
  username: string;
}

export interface BatchRecord {
  firstSequence: number;
  lastSequence: number;
  /** The engine's digest after the batch. */
  digest: string;
  /** SHA-256 of the batch and all before it, in hex. */
  hash: string;
}

export interface HistoryAnswers {
  userTrades: Page<UserTrade>;
  /** A page with filters may hold fewer entries than its limit, and still have a next one. */
  ledger: LedgerPage;
  userOrders: OrdersPage;
  /** The order; null if the user has placed no such order. */
  userOrder: OrderRecord | null;
  payment: Payment | null;
  /** A page, with the user's total points. */
  pointsCredits: Page<PointsCredit> & { microPoints: number };
  /** A page; null if there never was such a market. */
  marketTrades: Page<MarketTradeEntry> | null;
  /**
   * A page, and the market, which shows whether it has ended; null if there never was such a
   * market.
   */
  marketEvents: (MarketEventsPage & { market: MarketRecord }) | null;
  marketTicks: MarketTicks | null;
  /** May hold fewer than its limit, and still have a next page; null if there is no such market. */
  candles: Page<Candle> | null;
  pastMarkets: Page<MarketRecord>;
  pastMarketTexts: MarketTextsPage;
  /** The market's JSON; null if there never was such a market. */
  marketText: HashedText | null;
  /** Its integers; null if the history does not have it. */
  keyedResult: Float64Array | null;
  journalBatch: BatchRecord;
  leaderboard: LeaderboardPage;
  /** `account` is null if the user does not exist; `rank` is null if the user is not listed. */
  rank: { account: AccountView | null; rank: number | null };
}

/**
 * `ok`: the answer, true at a sequence that is at least the requested one. `unavailable`: the
 * history is behind or being rebuilt; the reason is for the log. `pruned`: what was asked for is no
 * longer in the history.
 */
export type HistoryReply<Kind extends HistoryKind = HistoryKind> =
  | ({ status: 'ok'; answer: HistoryAnswers[Kind] } & AsOf)
  | { status: 'unavailable' | 'pruned'; reason: string };
