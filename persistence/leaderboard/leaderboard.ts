/**
 * The leaderboards: users by profit, volume or points, over all time, the current UTC day or week
 * of the exchange's time, from the follower's engine.
 *
 * A user is listed after their first trade, settlement or points in the period. Higher values come
 * first, equal values in order of registration. A rank is 1 plus the number of users before.
 *
 * Always holds: a board is up to date when it answers. Before its first request it costs nothing;
 * then each user who changes is noted, and moved at the next request.
 */
import type { Engine } from '../../engine/engine.js';
import { dayOf, Metric, Period, weekOf } from '../../engine/state/accounts.js';
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

/** If more than one user in this many has changed, sorting is faster than moving each. */
const REBUILD_DIVISOR = 16;
const REBUILD_AT_LEAST = 1_000;

class Board {
  private readonly ranked = new RankedUsers();
  private changedIds: number[] = [];
  private isNoted = new Uint8Array(0);
  /** Whether the board must be rebuilt; then changes are not noted. */
  private isStale = true;
  private periodNumber = 0;

  constructor(
    private readonly engine: RankedEngine,
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
    if (this.changedIds.length > REBUILD_AT_LEAST + this.ranked.size / REBUILD_DIVISOR)
      this.becomeStale();
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
    return this.ranked
      .slice(skipped, limit)
      .map((entry, i) => ({ rank: skipped + i + 1, ...entry }));
  }

  rankOf(userId: number): number | null {
    return this.ranked.rankOf(userId);
  }

  /** If the cursor's user has moved since, their former place counts. */
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
