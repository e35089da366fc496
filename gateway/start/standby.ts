/**
 * A standby: follows the leader's journal with a warm engine and its own follower, and becomes the
 * leader when the lease ends or is handed over. Until then it answers as waiting-server.ts says.
 *
 * Invariant: temporary failures are retried without limit, because a standby is needed most while
 * the cluster fails. Only an unusable folder or a damaged journal ends it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../engine/engine.js';
import type { Follower } from '../../persistence/follower/follower.js';
import { JournalError } from '../../persistence/journal/errors.js';
import { listSnapshots } from '../../persistence/recovery/snapshot/folder.js';
import { JournalTail } from '../../persistence/replication/journal-tail.js';
import type { PostgresAddress } from '../../persistence/replication/postgres/address.js';
import {
  type Leader,
  PostgresJournal,
} from '../../persistence/replication/postgres/postgres-journal.js';
import { PasswordRefused } from '../../persistence/replication/postgres/server.js';
import {
  lockReplicatedFolder,
  ReplicatedFolder,
} from '../../persistence/replication/replicated-folder.js';
import type { JournalPlace } from '../../persistence/replication/source.js';
import { programVersion } from '../../persistence/storage/program-folder.js';
import { freeBytesAt } from '../../persistence/storage/room.js';
import { errorAnswer, notLeading } from '../commands/errors.js';
import { hostAndPort, servingUrl } from '../http/listen-addresses.js';
import { Candidate } from '../inputs/candidate.js';
import type { CandidateClock } from '../inputs/candidate-clock.js';
import { elapsedMs, machineMs } from '../observe/clock.js';
import type { Log } from '../observe/log.js';
import { copiesByName, tellCopies, tellLeader, tellRefused } from '../observe/standing.js';
import type { Config } from './config.js';
import { Parts } from './parts.js';
import { compareSecrets } from './secrets.js';
import { WaitingServer } from './waiting-server.js';

const RETRY_AFTER_MS = 200;
const REFUSED_AFTER_MS = 1_000;
/** Does not delay a takeover: a standby that is slightly behind reads the rest itself. */
const POLL_EVERY_MS = 20;
const RECOVERING = errorAnswer('unavailable', { executed: false, reason: 'recovering' });

export interface StandbyOptions {
  config: Config;
  address: PostgresAddress;
  isUnreplicated: boolean;
  log: Log;
  onLost: (error: Error) => void;
  /** The follower is notified of each batch. */
  startFollower: (place: JournalPlace, durableSequence: number) => Follower;
  /** Prepares what a leader needs in addition to the journal, such as the API documents. */
  warmUp: () => void;
  /** `null` if the exchange's time does not depend on the machine's clock. */
  candidateClock: CandidateClock | null;
  /** Startup checks; without an engine, only those that need none. @throws an Error */
  mustServe: (engine: Engine | null) => Promise<void>;
  signal: AbortSignal;
}

/** Resolves once this process leads. @throws if `signal` was aborted */
export async function standBy(options: StandbyOptions): Promise<ReplicatedFolder> {
  const { config, address, isUnreplicated, log, startFollower, onLost, candidateClock } = options;
  const folder = config.dataFolder;
  const version = programVersion();
  /** The parts that it keeps as the leader. */
  const parts = new Parts(log);
  const folderLock = await lockReplicatedFolder(folder);
  await parts.add({ stop: () => folderLock.release() });
  const startedAtMs = machineMs();
  let tail: JournalTail | null = null;
  const mustServe = () => options.mustServe(tail!.engine);
  const candidate = new Candidate({ clock: candidateClock, mustServe, log });
  const status = () => ({ version, ...statusOf(tail, options), startedAtMs });
  const metrics = () => metricsOf(tail, options, candidate);
  const refusal = () => (tail === null ? RECOVERING : notLeading('standby', tail.head.serving));
  const server = new WaitingServer(config, status, metrics, refusal);
  const operations = new WaitingServer(config, status, metrics, refusal);
  try {
    return await parts.start(async () => {
      const port = await server.listen(config.host, config.port);
      const { operationsHost, operationsPort: asked } = config;
      const operationsPort = asked === null ? null : await operations.listen(operationsHost, asked);
      const listening = { host: config.host, port, operationsPort };
      log.info(listening, 'a standby: it follows the leader and waits');
      const source = { folder, address, log, elapsedMs, pollEveryMs: POLL_EVERY_MS };
      const opened = await retried(() => JournalTail.open(source), options);
      tail = opened;
      let follower: Follower | null = null;
      await parts.add({ stop: async () => await follower?.close() });
      await parts.add({ stop: () => opened.close() });
      opened.engine.reserve();
      options.warmUp();
      const place = { postgres: address, prefersStandby: true };
      follower = startFollower(place, opened.end.sequence);
      opened.start({
        batchApplied: ({ lastSequence }) => {
          follower?.committed(lastSequence);
          candidateClock?.journal.told(opened.engine.nowMs);
        },
        onFatal: onLost,
      });
      log.info({ sequence: opened.sequence }, 'the engine is warm');
      const journal = await leadership(options, opened, { candidate, port });
      return ReplicatedFolder.leading(
        { folder, address, isUnreplicated, onLost },
        folderLock,
        journal,
        opened,
      );
    });
  } finally {
    server.close();
    operations.close();
  }
}

