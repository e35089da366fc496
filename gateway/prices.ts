/**
 * Where prices and the exchange's time come from, as configured, and what becomes of a price: a command, and a note to
 * those who quote by it.
 */
import { CODES } from '../engine/codes.js';
import type { Engine } from '../engine/engine.js';
import { ResultHead } from '../engine/results.js';
import { SubmitRefused } from '../persistence/sequencer.js';
import { type Clock, FeedClock, SystemClock } from './clock.js';
import { type Config, withVariable } from './config.js';
import { CoinbaseFeed } from './feeds/coinbase.js';
import { openFileFeed } from './feeds/file.js';
import type { PriceFeed, PriceSink } from './feeds/price-feed.js';
import { SIMULATED_ASSETS, type SimulatedAsset, SimulatedFeed } from './feeds/simulated.js';
import { TickFileError } from './feeds/tick-file.js';
import type { Log } from './log.js';
import type { Submitter } from './submitter.js';

/** What the exchange is told by the world. */
export interface Outside {
  clock: Clock;
  feed: PriceFeed;
}

export interface OutsideOptions {
  config: Config;
  /** Recovered: simulated prices go on where they were, a file where it was. */
  engine: Engine;
  log: Log;
  onFailure: (error: Error) => void;
}

/** @throws ConfigError for a file of prices that cannot be read, or in which something is wrong. */
export async function openOutside(options: OutsideOptions): Promise<Outside> {
  const { config, engine, log, onFailure } = options;
  const { feed, assets } = config;
  switch (feed.kind) {
    case 'simulated': {
      const clock = simulationClock(feed.speed, engine, log);
      const simulated = assets.map((symbol) => simulatedAsset(symbol, engine));
      // Another seed at each start, or the prices would move as they did before.
      const seed = `${feed.seed}:${engine.sequence}`;
      return { clock, feed: new SimulatedFeed({ assets: simulated, clock, seed }) };
    }
    case 'file': {
      const resumeAtMs = engine.sequence === 0 ? null : engine.nowMs;
      const { path, speed } = feed;
      const open = () => openFileFeed({ path, speed, symbols: assets, resumeAtMs, log, onFailure });
      return withVariable('PRICE_FEED', open, [TickFileError]);
    }
    case 'coinbase': {
      const clock = new SystemClock({ log, notBeforeMs: engine.nowMs });
      const coinbase = new CoinbaseFeed({
        symbols: assets,
        clock,
        log,
        random: Math.random,
        url: feed.url,
      });
      return { clock, feed: coinbase };
    }
  }
}

function simulationClock(speed: number, engine: Engine, log: Log): Clock {
  const machine = new SystemClock({ log, notBeforeMs: engine.nowMs });
  if (speed === 1) return machine;
  const clock = new FeedClock({ startsAtMs: machine.nowMs(), speed });
  clock.runTo(Number.POSITIVE_INFINITY);
  return clock;
}

/** For assets that are not well known. */
const UNKNOWN_ASSET = { startPriceMicros: 100_000_000, annualVolatility: 0.8 };

function simulatedAsset(symbol: string, engine: Engine): SimulatedAsset {
  const known = SIMULATED_ASSETS.find((asset) => asset.symbol === symbol) ?? UNKNOWN_ASSET;
  const asset = engine.findAsset(symbol);
  const lastMicros = asset === -1 ? null : engine.assetPriceMicros(asset);
  return { ...known, symbol, startPriceMicros: lastMicros ?? known.startPriceMicros };
}

export type AcceptedPrice = (asset: number, priceMicros: number, observedAtMs: number) => void;

/** Turns each price into a command; `accepted` hears of those that the engine took. */
export function priceSink(sequencer: Submitter, log: Log, accepted: AcceptedPrice): PriceSink {
  return (symbol, priceMicros, observedAtMs) => {
    const asset = sequencer.engine.findAsset(symbol);
    try {
      const result = sequencer.submit({ kind: 'observePrice', asset, priceMicros, observedAtMs });
      const code = CODES[result.values[ResultHead.code]!];
      if (code === 'ok') accepted(asset, priceMicros, observedAtMs);
      else log.warn({ symbol, observedAtMs, code }, 'a price was refused');
    } catch (error) {
      if (!(error instanceof SubmitRefused)) throw error;
      log.warn({ symbol, reason: error.message }, 'a price was not taken');
    }
  };
}
