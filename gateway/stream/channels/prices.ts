/**
 * `prices:<asset>`: the latest price of an asset by time of observation. Every accepted price sends
 * a message; a late one does not change the latest price but sends a message too.
 */
import type { Engine } from '../../../engine/engine.js';
import { microsTextOrNull } from '../../json/decimal.js';
import { Channel } from './channel.js';

export class PricesChannel extends Channel {
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
