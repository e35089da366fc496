/**
 * `trades:<marketId>`: a market's trades from the taker's side, without users. The snapshot is
 * empty: GET /markets/15m/:marketId/trades has earlier trades. A delta has one command's trades.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import * as fields from '../../json/response-fields.js';
import { marketTrade } from '../../resources/history/views.js';
import { atMs, Channel, DATA } from './channel.js';
import { eventReader } from './user-events.js';

const data = z
  .strictObject({
    marketId: fields.marketId,
    trades: z.array(z.strictObject({ ...fields.tradeFields, atMs })).describe('The trades'),
  })
  .describe(DATA);
export const TRADES = {
  of: 'market',
  snapshot: data,
  delta: data,
  texts: ['No trades: those before the subscription are at the HTTP route', 'New trades'],
  make: (engine: Engine, marketId: number) => new TradesChannel(engine, marketId),
} as const;

const tradeAt = eventReader('trade');

class TradesChannel extends Channel {
  private readonly marketName: string;
  private texts: string[] = [];

  constructor(engine: Engine, marketId: number) {
    const marketName = marketIdText(engine, marketId);
    super(engine, `trades:${marketName}`);
    this.marketName = marketName;
  }

  addTrade(values: Float64Array, at: number): void {
    const trade = Object.assign(tradeAt(values, at), { atMs: this.engine.nowMs });
    this.texts.push(marketTrade.text(trade, this.engine));
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
