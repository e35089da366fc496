/**
 * A running exchange: creates and connects its parts, which start and stop in one order (parts.ts).
 * Checks that need nothing created come first; the HTTP server comes last, once all startup
 * commands are durable. After a fatal error nothing is answered: `onFatal` is called, and the
 * process must end.
 *
 * Invariant: stopping first refuses new work. Every accepted command is durable and answered before
 * the journal is closed, and its client receives the answer within the limits of STOP_MS.
 */
import type { Engine } from '../../engine/engine.js';
import type { CommandOf } from '../../engine/interface/commands.js';
import { Follower } from '../../persistence/follower/follower.js';
import type { ReplicatedFolder } from '../../persistence/replication/replicated-folder.js';
import type { JournalPlace } from '../../persistence/replication/source.js';
import { SubmitRefused } from '../../persistence/sequencer.js';
import type { AccessKey } from '../access/access-keys.js';
import { Overload } from '../access/fair-use/overload.js';
import { fingerprint, readSecrets, sessionSecrets } from '../access/secret.js';
import { Sessions } from '../access/sessions.js';
import { downloads } from '../contract/downloads/files.js';
import { contractFiles } from '../contract/serve.js';
import type { ReplicaListener } from '../edge/core/listener.js';
import type { Gateway } from '../http/gateway.js';
import { hostAndPort, servingUrl } from '../http/listen-addresses.js';
import { SequenceWaits } from '../http/sequence-waits.js';
import { CandidateClock } from '../inputs/candidate-clock.js';
import type { PriceTicks } from '../inputs/price-ticks.js';
import { checkClock, followsMachine, type Inputs, openInputs } from '../inputs/prices.js';
import { Sources } from '../inputs/sources.js';
import { atMost, elapsedMs } from '../observe/clock.js';
import { createLog, type Log } from '../observe/log.js';
import { Metrics } from '../observe/metrics.js';
import { Standing } from '../observe/standing.js';
import { WatchedSequencer } from '../observe/watched-sequencer.js';
import { operatorRoutes } from '../resources/operators/routes.js';
import { siteFiles } from '../site/serve.js';
import type { Config } from './config.js';
import { withVariable } from './config-error.js';
import { type Data, lockData } from './data.js';
import { checkDemo } from './demo-at-start.js';
import { Parts, STOP_MS } from './parts.js';
import {
  checkBeforeLeading,
  checkPreconditions,
  checkPriceFile,
  checkRoom,
} from './preconditions.js';
import { ADDRESS_SPACE_GIBIBYTES } from './process-limits.js';
import { venueReadings } from './readings.js';
import { existingSecrets, keysOfReplicas, sharedSessionSecrets } from './secrets.js';
import { type Opened, partsFrom, Servers } from './servers.js';

export interface Running extends Opened {
  stop(): Promise<void>;
  /** Applies keys and secrets only. @throws ConfigError; then nothing has changed */
  reload(config: Config): Promise<{ sessionSecrets: number; replicaKeys: number }>;
  renewCertificate(): Promise<void>;
}

export interface Exchange extends Running {
  readonly isNew: boolean;
  readonly sequencer: WatchedSequencer;
}

export interface ExchangeOptions {
  config: Config;
  log: Log;
  /** Called once on a fatal error. The process must end immediately. */
  onFatal: (error: Error) => void;
  inputs?: Inputs;
  /** Ends a startup that waits for the lead; `startExchange` then rejects. */
  signal?: AbortSignal;
  /** Called when this exchange has handed over to a standby and stopped. */
  onHandedOver?: () => void;
}

const REACH_MS = 2_000;
/** The status with which the replicas' address answers any other request. */
const NOT_FOUND = 404;

const FATAL_MS = 2_000;

/** @throws JournalError if the data folder is in use or its journal is damaged */
export function startExchange(options: ExchangeOptions): Promise<Exchange> {
  const parts = new Parts(options.log);
  return parts.start(() => start(options, parts));
}

