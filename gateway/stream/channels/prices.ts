/**
 * `prices:<asset>`: the asset's latest price by observation time, and what the price means for the
 * active market. Every accepted price sends a message, even one too late to be the latest.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { marketIdText } from '../../../engine/interface/notation.js';
import { indicativeTicks } from '../../../persistence/history/market-json/chance.js';
import { indicativeText } from '../../../persistence/history/market-json/market.js';
import { microsTextOrNull } from '../../json/decimal.js';
import { asset, count, marketId, money } from '../../json/response-fields.js';
import { Market } from '../../resources/markets/schemas.js';
import { Channel, DATA } from './channel.js';

const data = z
  .strictObject({
    asset,
    price: money.nullable().describe('US dollars; null before the first price'),
    observedAtMs: count
      .nullable()
      .describe('When the price was observed, in milliseconds since the epoch'),
    marketId: marketId.nullable().describe('The active market; null if there is none'),
    indicative: Market.shape.indicative,
  })
  .describe(DATA);
export const PRICES_CHANNEL = {
  of: 'asset',
  snapshot: data,
  delta: data,
  texts: ['The last price of the asset', 'A price of the asset'],
  make: (engine: Engine, asset: number) => new PricesChannel(engine, asset),
} as const;

class PricesChannel extends Channel {
  constructor(
    engine: Engine,
    private readonly asset: number,
  ) {
    super(engine, `prices:${engine.assetSymbol(asset)}`);
  }

  snapshotData(): string {
    const { engine, asset } = this;
    const price = microsTextOrNull(engine.assetPriceMicros(asset));
    const observedAtMs = engine.assetPriceObservedAtMs(asset);
    const market = engine.market(engine.activeMarket(asset));
    const name = market === null ? 'null' : `"${marketIdText(engine, market.marketId)}"`;
    const indicative = market === null ? null : indicativeTicks(engine, market);
    return `{"asset":"${engine.assetSymbol(asset)}","price":${price},"observedAtMs":${observedAtMs},"marketId":${name}${indicativeText(indicative)}}`;
  }

  protected takeChanges(): string {
    return this.snapshotData();
  }
}
