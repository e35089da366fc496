/**
 * The leaderboards: users by profit, volume or points, over all time, the current UTC day or week
 * of the exchange's time, from the follower's engine.
 *
 * A private user is listed only if they choose to be, with their figures from the beginning of the
 * day.
 *
 * A board by volume or points lists users with more than 0. The all-time board by profit lists
 * users with a trade, points or a profit other than 0. The boards by profit of a day or week list
 * users after their first trade, split, merge, settlement or points in it. Higher values come
 * first, equal values in order of registration. A rank is 1 plus the number of users with a higher
 * value, so users with equal values share a rank.
 *
 * Invariant: a board is up to date when it answers. Before its first request it costs nothing;
 * then each user who changes is noted, and moved at the next request.
 *
 * To rank a million users takes a second or two. `prepare` divides the work into turns of the event
 * loop. Users that commands change between the turns are noted, and moved at the end.
 */
import type { Engine } from '../../../engine/engine.js';
import { dayOf, Metric, Period } from '../../../engine/state/accounts.js';
import { type IncrementalTask, runToEnd } from '../../../engine/storage/incremental-task.js';
import { runYielding } from '../run-yielding.js';
import { type Ranked, RankedUsers } from './order.js';

export type MetricName = keyof typeof Metric;
export type PeriodName = keyof typeof Period;

type RankedEngine = Pick<Engine, 'userCount' | 'nowMs' | 'standing'>;

/** The last entry of a page. */
export type LeaderboardCursor = Ranked;

export interface RankedEntry extends Ranked {
  rank: number;
}

export class Leaderboards {
  private readonly boards = new Map<string, Board>();
  private readonly inUse: Board[] = [];

  constructor(private readonly engine: RankedEngine) {}

  /** Called for each user whose values a command may have changed. */
  changed(userId: number): void {
    for (let i = 0; i < this.inUse.length; i++) this.inUse[i]!.changed(userId);
  }

  /** Makes each board rebuild at its next request, after a failure. */
  clear(): void {
    this.boards.clear();
    this.inUse.length = 0;
  }

  of(metric: MetricName, period: PeriodName): Board {
    const key = `${metric} ${period}`;
    let board = this.boards.get(key);
    if (board === undefined) {
      board = new Board(this.engine, Metric[metric], Period[period]);
      this.boards.set(key, board);
      this.inUse.push(board);
    }
    return board;
  }
}

/**
 * Maximum of users ranked or moved within a request. `prepare` handles more, in turns of the event
 * loop.
 */
const FEW_USERS = 2_000;
const FEW_MOVES = 500;
/** Users who are ranked or moved without a pause. */
const USERS_IN_PIECE = 256;

class Board {
  private ranked = new RankedUsers();
  private changedIds: number[] = [];
  private isNoted = new Uint8Array(0);
  /** The first user who is not ranked yet. */
  private nextUserId = 1;
  /**
   * The board's day. Every day begins with an empty board: for private users, the figures of the
   * last day count.
   */
  private day = -1;
  private isPrepared = false;

  constructor(
    private readonly engine: RankedEngine,
    private readonly metric: Metric,
    private readonly period: Period,
  ) {}

  changed(userId: number): void {
    if (userId >= this.nextUserId || this.isNoted[userId] === 1) return;
    if (userId >= this.isNoted.length) {
      const isNoted = new Uint8Array(Math.max(userId + 1, this.isNoted.length * 2));
      isNoted.set(this.isNoted);
      this.isNoted = isNoted;
    }
    this.isNoted[userId] = 1;
    this.changedIds.push(userId);
  }

  /** Whether the board can answer immediately. */
  get isReady(): boolean {
    if (this.isPrepared) return false;
    const isNew = this.day !== dayOf(this.engine.nowMs);
    const unranked = this.engine.userCount + 1 - (isNew ? 1 : this.nextUserId);
    return unranked < FEW_USERS && (isNew || this.changedIds.length < FEW_MOVES);
  }

  /**
   * Makes the board ready, in turns of the event loop, unless this is in progress. Then calls
   * `done`.
   */
  prepare(done: () => void, failed: (error: unknown) => void): void {
    if (this.isPrepared) return;
    this.isPrepared = true;
    runYielding(this.refresh())
      .finally(() => {
        this.isPrepared = false;
      })
      .then(done)
      .catch(failed);
  }

  /** Brings the board up to date in pieces, between which the engine may apply commands. */
  private *refresh(): IncrementalTask<void> {
    for (;;) {
      const day = dayOf(this.engine.nowMs);
      if (day !== this.day) this.begin(day);
      const end = Math.min(this.nextUserId + USERS_IN_PIECE, this.engine.userCount + 1);
      if (this.nextUserId < end) while (this.nextUserId < end) this.rank(this.nextUserId++);
      else if (this.changedIds.length > 0)
        for (const userId of this.changedIds.splice(-USERS_IN_PIECE)) {
          this.isNoted[userId] = 0;
          this.rank(userId);
        }
      else return;
      yield;
    }
  }

  private begin(day: number): void {
    this.day = day;
    this.ranked = new RankedUsers();
    this.changedIds = [];
    this.isNoted.fill(0);
    this.nextUserId = 1;
  }

  private rank(userId: number): void {
    this.ranked.set(userId, this.engine.standing(userId, this.metric, this.period));
  }

  /**
   * Up to `limit` entries after the cursor, or from the top if it is null. The board must be ready,
   * or small.
   */
  page(limit: number, after: LeaderboardCursor | null): RankedEntry[] {
    runToEnd(this.refresh());
    const skipped = after === null ? 0 : this.countUpTo(after);
    let before = { rank: 0, value: Number.NaN };
    return this.ranked.slice(skipped, limit).map(({ userId, value }, i) => {
      const first = i === 0 ? this.ranked.rankOfValue(value) : skipped + i + 1;
      before = { rank: value === before.value ? before.rank : first, value };
      return { rank: before.rank, userId, value };
    });
  }

  /** The user's rank; null if the user is not listed. */
  rankOf(userId: number): number | null {
    runToEnd(this.refresh());
    return this.ranked.rankOf(userId);
  }

  /**
   * Counts entries up to the cursor. If the cursor's user has moved since, the old place counts.
   */
  private countUpTo({ userId, value }: LeaderboardCursor): number {
    const isThere = this.ranked.valueOf(userId) === value;
    return this.ranked.countBefore(userId, value) + Number(isThere);
  }
}
