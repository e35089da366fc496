/**
 * A running exchange: the wiring of its parts, their start and their stop.
 *
 * Start: what can be judged before anything is made, the data folder (locked and judged), recovery, the clock, the journal, assets
 * and house, prices, and only when all of that is on disk the door. Stop: the door, with whoever waits for a hash or has not sent
 * a whole request; the sources of commands, the answers under way, the journal. A fault in between is not answered to anybody:
 * `onFatal` is called, and the process must end.
 */
import type { Engine } from '../engine/engine.js';
import { Follower } from '../persistence/follower/follower.js';
import { DataFolder } from '../persistence/journal/journal.js';
import { recoverJudged } from '../persistence/snapshot/recovery.js';
import { Passwords } from './auth/passwords.js';
import { sessionSecret } from './auth/secret.js';
import { Sessions } from './auth/sessions.js';
import { type Config, withVariable } from './config.js';
import { serveContract } from './contract/serve.js';
import { ConnectionCap } from './fair-use/connections.js';
import { FairUse } from './fair-use/fair-use.js';
import { Overload } from './fair-use/overload.js';
import type { Gateway } from './http/gateway.js';
import { HttpServer } from './http/server.js';
import { UnsentAnswers } from './http/unsent-answers.js';
import { checkPriceFile, judgeClock, type Outside, openOutside } from './inputs/prices.js';
import { Sources } from './inputs/sources.js';
import type { Log } from './observe/log.js';
import { Metrics } from './observe/metrics.js';
import { RationedLog } from './observe/rationed-log.js';
import { registerReadings } from './observe/readings.js';
import { ROUTES } from './resources/routes.js';
import { checkPreconditions, checkRoom } from './start/preconditions.js';
import { ADDRESS_SPACE_GIBIBYTES } from './start/process-limits.js';
import { StreamServer } from './stream/stream.js';
import { elapsedMs } from './time/clock.js';
import { programVersion } from './version.js';
import { WatchedSequencer } from './watched-sequencer.js';

export interface Exchange {
  /** Where it listens, such as http://127.0.0.1:3000. */
  readonly address: string;
  readonly port: number;
  readonly sequencer: WatchedSequencer;
  /** Takes no new work, refuses what has not begun, answers what is under way, closes the journal. */
  stop(): Promise<void>;
}

export interface ExchangeOptions {
  config: Config;
  log: Log;
  /** Called once when nothing can go on: the process must end at once. */
  onFatal: (error: Error) => void;
  /** In place of the configured source of prices and time. */
  outside?: Outside;
}

/**
 * What a stop allows the calls under way (a read of the history takes no longer) with those who read their answers, and then the
 * stream. What comes after has no
 * limit: what was accepted becomes durable however slow the disk is, and the follower ends after its batch.
 */
const STOP_MS = { calls: 2_500, stream: 1_000 };

/** Anybody may see this; what is wrong in detail is the operator's to read, in the log. */
const FOLLOWER_TROUBLE =
  'the follower cannot go on now and tries again: meanwhile nothing checks the journal, and history is unavailable';

/** @throws JournalError when the data folder is in use or its journal is not as it was left. */
export async function startExchange(options: ExchangeOptions): Promise<Exchange> {
  const started = new Started(options.log);
  try {
    return await start(options, started);
  } catch (error) {
    await started.undo();
    throw error;
  }
}

async function start(options: ExchangeOptions, started: Started): Promise<Exchange> {
  const { config, log } = options;
  const fail = fatalOnce(options);
  const { dataFolder: folder, acceptMissingMark } = config;
  const ticks = options.outside === undefined ? await checkPriceFile(config) : null;
  await checkPreconditions(config);
  const data = await withVariable('DATA_FOLDER', () => DataFolder.take({ folder, acceptMissingMark }));
  started.add(() => data.release());
  const engine = await recoverEngine(data, log);
  if (options.outside === undefined) {
    judgeClock({ config, ticks, log, journalMs: engine.sequence === 0 ? null : engine.nowMs });
  }
  const outside = options.outside ?? openOutside({ config, ticks, engine, log, onFailure: fail });
  const { clock } = outside;
  // Up to here nothing in the folder was changed: whatever is refused is left as it was found.
  await withVariable('DATA_FOLDER', () => checkRoom(folder));
  const journal = await withVariable('DATA_FOLDER', () => data.openJournal());
  let sequencer: WatchedSequencer | null = null;
  let follower: Follower | null = null;
  // The follower is told of what the sequencer still commits.
  started.add(async () => await follower?.close());
  started.add(() => (sequencer ?? journal).close());
  const metrics = new Metrics(engine.sequence);
  started.add(() => metrics.stop());
  sequencer = new WatchedSequencer({
    engine,
    journal,
    now: () => clock.nowMs(),
    onFatal: fail,
    onCommit: (sequence) => {
      metrics.committed(sequence);
      follower?.committed(sequence);
    },
  });
  follower = startFollower(options, sequencer);
  const secret = await withVariable('DATA_FOLDER', () => sessionSecret(folder));
  const sessions = new Sessions(secret);
  return open({ config, log, fail, sequencer, follower, metrics, sessions, outside }, started);
}

/** What is running already while the rest starts, and how each is stopped. */
class Started {
  private readonly stops: (() => void | Promise<void>)[] = [];

  constructor(private readonly log: Log) {}

  add(stop: () => void | Promise<void>): void {
    this.stops.push(stop);
  }

