/** Metrics read on request from the parts of a running exchange. */
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
import type { Metrics } from '../observe/metrics.js';
import type { WatchedSequencer } from '../observe/watched-sequencer.js';
import { pausesIn } from '../resources/status/pauses.js';

type FollowerReadings = Pick<
  FollowerStatus,
  'lagCommands' | 'lagMs' | 'troubles' | 'troubleCounts'
>;

/** Readings of the public address's connections, in this thread or in edges. */
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

export function registerReadings(metrics: Metrics, observed: Observed): void {
  registerSequencer(metrics, observed);
  registerPrices(metrics, observed);
  registerClients(metrics, observed);
  registerRefusals(metrics, observed);
}

function registerSequencer(
  metrics: Metrics,
  { sequencer, follower, journalFolder }: Observed,
): void {
  const { engine } = sequencer;
  metrics.gauge('exchange_sequence', 'Sequence of the last applied command', () => engine.sequence);
  metrics.gauge('exchange_durable_sequence', 'Sequence of the last durable command', () => {
    return sequencer.durableSequence;
  });
  metrics.gauge('exchange_backlog_commands', 'Applied commands that are not yet durable', () => {
    return sequencer.backlog;
  });
  metrics.gauge(
    'exchange_backlog_bytes',
    'Bytes of applied commands that are not yet durable',
    () => sequencer.backlogBytes,
  );
  metrics.gauge(
    'exchange_commit_wait_seconds',
    'Time that the current commit has taken so far',
    () => {
      return sequencer.commitWaitMs / 1_000;
    },
  );
  metrics.gauge('exchange_journal_log_bytes', "Size of the journal's -wal file, in bytes", () =>
    journalFolder === null ? null : logBytes(journalFolder),
  );
  metrics.gauge('exchange_waiting_answers', 'Answers and messages waiting for the disk', () => {
    return sequencer.waitingTargets;
  });
  metrics.gauge('exchange_halted', '1 if trading is halted', () =>
    sequencer.halted === null ? 0 : 1,
  );
  metrics.gauge('exchange_pauses', 'Pauses in force, of everything, assets or markets', () => {
    return pausesIn(engine).length;
  });
  metrics.gauge('exchange_users', 'Accounts', () => engine.userCount);
  metrics.gauges(
    'exchange_limit_used',
    'Use of each limit that all users share, by limit name',
    'limit',
    () => engine.limitUses().map(({ limit, used }) => [limit, used]),
  );
  metrics.gauges(
    'exchange_limit_maximum',
    'Maximum of each limit that all users share, by limit name',
    'limit',
    () => engine.limitUses().map(({ limit, maximum }) => [limit, maximum]),
  );
  metrics.gauge(
    'exchange_follower_lag_commands',
    'Durable commands that the follower has not applied',
    () => follower.status.lagCommands,
  );
  metrics.gauge(
    'exchange_follower_lag_seconds',
    'Age of the oldest durable command that the follower has not applied',
    () => {
      return follower.status.lagMs / 1_000;
    },
  );
  metrics.gauges(
    'exchange_follower_retrying',
    '1 while this part of the derived data is failing and being retried',
    'part',
    () => DERIVED_PARTS.map((part) => [part, Number(follower.status.troubles.has(part))]),
  );
  metrics.counters(
    'exchange_follower_failures_total',
    'Failures to derive this part from the journal',
    'part',
    () => Object.entries(follower.status.troubleCounts),
  );
}

function registerPrices(metrics: Metrics, { sequencer, priceTicks, clock }: Observed): void {
  const { engine } = sequencer;
  metrics.counters('exchange_prices_total', 'Prices, by source', 'source', () =>
    priceTicks.countsBySource(),
  );
  metrics.samples(
    'exchange_price_age_seconds',
    "Age of an asset's last price, by source",
    ['asset', 'source'],
    () =>
      [...priceTicks.newest()].map(([asset, { source, observedAtMs }]) => {
        const ageMs = Math.max(0, clock.nowMs() - observedAtMs);
        return [{ asset, source }, ageMs / 1_000] as const;
      }),
  );
  metrics.gauge('exchange_prices_held', 'Assets whose prices are held back by the guard', () => {
    let count = 0;
    for (let asset = 0; asset < engine.assetCount; asset++)
      if (engine.heldPrice(asset) !== null) count++;
    return count;
  });
}

