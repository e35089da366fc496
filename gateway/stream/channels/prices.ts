/**
 * `prices:<asset>`: the latest price of an asset by time of observation. Every accepted price sends
 * a message; a late one does not change the latest price but sends a message too.
 */
import { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { microsTextOrNull } from '../../json/decimal.js';
import { asset, count, money } from '../../json/response-fields.js';
import { Channel, DATA } from './channel.js';

const data = z
  .strictObject({
    asset,
    price: money.nullable().describe('US dollars; null before the first price'),
    observedAtMs: count
      .nullable()
      .describe('When the price was observed, in milliseconds since the epoch'),
  })
  .describe(DATA);
export const PRICES = {
  of: 'asset',
  snapshot: data,
  delta: data,
  texts: ['The last price of the asset', 'A price of the asset'],
  make: (engine: Engine, asset: number) => new PricesChannel(engine, asset),
} as const;

class PricesChannel extends Channel {
  constructor(
    private readonly engine: Engine,
    private readonly asset: number,
  ) {
    const name = `prices:${engine.assetSymbol(asset)}`;
    super(name, name, engine.sequence);
  }

  snapshotData(): string {
    const { engine, asset } = this;
    const price = microsTextOrNull(engine.assetPriceMicros(asset));
    const observedAtMs = engine.assetPriceObservedAtMs(asset);
    return `{"asset":"${engine.assetSymbol(asset)}","price":${price},"observedAtMs":${observedAtMs}}`;
  }

  protected takeChanges(): string {
    return this.snapshotData();
  }
}
