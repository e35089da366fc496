/**
 * Resting orders: one pool of rows for all markets, and per market a book of two ladders, the bids
 * and the asks of UP.
 *
 * Buying DOWN at q is selling UP at 1000 − q, so every order is a bid or an ask of UP. A bid's
 * level is its price in ticks of UP. An ask's level is the complement, 1000 − its price in ticks of
 * UP. Therefore the highest level is the best on both sides, a bid and an ask match if their levels
 * sum to 1000 or more, and a taker pays or gets 1000 − j from a maker at level j.
 *
 * | order            | side | level |   | order           | side | level |
 * |------------------|------|-------|   |-----------------|------|-------|
 * | buy UP at 400    | bid  | 400   |   | buy DOWN at 600 | ask  | 600   |
 * | sell DOWN at 600 | bid  | 400   |   | sell UP at 400  | ask  | 600   |
 */

import { type Outcome, Side } from '../interface/domain.js';
import { MICROS_PER_SET } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { Int32Column, Int53Column } from '../storage/columns.js';
import { Links, ListEnds } from '../storage/linked-lists.js';
import { RowIndex } from '../storage/row-index.js';
import { RowPool } from '../storage/row-pool.js';
import type { UndoLog } from '../storage/undo.js';
import type { Ladder } from './ladder.js';

/** A market's bids and asks. */
export type Book = readonly [Ladder, Ladder];

/** The fields of an order that enters the book. */
export interface RestingOrder {
  orderId: number;
  userId: number;
  slot: number;
  kind: number;
  level: number;
}

export class Orders {
  private readonly pool: RowPool;
  private readonly rowOfId: RowIndex;
  readonly id: Int53Column;
  readonly userId: Int32Column;
  readonly slot: Int32Column;
  /** Side × 2 + outcome. */
  readonly kind: Int32Column;
  readonly level: Int32Column;
  readonly lots: Int53Column;
  readonly placedAtMs: Int53Column;
  /** The list of each price level (its ends are in the ladder), and of each user. */
  private readonly levelLinks: Links;
  private readonly userLinks: Links;
  private readonly ofUser: ListEnds;
  /** By user id: how many of the user's orders rest. */
  readonly countOfUser: Int32Column;

  constructor(undo: UndoLog) {
    this.id = new Int53Column(undo);
    this.userId = new Int32Column(undo);
    this.slot = new Int32Column(undo);
    this.kind = new Int32Column(undo);
    this.level = new Int32Column(undo);
    this.lots = new Int53Column(undo);
    this.placedAtMs = new Int53Column(undo);
    this.levelLinks = new Links(new Int32Column(undo), new Int32Column(undo));
    this.userLinks = new Links(new Int32Column(undo), new Int32Column(undo));
    this.ofUser = new ListEnds(new Int32Column(undo), new Int32Column(undo));
    this.countOfUser = new Int32Column(undo);
    this.rowOfId = new RowIndex(undo);
    this.pool = new RowPool(undo, new Int32Column(undo), (rows) => {
      for (const column of this.columns()) column.ensure(rows);
    });
  }

  get count(): number {
    return this.pool.used.value;
  }

  /** Makes room for that many resting orders in advance. */
  reserve(count: number): void {
    this.pool.reserve(count + 1);
  }

  ensureUsers(rows: number): void {
    this.ofUser.ensure(rows);
    this.countOfUser.ensure(rows);
  }

  /** The row of a resting order, 0 if there is none. */
  find(orderId: number): number {
    return this.rowOfId.get(orderId);
  }

  /** The next order at the same level, 0: none. */
  nextAtLevel(row: number): number {
    return this.levelLinks.next(row);
  }

  /** The oldest of a user's resting orders, 0: none. */
  firstOfUser(userId: number): number {
    return this.ofUser.first(userId);
  }

  /** The user's order that came to rest after this one, 0: none. */
  nextOfUser(row: number): number {
    return this.userLinks.next(row);
  }

  /** Adds an order at the back of its level; returns its row. */
  add(ladder: Ladder, order: RestingOrder, lots: number, atMs: number): number {
    const row = this.pool.take();
    this.id.set(row, order.orderId);
    this.userId.set(row, order.userId);
    this.slot.set(row, order.slot);
    this.kind.set(row, order.kind);
    this.level.set(row, order.level);
    this.lots.set(row, lots);
    this.placedAtMs.set(row, atMs);
    this.rowOfId.insert(order.orderId, row);
    if (ladder.levels.first(order.level) === 0) ladder.markUsed(order.level);
    this.levelLinks.append(ladder.levels, order.level, row);
    ladder.lots.add(order.level, lots);
    this.userLinks.append(this.ofUser, order.userId, row);
    this.countOfUser.set(order.userId, this.countOfUser.values[order.userId]! + 1);
    return row;
  }

  /** Removes an order from the book. */
  remove(ladder: Ladder, row: number): void {
    const level = this.level.values[row]!;
    ladder.lots.add(level, 0 - this.lots.values[row]!);
    this.levelLinks.remove(ladder.levels, level, row);
    if (ladder.levels.first(level) === 0) ladder.markEmpty(level);
    const userId = this.userId.values[row]!;
    this.userLinks.remove(this.ofUser, userId, row);
    this.countOfUser.set(userId, this.countOfUser.values[userId]! - 1);
    this.rowOfId.remove(this.id.values[row]!);
    this.pool.giveBack(row);
  }

  /** Takes filled lots off an order and removes it if nothing is left. */
  reduce(ladder: Ladder, row: number, lots: number): void {
    const left = this.lots.values[row]! - lots;
    ladder.lots.add(this.level.values[row]!, 0 - lots);
    this.lots.set(row, left);
    if (left === 0) this.remove(ladder, row);
  }

  archive(archive: Archive, userRows: number): void {
    this.pool.archive(archive);
    const rows = this.pool.rows.value;
    for (const column of this.columns()) column.archive(archive, rows);
    this.ofUser.archive(archive, userRows);
    this.countOfUser.archive(archive, userRows);
    if (archive.reading) this.rebuildIndex(userRows);
  }

  private rebuildIndex(userRows: number): void {
    this.rowOfId.clear(this.count);
    for (let userId = 1; userId < userRows; userId++) {
      let row = this.firstOfUser(userId);
      for (; row !== 0; row = this.nextOfUser(row)) this.rowOfId.insert(this.id.values[row]!, row);
    }
  }

  private columns(): (Int53Column | Int32Column | Links)[] {
    return [
      this.id,
      this.userId,
      this.slot,
      this.kind,
      this.level,
      this.lots,
      this.placedAtMs,
      this.levelLinks,
      this.userLinks,
    ];
  }
}

export function kindOf(side: Side, outcome: Outcome): number {
  return side * 2 + outcome;
}
export function sideOf(kind: number): Side {
  return (kind >> 1) as Side;
}
export function outcomeOf(kind: number): Outcome {
  return (kind & 1) as Outcome;
}
/** 0: the order is a bid of UP; 1: it is an ask. */
export function bookSideOf(kind: number): 0 | 1 {
  return ((kind ^ (kind >> 1)) & 1) as 0 | 1;
}
/** Converts an order's level to the price in its own outcome, and back. */
export function ownTicks(kind: number, level: number): number {
  return sideOf(kind) === Side.BUY ? level : MICROS_PER_SET - level;
}