  /** Stops everything, the last first. Why the start failed is what counts; what fails now is only noted. */
  async undo(): Promise<void> {
    for (const stop of this.stops.reverse()) {
      try {
        await stop();
      } catch (error) {
        this.log.error({ err: error }, 'a part of the exchange did not stop in good order');
      }
    }
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

async function recoverEngine(data: DataFolder, log: Log): Promise<Engine> {
  const { notice } = data.verdict;
  if (notice !== null) log.warn(notice);
  const engine = await recoverJudged(data, { log, elapsedMs });
  makeRoom(engine);
  return engine;
}

/** Where the operating system promises no more memory than there is (vm.overcommit_memory=2), it is asked for now. */
function makeRoom(engine: Engine): void {
  try {
    engine.reserve();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Error(
      `no room in the address space for the engine's maxima (${error.message}). Memory is only taken as it is used, but the ` +
        `system must let ${ADDRESS_SPACE_GIBIBYTES.withFollower} GiB be set aside: see vm.overcommit_memory and ulimit -v.`,
      { cause: error },
    );
  }
}

/**
 * Nobody can change anything any more once the follower is gone for good, or finds that the journal says otherwise: what
 * would be executed now might be executed on a state that is wrong. The process stays, to be looked at.
 */
function startFollower({ config, log }: ExchangeOptions, sequencer: WatchedSequencer): Follower | null {
  if (!config.follower) return null;
  return new Follower({
    folder: config.dataFolder,
    durableSequence: sequencer.durableSequence,
    snapshotEveryCommands: config.snapshotEveryCommands,
    log,
    elapsedMs,
    onDisagreement: (sequence, message) => {
      log.fatal({ sequence, problem: message }, 'trading is stopped: the follower does not agree');
      // Anybody may see the reason; what is wrong in detail is the operator's to read, in the log.
      sequencer.halt(`the follower does not agree from sequence ${sequence} on`);
    },
    onFailure: (error) => {
      log.fatal({ err: error }, 'trading is stopped: the follower has failed');
      sequencer.halt('the follower has failed');
    },
  });
}

interface Parts {
  config: Config;
  log: Log;
  fail: (error: unknown) => void;
  sequencer: WatchedSequencer;
  follower: Follower | null;
  metrics: Metrics;
  sessions: Sessions;
  outside: Outside;
}

async function open(parts: Parts, started: Started): Promise<Exchange> {
  const { config, log, fail, sequencer, metrics } = parts;
  const sources = new Sources(parts);
  started.add(() => sources.stop());
  sources.start();
  sequencer.whenHalted(() => void sources.stop().catch(fail));

  let stopping = false;
  const gateway = gatewayOf(parts, () => stopping);
  const server = new HttpServer(gateway, ROUTES);
  started.add(() => server.close());
  const stream = new StreamServer(gateway, config.stream);
  started.add(() => stream.stop(STOP_MS.stream));
  sequencer.watch(() => stream.observe());
  sequencer.watch(() => metrics.applied(sequencer.engine.result));
  sequencer.watch(() => gateway.overload.applied());
  observe(parts, gateway, server, stream);
  server.mount((door) => stream.attach(door));
  server.mount((door) => serveContract(door, ROUTES, gateway));
  const stopOnce = async () => {
    stopping = true;
    log.info('stopping');
    gateway.passwords.close();
    const drained = server.drain();
    await sources.stop();
    await atMost(
      STOP_MS.calls,
      drained.then(() => gateway.unsent.settled()),
    );
    gateway.passwords.giveUp();
    await stream.stop(STOP_MS.stream);
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

  // A disk that takes nothing is found out before anybody is told that the exchange is open.
  await becomesDurable(sequencer);
  const port = await server.listen(config.host, config.port);
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  const address = `http://${host}:${port}`;
  log.info({ address, dataFolder: config.dataFolder }, 'listening');
  return { address, port, sequencer, stop };
}

/** Everything that the start has executed. Never settles if that fails: `onFatal` is called then. */
function becomesDurable(sequencer: WatchedSequencer): Promise<void> {
  return new Promise((resolve) => sequencer.releaseAt(sequencer.engine.sequence, { release: resolve }));
}

function gatewayOf(parts: Parts, isStopping: () => boolean): Gateway {
  const { config, log, fail, sequencer, follower, metrics, sessions, outside } = parts;
  const { clock } = outside;
  return {
    sequencer,
    history: follower?.history ?? null,
    sessions,
    passwords: new Passwords(config.passwordCostLog2),
    config,
    clock,
    log,
    warnings: new RationedLog(log),
    fairUse: new FairUse(config.fairUse, elapsedMs),
    overload: new Overload(sequencer, config.overload, elapsedMs),
    unsent: new UnsentAnswers(config.unsent, elapsedMs),
    metrics,
    version: programVersion(),
    startedAtMs: clock.nowMs(),
    isStopping,
    notReady: () => (isStopping() ? 'stopping' : sequencer.halted),
    warning: () => (follower === null || follower.status.trouble === null ? null : FOLLOWER_TROUBLE),
    halted: () => sequencer.halted,
    fail,
  };
}

/** Caps the connections, and has the metrics show how everything is doing. */
function observe(
  { sequencer, follower }: Parts,
  gateway: Gateway,
  server: HttpServer,
  stream: StreamServer,
): void {
  const { config, metrics, fairUse, overload, passwords, unsent } = gateway;
  const connections = new ConnectionCap(config.connections, stream, elapsedMs);
  server.mount((door) => connections.attach(door));
  const signIns = passwords.queue;
  registerReadings(metrics, {
    sequencer,
    follower,
    fairUse,
    overload,
    signIns,
    connections,
    calls: server,
    unsent,
    stream,
  });
}

async function atMost(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