export function registerVenues(metrics: Metrics, venues: readonly ConnectedVenue[]): void {
  const bySource = (read: (status: LiveFeedStatus) => number) => () =>
    venues.map(({ source, feed }) => [source, read(feed.status())] as const);
  metrics.gauges(
    'exchange_feed_live',
    '1 if the connection to the source has delivered a price',
    'source',
    bySource(({ live }) => (live ? 1 : 0)),
  );
  metrics.counters(
    'exchange_feed_connections_total',
    'Attempted connections to a source',
    'source',
    bySource(({ connections }) => connections),
  );
  metrics.counters(
    'exchange_feed_malformed_total',
    'Malformed messages and prices from a source',
    'source',
    bySource(({ malformed }) => malformed),
  );
  metrics.counters(
    'exchange_feed_refusals_total',
    'Connections refused by a source',
    'source',
    bySource(({ serverErrors }) => serverErrors),
  );
}

function registerClients(metrics: Metrics, observed: Observed): void {
  const { open, signIns, stream } = observed;
  metrics.gauges('exchange_connections', 'Open connections', 'kind', () =>
    Object.entries({ http: open().connections.httpCount, stream: stream.connectionCount }),
  );
  metrics.gauges('exchange_stream_subscriptions', 'Stream subscriptions', 'channel', () =>
    Object.entries(stream.subscriberCounts()),
  );
  metrics.gauge(
    'exchange_stream_backlog_bytes',
    'Bytes waiting to be read by stream clients',
    () => {
      return stream.backlogBytes;
    },
  );
  metrics.gauge('exchange_stream_kept_characters', 'Characters of messages kept for resume', () => {
    return stream.keptCharacters;
  });
  metrics.gauges(
    'exchange_edge_waiting_bytes',
    "Bytes waiting for space in the edges' rings",
    'to',
    () => Object.entries(open().rings),
  );
  metrics.gauge('exchange_stream_replays_waiting', 'Resumes waiting for the journal', () => {
    return stream.replays.waitingCount;
  });
  metrics.gauge(
    'exchange_stream_replay_bytes',
    'Bytes of journal messages held for resumes',
    () => {
      return stream.replays.heldBytes;
    },
  );
  metrics.counters(
    'exchange_stream_closed_total',
    'Stream connections closed by the exchange',
    'reason',
    () => stream.endingCounts(),
  );
  metrics.gauge('exchange_sign_ins_waiting', 'Passwords waiting to be hashed', () => {
    return signIns.waitingCount;
  });
  metrics.gauge('exchange_calls_under_way', 'Requests in flight', () => {
    return open().http.requestsInFlight;
  });
  metrics.gauge('exchange_unsent_answers', 'Answers not fully read by their clients', () => {
    return open().unsent.count;
  });
  metrics.gauge(
    'exchange_unsent_answer_bytes',
    'Bytes of unread answers, as counted against the limits',
    () => open().unsent.bytes,
  );
  metrics.counters(
    'exchange_unsent_answers_dropped_total',
    'Answers dropped, with their connections, because clients did not read them',
    'limit',
    () => Object.entries(open().unsent.dropCounts),
  );
}

function registerRefusals(metrics: Metrics, observed: Observed): void {
  const { fairUse, overload, open, signIns } = observed;
  metrics.counts(
    'exchange_rate_limited_total',
    'Requests refused by rate limits',
    ['quota', 'party'],
    () =>
      QUOTAS.flatMap((quota) =>
        PARTIES.map((party) => [{ quota, party }, fairUse.refusedCount(quota, party)] as const),
      ),
  );
  metrics.counters(
    'exchange_overload_refused_total',
    'Requests refused because the disk was behind',
    'kind',
    () => Object.entries(overload.refusedCounts),
  );
  metrics.counters('exchange_connections_refused_total', 'Connections refused', 'limit', () =>
    Object.entries(open().connections.refusedCounts),
  );
  metrics.counter(
    'exchange_sign_ins_refused_total',
    'Passwords not hashed, because the wait was too long or the exchange stopped',
    () => signIns.refusedCount,
  );
  metrics.counter(
    'exchange_slow_bodies_total',
    'Requests whose body did not arrive in time',
    () => open().http.slowBodies,
  );
}
