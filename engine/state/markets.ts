/**
 * The markets that the engine knows, from opening until all winnings are paid. A market has a slot
 * (a row number that later markets reuse) and columns by slot. It has a book while orders can rest
 * in it.
 *
 * Until a market is resolved, its outstanding UP shares equal its DOWN shares (`setLots`), and its
 * collateral is 1,000 micros per set.
 */

import { assetOfMarket } from '../interface/domain.js';
import type { Archive } from '../storage/archive.js';
import { Int32Column, Int53Column } from '../storage/columns.js';
import { RowPool } from '../storage/row-pool.js';
import type { UndoLog } from '../storage/undo.js';
import { Ladder } from './ladder.js';
import type { Book } from './orders.js';

export class Markets {
  private readonly pool: RowPool;
  private readonly slotOfId = new Map<number, number>();
  private readonly books: (Book | null)[] = [null];
  private readonly spareBooks: Book[] = [];
  readonly id: Int53Column;
  readonly status: Int32Column;
  readonly resolution: Int32Column;
  readonly startPriceMicros: Int53Column;
  readonly endPriceMicros: Int53Column;
  /** 1 while the start price may still move: until 2 s after the window's start. */
  readonly startPriceOpen: Int32Column;
  /** Complete sets outstanding. */
  readonly setLots: Int53Column;
  readonly volumeMicros: Int53Column;
  /** 0: no trade yet. */
  readonly lastTradeTicks: Int32Column;
  /** How the fees were shared so far. */
  readonly referrersMicros: Int53Column;
  readonly vaultMicros: Int53Column;
  /** While the market is being settled: the next position to settle. */
  readonly settleCursor: Int32Column;

  constructor(
    private readonly undo: UndoLog,
    ensureSlots: (rows: number) => void,
  ) {
    this.id = new Int53Column(undo);
    this.status = new Int32Column(undo);
    this.resolution = new Int32Column(undo);
    this.startPriceMicros = new Int53Column(undo);
    this.endPriceMicros = new Int53Column(undo);
    this.startPriceOpen = new Int32Column(undo);
    this.setLots = new Int53Column(undo);
    this.volumeMicros = new Int53Column(undo);
    this.lastTradeTicks = new Int32Column(undo);
    this.referrersMicros = new Int53Column(undo);
    this.vaultMicros = new Int53Column(undo);
    this.settleCursor = new Int32Column(undo);
    this.pool = new RowPool(undo, new Int32Column(undo), (rows) => {
      for (const column of this.columns()) column.ensure(rows);
      ensureSlots(rows);
    });
  }

  /** Slots ever used, plus one. */
  get rows(): number {
    return this.pool.rows.value;
  }

  get count(): number {
    return this.slotOfId.size;
  }

  /** The slot of a market, 0 if the engine does not know it. */
  find(marketId: number): number {
    return this.slotOfId.get(marketId) ?? 0;
  }

  /** All that are known, oldest window first, then by asset. */
  ids(): number[] {
    return [...this.slotOfId.keys()].sort((a, b) => a - b);
  }

  asset(slot: number): number {
    return assetOfMarket(this.id.values[slot]!);
  }

  open(marketId: number, startPriceMicros: number): number {
    const slot = this.pool.take();
    for (const column of this.columns()) column.set(slot, 0);
    this.id.set(slot, marketId);
    this.startPriceMicros.set(slot, startPriceMicros);
    this.slotOfId.set(marketId, slot);
    this.books[slot] = this.spareBooks.pop() ?? [new Ladder(this.undo), new Ladder(this.undo)];
    return slot;
  }

  book(slot: number): Book {
    const book = this.books[slot];
    if (book === null || book === undefined)
      throw new Error(`the market in slot ${slot} has no book`);
    return book;
  }

  hasBook(slot: number): boolean {
    return this.books[slot] !== null && this.books[slot] !== undefined;
  }

  /** Drops the book of an ended market; it must be empty. */
  dropBook(slot: number): void {
    this.spareBooks.push(this.book(slot));
    this.books[slot] = null;
  }

  close(slot: number): void {
    this.slotOfId.delete(this.id.values[slot]!);
    this.pool.giveBack(slot);
  }

  archive(archive: Archive): void {
    this.pool.archive(archive);
    for (const column of this.columns()) column.archive(archive, this.rows);
    const slots = archive.reading ? [] : [...this.slotOfId.values()].sort((a, b) => a - b);
    const count = archive.number(slots.length);
    for (let i = 0; i < count; i++) {
      const slot = archive.number(slots[i] ?? 0);
      const hasBook = archive.number(archive.reading ? 0 : Number(this.hasBook(slot))) === 1;
      if (archive.reading) {
        this.slotOfId.set(this.id.values[slot]!, slot);
        this.books[slot] = hasBook ? [new Ladder(this.undo), new Ladder(this.undo)] : null;
      }
      if (hasBook) for (const ladder of this.book(slot)) ladder.archive(archive);
    }
  }

  private columns(): (Int53Column | Int32Column)[] {
    return [
      this.id,
      this.status,
      this.resolution,
      this.startPriceMicros,
      this.endPriceMicros,
      this.startPriceOpen,
      this.setLots,
      this.volumeMicros,
      this.lastTradeTicks,
      this.referrersMicros,
      this.vaultMicros,
      this.settleCursor,
    ];
  }
}
