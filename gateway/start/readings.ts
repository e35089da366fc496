import type { FollowerStatus } from '../../persistence/follower/follower.js';
import { DERIVED_PARTS } from '../../persistence/follower/troubles.js';
import { logBytes } from '../../persistence/journal/segments.js';
import type { ConnectionCap } from '../access/fair-use/connections.js';
import type { FairQueue } from '../access/fair-use/fair-queue.js';
import { type FairUse, PARTIES, QUOTAS } from '../access/fair-use/fair-use.js';
import type { Overload } from '../access/fair-use/overload.js';
import type { Sequencing } from '../http/gateway.js';
import type { LiveFeedStatus } from '../inputs/feeds/live.js';
import type { PriceTicks } from '../inputs/price-ticks.js';
import type { ConnectedVenue } from '../inputs/prices.js';
import { machineMs } from '../observe/clock.js';
import type { Readings } from '../observe/metrics.js';
import { copiesByName, type Standing } from '../observe/standing.js';
import type { WatchedSequencer } from '../observe/watched-sequencer.js';
import { pausesIn } from '../resources/status/pauses.js';

type FollowerReadings = Pick<
  FollowerStatus,
  'lagCommands' | 'lagMs' | 'troubles' | 'troubleCounts'
>;

/** Of the public address, in this thread or in edges. */
export interface ConnectionReadings {
  connections: Pick<ConnectionCap, 'httpCount' | 'refusedCounts'>;
  http: { readonly requestsInFlight: number; readonly slowBodies: number };
  /** Bytes that do not fit the rings between the core and its edges yet. */
  rings: { readonly core: number; readonly edge: number };
  unsent: {
    readonly bytes: number;
    readonly count: number;
    readonly dropCounts: Readonly<Record<string, number>>;
  };
}

interface Observed {
  open(): ConnectionReadings;
  version: string;
  standing: Standing;
  sequencer: Sequencing & Pick<WatchedSequencer, 'halted' | 'commitWaitMs'>;
  journalFolder: string | null;
  follower: { readonly status: FollowerReadings };
  fairUse: FairUse;
  overload: Overload;
  signIns: FairQueue;
  priceTicks: PriceTicks;
  clock: { nowMs(): number };
  stream: {
    readonly connectionCount: number;
    readonly backlogBytes: number;
    readonly keptCharacters: number;
    readonly replays: { readonly waitingCount: number; readonly heldBytes: number };
    subscriberCounts(): Record<string, number>;
    endingCounts(): Iterable<readonly [reason: string, count: number]>;
  };
}

/** In the order of GET /metrics. */
export function readingsOf(observed: Observed): Readings {
  return {
    ...standingReadings(observed),
    ...sequencerReadings(observed),
    ...priceReadings(observed),
    ...clientReadings(observed),
    ...refusalReadings(observed),
  };
}

function standingReadings({ standing, version }: Observed): Readings {
  return {
    exchange_info: () => ({ [version]: 1 }),
    exchange_leader: () => Number(standing.leading.role === 'leader'),
    exchange_epoch: () => standing.leading.epoch,
    exchange_standbys: () => standing.leading.standbys,
    exchange_journal_copies_needed: () => standing.leading.copies?.needed,
    exchange_journal_copies: () => copiesByName(standing.leading.copies),
    exchange_snapshot_sequence: () => standing.snapshot?.sequence,
    exchange_backup_sequence: () => standing.backup?.sequence,
    exchange_backup_age_seconds: () => {
      const { backup } = standing;
      return backup && (machineMs() - backup.atMs) / 1_000;
    },
    exchange_disk_free_bytes: () => standing.freeBytes,
    exchange_disk_used_bytes: () => standing.usedBytes(),
    exchange_segments: () => standing.segments,
    exchange_segments_unsealed: () => standing.unsealed,
    exchange_journal_damaged: () => standing.damaged,
    exchange_clock_ahead_seconds: () => {
      const { clockAheadMs } = standing;
      return clockAheadMs && clockAheadMs / 1_000;
    },
  };
}

