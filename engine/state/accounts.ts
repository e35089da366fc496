/**
 * The data of a user that a trade needs, in one row of 64 bytes: money, statistics, and the ends of
 * the lists of orders and positions. Leaderboards rank by the statistics: profit, volume and
 * points, for all time, the current UTC day and the current UTC week (from Monday).
 *
 * A day's value is the all-time value less a base, the all-time value when the day began; likewise
 * for weeks. The first change in a new day sets the bases, so a trade writes three numbers instead
 * of nine. All-time values saturate at ±(2^53 - 1), and then day and week values stop too.
 */
import { MAX_OPEN_ORDERS_PER_USER, MAX_TIME_MS } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { addSaturating } from '../storage/arithmetic.js';
import { tableOf } from '../storage/table.js';
import type { UndoLog } from '../storage/undo.js';

export const Metric = { profit: 0, volume: 1, points: 2 } as const;
export type Metric = (typeof Metric)[keyof typeof Metric];
export const Period = { all: 0, day: 1, week: 2 } as const;
export type Period = (typeof Period)[keyof typeof Period];

const DAY_MS = 86_400_000;
/** Bits of dayAndOrders that count resting orders. */
const ORDER_BITS = 10;
const ORDER_MASK = (1 << ORDER_BITS) - 1;
/** The bits above: the user is frozen; is established; has a family. */
const FROZEN = 1 << ORDER_BITS;
export const ESTABLISHED = 2 << ORDER_BITS;
export const IN_FAMILY = 4 << ORDER_BITS;
const DAY_SHIFT = ORDER_BITS + 3;
/** Bits kept when the day rolls over. */
const BESIDE_DAY = (1 << DAY_SHIFT) - 1;

if (MAX_OPEN_ORDERS_PER_USER > ORDER_MASK || MAX_TIME_MS / DAY_MS >= 1 << (31 - DAY_SHIFT))
  throw new Error('the day and the number of orders do not fit into one word');

/**
 * The number of the day since the epoch, and the day's week, counted from the Monday before the
 * epoch.
 */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}
export function weekOf(atMs: number): number {
  return Math.floor((dayOf(atMs) + 3) / 7);
}

const AccountTable = tableOf(64, {
  availableMicros: 'f64',
  heldMicros: 'f64',
  /** Statistics since the registration. */
  profitMicros: 'f64',
  volumeMicros: 'f64',
  tradeCount: 'f64',
  /** Resting orders; above their bits, three flags; above these, the day of the last change. */
  dayAndOrders: 'i32',
  /** The referrer's id; 0 if none. */
  referrer: 'i32',
  firstOrder: 'i32',
  lastOrder: 'i32',
  firstPosition: 'i32',
  lastPosition: 'i32',
});
/** Points, the bases of the day and week of the last change, and the family (sub-accounts.ts). */
const BaseTable = tableOf(64, {
  microPoints: 'f64',
  dayProfit: 'f64',
  dayVolume: 'f64',
  dayPoints: 'f64',
  weekProfit: 'f64',
  weekVolume: 'f64',
  weekPoints: 'f64',
  week: 'i32',
  family: 'i32',
});

export class Accounts extends AccountTable {
  private readonly bases: InstanceType<typeof BaseTable>;
  private today = 0;
  private thisWeek = 0;
  private tomorrowMs = 0;

  constructor(undo: UndoLog) {
    super(undo);
    this.bases = new BaseTable(undo);
  }

  /** Makes room for users 1 to `rows` - 1. */
  ensureUsers(rows: number): void {
    this.ensure(rows);
    this.bases.ensure(rows);
  }

  orderCount(userId: number): number {
    return this.dayAndOrders(userId) & ORDER_MASK;
  }

  isFrozen(userId: number): boolean {
    return (this.dayAndOrders(userId) & FROZEN) !== 0;
  }

  setFrozen(userId: number, frozen: boolean): void {
    const word = this.dayAndOrders(userId);
    this.setDayAndOrders(userId, frozen ? word | FROZEN : word & ~FROZEN);
  }

  /** Whether the account has paid a dollar of fees that earn points; otherwise it is a newcomer. */
  isEstablished(userId: number): boolean {
    return (this.dayAndOrders(userId) & ESTABLISHED) !== 0;
  }

  setEstablished(userId: number): void {
    this.touch(userId);
    this.setDayAndOrders(userId, this.dayAndOrders(userId) | ESTABLISHED);
  }

  /** The flags ESTABLISHED and IN_FAMILY in one read. */
  standing(userId: number): number {
    return this.dayAndOrders(userId) & (ESTABLISHED | IN_FAMILY);
  }

  isInFamily(userId: number): boolean {
    return (this.dayAndOrders(userId) & IN_FAMILY) !== 0;
  }