async function start(options: ExchangeOptions, parts: Parts): Promise<Exchange> {
  const { config, log } = options;
  let follower: Follower | null = null;
  let sequencer: WatchedSequencer | null = null;
  const fail = fatalOnce(options, async () => await follower?.close());
  const follow = (place: JournalPlace, durableSequence: number) => {
    follower = startFollower(options, () => sequencer, place, durableSequence);
    return follower;
  };
  const { dataFolder: folder } = config;
  const ticks = options.inputs === undefined ? await checkPriceFile(config) : null;
  await checkPreconditions(config);
  const sharedSecrets = await sharedSessionSecrets(config);
  const replicaKeys = await keysOfReplicas(config);
  const { signal = new AbortController().signal } = options;
  const warmUp = () => {
    contractFiles();
    siteFiles();
    downloads();
  };
  const checkState = (engine: Engine, to: Log) => {
    if (options.inputs !== undefined) return;
    const journalMs = engine.sequence === 0 ? null : engine.nowMs;
    checkClock({ config, ticks, log: to, journalMs });
    checkDemo({ config, engine, log: to });
  };
  const silent = createLog('silent');
  const mustServe = async (engine: Engine | null) => {
    if (engine !== null) checkState(engine, silent);
    await checkBeforeLeading(config);
  };
  const isCompared = options.inputs === undefined && !config.acceptClock;
  const candidateClock = isCompared && followsMachine(config.feed) ? new CandidateClock({}) : null;
  const locked = await lockData({
    config,
    log,
    onLost: fail,
    startFollower: follow,
    warmUp,
    candidateClock,
    mustServe,
    signal,
  });
  const { data, place, replicated } = locked;
  await parts.add({ stop: () => data.release() });
  // A standby's follower already runs, so a failed startup must stop it.
  await parts.add({ stop: async () => await follower?.close() });
  const engine = await recoverEngine(data, config, log);
  engine.keepRecentResults(config.keyResultWords);
  checkState(engine, log);
  const inputs = options.inputs ?? openInputs({ config, ticks, engine, log, onFailure: fail });
  const { clock } = inputs;
  // Up to here the folder is unchanged, so a refused folder stays as it was.
  await withVariable('DATA_FOLDER', () => checkRoom(folder));
  const journal = await withVariable('DATA_FOLDER', () => data.openJournal());
  const metrics = new Metrics(engine.sequence);
  await parts.add({ stop: () => metrics.stop() });
  metrics.observe(venueReadings(inputs.venues));
  await parts.add({
    problem: () =>
      sequencer === null ? null : (sequencer.halted ?? waitingText(sequencer, replicated)),
    stop: () => (sequencer ?? journal).close(),
    isOfLead: true,
  });
  sequencer = new WatchedSequencer({
    engine,
    journal,
    now: () => clock.nowMs(),
    elapsedMs,
    onFatal: fail,
    onCommit: (sequence) => {
      metrics.committed(sequence);
      follower?.committed(sequence);
    },
  });
  // A standby has already started its follower.
  follower ??= follow(place, sequencer.durableSequence);
  if (engine.sequence > 0 && sharedSecrets === null && readSecrets(folder) === null)
    log.warn(
      'THERE IS NO session-secret, AND A NEW ONE ENDS ALL SESSIONS AND NAMED TOKENS. If a backup has ' +
        'the file, stop the exchange, copy the file back and start again: npm run doctor says how',
    );
  const own = () => sessionSecrets(folder);
  const secrets = sharedSecrets ?? (await withVariable('DATA_FOLDER', own));
  return open(parts, {
    config,
    log,
    fail,
    sequencer,
    data,
    journal: place,
    follower,
    metrics,
    secrets,
    sessions: new Sessions(secrets),
    replicaKeys,
    inputs,
    replicated,
    onHandedOver: options.onHandedOver ?? (() => {}),
  });
}

/**
 * Reports only the first error. Waits for the follower's thread: if a process ends while SQLite
 * works in a thread, Node.js aborts it with a dump instead of an exit status.
 */
export function fatalOnce(
  { log, onFatal }: Pick<ExchangeOptions, 'log' | 'onFatal'>,
  closeFollower: () => Promise<void>,
): (error: unknown) => void {
  let failed = false;
  return (thrown) => {
    if (failed) return;
    failed = true;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    log.fatal({ err: error }, 'fatal error: the exchange stops');
    const closed = closeFollower().catch(() => {});
    void atMost(FATAL_MS, closed).then(() => onFatal(error));
  };
}

function recoverEngine(data: Data, config: Config, log: Log): Promise<Engine> {
  if (data.notice !== null) log.warn(data.notice);
  if (data.remark !== null) log.info(data.remark);
  return data.recover({ log, elapsedMs, ...(config.reservesMemory ? { makeRoom } : {}) });
}

/** Fails if the system does not overcommit (vm.overcommit_memory=2). */
function makeRoom(engine: Engine): void {
  try {
    engine.reserve();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Error(
      `the engine cannot reserve address space for its limits (${error.message}). Memory is only used as needed, but ` +
        `${ADDRESS_SPACE_GIBIBYTES} GiB must be reservable: see vm.overcommit_memory and ulimit -v.`,
      { cause: error },
    );
  }
}

