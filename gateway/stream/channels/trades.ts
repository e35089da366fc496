/**
 * `trades:<marketId>`: a market's trades from the taker's side, without users. The snapshot is an
 * empty list; GET /markets/15m/:marketId/trades has earlier trades. A delta contains the trades of
 * one command, in order.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { ticksIn } from '../../../engine/interface/domain.js';
import { EventSlot } from '../../../engine/interface/events.js';
import {
  lotsText,
  marketIdText,
  matchTypeName,
  microsText,
  outcomeName,
  sideName,
  ticksText,
} from '../../../engine/interface/notation.js';
import * as fields from '../../json/response-fields.js';
import { atMs, Channel, DATA } from './channel.js';

const trade = z.strictObject({ ...fields.tradeFields, atMs });
const data = z
  .strictObject({ marketId: fields.marketId, trades: z.array(trade).describe('The trades') })
  .describe(DATA);
export const TRADES = {
  of: 'market',
  snapshot: data,
  delta: data,
  texts: ['No trades: those before the subscription are at the HTTP route', 'New trades'],
  make: (engine: Engine, marketId: number) => new TradesChannel(engine, marketId),
} as const;

const TRADE = EventSlot.trade;

class TradesChannel extends Channel {
  private readonly marketName: string;
  private texts: string[] = [];

  constructor(
    private readonly engine: Engine,
    marketId: number,
  ) {
    const marketName = marketIdText(engine, marketId);
    super(`trades:${marketName}`, `trades:${marketName}`, engine.sequence);
    this.marketName = marketName;
  }

  /** Adds the trade event at offset `at`. */
  addTrade(values: Float64Array, at: number): void {
    const outcome = values[at + TRADE.takerOutcome]!;
    const priceTicks = ticksIn(outcome, values[at + TRADE.upTicks]!);
    const lots = values[at + TRADE.sizeLots]!;
    this.texts.push(
      `{"tradeId":"t${values[at + TRADE.tradeId]!}","outcome":"${outcomeName(outcome)}"` +
        `,"side":"${sideName(values[at + TRADE.takerSide]!)}","price":${ticksText(priceTicks)}` +
        `,"shares":${lotsText(lots)},"value":${microsText(lots * priceTicks)}` +
        `,"matchType":"${matchTypeName(values[at + TRADE.matchType]!)}","atMs":${this.engine.nowMs}}`,
    );
  }

  snapshotData(): string {
    return this.dataText('');
  }

  protected takeChanges(): string {
    const { texts } = this;
    this.texts = [];
    return this.dataText(texts.join(','));
  }

  private dataText(trades: string): string {
    return `{"marketId":"${this.marketName}","trades":[${trades}]}`;
  }
}
