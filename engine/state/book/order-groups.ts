/**
 * Order groups: orders of one user, in any market, which are cancelled together once they have
 * filled a maximum within a window. A group stays until its user removes it.
 *
 * Invariant: a tripped group has no resting order. A group's list has its resting orders, as
 * rows of order-details.ts.
 */
import type { OrderGroupView } from '../../interface/views.js';
import type { Archive } from '../../storage/archive.js';
import { OwnedRows } from '../../storage/owned-rows.js';
import { listsOf } from '../../storage/row-lists.js';
import { pooledTableOf } from '../../storage/table.js';
import type { UndoLog } from '../../storage/undo.js';
import { Pool, type Room } from '../access/room.js';
import type { OrderDetails } from './order-details.js';

const GroupTable = pooledTableOf(
  64,
  {
    /** Ids are 1, 2, … and never reused. */
    groupId: 'f64',
    maxFilledLots: 'f64',
    /** Lots filled in the window that ends at `windowEndsAtMs`. */
    filledLots: 'f64',
    windowEndsAtMs: 'f64',
    windowMs: 'i32',
    userId: 'i32',
    /** 1 if the group has tripped, and takes no orders until it is reset. */
    hasTripped: 'i32',
    orderCount: 'i32',
    firstOrder: 'i32',
    lastOrder: 'i32',
    /** The list of the user's groups, oldest first. */
    before: 'i32',
    after: 'i32',
  },
  'after',
);
const OrderLists = listsOf({
  before: 'groupBefore',
  after: 'groupAfter',
  first: 'firstOrder',
  last: 'lastOrder',
});

export class OrderGroups extends GroupTable {
  readonly walk = new GroupWalk(this);
  private lastId = 0;
  readonly owners: OwnedRows;
  private readonly orderLists: InstanceType<typeof OrderLists>;

  constructor(
    undo: UndoLog,
    details: OrderDetails,
    private readonly room: Room,
  ) {
    super(undo);
    this.owners = new OwnedRows(undo, this);
    this.orderLists = new OrderLists(details, this);
  }

  /** The row of the user's group; 0 if the user has no such group. */
  find(userId: number, groupId: number): number {
    let row = this.owners.first(userId);
    while (row !== 0 && this.groupId(row) !== groupId) row = this.after(row);
    return row;
  }

  add(userId: number, maxFilledLots: number, windowMs: number): number {
    const row = this.take();
    this.clear(row);
    this.lastId++;
    this.setGroupId(row, this.lastId);
    this.setMaxFilledLots(row, maxFilledLots);
    this.setWindowMs(row, windowMs);
    this.setUserId(row, userId);
    this.owners.append(userId, row);
    this.room.count(Pool.orderGroups, userId, 1);
    return this.lastId;
  }

  /** Removes a group, which must have no resting orders. */
  remove(userId: number, row: number): void {
    this.owners.remove(userId, row);
    this.room.count(Pool.orderGroups, userId, -1);
    this.giveBack(row);
  }

  addOrder(row: number, details: number): void {
    this.orderLists.append(row, details);
    this.addOrderCount(row, 1);
  }

  removeOrder(row: number, details: number): void {
    this.orderLists.remove(row, details);
    this.addOrderCount(row, -1);
  }

  filledAt(row: number, nowMs: number): number {
    return nowMs < this.windowEndsAtMs(row) ? this.filledLots(row) : 0;
  }

  /** Counts a fill. Returns whether it trips the group. */
  countFill(row: number, lots: number, nowMs: number): boolean {
    this.touch(row);
    const filledLots = this.filledAt(row, nowMs) + lots;
    if (nowMs >= this.windowEndsAtMs(row)) this.setWindowEndsAtMs(row, nowMs + this.windowMs(row));
    this.setFilledLots(row, filledLots);
    if (filledLots < this.maxFilledLots(row)) return false;
    this.setHasTripped(row, 1);
    return true;
  }

  /** Resets the group: it takes orders again, and its next fill begins a window. */
  reset(row: number): void {
    this.touch(row);
    this.setFilledLots(row, 0);
    this.setWindowEndsAtMs(row, 0);
    this.setHasTripped(row, 0);
  }

  viewsOf(userId: number, nowMs: number): OrderGroupView[] {
    return this.owners.rowsOf(userId).map((row) => {
      const tripped = this.hasTripped(row) === 1;
      return {
        groupId: this.groupId(row),
        userId,
        maxFilledLots: this.maxFilledLots(row),
        windowMs: this.windowMs(row),
        filledLots: tripped ? this.filledLots(row) : this.filledAt(row, nowMs),
        windowEndsAtMs: nowMs < this.windowEndsAtMs(row) ? this.windowEndsAtMs(row) : null,
        tripped,
        orderCount: this.orderCount(row),
      };
    });
  }

  archiveAll(archive: Archive, userRows: number): void {
    this.archive(archive);
    this.lastId = archive.number(this.lastId);
    this.owners.archiveRows(archive, 0, userRows);
  }
}

/** The effect on groups of a simulated order (`walk` in place-order.ts). Not part of the state. */
class GroupWalk {
  /** The simulated fills of each group, and its orders that would be gone. */
  private readonly lots = new Map<number, number>();
  private readonly gone = new Map<number, number>();

  constructor(private readonly groups: OrderGroups) {}

  begin(): void {
    if (this.lots.size > 0) this.lots.clear();
    if (this.gone.size > 0) this.gone.clear();
  }

  hasTripped(group: number): boolean {
    const lots = this.lots.get(group);
    return lots !== undefined && lots >= this.groups.maxFilledLots(group);
  }

  /** Called when an order of the group would be filled or cancelled. */
  removeOrder(group: number): void {
    this.gone.set(group, (this.gone.get(group) ?? 0) + 1);
  }

  /** Counts a fill. Returns the number of orders that its trip would cancel. */
  fill(group: number, lots: number, nowMs: number): number {
    const { groups } = this;
    const filledLots = (this.lots.get(group) ?? groups.filledAt(group, nowMs)) + lots;
    this.lots.set(group, filledLots);
    if (filledLots < groups.maxFilledLots(group)) return 0;
    return groups.orderCount(group) - (this.gone.get(group) ?? 0);
  }
}
