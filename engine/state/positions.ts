/**
 * What each user holds in each market: one row per user and market, made at the user's first trade there and forgotten
 * when it is settled with nothing to pay, or paid. Columns by outcome are indexed `row × 2 + outcome`.
 *
 * `lots` are all that the user owns, of which `heldLots` stand in resting sells; 0 ≤ heldLots ≤ lots.
 */
import type { Archive } from '../storage/archive.js';
import { mulDivFloor } from '../storage/arithmetic.js';
import { Int32Column, Int53Column, RowPool } from '../storage/columns.js';
import { RowIndex } from '../storage/row-index.js';
import type { UndoLog } from '../storage/undo.js';

/** Larger than any user id, so that slot × it + user is a key. */
const KEY_STRIDE = 16_777_216;

export class Positions {
  private readonly pool: RowPool;
  private readonly rowOfKey: RowIndex;
  readonly userId: Int32Column;
  readonly slot: Int32Column;
  /** By row × 2 + outcome. */
  readonly lots: Int53Column;
  readonly heldLots: Int53Column;
  readonly costMicros: Int53Column;
  /** Taker fees paid in this market, and their part that earns points. */
  readonly feesMicros: Int53Column;
  readonly pointFeesMicros: Int53Column;
  /** 1 once resolution has been applied to the row. */
  readonly settled: Int32Column;
  private readonly beforeOfUser: Int32Column;
  readonly afterOfUser: Int32Column;
  private readonly beforeInMarket: Int32Column;
  readonly afterInMarket: Int32Column;
  /** By user id. */
  readonly firstOfUser: Int32Column;
  private readonly lastOfUser: Int32Column;
  /** By market slot. */
  readonly firstInMarket: Int32Column;
  private readonly lastInMarket: Int32Column;

  constructor(undo: UndoLog) {
    this.userId = new Int32Column(undo);
    this.slot = new Int32Column(undo);
    this.lots = new Int53Column(undo, 32);
    this.heldLots = new Int53Column(undo, 32);
    this.costMicros = new Int53Column(undo, 32);
    this.feesMicros = new Int53Column(undo);
    this.pointFeesMicros = new Int53Column(undo);
    this.settled = new Int32Column(undo);
    this.beforeOfUser = new Int32Column(undo);
    this.afterOfUser = new Int32Column(undo);
    this.beforeInMarket = new Int32Column(undo);
    this.afterInMarket = new Int32Column(undo);
    this.firstOfUser = new Int32Column(undo);
    this.lastOfUser = new Int32Column(undo);
    this.firstInMarket = new Int32Column(undo);
    this.lastInMarket = new Int32Column(undo);
    this.rowOfKey = new RowIndex(undo);
    this.pool = new RowPool(undo, (rows) => {
      for (const column of this.rowColumns()) column.ensure(rows);
      for (const column of this.outcomeColumns()) column.ensure(rows * 2);
    });
  }

  get count(): number {
    return this.pool.used.value;
  }

  /** Makes room for that many positions ahead. */
  reserve(count: number): void {
    this.pool.reserve(count + 1);
  }

  ensureUsers(rows: number): void {
    this.firstOfUser.ensure(rows);
    this.lastOfUser.ensure(rows);
  }

  ensureMarkets(rows: number): void {
    this.firstInMarket.ensure(rows);
    this.lastInMarket.ensure(rows);
  }

  /** The row of a user in a market, 0 if there is none. */
  find(userId: number, slot: number): number {
    return this.rowOfKey.get(slot * KEY_STRIDE + userId);
  }

  findOrAdd(userId: number, slot: number): number {
    const found = this.find(userId, slot);
    return found !== 0 ? found : this.add(userId, slot);
  }

  /** Shares that come in, and what they cost. */
  receive(row: number, outcome: number, lots: number, costMicros: number): void {
    const at = row * 2 + outcome;
    this.lots.add(at, lots);
    this.costMicros.add(at, costMicros);
  }

  /** Shares that go out; returns the part of the cost that goes with them, in proportion and rounded down. */
  giveUp(row: number, outcome: number, lots: number): number {
    const at = row * 2 + outcome;
    const cost = mulDivFloor(this.costMicros.values[at]!, lots, this.lots.values[at]!);
    this.lots.add(at, 0 - lots);
    this.costMicros.add(at, 0 - cost);
    return cost;
  }

