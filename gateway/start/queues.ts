/**
 * Every queue in memory that clients can fill: its maximum in bytes, and the result of exceeding
 * it. CONFIGURATION.md has the same table.
 */

import { PENDING_MAX } from '../../persistence/follower/history-client.js';
import { OVERLOAD_LIMITS } from '../access/fair-use/overload.js';
import { MESSAGE_BYTES_MAX } from '../edge/link/frames.js';
import { RING_BYTES, WAITING_BYTES_MAX } from '../edge/link/ring.js';
import { BYTES_MAX as FORWARDED_BYTES_MAX } from '../edge/pending.js';
import { CODED_BYTES_MAX } from '../http/answers/answer-coder.js';
import { BODY_BYTES_MAX } from '../http/request.js';
import { FRAME_BYTES } from '../stream/endpoint.js';
import type { StreamLimits } from '../stream/limits.js';
import { HELD_BYTES_MAX } from '../stream/resume/journal-replays.js';

/** A batch of a hundred refused operations, with its result. */
const BYTES_OF_READ = 32 * 1_024;

interface Queue {
  what: string;
  bytesMax: number;
  beyond: string;
  /** `null` if the log reports it. */
  metric: string | null;
}

interface Limits {
  connections: { total: number };
  stream: StreamLimits;
  unsent: { bytes: number };
}

/** Maximums per process, or per edge for an edge's queues. */
export function queuesOf({ connections, stream, unsent }: Limits): Queue[] {
  return [
    {
      what: 'request bodies being received or queued',
      bytesMax: connections.total * BODY_BYTES_MAX,
      beyond: 'a larger body gets 413. A body that takes 5 s is cut off',
      metric: 'exchange_slow_bodies_total',
    },
    {
      what: 'stream messages being received',
      bytesMax: stream.connections * FRAME_BYTES,
      beyond: 'the stream is closed, 1006',
      metric: 'exchange_connections',
    },
    {
      what: 'commands waiting for the disk',
      bytesMax: OVERLOAD_LIMITS.backlogBytes * 1.1,
      beyond: 'changes get 503; cancels have the last tenth',
      metric: 'exchange_backlog_bytes',
    },
    {
      what: 'reads of the history, including those that explain refused batches',
      bytesMax: PENDING_MAX * BYTES_OF_READ,
      beyond:
        'further reads get 503. One user, or one address without a session, can have a twentieth',
      metric: null,
    },
    {
      what: 'answers being compressed',
      bytesMax: CODED_BYTES_MAX,
      beyond: 'further answers are sent uncompressed',
      metric: 'exchange_calls_under_way',
    },
    {
      what: 'answers queued for writing',
      bytesMax: unsent.bytes,
      beyond: 'further answers are written immediately',
      metric: 'exchange_calls_under_way',
    },
    {
      what: 'answers not read by clients',
      bytesMax: unsent.bytes,
      beyond: 'the address with the most loses its oldest answers and their connections',
      metric: 'exchange_unsent_answer_bytes',
    },
    {
      what: 'messages not read by one stream',
      bytesMax: stream.backlogBytes,
      beyond: 'the stream is closed, 4008',
      metric: 'exchange_stream_closed_total',
    },
    {
      what: 'messages not read by all streams',
      bytesMax: stream.backlogBytesInAll,
      beyond: 'the slowest streams are cut off',
      metric: 'exchange_stream_backlog_bytes',
    },
    {
      what: 'messages kept for `resume`',
      bytesMax: stream.keptCharactersInAll,
      beyond: "the channel's oldest messages are forgotten",
      metric: 'exchange_stream_kept_characters',
    },
    {
      what: 'messages from the journal for `resume`',
      bytesMax: HELD_BYTES_MAX,
      beyond: 'users take turns; a client that does not read is closed, 4008',
      metric: 'exchange_stream_replay_bytes',
    },
    {
      what: 'an edge: requests waiting for the core',
      bytesMax: FORWARDED_BYTES_MAX * 1.1,
      beyond: 'changes get 503; cancels have the last tenth',
      metric: 'exchange_calls_under_way',
    },
    {
      what: 'an edge: stream messages to the core',
      bytesMax: RING_BYTES + WAITING_BYTES_MAX,
      beyond: 'the stream that sends the next message is cut off',
      metric: 'exchange_edge_waiting_bytes',
    },
    {
      what: 'an edge: answers and messages from the core',
      bytesMax: RING_BYTES + 2 * unsent.bytes,
      beyond:
        'above half, the edge drops answers with their connections. Above the whole, it cuts off its streams',
      metric: 'exchange_edge_waiting_bytes',
    },
    {
      what: 'a replica: bytes waiting for its socket',
      bytesMax: MESSAGE_BYTES_MAX,
      beyond: 'the leader disconnects the replica, which reconnects',
      metric: null,
    },
  ];
}
