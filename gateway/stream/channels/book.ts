/**
 * `book:<marketId>`: the order book of a market, every price level of both outcomes.
 *
 * A snapshot has the form of GET /markets/15m/:marketId/orderbook at full depth. A delta has the same form and names only the
 * levels that the command touched, each with the shares that rest there now, 0: none do. Levels of a delta stand in no
 * particular order. When the market ends, the book's last message is a snapshot of an empty book; like every snapshot, it
 * replaces what the reader has.
 */

import type { Engine } from '../../../engine/engine.js';
import { Outcome, Side, ticksIn } from '../../../engine/interface/domain.js';
import { MAX_PRICE_TICKS, MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { lotsText, marketIdText, ticksText } from '../../../engine/interface/notation.js';
import { orderbookText } from '../../resources/markets/orderbook.js';
import { Channel } from './channel.js';

const PRICE_TEXTS = Array.from({ length: MICROS_PER_SET }, (_, ticks) => ticksText(ticks));

export class BookChannel extends Channel {
  private readonly marketName: string;
  /** Levels that the command touched: the price of UP for bids, 1,000 more for asks. Each stands there once. */
  private readonly levels: number[] = [];
  private readonly isMarked = new Uint8Array(2 * MICROS_PER_SET);

  constructor(
    private readonly engine: Engine,
    private readonly marketId: number,
    private hasEnded: boolean,
  ) {
    const marketName = marketIdText(engine, marketId);
    super(`book:${marketName}`, `book:${marketName}`, engine.sequence);
    this.marketName = marketName;
  }

  /** Whether the command can change what readers see: the orders of an ended market are out of the book already. */
  get isOpen(): boolean {
    return !this.hasEnded;
  }

  /** Orders of one price came or went. The price is that of `outcome`. */
  touchLevel(side: Side, outcome: Outcome, priceTicks: number): void {
    const upTicks = ticksIn(outcome, priceTicks);
    const isBid = (side === Side.BUY) === (outcome === Outcome.UP);
    const level = isBid ? upTicks : MICROS_PER_SET + upTicks;
    if (this.isMarked[level] === 1) return;
    this.isMarked[level] = 1;
    this.levels.push(level);
  }

  end(): void {
    this.hasEnded = true;
    this.clear();
  }

  snapshotData(): string {
    const { engine, marketId } = this;
    return orderbookText(engine, marketId, engine.depth(marketId, MAX_PRICE_TICKS)!, engine.sequence);
  }

  /** Once ended, a book is not touched again, so this is the message of the end itself. */
  protected override get sendsSnapshot(): boolean {
    return this.hasEnded;
  }

  protected takeChanges(): string {
    let [upBids, upAsks, downBids, downAsks] = ['', '', '', ''];
    for (const level of this.levels) {
      const side = level < MICROS_PER_SET ? Side.BUY : Side.SELL;
      const upTicks = side === Side.BUY ? level : level - MICROS_PER_SET;
      const rest = `,"shares":${lotsText(this.engine.levelLots(this.marketId, side, upTicks))}}`;
      const up = `,{"price":${PRICE_TEXTS[upTicks]}${rest}`;
      const down = `,{"price":${PRICE_TEXTS[MICROS_PER_SET - upTicks]}${rest}`;
      if (side === Side.BUY) {
        upBids += up;
        downAsks += down;
      } else {
        upAsks += up;
        downBids += down;
      }
    }
    this.clear();
    return (
      `{"marketId":"${this.marketName}","sequence":${this.engine.sequence}` +
      `,"UP":{"bids":[${upBids.slice(1)}],"asks":[${upAsks.slice(1)}]}` +
      `,"DOWN":{"bids":[${downBids.slice(1)}],"asks":[${downAsks.slice(1)}]}}`
    );
  }

  private clear(): void {
    for (const level of this.levels) this.isMarked[level] = 0;
    this.levels.length = 0;
  }
}
