/**
 * `markets`: reports when a market is listed, opens, gets a start price, ends, is resolved and, a
 * day later, is closed. The snapshot contains the active and upcoming markets. A delta contains one
 * command's changes in order, each with the market's new state, or null if closed.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import { marketId } from '../../json/response-fields.js';
import { Market } from '../../resources/markets/schemas.js';
import { marketText } from '../../resources/markets/views.js';
import { Channel, DATA } from './channel.js';

const CHANGES = [
  'upcoming',
  'opened',
  'start_price_fixed',
  'paused',
  'resumed',
  'ended',
  'resolved',
  'closed',
] as const;
export type MarketChange = (typeof CHANGES)[number];
const change = z.strictObject({
  change: z.enum(CHANGES).describe('What happened to the market'),
  marketId,
  market: Market.nullable().describe('The market after the change; null once it is closed'),
});

export const MARKETS = {
  of: 'all',
  snapshot: z.strictObject({ markets: z.array(Market).describe('The markets') }).describe(DATA),
  delta: z
    .strictObject({ changes: z.array(change).describe('What happened to markets, in order') })
    .describe(DATA),
  texts: [
    'The active and the upcoming markets',
    'Markets that were listed, opened, ended, were resolved or were closed',
  ],
  make: (engine: Engine) => new MarketsChannel(engine),
} as const;

class MarketsChannel extends Channel {
  private changes: { change: MarketChange; marketId: number }[] = [];
  /** Active markets whose published start price may still change. */
  private unfixed: number[] = [];

  constructor(engine: Engine) {
    super(engine, 'markets');
    for (let asset = 0; asset < engine.assetCount; asset++) this.follow(engine.activeMarket(asset));
  }

  addChange(change: MarketChange, marketId: number): void {
    this.changes.push({ change, marketId });
    this.unfixed = this.unfixed.filter((each) => each !== marketId);
    if (change === 'opened') this.follow(marketId);
  }

  /** Adds start prices that became final without an event. Call after the command's events. */
  addFixedPrices(): boolean {
    if (this.unfixed.length === 0) return false;
    const fixed = this.unfixed.filter((marketId) => !this.mayChange(marketId));
    for (const marketId of fixed) this.addChange('start_price_fixed', marketId);
    return fixed.length > 0;
  }

  private follow(marketId: number): void {
    if (marketId !== 0 && this.mayChange(marketId)) this.unfixed.push(marketId);
  }

  private mayChange(marketId: number): boolean {
    return this.engine.market(marketId)?.startPriceFinal === false;
  }

  snapshotData(): string {
    const { engine } = this;
    const texts: string[] = [];
    for (let asset = 0; asset < engine.assetCount; asset++) {
      const active = engine.activeMarket(asset);
      const ids = [...(active === 0 ? [] : [active]), ...engine.upcomingMarkets(asset)];
      texts.push(...ids.map((marketId) => this.marketText(marketId)));
    }
    return `{"markets":[${texts.join(',')}]}`;
  }

  protected takeChanges(): string {
    const texts = this.changes.map(
      ({ change, marketId }) =>
        `{"change":"${change}","marketId":"${marketIdText(this.engine, marketId)}"` +
        `,"market":${this.marketText(marketId)}}`,
    );
    this.changes = [];
    return `{"changes":[${texts.join(',')}]}`;
  }

  private marketText(marketId: number): string {
    const market = this.engine.market(marketId);
    return market === null ? 'null' : marketText(this.engine, market);
  }
}
