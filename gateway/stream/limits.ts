/** The stream's limits and close codes, for client authors and operators. */

export interface StreamLimits {
  /** Open connections; the next one is refused with 503 `unavailable`. */
  connections: number;
  /** Open connections of one user; the next one is refused with `limit_reached`. */
  connectionsPerUser: number;
  /**
   * Size of a client message; a larger one gets `body_too_large`. Order entry may be as large as a
   * frame.
   */
  messageBytes: number;
  /** Unanswered orders and batches of one connection; the next one gets `limit_reached`. */
  outstandingRequests: number;
  /** Subscriptions of one connection; the next one gets `limit_reached`. */
  subscriptions: number;
  /**
   * Operations of one connection, as a burst and per second. A message costs one operation per
   * channel that it names, at least one. A ping or pong costs one. Orders and batches cost
   * operations only if refused. Above the limit, the connection gets `rate_limited` and is closed.
   */
  operationsBurst: number;
  operationsPerSecond: number;
  /** How long before its token expires a connection is warned, in the exchange's time. */
  sessionWarningMs: number;
  /** Real milliseconds between a connection's heartbeats. */
  heartbeatMs: number;
  /** Unanswered pings (one per heartbeat) after which the connection counts as lost. */
  unansweredPings: number;
  /** Unsent bytes of one client. Above the limit, the connection is closed. */
  backlogBytes: number;
  /** Unsent bytes of all clients. Above the limit, the slowest are cut off without a code. */
  backlogBytesInAll: number;
  /** Messages that one channel keeps for `resume`, and their characters. */
  keptMessages: number;
  keptCharacters: number;
  /** Characters kept by all channels. Above the limit, each new message removes two old ones. */
  keptCharactersInAll: number;
  /**
   * The most commands that a `resume` of `user` may replay from the journal, and the most bytes of
   * messages that it may send. Beyond either limit the client gets a `gap`. The commands are more
   * than the default number between snapshots, so a restart alone never causes a `gap`.
   */
  replayedCommands: number;
  replayedBytes: number;
  /** Bytes of message text read from the journal for one user at a time: a window. */
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
 * Messages from the journal are sent in pages of this size. The next page follows when fewer than
 * {@link UNREAD_BYTES} are unread. Eight connections of a user plus a window use 4 MiB.
 */
export const PAGE_BYTES = 128 * 1024;
export const UNREAD_BYTES = 128 * 1024;

/**
 * Why the exchange closed a connection. Clients see 1006 (no code) instead after an invalid frame
 * or one larger than 65 KiB, if the exchange was killed, or if the client does not read its pending
 * messages and the close code within about ten seconds.
 */
export const CLOSE = {
  goingAway: {
    code: 1001,
    reason: 'going_away',
    description:
      'The exchange is stopping and has sent everything durable. Connect again and resume.',
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
      'Too much data waited for you, or it waited too long. Read faster or subscribe to less, and resume.',
  },
  notAnswering: {
    code: 4010,
    reason: 'not_answering',
    description: 'Pings were not answered. Connect again and resume.',
  },
  rateLimited: {
    code: 4029,
    reason: 'rate_limited',
    description: 'The connection sent too many messages. Send less.',
  },
} as const;
export type CloseReason = (typeof CLOSE)[keyof typeof CLOSE];