  freeLots(row: number, outcome: number): number {
    const at = row * 2 + outcome;
    return this.lots.values[at]! - this.heldLots.values[at]!;
  }

  forget(row: number): void {
    const userId = this.userId.values[row]!;
    const slot = this.slot.values[row]!;
    this.unlink(row, userId, slot);
    this.rowOfKey.remove(slot * KEY_STRIDE + userId);
    this.pool.giveBack(row);
  }

  archive(archive: Archive, userRows: number, marketRows: number): void {
    this.pool.archive(archive);
    const rows = this.pool.rows.value;
    for (const column of this.rowColumns()) column.archive(archive, rows);
    for (const column of this.outcomeColumns()) column.archive(archive, rows * 2);
    this.firstOfUser.archive(archive, userRows);
    this.lastOfUser.archive(archive, userRows);
    this.firstInMarket.archive(archive, marketRows);
    this.lastInMarket.archive(archive, marketRows);
    if (archive.reading) this.rebuildIndex(marketRows);
  }

  private add(userId: number, slot: number): number {
    const row = this.pool.take();
    this.userId.set(row, userId);
    this.slot.set(row, slot);
    for (const column of this.outcomeColumns()) {
      column.set(row * 2, 0);
      column.set(row * 2 + 1, 0);
    }
    this.feesMicros.set(row, 0);
    this.pointFeesMicros.set(row, 0);
    this.settled.set(row, 0);
    this.rowOfKey.insert(slot * KEY_STRIDE + userId, row);
    this.link(row, userId, slot);
    return row;
  }

  private link(row: number, userId: number, slot: number): void {
    const lastOfUser = this.lastOfUser.values[userId]!;
    this.beforeOfUser.set(row, lastOfUser);
    this.afterOfUser.set(row, 0);
    this.lastOfUser.set(userId, row);
    if (lastOfUser !== 0) this.afterOfUser.set(lastOfUser, row);
    else this.firstOfUser.set(userId, row);

    const lastInMarket = this.lastInMarket.values[slot]!;
    this.beforeInMarket.set(row, lastInMarket);
    this.afterInMarket.set(row, 0);
    this.lastInMarket.set(slot, row);
    if (lastInMarket !== 0) this.afterInMarket.set(lastInMarket, row);
    else this.firstInMarket.set(slot, row);
  }

  private unlink(row: number, userId: number, slot: number): void {
    const beforeOfUser = this.beforeOfUser.values[row]!;
    const afterOfUser = this.afterOfUser.values[row]!;
    if (beforeOfUser !== 0) this.afterOfUser.set(beforeOfUser, afterOfUser);
    else this.firstOfUser.set(userId, afterOfUser);
    if (afterOfUser !== 0) this.beforeOfUser.set(afterOfUser, beforeOfUser);
    else this.lastOfUser.set(userId, beforeOfUser);

    const beforeInMarket = this.beforeInMarket.values[row]!;
    const afterInMarket = this.afterInMarket.values[row]!;
    if (beforeInMarket !== 0) this.afterInMarket.set(beforeInMarket, afterInMarket);
    else this.firstInMarket.set(slot, afterInMarket);
    if (afterInMarket !== 0) this.beforeInMarket.set(afterInMarket, beforeInMarket);
    else this.lastInMarket.set(slot, beforeInMarket);
  }

  private rebuildIndex(marketRows: number): void {
    this.rowOfKey.clear(this.count);
    for (let slot = 1; slot < marketRows; slot++) {
      let row = this.firstInMarket.values[slot]!;
      for (; row !== 0; row = this.afterInMarket.values[row]!) {
        this.rowOfKey.insert(slot * KEY_STRIDE + this.userId.values[row]!, row);
      }
    }
  }

  private rowColumns(): (Int53Column | Int32Column)[] {
    return [
      this.userId,
      this.slot,
      this.feesMicros,
      this.pointFeesMicros,
      this.settled,
      this.beforeOfUser,
      this.afterOfUser,
      this.beforeInMarket,
      this.afterInMarket,
    ];
  }

  private outcomeColumns(): Int53Column[] {
    return [this.lots, this.heldLots, this.costMicros];
  }
}
