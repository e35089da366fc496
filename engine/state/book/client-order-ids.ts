/**
 * Remembered client order ids: the order of each user and id. An id is remembered while its order
 * rests, and while it is among the user's latest ids that fit into the user's room. Memory is
 * bounded without refusing orders: the oldest id is forgotten instead.
 *
 * The text is not stored here. An id is identified by user and a keyed 64-bit hash. A new id
 * collides with one of a user's 11,000 others with probability 6e-16; it then counts as a reuse.
 */
import { CLIENT_ORDER_IDS_IN_ALL } from '../../interface/limits.js';
import type { Archive } from '../../storage/archive.js';
import { HashIndex } from '../../storage/indexes/hash-index.js';
import { listsOf, type RowLists } from '../../storage/row-lists.js';
import { pooledTableOf, tableOf } from '../../storage/table.js';
import type { UndoLog } from '../../storage/undo.js';
import { Pool, type Room } from '../access/room.js';

const IdTable = pooledTableOf(
  32,
  {
    /** The order's id; 0 if the row is free. */
    orderId: 'f64',
    hashLow: 'i32',
    hashHigh: 'i32',
    userId: 'i32',
    /** The list of all users' ids, oldest first. */
    before: 'i32',
    after: 'i32',
    /** The user's next id; 0 if none. UNLISTED: in no list, kept because its order rests. */
    userAfter: 'i32',
  },
  'after',
);
const UNLISTED = -1;

/** The ends and the length of each user's list; in row ALL, the ends of the list of all ids. */
const OwnerTable = tableOf(16, { first: 'i32', last: 'i32', count: 'i32' });
const ALL = 0;
const AllIds = listsOf({ before: 'before', after: 'after', first: 'first', last: 'last' });

export class ClientOrderIds extends IdTable {
  private readonly owners: InstanceType<typeof OwnerTable>;
  private readonly all: RowLists;
  private readonly index: HashIndex;

  constructor(
    undo: UndoLog,
    private readonly isResting: (orderId: number) => boolean,
    private readonly room: Room,
  ) {
    super(undo);
    this.owners = new OwnerTable(undo);
    this.index = new HashIndex(undo);
    this.all = new AllIds(this, this.owners);
  }

  /** Makes room for users 1 to `userRows` - 1. */
  ensureUsers(userRows: number): void {
    this.owners.ensure(userRows);
  }

  reserve(resting: number): void {
    this.ensure(CLIENT_ORDER_IDS_IN_ALL + resting + 1);
  }

  /** The order with the id; 0 if the id is not remembered. */
  orderOf(userId: number, hashLow: number, hashHigh: number): number {
    let row = this.index.first(hashLow);
    while (row !== 0 && (this.hashHigh(row) !== hashHigh || this.userId(row) !== userId))
      row = this.index.next(hashLow, row);
    return row === 0 ? 0 : this.orderId(row);
  }

  /** Remembers an id that is not remembered; returns its row. */
  add(userId: number, hashLow: number, hashHigh: number, orderId: number): number {
    if (!this.room.mayTake(Pool.clientOrderIds, userId, this.countOf(userId)))
      this.dropFromLists(this.owners.first(userId) || this.owners.first(ALL));
    const row = this.take();
    this.setOrderId(row, orderId);
    this.setHashLow(row, hashLow);
    this.setHashHigh(row, hashHigh);
    this.setUserId(row, userId);
    this.append(userId, row);
    this.index.add(hashLow, row);
    return row;
  }

  countOf(userId: number): number {
    return this.owners.count(userId);
  }

  /** Called when the order of a row stops resting. */
  orderEnded(row: number): void {
    if (this.userAfter(row) === UNLISTED) this.forget(row);
  }

  archiveAll(archive: Archive, userRows: number): void {
    this.archive(archive);
    this.owners.archiveRows(archive, 0, userRows);
    if (!archive.reading) return;
    for (let row = 1; row < this.rows; row++) {
      if (this.orderId(row) !== 0) this.index.add(this.hashLow(row), row);
    }
  }

  private append(userId: number, row: number): void {
    const { owners } = this;
    this.all.append(ALL, row);
    this.setUserAfter(row, 0);
    this.room.count(Pool.clientOrderIds, userId, 1);
    owners.touch(userId);
    const last = owners.last(userId);
    if (last === 0) owners.setFirst(userId, row);
    else {
      this.touch(last);
      this.setUserAfter(last, row);
    }
    owners.setLast(userId, row);
    owners.addCount(userId, 1);
  }

  /** Takes the oldest id of a user out of the lists, and forgets it unless its order rests. */
  private dropFromLists(row: number): void {
    const { owners } = this;
    const userId = this.userId(row);
    const userAfter = this.userAfter(row);
    this.all.remove(ALL, row);
    this.room.count(Pool.clientOrderIds, userId, -1);
    owners.touch(userId);
    owners.setFirst(userId, userAfter);
    if (userAfter === 0) owners.setLast(userId, 0);
    owners.addCount(userId, -1);
    this.touch(row);
    this.setUserAfter(row, UNLISTED);
    if (!this.isResting(this.orderId(row))) this.forget(row);
  }

  private forget(row: number): void {
    const hashLow = this.hashLow(row);
    this.index.remove(hashLow, row);
    this.touch(row);
    this.setOrderId(row, 0);
    this.giveBack(row);
  }
}
