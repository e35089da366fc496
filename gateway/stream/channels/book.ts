/**
 * `book:<marketId>`: the order book of a market, in the format of GET
 * /markets/15m/:marketId/orderbook at full depth. A delta contains only the changed levels, in no
 * particular order, each with its current shares (0: empty). When the market ends, the last message
 * is a snapshot of an empty book.
 */
import type { Engine } from '../../../engine/engine.js';
import { MarketStatus, Outcome, Side, ticksIn } from '../../../engine/interface/domain.js';
import { MAX_PRICE_TICKS, MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { lotsText, marketIdText, ticksText } from '../../../engine/interface/notation.js';
import { orderbookText } from '../../resources/markets/orderbook.js';
import { Channel } from './channel.js';

const PRICE_TEXTS = Array.from({ length: MICROS_PER_SET }, (_, ticks) => ticksText(ticks));

export class BookChannel extends Channel {
  private readonly marketName: string;
  private hasEnded: boolean;
  /** Levels that the command changed, each once: the price of UP for bids, plus 1,000 for asks. */
  private readonly levels: number[] = [];
  private readonly isMarked = new Uint8Array(2 * MICROS_PER_SET);

  constructor(
    private readonly engine: Engine,
    private readonly marketId: number,
  ) {
    const marketName = marketIdText(engine, marketId);
    super(`book:${marketName}`, `book:${marketName}`, engine.sequence);
    this.marketName = marketName;
    this.hasEnded = engine.market(marketId)!.status !== MarketStatus.ACTIVE;
  }

  /** Whether the book can still change: an ended market has no orders. */
  get isOpen(): boolean {
    return !this.hasEnded;
  }

  /** Marks a price level as changed. The price is that of `outcome`. */
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
    const depth = engine.depth(marketId, MAX_PRICE_TICKS)!;
    return orderbookText(engine, marketId, depth, { sequence: engine.sequence });
  }

  /** An ended book does not change, so this is the message of the end itself. */
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
