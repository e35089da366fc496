/**
 * Resting orders: one table for all markets. Each market has a book of two ladders (levels.ts), the
 * bids and the asks of UP.
 *
 * Buying DOWN at q is selling UP at 1000 − q, so every order is a bid or an ask of UP. A bid's
 * level is its price in ticks of UP; an ask's level is 1000 − its price in ticks of UP. So the
 * highest level is the best on both sides, a bid and an ask match if their levels add up to 1000 or
 * more, and a taker pays or gets 1000 − j from a maker at level j.
 *
 * | order            | side | level |   | order           | side | level |
 * |------------------|------|-------|   |-----------------|------|-------|
 * | buy UP at 400    | bid  | 400   |   | buy DOWN at 600 | ask  | 600   |
 * | sell DOWN at 600 | bid  | 400   |   | sell UP at 400  | ask  | 600   |
 */

import { OrderEnd, type Outcome, Side } from '../interface/domain.js';
import { MAX_POSITIONS_PER_USER, MAX_PRICE_TICKS, MICROS_PER_SET } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { IdIndex } from '../storage/indexes/id-index.js';
import { listsOf } from '../storage/row-lists.js';
import { pooledTableOf } from '../storage/table.js';
import type { UndoLog } from '../storage/undo.js';
import { Pool, type Room } from './access/room.js';
import type { Accounts } from './accounts.js';
import type { Expiries } from './book/expiries.js';
import type { OrderDetails } from './book/order-details.js';
import type { OrderGroups } from './book/order-groups.js';
import type { RecentOrders } from './book/recent-orders.js';
import { type Levels, levelOf, levelRow } from './levels.js';

export interface RestingOrder {
  orderId: number;
  userId: number;
  slot: number;
  kind: number;
  postOnly: boolean;
  selfTrade: number;
  ladder: number;
  level: number;
  /** The user's position in the market; 0 if there is none yet. */
  positionRow: number;
  /** The row of the order's details; 0 if none. */
  detailsRow: number;
  /** The row of the order's group; 0 if none. */
  groupRow: number;
}

const OrderTable = pooledTableOf(
  64,
  {
    lots: 'f64',
    /** The total size: filled plus resting. */
    originalLots: 'f64',
    id: 'f64',
    /** When the order was placed, from the start of its market; negative before the start. */
    placedAfterMs: 'i32',
    userId: 'i32',
    /**
     * From the lowest bit: outcome, side, postOnly, selfTrade (2 bits), whether it is in a group,
     * the slot of the market (14 bits); then, of a buy for an amount, its unspent micros plus 1;
     * otherwise 0.
     */
    terms: 'i32',
    levelRow: 'i32',
    /** The user's position when the order began to rest; 0 if none yet. */
    position: 'i32',
    /** The row in order-details.ts; 0 if none. */
    details: 'i32',
    /** The lists of the level and of the user, oldest first. */
    before: 'i32',
    after: 'i32',
    userBefore: 'i32',
    userAfter: 'i32',
  },
  'after',
);
const LevelLists = listsOf({ before: 'before', after: 'after', first: 'first', last: 'last' });
const UserLists = listsOf({
  before: 'userBefore',
  after: 'userAfter',
  first: 'firstOrder',
  last: 'lastOrder',
});

export class Orders extends OrderTable {
  private readonly levelLists: InstanceType<typeof LevelLists>;
  private readonly userLists: InstanceType<typeof UserLists>;
  private readonly index: IdIndex;

  constructor(
    undo: UndoLog,
    private readonly accounts: Accounts,
    private readonly levels: Levels,
    private readonly allDetails: OrderDetails,
    private readonly groups: OrderGroups,
    private readonly expiries: Expiries,
    private readonly recent: RecentOrders,
    private readonly room: Room,
  ) {
    super(undo);
    this.levelLists = new LevelLists(this, levels);
    this.userLists = new UserLists(this, accounts);
    this.index = new IdIndex(undo, (row) => this.id(row));
  }

  reserve(count: number): void {
    this.ensure(count + 1);
    this.index.ensure(count + 1);
  }

  /** The price level, in ticks of the order's book side. */
  level(row: number): number {
    return levelOf(this.levelRow(row));
  }

  /** The row of a resting order; 0 if there is none. */
  find(orderId: number): number {
    let row = this.index.first(orderId);
    while (row !== 0 && this.id(row) !== orderId) row = this.index.next(row);
    return row;
  }

  /** The clientOrderId of a resting order; null if none. */
  nameAt(row: number): string | null {
    const details = this.details(row);
    return details === 0 ? null : this.allDetails.name(details);
  }

  /** The clientOrderId of an order that rests or ended in this command; null if none. */
  nameOf(orderId: number): string | null {
    const row = this.find(orderId);
    const details = row === 0 ? this.allDetails.findEnded(orderId) : this.details(row);
    return details === 0 ? null : this.allDetails.name(details);
  }

  /** Side × 2 + outcome. */
  kind(row: number): number {
    return this.terms(row) & KIND_MASK;
  }

  postOnly(row: number): boolean {
    return (this.terms(row) & POST_ONLY) !== 0;
  }

