/**
 * `books:<asset>`: the full order book of the asset's active market. The channel follows the asset
 * from market to market, and sends a snapshot when the active market changes or there is none.
 * Deltas have the format of `book:<marketId>`.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { asset } from '../../json/response-fields.js';
import { Book, wholeBook } from './book.js';
import { ChangedLevels } from './changed-levels.js';
import { Channel, DATA } from './channel.js';

const data = z
  .strictObject({
    asset,
    book: Book.nullable().describe('The book, or its changes; null if no market is active'),
  })
  .describe(DATA);
export const BOOKS = {
  of: 'asset',
  snapshot: data,
  delta: data,
  texts: [
    'The order book of the active market at full depth',
    'The price levels that changed; 0 shares: none left',
  ],
  make: (engine: Engine, asset: number) => new BooksChannel(engine, asset),
} as const;

class BooksChannel extends Channel {
  readonly levels: ChangedLevels;
  /** The market of the last message, or 0. */
  shownId: number;
  private isAnother = false;

  constructor(
    engine: Engine,
    private readonly asset: number,
  ) {
    super(engine, `books:${engine.assetSymbol(asset)}`);
    this.levels = new ChangedLevels(engine);
    this.shownId = engine.activeMarket(asset);
  }

  override takeWhetherChanged(): boolean {
    const marketId = this.engine.activeMarket(this.asset);
    this.isAnother = marketId !== this.shownId;
    this.shownId = marketId;
    if (this.isAnother) this.levels.clear();
    return this.isAnother || !this.levels.isEmpty;
  }

  snapshotData(): string {
    const { engine, shownId } = this;
    return this.dataText(shownId === 0 ? 'null' : wholeBook(engine, shownId));
  }

  protected override get sendsSnapshot(): boolean {
    return this.isAnother;
  }

  protected takeChanges(): string {
    return this.dataText(this.levels.take(this.shownId));
  }

  private dataText(book: string): string {
    return `{"asset":"${this.engine.assetSymbol(this.asset)}","book":${book}}`;
  }
}
