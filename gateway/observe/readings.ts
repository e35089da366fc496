/** What the metrics ask of the parts of a running exchange when somebody looks at them. */
import type { FollowerStatus } from '../../persistence/follower/follower.js';
import type { ConnectionCap } from '../fair-use/connections.js';
import type { FairQueue } from '../fair-use/fair-queue.js';
import { type FairUse, PARTIES, QUOTAS } from '../fair-use/fair-use.js';
import type { Overload } from '../fair-use/overload.js';
import type { UnsentAnswers } from '../http/unsent-answers.js';
import type { WatchedSequencer } from '../watched-sequencer.js';
import type { Metrics } from './metrics.js';

type FollowerReadings = Pick<FollowerStatus, 'lagCommands' | 'lagMs' | 'trouble' | 'troubleCount'>;

export interface Observed {
  sequencer: WatchedSequencer;
  /** null: it is turned off. */
  follower: { readonly status: FollowerReadings } | null;
  fairUse: FairUse;
  overload: Overload;
  /** Of those who wait for a password to be hashed. */
  signIns: FairQueue;
  connections: ConnectionCap;
  calls: { readonly callsUnderWay: number; readonly slowBodies: number };
  unsent: Pick<UnsentAnswers, 'bytes' | 'count' | 'dropCounts'>;
  stream: {
    readonly connectionCount: number;
    readonly backlogBytes: number;
    subscriberCounts(): Record<string, number>;
    endingCounts(): Iterable<readonly [reason: string, count: number]>;
  };
}

export function registerReadings(metrics: Metrics, observed: Observed): void {
  registerSequencer(metrics, observed.sequencer);
  registerRefusals(metrics, observed);
  registerUnsent(metrics, observed.unsent);
  const { follower, connections, signIns, calls, stream } = observed;
  metrics.gauge('exchange_follower_lag_commands', 'Durable commands that the follower has yet to do', () =>
    follower === null ? null : follower.status.lagCommands,
  );
  metrics.gauge('exchange_follower_lag_seconds', 'For how long the oldest of them has been durable', () =>
    follower === null ? null : follower.status.lagMs / 1_000,
  );
  metrics.gauge('exchange_follower_troubled', '1: the follower cannot go on now, and tries again', () => {
    if (follower === null) return null;
    return follower.status.trouble === null ? 0 : 1;
  });
  metrics.counter('exchange_follower_troubles_total', 'How often the follower could not go on', [], () =>
    follower === null ? [] : [[{}, follower.status.troubleCount]],
  );
  metrics.gauges('exchange_connections', 'Open connections', ['kind'], () => [
    [{ kind: 'http' }, connections.httpCount],
    [{ kind: 'stream' }, stream.connectionCount],
  ]);
  metrics.gauges('exchange_stream_subscriptions', 'Subscriptions of the stream', ['channel'], () =>
    Object.entries(stream.subscriberCounts()).map(([channel, count]) => [{ channel }, count] as const),
  );
  metrics.gauge('exchange_stream_backlog_bytes', 'Bytes that wait for readers of the stream', () => {
    return stream.backlogBytes;
  });
  metrics.counter(
    'exchange_stream_closed_total',
    'Connections of the stream that the exchange closed',
    ['reason'],
    () => Array.from(stream.endingCounts(), ([reason, count]) => [{ reason }, count] as const),
  );
  metrics.gauge('exchange_sign_ins_waiting', 'Passwords that wait to be hashed', () => signIns.waitingCount);
  metrics.gauge('exchange_calls_under_way', 'Requests that are not answered yet', () => calls.callsUnderWay);
}

function registerSequencer(metrics: Metrics, sequencer: WatchedSequencer): void {
  const { engine } = sequencer;
  metrics.gauge('exchange_sequence', 'The last command applied', () => engine.sequence);
  metrics.gauge('exchange_durable_sequence', 'The last command on disk', () => sequencer.durableSequence);
  metrics.gauge('exchange_backlog_commands', 'Commands that wait for the disk', () => sequencer.backlog);
  metrics.gauge('exchange_backlog_bytes', 'Their bytes', () => sequencer.backlogBytes);
  metrics.gauge('exchange_waiting_answers', 'Answers and messages that wait for the disk', () => {
    return sequencer.waitingTargets;
  });
  metrics.gauge('exchange_halted', '1: trading is stopped', () => (sequencer.halted === null ? 0 : 1));
  metrics.gauge('exchange_users', 'Accounts', () => engine.userCount);
}

function registerUnsent(metrics: Metrics, unsent: Observed['unsent']): void {
  metrics.gauge('exchange_unsent_answers', 'Answers that their clients have not taken whole', () => {
    return unsent.count;
  });
  metrics.gauge('exchange_unsent_answer_bytes', 'What they count for the limits', () => unsent.bytes);
  metrics.counter(
    'exchange_unsent_answers_dropped_total',
    'Answers that were dropped, with their connections, because clients did not take them',
    ['limit'],
    () => Object.entries(unsent.dropCounts).map(([limit, count]) => [{ limit }, count] as const),
  );
}

function registerRefusals(metrics: Metrics, observed: Observed): void {
  const { fairUse, overload, connections, signIns, calls } = observed;
  metrics.counter('exchange_rate_limited_total', 'Requests refused for fair use', ['quota', 'party'], () =>
    QUOTAS.flatMap((quota) =>
      PARTIES.map((party) => [{ quota, party }, fairUse.refusedCount(quota, party)] as const),
    ),
  );
  metrics.counter(
    'exchange_overload_refused_total',
    'Requests refused while the disk was behind',
    ['kind'],
    () => {
      const { changes, reads } = overload.refusedCounts;
      return [
        [{ kind: 'change' }, changes],
        [{ kind: 'read' }, reads],
      ];
    },
  );
  metrics.counter('exchange_connections_refused_total', 'Connections refused', ['limit'], () => {
    const { total, address } = connections.refusedCounts;
    return [
      [{ limit: 'total' }, total],
      [{ limit: 'address' }, address],
    ];
  });
  metrics.counter(
    'exchange_sign_ins_refused_total',
    'Passwords that could not be hashed in time, or at a stop',
    [],
    () => [[{}, signIns.refusedCount]],
  );
  metrics.counter('exchange_slow_bodies_total', 'Requests whose body did not come in time', [], () => [
    [{}, calls.slowBodies],
  ]);
}
