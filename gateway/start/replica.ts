/**
 * A running replica: serves reads and streams from its own engine and follower, with or without a
 * leader. The leader executes changes; a replica writes nothing to the journal.
 */
import type { Follower } from '../../persistence/follower/follower.js';
import { type FolderLock, lockFolder } from '../../persistence/journal/folder-lock.js';
import { JournalTail } from '../../persistence/replication/journal-tail.js';
import type { JournalPlace } from '../../persistence/replication/source.js';
import { createPrivateFolder } from '../../persistence/storage/files.js';
import { KnownAddresses } from '../access/fair-use/known-addresses.js';
import { Overload } from '../access/fair-use/overload.js';
import { readReplicaKeys } from '../access/replica-keys.js';
import { Sessions } from '../access/sessions.js';
import { notLeading } from '../commands/errors.js';
import { Forwarder } from '../edge/forwarder.js';
import { FollowedClock } from '../edge/replica/followed-clock.js';
import { FollowedSequencer } from '../edge/replica/followed-sequencer.js';
import { LastSequences } from '../edge/replica/last-sequences.js';
import { LeaderLink } from '../edge/replica/leader-link.js';
import { isOfCredentials, replicaService, StateAge } from '../edge/replica/service.js';
import { StreamOrders } from '../edge/replica/stream-orders.js';
import type { Call } from '../http/call.js';
import type { Gateway } from '../http/gateway.js';
import { SequenceWaits } from '../http/sequence-waits.js';
import { PriceTicks } from '../inputs/price-ticks.js';
import { elapsedMs } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import { Metrics } from '../observe/metrics.js';
import { Standing } from '../observe/standing.js';
import { operatorRoutes } from '../resources/operators/routes.js';
import type { Config } from './config.js';
import { ConfigError, withVariable } from './config-error.js';
import { addressOf } from './data.js';
import { fatalOnce, followerOf, type Running } from './exchange.js';
import { Parts } from './parts.js';
import { existingSecrets } from './secrets.js';
import { partsFrom, Servers } from './servers.js';

/** Reads do not wait for a leader for this long after it has failed to answer one. */
const SILENT_MS = 1_000;

interface ReplicaOptions {
  config: Config;
  log: Log;
  /** Called once on a fatal error. The process must end immediately. */
  onFatal: (error: Error) => void;
}

/** @throws ConfigError, JournalError, JournalUnavailable */
export function startReplica(options: ReplicaOptions): Promise<Running> {
  const parts = new Parts(options.log);
  return parts.start(() => start(options, parts));
}

async function start({ config, log, onFatal }: ReplicaOptions, parts: Parts): Promise<Running> {
  const { dataFolder: folder, journal } = config;
  if (journal === null) throw new ConfigError('ROLE=replica needs JOURNAL, a journal to follow');
  const key = await readKey(config);
  const sessions = new Sessions(await existingSecrets(config));
  const address = addressOf(journal);
  const place: JournalPlace = { postgres: address, prefersStandby: true };
  const lock = await withVariable('DATA_FOLDER', () => lockedFolder(folder));
  await parts.add({ stop: () => lock.release() });
  const tail = await JournalTail.open({ folder, address, log, elapsedMs });
  const metrics = new Metrics(tail.engine.sequence);
  await parts.add({ stop: () => metrics.stop() });
  let follower: Follower | null = null;
  await parts.add({ stop: async () => await follower?.close() });
  await parts.add({ stop: () => tail.close() });
  tail.engine.reserve();
  const fail = fatalOnce({ log, onFatal }, async () => await follower?.close());
  const sequencer = new FollowedSequencer(tail.engine);
  follower = followerOf(config, log, {
    journal: place,
    durableSequence: sequencer.durableSequence,
    // The leader has the same snapshot and vouches for it.
    onSnapshot: () => {},
    onDisagreement: (sequence, message) =>
      fail(
        new Error(
          `the follower's state differs from this replica's from sequence ${sequence} on: ${message}`,
        ),
      ),
  });
  const followed = { config, log, fail, key, sessions, tail, sequencer, follower, place };
  return open(parts, { ...followed, metrics });
}

async function readKey({ replicasKeyFile }: Config): Promise<string> {
  if (replicasKeyFile === '')
    throw new ConfigError("ROLE=replica needs REPLICAS_KEY_FILE, the file with the replicas' key");
  return withVariable('REPLICAS_KEY_FILE', () => readReplicaKeys(replicasKeyFile)[0], [Error]);
}

async function lockedFolder(folder: string): Promise<FolderLock> {
  await createPrivateFolder(folder);
  return lockFolder(folder);
}

interface Followed {
  config: Config;
  log: Log;
  fail: (error: unknown) => void;
  key: string;
  sessions: Sessions;
  tail: JournalTail;
  sequencer: FollowedSequencer;
  follower: Follower;
  place: JournalPlace;
  metrics: Metrics;
}