  selfTrade(row: number): number {
    return (this.terms(row) >>> SELF_TRADE_SHIFT) & SELF_TRADE_MASK;
  }

  /** The row of the order's group; 0 if none. */
  group(row: number): number {
    return (this.terms(row) & GROUPED) === 0 ? 0 : this.allDetails.group(this.details(row));
  }

  slot(row: number): number {
    return (this.terms(row) >>> SLOT_SHIFT) & SLOT_MASK;
  }

  /** Notes the part of the amount, less than the price, that is neither spent nor held. */
  noteUnspent(row: number, micros: number): void {
    this.setTerms(row, this.terms(row) | ((micros + 1) << UNSPENT_SHIFT));
  }

  /** Called when an amendment changes the order's terms. */
  forgetUnspent(row: number): void {
    this.setTerms(row, this.terms(row) & ((1 << UNSPENT_SHIFT) - 1));
  }

  /** The unspent and unheld part of a buy's amount; -1 if not a buy for an amount. */
  unspentMicros(row: number): number {
    return (this.terms(row) >>> UNSPENT_SHIFT) - 1;
  }

  /**
   * Adds an order at the back of its level; returns its row. `originalLots`: filled plus `lots`.
   * `afterMs`: from the start of the market.
   */
  add(order: RestingOrder, lots: number, originalLots: number, afterMs: number): number {
    const { levels, accounts } = this;
    const row = this.take();
    const { orderId, userId } = order;
    const level = levelRow(order.ladder, order.level);
    this.setLots(row, lots);
    this.setId(row, orderId);
    this.setOriginalLots(row, originalLots);
    this.setPlacedAfterMs(row, afterMs);
    this.setUserId(row, userId);
    this.setTerms(row, termsOf(order));
    this.setLevelRow(row, level);
    this.setPosition(row, order.positionRow);
    this.setDetails(row, order.detailsRow);
    this.index.add(orderId, row);
    if (levels.first(level) === 0) levels.markUsed(level);
    this.levelLists.append(level, row);
    levels.addLots(level, lots);
    this.userLists.append(userId, row);
    accounts.addOrderCount(userId, 1);
    this.room.count(Pool.orders, userId, 1);
    return row;
  }

  /** Removes an order that has ended from the book of its market. */
  remove(row: number, marketId: number, end: number): void {
    const details = this.details(row);
    this.recent.end(this.id(row), this.userId(row), marketId, end);
    this.takeOut(row);
    if (details !== 0) this.allDetails.end(details);
  }

  /** Takes an order out of the book without ending it. */
  takeOut(row: number): void {
    const { levels, accounts } = this;
    const level = this.levelRow(row);
    this.touch(row);
    this.levelLists.remove(level, row);
    levels.addLots(level, 0 - this.lots(row));
    if (levels.first(level) === 0) levels.markEmpty(level);
    const userId = this.userId(row);
    this.userLists.remove(userId, row);
    accounts.addOrderCount(userId, -1);
    this.room.count(Pool.orders, userId, -1);
    this.index.remove(this.id(row), row);
    const details = this.details(row);
    if (details !== 0) this.expiries.remove(details);
    const group = this.group(row);
    if (group !== 0) this.groups.removeOrder(group, details);
    this.giveBack(row);
  }

  /** Reduces an order by filled lots, and removes it if nothing is left. */
  fill(row: number, marketId: number, lots: number): void {
    if (this.lots(row) === lots) this.remove(row, marketId, OrderEnd.FILLED);
    else this.reduce(row, lots);
  }

  reduce(row: number, lots: number): void {
    const left = this.lots(row) - lots;
    const level = this.levelRow(row);
    this.touch(row);
    this.levels.touch(level);
    this.levels.addLots(level, 0 - lots);
    this.setLots(row, left);
  }

  override archive(archive: Archive): void {
    super.archive(archive);
    if (archive.reading) this.index.clear();
  }

  addToIndex(row: number): void {
    this.index.add(this.id(row), row);
  }
}

const KIND_MASK = 3;
const POST_ONLY = 4;
const SELF_TRADE_SHIFT = 3;
const SELF_TRADE_MASK = 3;
const GROUPED = 32;
const SLOT_SHIFT = 6;
const SLOT_MASK = 0x3fff;
const UNSPENT_SHIFT = 20;
if (MAX_POSITIONS_PER_USER > SLOT_MASK || MAX_PRICE_TICKS >= 2 ** (31 - UNSPENT_SHIFT))
  throw new Error('the terms of an order do not fit into a word');

function termsOf({ slot, kind, postOnly, selfTrade, groupRow }: RestingOrder): number {
  const flags = kind | (postOnly ? POST_ONLY : 0) | (selfTrade << SELF_TRADE_SHIFT);
  return (slot << SLOT_SHIFT) | (groupRow === 0 ? 0 : GROUPED) | flags;
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
/** The book side of an order: 0 for a bid of UP, 1 for an ask. */
export function bookSideOf(kind: number): 0 | 1 {
  return ((kind ^ (kind >> 1)) & 1) as 0 | 1;
}
/** Converts an order's level to the price in its own outcome, and back. */
export function priceTicksOf(kind: number, level: number): number {
  return sideOf(kind) === Side.BUY ? level : MICROS_PER_SET - level;
}
