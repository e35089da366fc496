/**
 * Positions: one row per user and market, added at the user's first trade in the market and
 * forgotten when it is paid, or settled with nothing to pay. Columns by outcome are indexed `row ×
 * 2 + outcome`.
 *
 * `lots` are all that the user owns; resting sells hold `heldLots` of them. 0 ≤ heldLots ≤ lots.
 */
import type { Archive } from '../storage/archive.js';
import { mulDivFloor } from '../storage/arithmetic.js';
import { Int32Column, Int53Column } from '../storage/columns.js';
import { Links, ListEnds } from '../storage/linked-lists.js';
import { RowIndex } from '../storage/row-index.js';
import { RowPool } from '../storage/row-pool.js';
import type { UndoLog } from '../storage/undo.js';

/** Larger than any user id, so that `slot × KEY_STRIDE + userId` is unique. */
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
  /** Taker fees paid in the market, and the part of them that earns points. */
  readonly feesMicros: Int53Column;
  readonly pointFeesMicros: Int53Column;
  /** 1 once resolution has been applied to the row. */
  readonly settled: Int32Column;
  /** The list of each user and of each market, in the order in which positions were added. */
  private readonly userLinks: Links;
  private readonly marketLinks: Links;
  private readonly ofUser: ListEnds;
  private readonly inMarket: ListEnds;

  constructor(undo: UndoLog) {
    this.userId = new Int32Column(undo);
    this.slot = new Int32Column(undo);
    this.lots = new Int53Column(undo, 32);
    this.heldLots = new Int53Column(undo, 32);
    this.costMicros = new Int53Column(undo, 32);
    this.feesMicros = new Int53Column(undo);
    this.pointFeesMicros = new Int53Column(undo);
    this.settled = new Int32Column(undo);
    this.userLinks = new Links(new Int32Column(undo), new Int32Column(undo));
    this.marketLinks = new Links(new Int32Column(undo), new Int32Column(undo));
    this.ofUser = new ListEnds(new Int32Column(undo), new Int32Column(undo));
    this.inMarket = new ListEnds(new Int32Column(undo), new Int32Column(undo));
    this.rowOfKey = new RowIndex(undo);
    this.pool = new RowPool(undo, new Int32Column(undo), (rows) => {
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
    this.ofUser.ensure(rows);
  }

  ensureMarkets(rows: number): void {
    this.inMarket.ensure(rows);
  }

  /** The row of a user in a market, 0 if there is none. */
  find(userId: number, slot: number): number {
    return this.rowOfKey.get(slot * KEY_STRIDE + userId);
  }

  /** The oldest of a user's positions, 0: none. */
  firstOfUser(userId: number): number {
    return this.ofUser.first(userId);
  }

  nextOfUser(row: number): number {
    return this.userLinks.next(row);
  }

  /** The oldest position in a market, 0: none. */
  firstInMarket(slot: number): number {
    return this.inMarket.first(slot);
  }

  nextInMarket(row: number): number {
    return this.marketLinks.next(row);
  }

  findOrAdd(userId: number, slot: number): number {
    const found = this.find(userId, slot);
    return found !== 0 ? found : this.add(userId, slot);
  }

  /** Adds shares and their cost. */
  addShares(row: number, outcome: number, lots: number, costMicros: number): void {
    const at = row * 2 + outcome;
    this.lots.add(at, lots);
    this.costMicros.add(at, costMicros);
  }

  /** Removes shares; returns their part of the cost, in proportion and rounded down. */
  removeShares(row: number, outcome: number, lots: number): number {
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
    this.userLinks.remove(this.ofUser, userId, row);
    this.marketLinks.remove(this.inMarket, slot, row);
    this.rowOfKey.remove(slot * KEY_STRIDE + userId);
    this.pool.giveBack(row);
  }

  archive(archive: Archive, userRows: number, marketRows: number): void {
    this.pool.archive(archive);
    const rows = this.pool.rows.value;
    for (const column of this.rowColumns()) column.archive(archive, rows);
    for (const column of this.outcomeColumns()) column.archive(archive, rows * 2);
    this.ofUser.archive(archive, userRows);
    this.inMarket.archive(archive, marketRows);
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
    this.userLinks.append(this.ofUser, userId, row);
    this.marketLinks.append(this.inMarket, slot, row);
    return row;
  }

  private rebuildIndex(marketRows: number): void {
    this.rowOfKey.clear(this.count);
    for (let slot = 1; slot < marketRows; slot++) {
      for (let row = this.firstInMarket(slot); row !== 0; row = this.nextInMarket(row)) {
        this.rowOfKey.insert(slot * KEY_STRIDE + this.userId.values[row]!, row);
      }
    }
  }

  private rowColumns(): (Int53Column | Int32Column | Links)[] {
    return [
      this.userId,
      this.slot,
      this.feesMicros,
      this.pointFeesMicros,
      this.settled,
      this.userLinks,
      this.marketLinks,
    ];
  }

  private outcomeColumns(): Int53Column[] {
    return [this.lots, this.heldLots, this.costMicros];
  }
}
