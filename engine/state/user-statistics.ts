/**
 * User statistics, which leaderboards rank by: profit, volume and points, for all time, the current
 * UTC day and the current UTC week (from Monday). A user has one row of 12 entries, so that a trade
 * touches two cache lines per side. The day's and week's numbers are stored with their day and
 * week; they count as 0 once that has passed.
 */
import type { Archive } from '../storage/archive.js';
import { addSaturating } from '../storage/arithmetic.js';
import { Int53Column } from '../storage/columns.js';
import type { UndoLog } from '../storage/undo.js';

export const Metric = { profit: 0, volume: 1, points: 2 } as const;
export type Metric = (typeof Metric)[keyof typeof Metric];
export const Period = { all: 0, day: 1, week: 2 } as const;
export type Period = (typeof Period)[keyof typeof Period];

const ROW = 12;
const TRADES = 3;
const DAY = 4;
const WEEK = 8;
const DAY_MS = 86_400_000;

/** Days since the epoch; weeks since the Monday before it. */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}
export function weekOf(atMs: number): number {
  return Math.floor((dayOf(atMs) + 3) / 7);
}

export class UserStatistics {
  private readonly rows: Int53Column;
  private day = 0;
  private week = 0;

  constructor(undo: UndoLog) {
    this.rows = new Int53Column(undo, ROW);
  }

  ensureUsers(users: number): void {
    this.rows.ensure(users * ROW);
  }

  /** Later numbers count for the day and week of this time. */
  setTime(atMs: number): void {
    this.day = dayOf(atMs);
    this.week = weekOf(atMs);
  }

  addTrade(userId: number, profitMicros: number, volumeMicros: number): void {
    const base = this.currentRow(userId);
    this.rows.add(base + TRADES, 1);
    for (let at = base; at <= base + WEEK; at += 4) {
      // Entry 3 of each part is its count, day or week.
      this.count(at, profitMicros);
      this.count(at + Metric.volume, volumeMicros);
    }
  }

  addProfit(userId: number, micros: number): void {
    const base = this.currentRow(userId);
    for (let at = base; at <= base + WEEK; at += 4) this.count(at, micros);
  }

  addPoints(userId: number, microPoints: number): void {
    const base = this.currentRow(userId);
    for (let at = base; at <= base + WEEK; at += 4) this.count(at + Metric.points, microPoints);
  }

  value(userId: number, metric: Metric, period: Period): number {
    const base = userId * ROW + period * 4;
    const values = this.rows.values;
    if (period === Period.day && values[base + 3] !== this.day) return 0;
    if (period === Period.week && values[base + 3] !== this.week) return 0;
    return values[base + metric]!;
  }

  /** Whether anything has counted for the user in a period: a trade, a settlement, points. */
  isListed(userId: number, period: Period): boolean {
    const base = userId * ROW;
    const values = this.rows.values;
    if (period === Period.day) return values[base + DAY + 3] === this.day;
    if (period === Period.week) return values[base + WEEK + 3] === this.week;
    return values[base + TRADES] !== 0 || values[base] !== 0 || values[base + Metric.points] !== 0;
  }

  tradeCount(userId: number): number {
    return this.rows.values[userId * ROW + TRADES]!;
  }

  archive(archive: Archive, users: number): void {
    this.day = archive.number(this.day);
    this.week = archive.number(this.week);
    this.rows.archive(archive, users * ROW);
  }

  /** Adds to one number; it stops at what a safe integer holds. */
  private count(at: number, change: number): void {
    this.rows.set(at, addSaturating(this.rows.values[at]!, change));
  }

  /**
   * Where the user's row starts, after setting the day's and week's numbers to 0 if they are of an
   * earlier one.
   */
  private currentRow(userId: number): number {
    const base = userId * ROW;
    if (this.rows.values[base + DAY + 3] !== this.day) this.restart(base + DAY, this.day);
    if (this.rows.values[base + WEEK + 3] !== this.week) this.restart(base + WEEK, this.week);
    return base;
  }

  private restart(at: number, period: number): void {
    for (let i = 0; i < 3; i++) this.rows.set(at + i, 0);
    this.rows.set(at + 3, period);
  }
}
