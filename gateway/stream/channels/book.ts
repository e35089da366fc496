/**
 * `book:<marketId>`: a market's order book at full depth, in the format of GET
 * /markets/15m/:marketId/orderbook. A delta contains only the changed levels, unordered, each with
 * its current shares (0 if empty). At the market's end, the last message is an empty snapshot.
 */
import type { Engine } from '../../../engine/engine.js';
import { hasEnded } from '../../../engine/interface/domain.js';
import { MAX_PRICE_TICKS } from '../../../engine/interface/limits.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import { orderbookText } from '../../resources/markets/orderbook.js';
import { Orderbook } from '../../resources/markets/schemas.js';
import { ChangedLevels } from './changed-levels.js';
import { Channel, DATA } from './channel.js';

/** A book without `atMs`, which is a field of the message. */
export const Book = Orderbook.omit({ atMs: true }).describe(DATA);
export const BOOK = {
  of: 'market',
  snapshot: Book,
  delta: Book,
  texts: ['The order book at full depth', 'The price levels that changed; 0 shares: none left'],
  make: (engine: Engine, marketId: number) => new BookChannel(engine, marketId),
} as const;

class BookChannel extends Channel {
  readonly levels: ChangedLevels;
  private hasEnded: boolean;

  constructor(
    engine: Engine,
    private readonly marketId: number,
  ) {
    super(engine, `book:${marketIdText(engine, marketId)}`);
    this.levels = new ChangedLevels(engine);
    this.hasEnded = hasEnded(engine.market(marketId)!.status);
  }

  get isOpen(): boolean {
    return !this.hasEnded;
  }

  end(): void {
    this.hasEnded = true;
    this.levels.clear();
  }

  snapshotData(): string {
    return wholeBook(this.engine, this.marketId);
  }

  /** After the market's end, the only message is the end itself. */
  protected override get sendsSnapshot(): boolean {
    return this.hasEnded;
  }

  protected takeChanges(): string {
    return this.levels.take(this.marketId);
  }
}

export function wholeBook(engine: Engine, marketId: number): string {
  const depth = engine.depth(marketId, MAX_PRICE_TICKS)!;
  return orderbookText(engine, marketId, depth, { sequence: engine.sequence });
}