export function followerOf(
  config: Config,
  log: Log,
  own: Pick<
    ConstructorParameters<typeof Follower>[0],
    'journal' | 'durableSequence' | 'onSnapshot' | 'onDisagreement'
  >,
): Follower {
  return new Follower({
    folder: config.dataFolder,
    snapshotEveryCommands: config.snapshotEveryCommands,
    snapshotEveryMs: config.snapshotEveryMs,
    dayFiles: config.dayFiles,
    historyDays: config.historyDays,
    log,
    elapsedMs,
    ...own,
  });
}

/**
 * If the follower's state differs from the engine's, the engine's may be wrong: trading halts, and
 * the process stays up.
 */
function startFollower(
  { config, log }: ExchangeOptions,
  sequencer: () => WatchedSequencer | null,
  journal: JournalPlace,
  durableSequence: number,
): Follower {
  return followerOf(config, log, {
    journal,
    durableSequence,
    onSnapshot: (snapshotSequence, snapshotHash) => {
      // The leader also vouches for its standbys' snapshots, which have the same bytes.
      const leading = sequencer();
      if (leading === null) return;
      vouch(leading, log, { kind: 'vouchForSnapshot', snapshotSequence, snapshotHash });
    },
    onDisagreement: (sequence, message) => {
      log.fatal(
        { sequence, problem: message },
        "trading is halted: the follower's state differs from the engine's. Copy the folder, run " +
          'npm run replay -- --data <copy> verify, then start again',
      );
      // The reason is public, so details are only in the log.
      sequencer()?.halt(
        `the follower's state differs from the engine's from sequence ${sequence} on`,
      );
    },
  });
}

/** A snapshot without its record in the journal is not used, and the next one replaces it. */
function vouch(
  sequencer: WatchedSequencer,
  log: Log,
  command: CommandOf<'vouchForSnapshot'>,
): void {
  try {
    sequencer.submit(command);
  } catch (error) {
    if (!(error instanceof SubmitRefused)) throw error;
    const sequence = command.snapshotSequence;
    log.warn(
      { sequence, problem: error.message },
      'the hash of a snapshot was not journalled, so this snapshot will not be used; the next one replaces it',
    );
  }
}

interface Recovered {
  config: Config;
  log: Log;
  fail: (error: unknown) => void;
  sequencer: WatchedSequencer;
  data: Data;
  journal: JournalPlace;
  follower: Follower;
  metrics: Metrics;
  /** Session secrets, of which the first one signs. */
  secrets: readonly Buffer[];
  sessions: Sessions;
  replicaKeys: AccessKey[] | null;
  inputs: Inputs;
  replicated: ReplicatedFolder | null;
  onHandedOver: () => void;
}

async function open(parts: Parts, recovered: Recovered): Promise<Exchange> {
  const { config, log, fail, sequencer, metrics, replicated } = recovered;
  const sources = new Sources(recovered);
  const gateway = gatewayOf(recovered, sources.ticks, parts);
  const servers = new Servers({ ...recovered, gateway, operatorRoutes });
  await servers.addTo(parts);
  await parts.add({
    start: () => sources.start(),
    stop: () => sources.stop(),
    limitMs: STOP_MS.requests,
    isOfLead: true,
  });
  sequencer.whenHalted(() => void sources.stop().catch(fail));
  sequencer.watch(() => servers.stream.observe());
  sequencer.watch(() => metrics.applied(sequencer.engine.result));
  sequencer.watch(() => gateway.overload.applied());
  const stop = () => parts.stop(() => sequencer.durableSequence);
  /** The lease ends before the other parts stop, so that the standby can already lead. */
  const handOver = async (standby: string) => {
    log.info({ standby }, 'this exchange hands over to a standby');
    await parts.handOver();
    log.info({ sequence: sequencer.durableSequence }, 'handed over');
    await stop();
    recovered.onHandedOver();
  };
  const leader = replicated?.leader;
  leader?.whenAskedToHandOver((standbyId) => void handOver(standbyId).catch(fail));

  // Shows before opening whether the disk accepts writes.
  await becomesDurable(sequencer);
  const opened = await servers.open(parts, () => listenToReplicas(servers.replicas, recovered));
  const serves = ([signing]: readonly Buffer[]) =>
    leader?.serves(servingUrl(config, opened.port), fingerprint(signing!, leader.epoch));
  serves(recovered.secrets);
  const reload = async (again: Config) => {
    const keys = await keysOfReplicas(again);
    const secrets = await existingSecrets(again);
    servers.replaceAccess(again, secrets);
    servers.replicas?.replaceKeys(keys!);
    serves(secrets);
    return { sessionSecrets: secrets.length, replicaKeys: keys?.length ?? 0 };
  };
  const renewCertificate = () => servers.renewCertificate();
  return { ...opened, sequencer, isNew: recovered.data.isNew, stop, reload, renewCertificate };
}