function sequencerReadings({ sequencer, follower, journalFolder }: Observed): Readings {
  const { engine } = sequencer;
  return {
    exchange_sequence: () => engine.sequence,
    exchange_durable_sequence: () => sequencer.durableSequence,
    exchange_backlog_commands: () => sequencer.backlog,
    exchange_backlog_bytes: () => sequencer.backlogBytes,
    exchange_commit_wait_seconds: () => sequencer.commitWaitMs / 1_000,
    exchange_journal_log_bytes: () => (journalFolder === null ? null : logBytes(journalFolder)),
    exchange_waiting_answers: () => sequencer.waitingTargets,
    exchange_halted: () => Number(sequencer.halted !== null),
    exchange_pauses: () => pausesIn(engine).length,
    exchange_users: () => engine.userCount,
    exchange_limit_used: () => engine.limitUses().map(({ limit, used }) => [limit, used] as const),
    exchange_limit_maximum: () =>
      engine.limitUses().map(({ limit, maximum }) => [limit, maximum] as const),
    exchange_follower_lag_commands: () => follower.status.lagCommands,
    exchange_follower_lag_seconds: () => follower.status.lagMs / 1_000,
    exchange_follower_retrying: () =>
      DERIVED_PARTS.map((part) => [part, Number(follower.status.troubles.has(part))] as const),
    exchange_follower_failures_total: () => follower.status.troubleCounts,
  };
}

function priceReadings({ sequencer, priceTicks, clock }: Observed): Readings {
  const { engine } = sequencer;
  return {
    exchange_prices_total: () => priceTicks.countsBySource(),
    exchange_price_age_seconds: () =>
      [...priceTicks.newest()].map(([asset, { source, observedAtMs }]) => {
        const ageMs = Math.max(0, clock.nowMs() - observedAtMs);
        return [{ asset, source }, ageMs / 1_000] as const;
      }),
    exchange_prices_held: () => {
      let count = 0;
      for (let asset = 0; asset < engine.assetCount; asset++)
        if (engine.heldPrice(asset) !== null) count++;
      return count;
    },
  };
}

export function venueReadings(venues: readonly ConnectedVenue[]): Readings {
  const bySource = (read: (status: LiveFeedStatus) => number) => () =>
    venues.map(({ source, feed }) => [source, read(feed.status())] as const);
  return {
    exchange_feed_live: bySource(({ live }) => Number(live)),
    exchange_feed_connections_total: bySource(({ connections }) => connections),
    exchange_feed_malformed_total: bySource(({ malformed }) => malformed),
    exchange_feed_refusals_total: bySource(({ serverErrors }) => serverErrors),
  };
}

function clientReadings({ open, signIns, stream }: Observed): Readings {
  return {
    exchange_connections: () => ({
      http: open().connections.httpCount,
      stream: stream.connectionCount,
    }),
    exchange_stream_subscriptions: () => stream.subscriberCounts(),
    exchange_stream_backlog_bytes: () => stream.backlogBytes,
    exchange_stream_kept_characters: () => stream.keptCharacters,
    exchange_edge_waiting_bytes: () => open().rings,
    exchange_stream_replays_waiting: () => stream.replays.waitingCount,
    exchange_stream_replay_bytes: () => stream.replays.heldBytes,
    exchange_stream_closed_total: () => stream.endingCounts(),
    exchange_sign_ins_waiting: () => signIns.waitingCount,
    exchange_calls_under_way: () => open().http.requestsInFlight,
    exchange_unsent_answers: () => open().unsent.count,
    exchange_unsent_answer_bytes: () => open().unsent.bytes,
    exchange_unsent_answers_dropped_total: () => open().unsent.dropCounts,
  };
}

function refusalReadings({ fairUse, overload, open, signIns }: Observed): Readings {
  return {
    exchange_rate_limited_total: () =>
      QUOTAS.flatMap((quota) =>
        PARTIES.map((party) => [{ quota, party }, fairUse.refusedCount(quota, party)] as const),
      ),
    exchange_overload_refused_total: () => overload.refusedCounts,
    exchange_connections_refused_total: () => open().connections.refusedCounts,
    exchange_sign_ins_refused_total: () => signIns.refusedCount,
    exchange_slow_bodies_total: () => open().http.slowBodies,
  };
}
