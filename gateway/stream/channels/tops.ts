/**
 * `tops:<asset>`: best bid and ask of the asset's active market, as an order book of one level. The
 * channel follows the asset from market to market. Only changed prices or shares send a message.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { asset } from '../../json/response-fields.js';
import { orderbookText } from '../../resources/markets/orderbook.js';
import { Book } from './book.js';
import { Channel, DATA } from './channel.js';

const data = z
  .strictObject({
    asset,
    book: Book.nullable().describe(
      'The active market’s book, with at most one level on each side; null if no market is active',
    ),
  })
  .describe(DATA);
export const TOPS = {
  of: 'asset',
  snapshot: data,
  delta: data,
  texts: ['The best bid and ask of the active market', 'A new best bid or ask, or market'],
  make: (engine: Engine, asset: number) => new TopsChannel(engine, asset),
} as const;

class TopsChannel extends Channel {
  /** The text before the current command, with sequence 0 so that equal books have equal texts. */
  private last: string;

  constructor(
    engine: Engine,
    private readonly asset: number,
  ) {
    super(engine, `tops:${engine.assetSymbol(asset)}`);
    this.last = this.bookText(0);
  }

  override takeWhetherChanged(): boolean {
    const before = this.last;
    this.last = this.bookText(0);
    return this.last !== before;
  }

  snapshotData(): string {
    const { engine, asset } = this;
    return `{"asset":"${engine.assetSymbol(asset)}","book":${this.bookText(engine.sequence)}}`;
  }

  protected takeChanges(): string {
    return this.snapshotData();
  }

  private bookText(sequence: number): string {
    const { engine } = this;
    const marketId = engine.activeMarket(this.asset);
    if (marketId === 0) return 'null';
    return orderbookText(engine, marketId, engine.depth(marketId, 1)!, { sequence });
  }
}
