/**
 * A running exchange: the wiring of its parts, their start and their stop.
 *
 * Start: journal (which locks the data folder), recovery, assets and house, prices, and only then the door. Stop: the
 * door, the sources of commands, the answers under way, the journal. A fault in between is not answered to anybody:
 * `onFatal` is called, and the process must end.
 */
import { CODES } from '../engine/codes.js';
import { assetOfMarket } from '../engine/domain.js';
import type { Engine } from '../engine/engine.js';
import { EVENT_FIELDS, EVENT_LENGTHS, EventType } from '../engine/events.js';
import { ResultHead } from '../engine/results.js';
import { Follower } from '../persistence/follower.js';
import { type Journal, openJournal } from '../persistence/journal.js';
import { openJournalReader } from '../persistence/journal-reader.js';
import { recoverFromSnapshot } from '../persistence/snapshot-recovery.js';
import { Passwords } from './auth/passwords.js';
import { sessionSecret } from './auth/secret.js';
import { Sessions } from './auth/sessions.js';
import { elapsedMs } from './clock.js';
import type { Config } from './config.js';
import { serveContract } from './contract/serve.js';
import { ConnectionCap } from './fair-use/connections.js';
import { FairUse } from './fair-use/fair-use.js';
import { Overload } from './fair-use/overload.js';
import { cancelHouseOrders, HOUSE_USERNAME, House } from './house.js';
import type { Gateway } from './http/gateway.js';
import { ROUTES } from './http/routes.js';
import { HttpServer } from './http/server.js';
import type { Log } from './log.js';
import { Metrics } from './metrics/metrics.js';
import { registerReadings } from './metrics/readings.js';
import { type Outside, openOutside, priceSink } from './prices.js';
import { Scheduler } from './scheduler.js';
import type { StreamLimits } from './stream/limits.js';
import { StreamServer } from './stream/stream.js';
import { programVersion } from './version.js';
import { WatchedSequencer } from './watched-sequencer.js';

export interface Exchange {
  /** Where it listens, such as http://127.0.0.1:3000. */
  readonly address: string;
  readonly port: number;
  readonly sequencer: WatchedSequencer;
  /** Takes no new work, answers what is under way, closes the journal. */
  stop(): Promise<void>;
}

export interface ExchangeOptions {
  config: Config;
  log: Log;
  /** Called once when nothing can go on: the process must end at once. */
  onFatal: (error: Error) => void;
  /** In place of the configured source of prices and time. */
  outside?: Outside;
  /** In place of the standard ones. */
  streamLimits?: Partial<StreamLimits>;
}

/** Room that is made at start; beyond it growing costs one command some milliseconds, now and then. */
const EXPECTED = { users: 1_000_000, orders: 1_000_000, positions: 1_000_000, idempotencyKeys: 2_000_000 };
/** How long calls under way may take to be answered when the exchange stops. */
const DRAIN_MS = 10_000;

/** @throws JournalError when the data folder is in use or its journal is not as it was left. */
export async function startExchange(options: ExchangeOptions): Promise<Exchange> {
  const { config, log } = options;
  const fail = fatalOnce(options);
  const journal = await openJournal({
    folder: config.dataFolder,
    acceptMissingMark: config.acceptMissingMark,
  });
  const health: Health = { halted: null };
  let sequencer: WatchedSequencer | null = null;
  let follower: Follower | null = null;
  let metrics: Metrics | null = null;
  try {
    const engine = await recoverEngine(journal, log);
    const outside = options.outside ?? (await openOutside({ config, engine, log, onFailure: fail }));
    const { clock } = outside;
    if (engine.nowMs > clock.nowMs()) {
      log.warn({ journalMs: engine.nowMs, clockMs: clock.nowMs() }, 'the journal is ahead of the clock');
    }
    const counting = new Metrics(engine.sequence);
    metrics = counting;
    sequencer = new WatchedSequencer({
      engine,
      journal,
      now: () => clock.nowMs(),
      onFatal: fail,
      onCommit: (sequence) => {
        counting.committed(sequence);
        follower?.committed(sequence);
      },
    });
    follower = startFollower(options, engine.sequence, health);
    const sessions = await Sessions.create(sessionSecret(config.dataFolder));
    const { streamLimits = {} } = options;
    return await open({
      config,
      log,
      fail,
      sequencer,
      follower,
      health,
      metrics,
      sessions,
      outside,
      streamLimits,
    });
  } catch (error) {
    await (sequencer ?? journal).close();
    await follower?.close();
    metrics?.stop();
    throw error;
  }
}

/** The first reason counts; the rest follows from it. */
function fatalOnce({ log, onFatal }: ExchangeOptions): (error: unknown) => void {
  let failed = false;
  return (thrown) => {
    if (failed) return;
    failed = true;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    log.fatal({ err: error }, 'the exchange cannot go on');
    onFatal(error);
  };
}

async function recoverEngine(journal: Journal, log: Log): Promise<Engine> {
  if (journal.notice !== null) log.warn(journal.notice);
  const reader = await openJournalReader(journal.folder);
  try {
    const { engine } = await recoverFromSnapshot({ folder: journal.folder, reader, log, elapsedMs });
    engine.reserve(EXPECTED);
    return engine;
  } finally {
    await reader.close();
  }
}