  /** A parent and its sub-accounts have the same number; 0 if the user has no family. */
  family(userId: number): number {
    return this.isInFamily(userId) ? this.bases.family(userId) : 0;
  }

  joinFamily(userId: number, family: number): void {
    this.setDayAndOrders(userId, this.dayAndOrders(userId) | IN_FAMILY);
    this.bases.setFamily(userId, family);
  }

  addOrderCount(userId: number, change: number): void {
    this.addDayAndOrders(userId, change);
  }

  /** Later changes count for the day and week of this time, which must not decrease. */
  setTime(atMs: number): void {
    if (atMs < this.tomorrowMs) return;
    this.today = dayOf(atMs);
    this.thisWeek = weekOf(atMs);
    this.tomorrowMs = (this.today + 1) * DAY_MS;
  }

  addTrade(userId: number, profitMicros: number, volumeMicros: number): void {
    this.touch(userId);
    if (this.day(userId) !== this.today) this.beginDay(userId);
    this.addTradeCount(userId, 1);
    this.setProfitMicros(userId, addSaturating(this.profitMicros(userId), profitMicros));
    this.setVolumeMicros(userId, addSaturating(this.volumeMicros(userId), volumeMicros));
  }

  addProfit(userId: number, micros: number): void {
    this.touch(userId);
    if (this.day(userId) !== this.today) this.beginDay(userId);
    this.setProfitMicros(userId, addSaturating(this.profitMicros(userId), micros));
  }

  addPoints(userId: number, microPoints: number): void {
    this.touch(userId);
    this.bases.touch(userId);
    if (this.day(userId) !== this.today) this.beginDay(userId);
    this.bases.setMicroPoints(userId, addSaturating(this.bases.microPoints(userId), microPoints));
  }

  microPoints(userId: number): number {
    return this.bases.microPoints(userId);
  }

  /** The value on a leaderboard. The user must be listed in the period. */
  value(userId: number, metric: Metric, period: Period): number {
    const total = this.total(userId, metric);
    return period === Period.all
      ? total
      : addSaturating(total, 0 - this.base(userId, metric, period));
  }

  /** As `value`, without today's changes. */
  valueBeforeToday(userId: number, metric: Metric, period: Period): number {
    const value = this.value(userId, metric, period);
    if (!this.isListed(userId, Period.day)) return value;
    return addSaturating(value, 0 - this.value(userId, metric, Period.day));
  }

  /** Whether any statistic of the user has changed in the period: a trade, a split, points, … */
  isListed(userId: number, period: Period): boolean {
    if (period === Period.day) return this.day(userId) === this.today;
    if (period === Period.week) return this.bases.week(userId) === this.thisWeek;
    return (
      this.tradeCount(userId) !== 0 ||
      this.profitMicros(userId) !== 0 ||
      this.microPoints(userId) !== 0
    );
  }

  archive(archive: Archive, rows: number): void {
    this.today = archive.number(this.today);
    this.thisWeek = archive.number(this.thisWeek);
    this.tomorrowMs = archive.number(this.tomorrowMs);
    this.ensureUsers(rows);
    this.archiveRows(archive, 0, rows);
    this.bases.archiveRows(archive, 0, rows);
  }

  private total(userId: number, metric: Metric): number {
    if (metric === Metric.profit) return this.profitMicros(userId);
    return metric === Metric.volume ? this.volumeMicros(userId) : this.microPoints(userId);
  }

  private base(userId: number, metric: Metric, period: Period): number {
    const { bases } = this;
    const isDay = period === Period.day;
    if (metric === Metric.profit) return isDay ? bases.dayProfit(userId) : bases.weekProfit(userId);
    if (metric === Metric.volume) return isDay ? bases.dayVolume(userId) : bases.weekVolume(userId);
    return isDay ? bases.dayPoints(userId) : bases.weekPoints(userId);
  }

  private day(userId: number): number {
    return this.dayAndOrders(userId) >>> DAY_SHIFT;
  }

  private beginDay(userId: number): void {
    const { bases } = this;
    bases.touch(userId);
    this.setDayAndOrders(
      userId,
      (this.today << DAY_SHIFT) | (this.dayAndOrders(userId) & BESIDE_DAY),
    );
    bases.setDayProfit(userId, this.profitMicros(userId));
    bases.setDayVolume(userId, this.volumeMicros(userId));
    bases.setDayPoints(userId, bases.microPoints(userId));
    if (bases.week(userId) === this.thisWeek) return;
    bases.setWeek(userId, this.thisWeek);
    bases.setWeekProfit(userId, this.profitMicros(userId));
    bases.setWeekVolume(userId, this.volumeMicros(userId));
    bases.setWeekPoints(userId, bases.microPoints(userId));
  }
}