async function open(parts: Parts, followed: Followed): Promise<Running> {
  const { config, fail, tail, sequencer, follower, metrics } = followed;
  const waits = new SequenceWaits(() => sequencer.durableSequence);
  const lastSequences = new LastSequences();
  const known = new KnownAddresses();
  const { link, forwarder, remote, age } = leaderOf(followed, waits, lastSequences, known);
  await parts.add({ problem: () => age.problem, stop: () => link.stop() });
  await parts.add({ stop: () => remote.stop() });
  const { feed } = config;
  const clock = new FollowedClock(tail.engine, feed.kind === 'live' ? 1 : feed.speed);
  const gateway = gatewayOf(followed, { clock, waits, age, known, parts });
  const serve = replicaService({ forwarder, lastSequences, age });
  const ownRoutes = operatorRoutes.map((route) =>
    route.body === undefined ? route : { ...route, handle: refuseChange },
  );
  const own = { operatorRoutes: ownRoutes, replicaKeys: null, serve, remote };
  const servers = new Servers({ ...followed, ...own, gateway });
  const { stream } = servers;
  await servers.addTo(parts, { stop: () => forwarder.stop() });
  metrics.observe({
    exchange_replica_age_seconds: () => tail.ageMs / 1_000,
    exchange_forwarded_waiting: () => forwarder.count,
    exchange_forwarded_again_total: () => forwarder.sentAgainCount,
  });
  tail.start({
    applied: () => {
      stream.observe();
      metrics.applied(tail.engine.result);
    },
    batchApplied: ({ lastSequence }) => {
      clock.applied();
      sequencer.batchApplied(lastSequence);
      metrics.committed(lastSequence);
      follower.committed(lastSequence);
      waits.look();
      lastSequences.reached(lastSequence);
    },
    onFatal: fail,
  });
  link.start();
  const stop = () => parts.stop(() => sequencer.durableSequence);
  const opened = await servers.open(parts);
  const reload = async (again: Config) => {
    const key = await readKey(again);
    const secrets = await existingSecrets(again);
    servers.replaceAccess(again, secrets);
    followed.key = key;
    return { sessionSecrets: secrets.length, replicaKeys: 1 };
  };
  const renewCertificate = () => servers.renewCertificate();
  return { ...opened, stop, reload, renewCertificate };
}

interface ToLeader {
  link: LeaderLink;
  forwarder: Forwarder;
  remote: StreamOrders;
  age: StateAge;
}

function leaderOf(
  followed: Followed,
  waits: SequenceWaits,
  lastSequences: LastSequences,
  known: KnownAddresses,
): ToLeader {
  const { config, log, tail, sequencer } = followed;
  let leaderSequence = 0;
  let silentUntilMs = 0;
  const link: LeaderLink = new LeaderLink({
    key: () => followed.key,
    findLeader: () => {
      const { address, epoch } = tail.head;
      return address === null ? null : { address, epoch };
    },
    log,
    onOpen: () => {
      forwarder.opened();
      remote.linkOpened();
    },
    onFrame: (frame) => {
      if (!forwarder.receive(frame)) remote.receive(frame);
    },
    onClose: () => {
      forwarder.closed();
      remote.linkClosed();
    },
  });
  const forwarder = new Forwarder({
    link,
    assets: sequencer.engine,
    elapsedMs,
    mayMove: true,
    known,
    onAnswer: ({ userId, route, sequence }, go) => {
      lastSequences.note(userId, sequence);
      leaderSequence = Math.max(leaderSequence, sequence);
      if (isOfCredentials(route) && sequence > sequencer.durableSequence) waits.wait(sequence, go);
      else go();
    },
    onSilent: () => {
      silentUntilMs = elapsedMs() + SILENT_MS;
    },
  });
  const assets = sequencer.engine;
  const remote = new StreamOrders({ link, assets, waits, sequencer, elapsedMs });
  const age = new StateAge({
    ageMs: () => tail.ageMs,
    isConnected: () => link.isOpen,
    // A leader that writes nothing knows no more than the journal.
    leaderMayKnowMore: () =>
      link.isOpen &&
      elapsedMs() >= silentUntilMs &&
      (tail.trouble !== null || leaderSequence > sequencer.durableSequence),
    limitMs: config.replicaAgeMs,
  });
  return { link, forwarder, remote, age };
}

interface Own {
  clock: FollowedClock;
  waits: SequenceWaits;
  age: StateAge;
  known: KnownAddresses;
  parts: Parts;
}

function gatewayOf(followed: Followed, { clock, waits, age, known, parts }: Own): Gateway {
  const { config, log, fail, sessions, tail, sequencer, follower, place, metrics } = followed;
  return {
    ...partsFrom(config, log, known),
    sequencer,
    waits,
    journal: place,
    history: follower.history,
    sessions,
    clock,
    overload: new Overload(sequencer, config.overload, elapsedMs),
    metrics,
    standing: new Standing({
      folder: config.dataFolder,
      hasJournal: false,
      follower,
      clock,
      leading: () => {
        const { epoch, serving } = tail.head;
        return { role: 'replica', epoch, leader: serving, standbys: null, copies: null };
      },
    }),
    // A replica receives no prices; the journal has the leader's.
    priceTicks: new PriceTicks([], 0),
    startedAtMs: clock.nowMs(),
    isStopping: () => parts.isStopping,
    behindMs: () => Math.round(age.ms),
    notReady: () => parts.problem,
    warning: () => age.warning,
    halted: () => null,
    fail,
  };
}

/** Operators make changes at the leader's address for operators. */
function refuseChange(call: Call): void {
  call.refuseNow(notLeading('replica', call.gateway.standing.leading.leader));
}
