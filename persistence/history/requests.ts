/**
 * What can be asked of the history and the leaderboards, and what they answer; all in engine units. Lists are newest
 * first, and paged: `cursor` is what the page before gave as `nextCursor`, null for the first page. A cursor names an
 * entry, so that new entries do not shift a page.
 */
import type { AccountView } from '../../engine/interface/views.js';
import type { LeaderboardCursor, MetricName, PeriodName, RankedEntry } from '../leaderboard/leaderboard.js';
import type {
  CLOSED_POSITION,
  EntryOf,
  MARKET,
  MARKET_TRADE,
  POINTS_CREDIT,
  RowOf,
  USER_TRADE,
} from './format.js';

interface PageRequest {
  /** Entries at most, 1 or more. */
  limit: number;
  cursor: number | null;
}

export type HistoryRequest =
  | ({ kind: 'userTrades'; userId: number } & PageRequest)
  | ({ kind: 'pointsCredits'; userId: number } & PageRequest)
  | ({ kind: 'closedPositions'; userId: number } & PageRequest)
  /** The public tape. */
  | ({ kind: 'marketTrades'; marketId: number } & PageRequest)
  /** Markets that have ended, of one asset or (null) of all: newest window first, then the later listed asset. */
  | ({ kind: 'pastMarkets'; asset: number | null } & PageRequest)
  /** The same as text, with their price histories. */
  | ({ kind: 'pastMarketTexts'; asset: number | null } & PageRequest)
  /** A market that ever opened, also one that is active, with its price history. */
  | { kind: 'marketText'; marketId: number }
  | {
      kind: 'leaderboard';
      metric: MetricName;
      period: PeriodName;
      limit: number;
      cursor: LeaderboardCursor | null;
    }
  /** What everybody may see of an account, and its place. */
  | { kind: 'rank'; userId: number; metric: MetricName; period: PeriodName };

export type HistoryKind = HistoryRequest['kind'];
export type RequestOf<Kind extends HistoryKind> = Extract<HistoryRequest, { kind: Kind }>;

/** One side of a trade: `priceTicks` of the user's own outcome, `role` 0 taker or 1 maker, `feeMicros` 0 for makers. */
export type UserTrade = EntryOf<typeof USER_TRADE>;
export type MarketTradeEntry = EntryOf<typeof MARKET_TRADE>;
export type PointsCredit = EntryOf<typeof POINTS_CREDIT>;
/** A position that a resolution closed, with what it paid. */
export type ClosedPosition = EntryOf<typeof CLOSED_POSITION>;

/** As of its last event. endPriceMicros is 0 until resolved and on VOID, lastTradeTicks 0 without a trade. */
export type MarketRecord = Omit<RowOf<typeof MARKET>, 'checksum'>;

/** What a page of markets leaves room for at its end, in bytes. */
export const PAGE_END_BYTES = 512;

/** A page of markets as JSON text of the API, written where nobody who trades waits for it. */
export interface MarketTextsPage {
  /** `{"markets":[…]`, and behind it PAGE_END_BYTES for the rest of the page. */
  bytes: Uint8Array<ArrayBuffer>;
  nextCursor: number | null;
}

export interface Page<T, Cursor = number> {
  entries: T[];
  /** null: there are no more. */
  nextCursor: Cursor | null;
}

export interface LeaderboardPage extends Page<LeaderboardEntry, LeaderboardCursor> {
  /** The exchange's time, which says what day and week it is. */
  atMs: number;
}

export interface LeaderboardEntry extends RankedEntry {
  username: string;
}

export interface RankAnswer {
  /** null: there is no such user. */
  account: AccountView | null;
  /** null: not listed. */
  rank: number | null;
}

export interface HistoryAnswers {
  userTrades: Page<UserTrade>;
  /** With all points of the user together. */
  pointsCredits: Page<PointsCredit> & { microPoints: number };
  closedPositions: Page<ClosedPosition>;
  /** null: there never was such a market. */
  marketTrades: Page<MarketTradeEntry> | null;
  pastMarkets: Page<MarketRecord>;
  pastMarketTexts: MarketTextsPage;
  /** null: there never was such a market. */
  marketText: Uint8Array<ArrayBuffer> | null;
  leaderboard: LeaderboardPage;
  rank: RankAnswer;
}

/**
 * `ok`: the answer, true at `sequence`, which is not before the one that was asked for. `unavailable`: the history is more
 * than 2 s behind, or being made anew; it says why, for the log.
 */
export type HistoryOutcome<Kind extends HistoryKind = HistoryKind> =
  | { outcome: 'ok'; sequence: number; answer: HistoryAnswers[Kind] }
  | { outcome: 'unavailable'; reason: string };
