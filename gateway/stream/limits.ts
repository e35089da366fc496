/** The stream's limits, and the reasons for which it closes connections. */
export interface StreamLimits {
  /** Maximum of open connections. The next one is refused with 503 `unavailable`. */
  connections: number;
  /** For a user and its sub-accounts together. The next one is refused with `limit_reached`. */
  connectionsPerUser: number;
  /** Maximum size of client messages, except order entry. Larger ones get `body_too_large`. */
  messageBytes: number;
  /** Maximum of a connection's unanswered orders and batches. The next one gets `limit_reached`. */
  outstandingRequests: number;
  /** Maximum of a connection's subscriptions. The next one gets `limit_reached`. */
  subscriptions: number;
  /**
   * A connection's operations, as a burst and per second. A message costs one per channel that it
   * names, at least one. A ping or pong costs one. Orders and batches cost operations only if
   * refused. Above the limit, the connection gets `rate_limited` and is closed.
   */
  operationsBurst: number;
  operationsPerSecond: number;
  /** A connection is warned this long before its token expires, in the exchange's time. */
  sessionWarningMs: number;
  /** Real milliseconds between a connection's heartbeats. */
  heartbeatMs: number;
  /** After this many unanswered pings, one per heartbeat, the connection counts as lost. */
  unansweredPings: number;
  /** Maximum of a client's unsent bytes. Above it, the connection is closed. */
  backlogBytes: number;
  /** Maximum of all clients' unsent bytes. Above it, the slowest are cut off without a code. */
  backlogBytesInAll: number;
  /** Messages that a channel keeps for `resume`, and their characters. */
  keptMessages: number;
  keptCharacters: number;
  /** Characters kept by all channels. Above it, each new message removes two old ones. */
  keptCharactersInAll: number;
  /**
   * A `resume` of `user` may replay this many commands from the journal, and send this many message
   * bytes; then the client gets a `gap`. The default distance between snapshots is shorter, so that
   * a restart alone causes no `gap`.
   */
  replayedCommands: number;
  replayedBytes: number;
  /** Size of a window: message bytes read from the journal at a time for one user. */
  replayWindowBytes: number;
  /** Real milliseconds for which a channel without subscribers keeps its messages. */
  keptMs: number;
}

export const STREAM_LIMITS: StreamLimits = {
  connections: 10_000,
  connectionsPerUser: 100,
  messageBytes: 4_096,
  outstandingRequests: 256,
  subscriptions: 100,
  operationsBurst: 100,
  operationsPerSecond: 20,
  sessionWarningMs: 60_000,
  heartbeatMs: 10_000,
  unansweredPings: 3,
  backlogBytes: 4 * 1024 * 1024,
  backlogBytesInAll: 512 * 1024 * 1024,
  keptMessages: 1_000,
  keptCharacters: 1024 * 1024,
  keptCharactersInAll: 256 * 1024 * 1024,
  replayedCommands: 5_000_000,
  replayedBytes: 16 * 1024 * 1024,
  replayWindowBytes: 2 * 1024 * 1024,
  keptMs: 120_000,
};

/**
 * Page size of messages sent from the journal. The next page follows when fewer than
 * {@link UNREAD_BYTES} are unread. Eight connections of a user plus a window use 4 MiB.
 */
export const PAGE_BYTES = 128 * 1024;
export const UNREAD_BYTES = 128 * 1024;

/**
 * Reasons for which the exchange closes connections. Clients see 1006 (no code) instead if they
 * sent an invalid frame or one above 65 KiB, if the exchange was killed, or if they do not read the
 * pending messages and the close code within about ten seconds.
 */
export const CLOSE = {
  goingAway: {
    code: 1001,
    reason: 'going_away',
    description: 'The exchange is stopping and has sent everything durable. Reconnect and resume.',
  },
  tokenRevoked: {
    code: 4001,
    reason: 'token_revoked',
    description: 'The token was revoked, or the password was changed. Sign in again.',
  },
  tokenExpired: {
    code: 4002,
    reason: 'token_expired',
    description: 'The token has expired. Sign in again, or use another token.',
  },
  slowReader: {
    code: 4008,
    reason: 'slow_reader',
    description:
      'Too much data was queued for you, or was queued for too long. Read faster or subscribe to less, and resume.',
  },
  notAnswering: {
    code: 4010,
    reason: 'not_answering',
    description: 'Pings were not answered. Reconnect and resume.',
  },
  rateLimited: {
    code: 4029,
    reason: 'rate_limited',
    description: 'The connection sent too many messages. Send less.',
  },
} as const;
export type CloseReason = (typeof CLOSE)[keyof typeof CLOSE];