async function listenToReplicas(
  replicas: ReplicaListener | null,
  { config, log, replicated }: Recovered,
): Promise<void> {
  if (replicas === null) return;
  const { host, port } = config.replicas!;
  const { advertiseAddress: address } = config;
  const replicasPort = await replicas.listen(host, port);
  log.info({ host, port: replicasPort }, 'open to replicas');
  const at = address === '' ? hostAndPort(host, replicasPort) : address;
  replicated?.leader.advertise(at);
  if (address !== '') void warnIfNotReached(address, log);
}

const SET_ADDRESS = 'set it to the host:port at which replicas reach this exchange';

/** Warns if the advertised address is wrong. Replicas could only report a missing connection. */
async function warnIfNotReached(address: string, log: Log): Promise<void> {
  try {
    const signal = AbortSignal.timeout(REACH_MS);
    const { status } = await fetch(`http://${address}/`, { signal });
    if (status === NOT_FOUND) return;
    log.error({ address }, `ADVERTISE_ADDRESS: another program answers there: ${SET_ADDRESS}`);
  } catch (error) {
    const { cause, message } = error as Error;
    const problem = cause instanceof Error ? cause.message : message;
    log.error(
      { address, problem },
      `ADVERTISE_ADDRESS: this exchange does not reach itself there, so replicas may not: ${SET_ADDRESS}`,
    );
  }
}

/** A wait longer than a healthy disk or cluster takes. */
const COMMIT_MS_MAX = 2_000;

/** Why commits, and all answers with state, are waiting, or `null`. */
function waitingText(
  sequencer: WatchedSequencer,
  replicated: ReplicatedFolder | null,
): string | null {
  const { commitWaitMs } = sequencer;
  const isSole = replicated === null || replicated.leader.isSole();
  if (commitWaitMs < COMMIT_MS_MAX && isSole) return null;
  const copies = replicated?.leader.copies ?? null;
  if (copies !== null && copies.there.length < copies.needed)
    return `everything waits: ${copies.there.length} copies of the journal are available, and a commit needs ${copies.needed}`;
  if (commitWaitMs >= COMMIT_MS_MAX)
    return `everything waits: a commit has taken ${Math.round(commitWaitMs / 1_000)} s so far`;
  return 'everything waits: the lease of this leader has not been renewed in time';
}

/** Resolves when all startup commands are durable; never after a failure (see `onFatal`). */
function becomesDurable(sequencer: WatchedSequencer): Promise<void> {
  return new Promise((resolve) =>
    sequencer.releaseAt(sequencer.engine.sequence, { release: resolve }),
  );
}

function gatewayOf(recovered: Recovered, priceTicks: PriceTicks, parts: Parts): Gateway {
  const { config, log, fail, sequencer, journal, follower, metrics, sessions, inputs } = recovered;
  const leader = recovered.replicated?.leader;
  const { clock } = inputs;
  const standing = new Standing({
    folder: config.dataFolder,
    hasJournal: config.journal === null,
    damage: recovered.data.damage,
    follower,
    clock,
    leading: () => ({
      role: 'leader',
      epoch: leader?.epoch ?? null,
      leader: leader?.serving || null,
      standbys: leader?.standbys ?? null,
      copies: leader?.copies ?? null,
    }),
  });
  return {
    ...partsFrom(config, log),
    sequencer,
    journal,
    history: follower.history,
    sessions,
    clock,
    overload: new Overload(sequencer, config.overload, elapsedMs),
    metrics,
    standing,
    priceTicks,
    startedAtMs: clock.nowMs(),
    isStopping: () => parts.isStopping,
    waits: new SequenceWaits(() => sequencer.engine.sequence),
    behindMs: () => null,
    notReady: () => parts.problem,
    warning: () =>
      [...standing.warnings, priceTicks.warning(clock.nowMs())]
        .filter((each) => each !== null)
        .join('; ') || null,
    halted: () => sequencer.halted,
    fail,
  };
}
