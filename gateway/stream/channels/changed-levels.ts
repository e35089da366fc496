/** Price levels that the current command changed in a book, once each, in JSON for UP and DOWN. */
import type { Engine } from '../../../engine/engine.js';
import { Outcome, Side, ticksIn } from '../../../engine/interface/domain.js';
import { MICROS_PER_SET } from '../../../engine/interface/limits.js';
import { lotsText, marketIdText, ticksText } from '../../../engine/interface/notation.js';

const PRICE_TEXTS = Array.from({ length: MICROS_PER_SET }, (_, ticks) => ticksText(ticks));

export class ChangedLevels {
  /** The UP price in ticks for bids, plus 1,000 for asks. */
  private readonly levels: number[] = [];
  private readonly isMarked = new Uint8Array(2 * MICROS_PER_SET);

  constructor(private readonly engine: Engine) {}

  get isEmpty(): boolean {
    return this.levels.length === 0;
  }

  add(side: Side, outcome: Outcome, priceTicks: number): void {
    const upTicks = ticksIn(outcome, priceTicks);
    const isBid = (side === Side.BUY) === (outcome === Outcome.UP);
    const level = isBid ? upTicks : MICROS_PER_SET + upTicks;
    if (this.isMarked[level] === 1) return;
    this.isMarked[level] = 1;
    this.levels.push(level);
  }

  take(marketId: number): string {
    const { engine } = this;
    let [upBids, upAsks, downBids, downAsks] = ['', '', '', ''];
    for (const level of this.levels) {
      const side = level < MICROS_PER_SET ? Side.BUY : Side.SELL;
      const upTicks = side === Side.BUY ? level : level - MICROS_PER_SET;
      const rest = `,"shares":${lotsText(engine.levelLots(marketId, side, upTicks))}}`;
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
      `{"marketId":"${marketIdText(engine, marketId)}","sequence":${engine.sequence}` +
      `,"UP":{"bids":[${upBids.slice(1)}],"asks":[${upAsks.slice(1)}]}` +
      `,"DOWN":{"bids":[${downBids.slice(1)}],"asks":[${downAsks.slice(1)}]}}`
    );
  }

  clear(): void {
    for (const level of this.levels) this.isMarked[level] = 0;
    this.levels.length = 0;
  }
}
