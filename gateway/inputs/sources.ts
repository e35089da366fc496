/**
 * Those who send commands besides clients: the source of prices, the scheduler, and the house. They begin when the engine is
 * recovered, and end before the journal is closed or as soon as trading is stopped.
 */

import type { Engine } from '../../engine/engine.js';
import { CODES } from '../../engine/interface/codes.js';
import { assetOfMarket } from '../../engine/interface/domain.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../engine/interface/events.js';
import { ResultHead } from '../../engine/interface/results.js';
import type { Config } from '../config.js';
import { cancelHouseOrders, HOUSE_USERNAME, House } from '../house/house.js';
import type { Log } from '../observe/log.js';
import { Scheduler } from '../time/scheduler.js';
import type { WatchedSequencer } from '../watched-sequencer.js';
import { type Outside, priceSink } from './prices.js';

export interface SourcesOptions {
  config: Config;
  log: Log;
  sequencer: WatchedSequencer;
  outside: Outside;
}

export class Sources {
  private readonly scheduler: Scheduler;
  private house: House | null = null;

  constructor(private readonly options: SourcesOptions) {
    this.scheduler = new Scheduler(options.sequencer, options.outside.clock);
  }

  /**
   * Lists the configured assets and begins.
   * @throws when an asset cannot be listed, or the house has no account
   */
  start(): void {
    const { config, log, sequencer, outside } = this.options;
    listAssets(sequencer, config.assets, log);
    sequencer.watch(() => this.scheduler.afterSubmit());
    this.house = openHouse(this.options);
    this.scheduler.start();
    outside.feed.start(
      priceSink(sequencer, log, (asset, priceMicros, observedAtMs) => {
        this.house?.observe(asset, priceMicros, observedAtMs);
      }),
    );
  }

  /** May be called more than once. Nothing is sent once it has resolved. */
  async stop(): Promise<void> {
    this.scheduler.stop();
    this.house?.stop();
    await this.options.outside.feed.stop();
  }
}

function listAssets(sequencer: WatchedSequencer, symbols: readonly string[], log: Log): void {
  const { engine } = sequencer;
  for (const symbol of symbols) {
    if (engine.findAsset(symbol) !== -1) continue;
    const result = sequencer.submit({ kind: 'listAsset', symbol });
    const code = CODES[result.values[ResultHead.code]!];
    if (code !== 'ok') throw new Error(`the asset ${symbol} cannot be listed: ${code}`);
  }
  for (let asset = 0; asset < engine.assetCount; asset++) {
    const symbol = engine.assetSymbol(asset);
    if (!symbols.includes(symbol)) log.warn({ symbol }, 'an asset of this journal gets no prices');
  }
}

/** null when it is turned off; what an earlier one left resting is cancelled all the same. */
function openHouse({ config, log, sequencer, outside }: SourcesOptions): House | null {
  if (config.houseFundsMicros === 0) {
    cancelHouseOrders(sequencer);
    return null;
  }
  const house = new House({ sequencer, clock: outside.clock, log, fundsMicros: config.houseFundsMicros });
  house.start();
  const userId = sequencer.engine.findUser(HOUSE_USERNAME);
  sequencer.watch(() => wakeHouse(sequencer.engine, house, userId));
  return house;
}

/** The house looks at an asset's quotes when a market opens and when one of its quotes is hit. */
function wakeHouse(engine: Engine, house: House, houseUserId: number): void {
  const { values, length } = engine.events;
  for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
    const type = values[at]!;
    if (type === EventType.trade && values[at + EventSlot.trade.makerId] === houseUserId) {
      house.wake(assetOfMarket(values[at + EventSlot.trade.marketId]!));
    } else if (type === EventType.marketOpened) {
      house.wake(assetOfMarket(values[at + EventSlot.marketOpened.marketId]!));
    }
  }
}
