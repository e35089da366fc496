/** Opens the configured sources of prices and time, and submits prices to the engine. */
import { randomInt } from 'node:crypto';
import type { Engine } from '../../engine/engine.js';
import { CODES } from '../../engine/interface/codes.js';
import { EVENT_LENGTHS, EventSlot, EventType } from '../../engine/interface/events.js';
import { SOURCE_FRESH_MS } from '../../engine/interface/parameters.js';
import { ResultHead } from '../../engine/interface/results.js';
import { SubmitRefused } from '../../persistence/sequencer.js';
import { machineMs } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import type { Submitter } from '../observe/watched-sequencer.js';
import { type Clock, FeedClock, SystemClock } from './clock.js';
import { clockProblem } from './clock-at-start.js';
import { COINBASE } from './feeds/coinbase-messages.js';
import { openFileFeed } from './feeds/file.js';
import { KRAKEN } from './feeds/kraken-messages.js';
import { LiveFeed, type LiveFeedStatus } from './feeds/live.js';
import type { PriceFeed, PriceSink } from './feeds/price-feed.js';
import { SIMULATED_ASSETS, type SimulatedAsset, SimulatedFeed } from './feeds/simulated.js';
import type { TickFileSummary } from './feeds/tick-file.js';
import type { ObservedPrice } from './house/prices.js';
import type { PriceTicks } from './price-ticks.js';

export const VENUES = { coinbase: COINBASE, kraken: KRAKEN } as const;
export type VenueName = keyof typeof VENUES;

export type PriceFeedConfig =
  | { kind: 'simulated'; seed: number | null; speed: number }
  | { kind: 'file'; path: string; speed: number }
  | { kind: 'live'; venues: { name: VenueName; url: string }[] };

export interface InputConfig {
  assets: string[];
  feed: PriceFeedConfig;
  /** Accepts a clock that is far from the journal's last command. */
  acceptClock: boolean;
  /** 0: the house is off. */
  houseFundsMicros: number;
}

export interface Inputs {
  clock: Clock;
  feed: PriceFeed;
  venues: readonly ConnectedVenue[];
}

export interface ConnectedVenue {
  source: string;
  feed: { status(): LiveFeedStatus };
}

interface InputOptions {
  config: InputConfig;
  ticks: TickFileSummary | null;
  /** Simulated prices and a price file continue from its state. */
  engine: Engine;
  log: Log;
  onFailure: (error: Error) => void;
}

export function openInputs({ config, ticks, engine, log, onFailure }: InputOptions): Inputs {
  const { feed, assets } = config;
  switch (feed.kind) {
    case 'simulated': {
      const clock = simulationClock(feed.speed, engine, log);
      const simulated = assets.map((symbol) => simulatedAsset(symbol, engine));
      // Use a different seed on each startup, so that prices do not repeat their moves.
      const seed = `${feed.seed ?? randomInt(2 ** 48 - 1)}:${engine.sequence}`;
      return { clock, feed: new SimulatedFeed({ assets: simulated, clock, seed }), venues: [] };
    }
    case 'file': {
      const resumeAtMs = engine.sequence === 0 ? null : engine.nowMs;
      const options = { ...feed, ticks: ticks!, symbols: assets, resumeAtMs, log, onFailure };
      return { ...openFileFeed(options), venues: [] };
    }
    case 'live': {
      const clock = new SystemClock({ log, notBeforeMs: engine.nowMs });
      const venues = feed.venues.map(({ name, url }) => {
        const venueLog = feed.venues.length === 1 ? log : log.child({ source: name });
        const options = { symbols: assets, clock, log: venueLog, random: Math.random, url };
        return { source: name, feed: new LiveFeed({ ...options, venue: VENUES[name] }) };
      });
      const [only, ...others] = venues;
      return { clock, feed: others.length === 0 ? only!.feed : new SeveralFeeds(venues), venues };
    }
  }
}

interface ClockOptions {
  config: InputConfig;
  ticks: TickFileSummary | null;
  log: Log;
  /** `null` if the journal is empty. */
  journalMs: number | null;
}

/** @throws if the configured clock is implausible (clock-at-start.ts) */
export function checkClock({ config, ticks, log, journalMs }: ClockOptions): void {
  const { feed, acceptClock } = config;
  const isFile = feed.kind === 'file';
  const problem = clockProblem({
    journalMs,
    sourceMs: isFile ? ticks!.firstAtMs : machineMs(),
    source: isFile ? `the first price of ${feed.path}` : 'the clock of the machine',
    mayBeBehind: isFile || (feed.kind === 'simulated' && feed.speed !== 1),
  });
  if (problem === null) return;
  if (!acceptClock) throw new Error(problem);
  log.warn({ problem }, 'the clock is implausible, but accepted because of ACCEPT_CLOCK');
}

