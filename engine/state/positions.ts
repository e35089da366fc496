/**
 * Positions: one row per user and market, added at the user's first trade or split in the market,
 * and forgotten when the position is paid, or settled with nothing to pay.
 *
 * Invariant: 0 ≤ heldLots ≤ lots. Resting sells hold `heldLots` of the user's `lots`. A trade
 * needs one row of 64 bytes. The owner and the links of the lists, which only settlement and
 * listings need, are in a second table under the same row number, and what the user has earned as a
 * maker in a third. That is 0 unless the rules give makers a share, and after the settlement.
 */
import { MAX_POSITIONS, MAX_USERS } from '../interface/limits.js';
import type { Archive } from '../storage/archive.js';
import { mulDivFloor } from '../storage/arithmetic.js';
import { HashIndex, mix32 } from '../storage/indexes/hash-index.js';
import { listsOf } from '../storage/row-lists.js';
import { pooledTableOf, tableOf } from '../storage/table.js';
import type { UndoLog } from '../storage/undo.js';
import { Pool, type Room } from './access/room.js';
import type { Accounts } from './accounts.js';
import type { Markets } from './markets.js';
import type { Users } from './users.js';

/**
 * A key is a user id and, above its bits, a market slot. The hash covers all but the slot's upper
 * bits, and an index entry has these above the row, so an entry identifies its key without a look
 * at the row.
 */
const USER_BITS = 22;
const SLOT_BITS_BESIDE_USER = 32 - USER_BITS;
const ROW_BITS = 24;
const ROW_MASK = (1 << ROW_BITS) - 1;

if (MAX_POSITIONS > ROW_MASK || MAX_USERS >= 1 << USER_BITS)
  throw new Error('the maxima do not fit into the index of positions');

const PositionTable = tableOf(64, {
  lots: 'f64x2',
  heldLots: 'f64x2',
  costMicros: 'f64x2',
  /** Taker fees paid in the market, and the part of them that earns points. */
  feesMicros: 'f64',
  pointFeesMicros: 'f64',
});
/** The user's share of the fees of takers who traded with its resting orders. */
const MakerTable = tableOf(8, { micros: 'f64' });
const OwnerTable = pooledTableOf(
  32,
  {
    userId: 'i32',
    slot: 'i32',
    /** 1 once resolution has been applied to the row. */
    settled: 'i32',
    /** The lists of the user and of the market, oldest first. */
    userBefore: 'i32',
    userAfter: 'i32',
    marketBefore: 'i32',
    marketAfter: 'i32',
  },
  'userAfter',
);
const UserLists = listsOf({
  before: 'userBefore',
  after: 'userAfter',
  first: 'firstPosition',
  last: 'lastPosition',
});
const MarketLists = listsOf({
  before: 'marketBefore',
  after: 'marketAfter',
  first: 'firstPosition',
  last: 'lastPosition',
});

function hashOf(userId: number, slot: number): number {
  return mix32(userId | (slot << USER_BITS), slot >>> SLOT_BITS_BESIDE_USER);
}

function entryOf(row: number, slot: number): number {
  return ((slot >>> SLOT_BITS_BESIDE_USER) << ROW_BITS) | row;
}

export class Positions extends PositionTable {
  readonly owners: InstanceType<typeof OwnerTable>;
  readonly makerShares: InstanceType<typeof MakerTable>;
  private readonly index: HashIndex;
  private readonly userLists: InstanceType<typeof UserLists>;
  private readonly marketLists: InstanceType<typeof MarketLists>;

  constructor(
    undo: UndoLog,
    accounts: Accounts,
    markets: Markets,
    private readonly users: Users,
    private readonly room: Room,
  ) {
    super(undo);
    this.owners = new OwnerTable(undo);
    this.makerShares = new MakerTable(undo);
    this.index = new HashIndex(undo);
    this.userLists = new UserLists(this.owners, accounts);
    this.marketLists = new MarketLists(this.owners, markets);
  }

  get count(): number {
    return this.owners.used;
  }

  reserve(count: number): void {
    this.ensure(count + 1);
    this.owners.ensure(count + 1);
    this.makerShares.ensure(count + 1);
  }

  /** The row of a user in a market; 0 if none. */
  find(userId: number, slot: number): number {
    const hash = hashOf(userId, slot);
    const upperBits = slot >>> SLOT_BITS_BESIDE_USER;
    let entry = this.index.first(hash);
    while (entry !== 0 && entry >>> ROW_BITS !== upperBits) entry = this.index.next(hash, entry);
    return entry & ROW_MASK;
  }

  findOrAdd(userId: number, slot: number): number {
    const found = this.find(userId, slot);
    return found !== 0 ? found : this.add(userId, slot);
  }

  addShares(row: number, outcome: number, lots: number, costMicros: number): void {
    this.addLots(row, outcome, lots);
    this.addCostMicros(row, outcome, costMicros);
  }

  /** Removes shares; returns their part of the cost, in proportion and rounded down. */
  removeShares(row: number, outcome: number, lots: number): number {
    const cost = mulDivFloor(this.costMicros(row, outcome), lots, this.lots(row, outcome));
    this.addLots(row, outcome, 0 - lots);
    this.addCostMicros(row, outcome, 0 - cost);
    return cost;
  }

  freeLots(row: number, outcome: number): number {
    return this.lots(row, outcome) - this.heldLots(row, outcome);
  }

  forget(row: number): void {
    const userId = this.owners.userId(row);
    const slot = this.owners.slot(row);
    this.userLists.remove(userId, row);
    this.marketLists.remove(slot, row);
    this.index.remove(hashOf(userId, slot), entryOf(row, slot));
    this.owners.giveBack(row);
    this.countOf(userId, -1);
  }

  archive(archive: Archive): void {
    this.owners.archive(archive);
    this.archiveRows(archive, 0, this.owners.rows);
    this.makerShares.archiveRows(archive, 0, this.owners.rows);
    if (archive.reading) this.index.clear(this.count);
  }

  /** Adds a row that is not in the index. */
  addToIndex(row: number): void {
    const slot = this.owners.slot(row);
    this.index.add(hashOf(this.owners.userId(row), slot), entryOf(row, slot));
  }

  /** Adds a position; the user must not have one in the market. */
  add(userId: number, slot: number): number {
    const { owners } = this;
    const row = owners.take();
    this.ensure(row + 1);
    this.makerShares.ensure(row + 1);
    this.touch(row);
    this.clear(row);
    owners.setUserId(row, userId);
    owners.setSlot(row, slot);
    owners.setSettled(row, 0);
    this.addToIndex(row);
    this.userLists.append(userId, row);
    this.marketLists.append(slot, row);
    this.countOf(userId, 1);
    return row;
  }

  private countOf(userId: number, change: number): void {
    this.users.touch(userId);
    this.users.addPositionCount(userId, change);
    this.room.count(Pool.positions, userId, change);
  }
}
