/**
 * The leaderboards: users by profit, volume or points, over all time, the current UTC day or week, as the engine that
 * the follower feeds has them.
 *
 * A user is listed on a period's boards once anything has counted for them in it: a trade, a settlement, points. Who has
 * a higher value stands before; of equals, who registered first. A rank is 1 plus the number of users that stand before.
 * Days and weeks are those of the exchange's time, the time of the last command.
 *
 * Always holds: a board is brought up to date before it answers. Until somebody asks for it, it costs nothing; from then
 * on, a user who changed is noted, and moved when the board is asked again.
 */
import { dayOf, Metric, Period, weekOf } from '../../engine/state/user-statistics.js';
import { type Ranked, RankedUsers } from './order.js';

export type MetricName = keyof typeof Metric;
export type PeriodName = keyof typeof Period;

/** What boards read of the engine. */
export interface Standing {
  readonly userCount: number;
  readonly nowMs: number;
  /** null: not listed. */
  standing(userId: number, metric: Metric, period: Period): number | null;
}

/** Where a page ended. */
export type LeaderboardCursor = Ranked;

export interface RankedEntry extends Ranked {
  rank: number;
}

export class Leaderboards {
  private readonly boards = new Map<string, Board>();
  private readonly inUse: Board[] = [];

  constructor(private readonly engine: Standing) {}

  /** To be called for a user after each command that may have changed a standing of theirs. */
  changed(userId: number): void {
    for (let i = 0; i < this.inUse.length; i++) this.inUse[i]!.changed(userId);
  }

  /** Up to `limit` entries after the cursor; null: from the top. */
  page(
    metric: MetricName,
    period: PeriodName,
    limit: number,
    after: LeaderboardCursor | null,
  ): RankedEntry[] {
    return this.board(metric, period).page(limit, after);
  }

  /** null: not listed. */
  rankOf(userId: number, metric: MetricName, period: PeriodName): number | null {
    return this.board(metric, period).rankOf(userId);
  }

  private board(metric: MetricName, period: PeriodName): Board {
    const key = `${metric} ${period}`;
    let board = this.boards.get(key);
    if (board === undefined) {
      board = new Board(this.engine, Metric[metric], Period[period]);
      this.boards.set(key, board);
      this.inUse.push(board);
    }
    board.refresh();
    return board;
  }
}

/** When more users than one in this many have changed, sorting all of them is quicker than moving each. */
const REBUILD_DIVISOR = 16;
const REBUILD_AT_LEAST = 1_000;

class Board {
  private readonly ranked = new RankedUsers();
  /** Users to look at again. */
  private changedIds: number[] = [];
  private isNoted = new Uint8Array(0);
  /** Whether everything must be looked at again; then changes are not noted. */
  private isStale = true;
  /** The day or week that the board is of. */
  private periodNumber = 0;

  constructor(
    private readonly engine: Standing,
    private readonly metric: Metric,
    private readonly period: Period,
  ) {}

  changed(userId: number): void {
    if (this.isStale || this.isNoted[userId] === 1) return;
    if (userId >= this.isNoted.length) {
      const isNoted = new Uint8Array(Math.max(userId + 1, this.isNoted.length * 2));
      isNoted.set(this.isNoted);
      this.isNoted = isNoted;
    }
    this.isNoted[userId] = 1;
    this.changedIds.push(userId);
    if (this.changedIds.length > REBUILD_AT_LEAST + this.ranked.size / REBUILD_DIVISOR) this.becomeStale();
  }

  refresh(): void {
    const periodNumber = this.currentPeriod();
    if (periodNumber !== this.periodNumber) this.becomeStale();
    this.periodNumber = periodNumber;
    if (this.isStale) this.rebuild();
    for (const userId of this.changedIds) {
      this.isNoted[userId] = 0;
      this.ranked.set(userId, this.engine.standing(userId, this.metric, this.period));
    }
    this.changedIds = [];
  }

  page(limit: number, after: LeaderboardCursor | null): RankedEntry[] {
    const skipped = after === null ? 0 : this.countUpTo(after);
    return this.ranked.slice(skipped, limit).map((entry, i) => ({ rank: skipped + i + 1, ...entry }));
  }

  rankOf(userId: number): number | null {
    return this.ranked.rankOf(userId);
  }

  /** The cursor's user may have moved on since; then it counts where that user stood. */
  private countUpTo({ userId, value }: LeaderboardCursor): number {
    const isThere = this.ranked.valueOf(userId) === value;
    return this.ranked.countBefore(userId, value) + Number(isThere);
  }

  private currentPeriod(): number {
    switch (this.period) {
      case Period.all:
        return 0;
      case Period.day:
        return dayOf(this.engine.nowMs);
      case Period.week:
        return weekOf(this.engine.nowMs);
    }
  }

  private becomeStale(): void {
    this.isStale = true;
    this.changedIds = [];
    this.isNoted.fill(0);
  }

  private rebuild(): void {
    const { engine, metric, period } = this;
    const userIds = new Int32Array(engine.userCount);
    const values = new Float64Array(engine.userCount);
    let count = 0;
    for (let userId = 1; userId <= engine.userCount; userId++) {
      const value = engine.standing(userId, metric, period);
      if (value === null) continue;
      userIds[count] = userId;
      values[count++] = value;
    }
    this.ranked.rebuild(userIds.subarray(0, count), values.subarray(0, count));
    this.isStale = false;
  }
}