function statusOf(tail: JournalTail | null, { isUnreplicated }: StandbyOptions): object {
  return {
    role: 'standby',
    sequence: tail?.sequence ?? 0,
    durableSequence: tail?.sequence ?? 0,
    digest: tail?.engine.digest() ?? null,
    journal: isUnreplicated ? 'unreplicated' : 'replicated',
    epoch: tail?.head.epoch ?? null,
    leader: tail?.head.serving ?? null,
    ageMs: tail === null ? null : Math.round(tail.ageMs),
  };
}

/** A leader and a replica use the same names. */
function metricsOf(
  tail: JournalTail | null,
  { config: { dataFolder: folder }, candidateClock }: StandbyOptions,
  { copies }: Candidate,
): string {
  const aheadMs = candidateClock?.aheadMs ?? null;
  const readings = {
    exchange_leader: 0,
    exchange_epoch: tail?.head.epoch,
    exchange_sequence: tail?.sequence,
    exchange_replica_age_seconds: tail === null ? null : tail.ageMs / 1_000,
    exchange_journal_copies_needed: copies?.needed,
    ...Object.fromEntries(
      copiesByName(copies).map(([name, isThere]) => [
        `exchange_journal_copies{name=${JSON.stringify(name)}}`,
        isThere,
      ]),
    ),
    // `aheadMs` is the machine's lead over the exchange's time, hence the minus.
    exchange_clock_ahead_seconds: aheadMs === null ? null : -aheadMs / 1_000,
    exchange_snapshot_sequence: listSnapshots(folder)[0]?.sequence,
    exchange_disk_free_bytes: freeBytesAt(folder),
  };
  const known = Object.entries(readings).filter(([, value]) => (value ?? null) !== null);
  return known.map(([name, value]) => `${name} ${value}\n`).join('');
}

async function leadership(
  options: StandbyOptions,
  tail: JournalTail,
  { candidate, port }: { candidate: Candidate; port: number },
): Promise<PostgresJournal> {
  const { config, address, isUnreplicated, signal, log } = options;
  const standby = {
    id: randomUUID(),
    address: hostAndPort(config.host, port),
    sequence: () => tail.sequence,
  };
  const onCopies = tellCopies(log);
  const onRefused = tellRefused(log);
  const takeover = { address, isUnreplicated, standby, candidate, onCopies, onRefused, signal };
  const tell = tellLeader(log, servingUrl(config, port));
  const onWaiting = (leader: Leader) => {
    tell(leader);
    void compareSecrets(options, leader);
  };
  const journal = await retried(
    () => PostgresJournal.takeOver({ ...takeover, onWaiting, elapsedMs }),
    options,
  );
  log.info({ epoch: journal.epoch, sequence: tail.sequence }, 'this exchange leads now');
  return journal;
}

async function retried<T>(work: () => Promise<T>, { signal, log }: StandbyOptions): Promise<T> {
  const logged: string[] = [];
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      const isFinal = error instanceof JournalError && error.firstBadSequence !== null;
      if (isFinal || !(error instanceof Error)) throw error;
      const { message } = error;
      // Two problems may alternate.
      if (!logged.includes(message)) {
        log.warn({ problem: message }, 'the standby cannot continue; it tries again');
        logged.push(message);
        if (logged.length > 2) logged.shift();
      }
      const afterMs = error instanceof PasswordRefused ? REFUSED_AFTER_MS : RETRY_AFTER_MS;
      await delay(afterMs, undefined, { signal });
    }
  }
}
