/**
 * The markets that the engine knows, from listing or opening until all winnings are paid. A market
 * has a slot, a row that later markets reuse, and a book while orders can rest in it.
 *
 * Invariant: until a market is resolved, its outstanding UP shares equal its DOWN shares
 * (`setLots`), and its collateral is 1,000 micros per set.
 */

import { assetOfMarket, hasEnded, MarketStatus } from '../interface/domain.js';
import type { Archive } from '../storage/archive.js';
import { IdIndex } from '../storage/indexes/id-index.js';
import { pooledTableOf } from '../storage/table.js';
import type { UndoLog } from '../storage/undo.js';
import type { Levels } from './levels.js';

const MarketTable = pooledTableOf(
  128,
  {
    /** The market's id; 0 if the slot is free. */
    id: 'f64',
    /** The asset's price at the start; 0 if the market has not opened. */
    startPriceMicros: 'f64',
    endPriceMicros: 'f64',
    /** The time of the command that resolved the market. */
    resolvedAtMs: 'f64',
    collateralMicros: 'f64',
    escrowMicros: 'f64',
    setLots: 'f64',
    volumeMicros: 'f64',
    /** The fees shared so far. */
    referrersMicros: 'f64',
    makersMicros: 'f64',
    /** The makers' shares that are not settled; 0 after the settlement. */
    makersDueMicros: 'f64',
    vaultMicros: 'f64',
    status: 'i32',
    resolution: 'i32',
    /** Bits of access/pauses.ts; 0 if the market is not paused. */
    pausedBy: 'i32',
    /** The price of UP in the last trade; 0 before the first trade. */
    lastTradeTicks: 'i32',
    /** The number of the book plus 1; 0 if the market has no book. */
    bookPlusOne: 'i32',
    /** While the market is being settled: the next position to settle. */
    settleCursor: 'i32',
    firstPosition: 'i32',
    lastPosition: 'i32',
  },
  'lastPosition',
);

export class Markets extends MarketTable {
  private readonly index: IdIndex;

  constructor(
    undo: UndoLog,
    private readonly levels: Levels,
  ) {
    super(undo);
    this.index = new IdIndex(undo, (slot) => this.id(slot));
  }

  /** The slot of a market; 0 if unknown. */
  find(marketId: number): number {
    let slot = this.index.first(marketId);
    while (slot !== 0 && this.id(slot) !== marketId) slot = this.index.next(slot);
    return slot;
  }

  /** All known markets, oldest window first, then by asset. */
  ids(): number[] {
    const ids: number[] = [];
    for (let slot = 1; slot < this.rows; slot++) if (this.id(slot) !== 0) ids.push(this.id(slot));
    return ids.sort((a, b) => a - b);
  }

  asset(slot: number): number {
    return assetOfMarket(this.id(slot));
  }

  /** Adds an upcoming market; returns its slot. */
  add(marketId: number, pausedBy: number): number {
    const slot = this.take();
    this.clear(slot);
    this.setId(slot, marketId);
    this.setStatus(slot, MarketStatus.UPCOMING);
    this.setPausedBy(slot, pausedBy);
    this.setBookPlusOne(slot, this.levels.takeBook() + 1);
    this.index.add(marketId, slot);
    return slot;
  }

  /** Whether orders may rest in the market: it has not ended. */
  takesOrders(slot: number): boolean {
    return !hasEnded(this.status(slot));
  }

  /** The ladder of a market's bids (0) or asks (1); see levels.ts. */
  ladder(slot: number, bookSide: 0 | 1): number {
    return (this.bookPlusOne(slot) - 1) * 2 + bookSide;
  }

  hasBook(slot: number): boolean {
    return this.bookPlusOne(slot) !== 0;
  }

  /** Drops the book of an ended market; it must be empty. */
  dropBook(slot: number): void {
    this.levels.dropBook(this.bookPlusOne(slot) - 1);
    this.setBookPlusOne(slot, 0);
  }

  close(slot: number): void {
    this.index.remove(this.id(slot), slot);
    this.setId(slot, 0);
    this.giveBack(slot);
  }

  override archive(archive: Archive): void {
    super.archive(archive);
    if (archive.reading) this.index.clear();
    for (let slot = 1; slot < this.rows; slot++) {
      if (archive.reading && this.id(slot) !== 0) this.index.add(this.id(slot), slot);
      if (this.hasBook(slot)) this.levels.archiveBook(archive, this.bookPlusOne(slot) - 1);
    }
  }
}