/** Whether the exchange's time follows the machine's clock. */
export function followsMachine(feed: PriceFeedConfig): boolean {
  return feed.kind === 'live' || (feed.kind === 'simulated' && feed.speed === 1);
}

function simulationClock(speed: number, engine: Engine, log: Log): Clock {
  if (speed === 1) return new SystemClock({ log, notBeforeMs: engine.nowMs });
  const clock = new FeedClock({ startsAtMs: Math.max(machineMs(), engine.nowMs), speed });
  clock.runTo(Number.POSITIVE_INFINITY);
  return clock;
}

const UNKNOWN_ASSET = { startPriceMicros: 100_000_000, annualVolatility: 0.8 };

function simulatedAsset(symbol: string, engine: Engine): SimulatedAsset {
  const known = SIMULATED_ASSETS.find((asset) => asset.symbol === symbol) ?? UNKNOWN_ASSET;
  const asset = engine.findAsset(symbol);
  const lastMicros = asset === -1 ? null : engine.assetPriceMicros(asset);
  return { ...known, symbol, startPriceMicros: lastMicros ?? known.startPriceMicros };
}

interface PriceSinkOptions {
  sequencer: Submitter;
  log: Log;
  ticks: PriceTicks;
  /** The name of the source if the feed has only one. */
  onlySource: string;
  isLive: boolean;
  /** `price` is what the engine stored, or `null`. */
  observed: (asset: number, price: ObservedPrice | null) => void;
}

/** A sole live source is named once per startup: the journal records that prices were live. */
export function priceSink({
  sequencer,
  log,
  ticks,
  onlySource,
  isLive,
  observed,
}: PriceSinkOptions): PriceSink {
  const { engine } = sequencer;
  let isNamed = !isLive;
  return (symbol, priceMicros, observedAtMs, of) => {
    // An older price would only count without a source.
    const isNew = observedAtMs > engine.nowMs - SOURCE_FRESH_MS / 2;
    const source = of ?? (isNamed || !isNew ? undefined : onlySource);
    const asset = engine.findAsset(symbol);
    const wasHeld = engine.heldPrice(asset) !== null;
    const price = { asset, priceMicros, observedAtMs };
    const tick = { source: source ?? onlySource, priceMicros, observedAtMs };
    try {
      const result = sequencer.submit(
        source === undefined
          ? { kind: 'observePrice', ...price }
          : { kind: 'observeSourcePrice', ...price, source },
      );
      const code = CODES[result.values[ResultHead.code]!];
      if (code !== 'ok') {
        log.warn({ symbol, ...tick, code }, 'a price was refused');
        return;
      }
    } catch (error) {
      if (!(error instanceof SubmitRefused)) throw error;
      log.warn({ symbol, reason: error.message }, 'a price was not submitted');
      return;
    }
    isNamed ||= source !== undefined;
    ticks.add(symbol, tick);
    tellGuard(engine, log, { symbol, asset, wasHeld });
    observed(asset, storedPrice(engine));
  };
}

/** The median if there are several sources; `null` if the last command stored no price. */
function storedPrice({ events }: Engine): ObservedPrice | null {
  const { values, length } = events;
  const { priceMicros, observedAtMs } = EventSlot.priceObserved;
  for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
    if (values[at] === EventType.priceObserved)
      return { priceMicros: values[at + priceMicros]!, observedAtMs: values[at + observedAtMs]! };
  }
  return null;
}

function tellGuard(
  engine: Engine,
  log: Log,
  { symbol, asset, wasHeld }: { symbol: string; asset: number; wasHeld: boolean },
): void {
  const held = engine.heldPrice(asset);
  const lastMicros = engine.assetPriceMicros(asset);
  if (held !== null && !wasHeld)
    log.error({ symbol, ...held, lastMicros }, 'prices are held back: far from the last one');
  if (held === null && wasHeld) log.warn({ symbol, lastMicros }, 'prices are no longer held back');
}

/** The engine takes the median of the sources. */
class SeveralFeeds implements PriceFeed {
  constructor(private readonly feeds: readonly { source: string; feed: PriceFeed }[]) {}

  start(sink: PriceSink): void {
    for (const { source, feed } of this.feeds) {
      feed.start((symbol, priceMicros, observedAtMs) =>
        sink(symbol, priceMicros, observedAtMs, source),
      );
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.feeds.map(({ feed }) => feed.stop()));
  }
}
