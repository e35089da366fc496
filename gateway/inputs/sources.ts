/** Commands not from clients: prices, time and the house. They stop before the journal closes. */
import { CODES } from '../../engine/interface/codes.js';
import { ResultHead } from '../../engine/interface/results.js';
import type { Log } from '../observe/log.js';
import type { WatchedSequencer } from '../observe/watched-sequencer.js';
import { cancelHouseOrders, House } from './house/house.js';
import { PriceTicks } from './price-ticks.js';
import { type InputConfig, type Inputs, priceSink } from './prices.js';
import { Scheduler } from './scheduler.js';

interface SourcesOptions {
  config: InputConfig;
  log: Log;
  sequencer: WatchedSequencer;
  inputs: Inputs;
}

export class Sources {
  private readonly scheduler: Scheduler;
  private house: House | null = null;
  readonly ticks: PriceTicks;

  constructor(private readonly options: SourcesOptions) {
    const { clock } = options.inputs;
    this.scheduler = new Scheduler(options.sequencer, clock);
    this.ticks = new PriceTicks(options.config.assets, clock.nowMs());
  }

  /** @throws if an asset cannot be listed or the house cannot have its account */
  start(): void {
    const { config, log, sequencer, inputs } = this.options;
    listAssets(sequencer, config.assets, log);
    listMarkets(sequencer, config.assets);
    sequencer.watch(() => this.scheduler.afterSubmit());
    this.house = openHouse(this.options);
    this.scheduler.start();
    inputs.feed.start(
      priceSink({
        sequencer,
        log,
        ticks: this.ticks,
        isLive: config.feed.kind === 'live',
        onlySource: config.feed.kind === 'live' ? config.feed.venues[0]!.name : config.feed.kind,
        observed: (asset, price) => this.house?.observe(asset, price),
      }),
    );
  }

  /** May be called repeatedly. Once resolved, no further command is submitted. */
  async stop(): Promise<void> {
    this.scheduler.stop();
    this.house?.stop();
    await this.options.inputs.feed.stop();
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
    if (!symbols.includes(symbol))
      log.warn({ symbol }, 'an asset in this journal is not configured and gets no prices');
  }
}

/** Markets of other assets are not listed ahead of their windows. */
function listMarkets(sequencer: WatchedSequencer, symbols: readonly string[]): void {
  const { engine } = sequencer;
  for (let asset = 0; asset < engine.assetCount; asset++) {
    const ahead = symbols.includes(engine.assetSymbol(asset));
    if (engine.listsAhead(asset) !== ahead) sequencer.submit({ kind: 'listMarkets', asset, ahead });
  }
}

/** `null` if the house is off. Even then, its earlier resting orders are cancelled. */
function openHouse({ config, log, sequencer, inputs }: SourcesOptions): House | null {
  if (config.houseFundsMicros === 0) {
    cancelHouseOrders(sequencer);
    return null;
  }
  const house = new House({
    sequencer,
    clock: inputs.clock,
    log,
    fundsMicros: config.houseFundsMicros,
  });
  house.start();
  sequencer.watch(() => house.noteFills());
  return house;
}
