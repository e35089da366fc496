/**
 * `prices:<asset>`: the price of an asset, the one that was observed last, with the time of that observation. A message comes
 * with every price that the exchange takes; one that arrives late does not change the last price, and is sent all the same.
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
    return (
      `{"asset":"${engine.assetSymbol(asset)}","price":${microsTextOrNull(engine.assetPriceMicros(asset))}` +
      `,"observedAtMs":${engine.assetPriceObservedAtMs(asset)}}`
    );
  }

  protected takeChanges(): string {
    return this.snapshotData();
  }
}
