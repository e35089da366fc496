/**
 * Where prices and the exchange's time come from, as configured, and what becomes of a price: a command, and a note to
 * those who quote by it.
 */

import type { Engine } from '../../engine/engine.js';
import { CODES } from '../../engine/interface/codes.js';
import { ResultHead } from '../../engine/interface/results.js';
import { SubmitRefused } from '../../persistence/sequencer.js';
import { type Config, withVariable } from '../config.js';
import type { Log } from '../observe/log.js';
import { clockProblem } from '../start/clock-at-start.js';
import type { Submitter } from '../submitter.js';
import { type Clock, FeedClock, machineMs, SystemClock } from '../time/clock.js';
import { CoinbaseFeed } from './feeds/coinbase.js';
import { openFileFeed } from './feeds/file.js';
import type { PriceFeed, PriceSink } from './feeds/price-feed.js';
import { SIMULATED_ASSETS, type SimulatedAsset, SimulatedFeed } from './feeds/simulated.js';
import { checkTickFile, TickFileError, type TickFileSummary } from './feeds/tick-file.js';

/** What the exchange is told by the world. */
export interface Outside {
  clock: Clock;
  feed: PriceFeed;
}

export interface OutsideOptions {
  config: Config;
  /** Of the file of prices, if prices come from one. */
  ticks: TickFileSummary | null;
  /** Recovered: simulated prices go on where they were, a file where it was. */
  engine: Engine;
  log: Log;
  onFailure: (error: Error) => void;
}

/**
 * Reads the file of prices through, if prices come from one; else null. Needs nothing but the configuration.
 * @throws ConfigError for a file that cannot be read, or in which something is wrong
 */
export async function checkPriceFile({ feed, assets }: Config): Promise<TickFileSummary | null> {
  if (feed.kind !== 'file') return null;
  return withVariable('PRICE_FEED', () => checkTickFile(feed.path, new Set(assets)), [TickFileError]);
}

export function openOutside({ config, ticks, engine, log, onFailure }: OutsideOptions): Outside {
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
      const { path, speed } = feed;
      const resumeAtMs = engine.sequence === 0 ? null : engine.nowMs;
      return openFileFeed({ path, ticks: ticks!, speed, symbols: assets, resumeAtMs, log, onFailure });
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

export interface ClockOptions {
  config: Config;
  /** Of the file of prices, if prices come from one. */
  ticks: TickFileSummary | null;
  log: Log;
  /** When the journal's last command came; null: there is none. */
  journalMs: number | null;
}

/** @throws when the clock that the exchange would get cannot be believed (clock-at-start.ts) */
export function judgeClock({ config, ticks, log, journalMs }: ClockOptions): void {
  const { feed, acceptClock } = config;
  const problem =
    feed.kind === 'file'
      ? clockProblem({
          journalMs,
          sourceMs: ticks!.firstAtMs,
          source: `the first price of ${feed.path}`,
          mayBeBehind: true,
        })
      : clockProblem({
          journalMs,
          sourceMs: machineMs(),
          source: 'the clock of the machine',
          mayBeBehind: feed.kind === 'simulated' && feed.speed !== 1,
        });
  if (problem === null) return;
  if (!acceptClock) throw new Error(problem);
  log.warn({ problem }, 'the clock is believed all the same, as ACCEPT_CLOCK says');
}

function simulationClock(speed: number, engine: Engine, log: Log): Clock {
  if (speed === 1) return new SystemClock({ log, notBeforeMs: engine.nowMs });
  const clock = new FeedClock({ startsAtMs: Math.max(machineMs(), engine.nowMs), speed });
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