/** Why clients can change nothing any more; null while all is well. */
interface Health {
  halted: string | null;
}

/**
 * Clients can change nothing any more once the follower is gone, or finds that the journal says otherwise. Markets still
 * end and are settled, and the process stays, to be looked at.
 */
function startFollower(options: ExchangeOptions, durableSequence: number, health: Health): Follower | null {
  const { config, log } = options;
  if (!config.follower) return null;
  return new Follower({
    folder: config.dataFolder,
    durableSequence,
    snapshotEveryCommands: config.snapshotEveryCommands,
    log,
    elapsedMs,
    onDisagreement: (sequence, message) => {
      health.halted = `the follower does not agree from sequence ${sequence} on: ${message}`;
      log.fatal({ sequence, problem: message }, 'trading is stopped');
    },
    onFailure: (error) => {
      health.halted = 'the follower has failed';
      log.fatal({ err: error }, 'trading is stopped: the follower has failed');
    },
  });
}

interface Parts {
  config: Config;
  log: Log;
  fail: (error: unknown) => void;
  sequencer: WatchedSequencer;
  follower: Follower | null;
  health: Health;
  metrics: Metrics;
  sessions: Sessions;
  outside: Outside;
  streamLimits: Partial<StreamLimits>;
}

async function open(parts: Parts): Promise<Exchange> {
  const { config, log, fail, sequencer, metrics, outside } = parts;
  const { clock, feed } = outside;
  listAssets(sequencer, config.assets, log);
  const scheduler = new Scheduler(sequencer, clock);
  sequencer.watch(() => scheduler.afterSubmit());
  const house = openHouse(parts);
  scheduler.start();
  feed.start(
    priceSink(sequencer, log, (asset, priceMicros, observedAtMs) => {
      house?.observe(asset, priceMicros, observedAtMs);
    }),
  );

  let stopping = false;
  const gateway: Gateway = {
    sequencer,
    history: parts.follower?.history ?? null,
    sessions: parts.sessions,
    passwords: new Passwords(config.passwordCostLog2),
    config,
    clock,
    log,
    fairUse: new FairUse(config.fairUse, elapsedMs),
    overload: new Overload(sequencer, config.overload, elapsedMs),
    metrics,
    version: programVersion(),
    startedAtMs: clock.nowMs(),
    isStopping: () => stopping,
    notReady: () => (stopping ? 'stopping' : parts.health.halted),
    halted: () => parts.health.halted,
    fail,
  };
  const server = new HttpServer(gateway, ROUTES);
  const stream = new StreamServer(gateway, parts.streamLimits);
  sequencer.watch(() => stream.observe());
  sequencer.watch(() => metrics.applied(sequencer.engine.result));
  observe(parts, gateway, server, stream);
  server.mount((app) => stream.attach(app));
  server.mount((app) => serveContract(app, ROUTES, gateway.version));
  const stopSources = async () => {
    scheduler.stop();
    house?.stop();
    await feed.stop();
  };
  const stopOnce = async () => {
    stopping = true;
    log.info('stopping');
    const drained = server.drain();
    await stopSources();
    await atMost(DRAIN_MS, drained);
    await stream.stop(DRAIN_MS);
    await sequencer.close();
    await parts.follower?.close();
    server.close();
    metrics.stop();
    log.info({ sequence: sequencer.durableSequence }, 'stopped');
  };
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= stopOnce();
    return stopped;
  };

  try {
    const port = await server.listen(config.host, config.port);
    const host = config.host.includes(':') ? `[${config.host}]` : config.host;
    const address = `http://${host}:${port}`;
    log.info({ address, dataFolder: config.dataFolder }, 'listening');
    return { address, port, sequencer, stop };
  } catch (error) {
    await stopSources();
    await stream.stop(DRAIN_MS);
    server.close();
    throw error;
  }
}

/** Caps the connections, and has the metrics show how everything is doing. */
function observe({ follower }: Parts, gateway: Gateway, server: HttpServer, stream: StreamServer): void {
  const { config, metrics, sequencer, fairUse, overload } = gateway;
  const connections = new ConnectionCap(config.connections, stream, elapsedMs);
  server.mount((app) => connections.attach(app));
  registerReadings(metrics, { sequencer, follower, fairUse, overload, connections, calls: server, stream });
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
function openHouse({ config, log, sequencer, outside }: Parts): House | null {
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

const TRADE_MAKER = 1 + EVENT_FIELDS.trade.indexOf('makerId');
const TRADE_MARKET = 1 + EVENT_FIELDS.trade.indexOf('marketId');
const OPENED_MARKET = 1 + EVENT_FIELDS.marketOpened.indexOf('marketId');

/** The house looks at an asset's quotes when a market opens and when one of its quotes is hit. */
function wakeHouse(engine: Engine, house: House, houseUserId: number): void {
  const { values, length } = engine.events;
  for (let at = 0; at < length; at += EVENT_LENGTHS[values[at]!]!) {
    const type = values[at]!;
    if (type === EventType.trade && values[at + TRADE_MAKER] === houseUserId) {
      house.wake(assetOfMarket(values[at + TRADE_MARKET]!));
    } else if (type === EventType.marketOpened) {
      house.wake(assetOfMarket(values[at + OPENED_MARKET]!));
    }
  }
}

async function atMost(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
